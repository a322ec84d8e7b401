//! The verifier: five properties of a session, each affirmed, warned of or contradicted, with reasons.
//!
//! Nothing in a bundle is believed for its own sake. What is believed comes from outside it: roots, issuers and witnesses. The
//! verifier uses no clock; times are the witness's, or are given.

mod agree;
mod complete;
mod findings;
mod gaps;
mod genuine;
mod lane;
mod policy;
mod replayable;
mod rules;
mod trust;
mod walk;
mod withheld;

pub(crate) use genuine::marks_of_simulation;

pub use policy::{mapping_version, other_layout};

pub use findings::{Findings, Properties, Property, Reason, Status};
pub use trust::TrustError;

use crate::bundle::{self, Bundle, BundleError, Files, Snapshot};
use crate::certificate::{Class, DeviceCertificate, TrustStore};
use crate::hex::Hex;
use crate::note::WitnessKey;
use crate::record::Counts;
use crate::ticket::{Signed, Ticket};
use ed25519_dalek::VerifyingKey;
use policy::Tables;
use portcullis_core::wire::{Epistemic, Stage};
use serde::Serialize;
use std::collections::BTreeMap;

/// Code of a bundle whose records and checkpoints this verifier does not read.
pub(crate) const UNKNOWN_VERSION: &str = "unknown-version";

/// Whom the verifier believes. Never read from a bundle.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// Roots of device certificates, and what is revoked.
    pub roots: TrustStore,
    /// Ticket issuers.
    pub issuers: Vec<TrustedKey>,
    /// Who may approve a policy. An issuer may not, unless the same key stands here too.
    pub approvers: Vec<TrustedKey>,
    /// Who may take texts out of a bundle.
    pub withholders: Vec<TrustedKey>,
    /// Witnesses.
    pub witnesses: Vec<WitnessKey>,
}

/// A key of the trust folder.
#[derive(Clone, Debug)]
pub struct TrustedKey {
    /// Its file below the trust folder.
    pub file: String,
    /// The key.
    pub key: VerifyingKey,
}

/// Who signed something, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Signer {
    /// The name that the signed message claims. Nothing vouches for it: any key may claim any name.
    pub claimed: String,
    /// SHA-256 of the public key; absent where no trusted key signed.
    pub key: Option<Hex<32>>,
    /// File of that key below the trust folder.
    pub file: Option<String>,
}

/// What is asked of the verifier.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Simulated evidence is checked like any other, and marked.
    pub allow_sim: bool,
    /// Unix second at which certificates must be valid where no witness gives a time.
    pub at: Option<u64>,
}

/// How much an affirmed bundle is worth: whose word stands behind the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Assurance {
    /// Simulated: the key is public.
    L0,
    /// One key for every card of the design.
    L1,
    /// The key of one card.
    L2,
    /// As L2, placed under supervision.
    L3,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The worst of the five.
    pub status: Status,
    /// Whether any mark of a simulated card was found.
    pub simulated: bool,
    /// Exit code of `verify`: 3 contradicted, else 10 simulated, else 5 warned, else 0.
    pub exit_code: u8,
    /// Level of assurance; absent when the certificate is not believed.
    pub assurance: Option<Assurance>,
    /// The five.
    pub properties: Properties,
    /// What the session was.
    pub session: Summary,
}

/// What a session was, as far as the bundle shows it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// SHA-256 of the manifest, which names every other file with its digest.
    pub bundle_digest: Option<Hex<32>>,
    /// Serial of the ticket.
    pub ticket_serial: Option<u64>,
    /// Seat that it is for: which of several cards with one key.
    pub seat: Option<u16>,
    /// Who issued it; `self` is the operator.
    pub issuer: Option<Signer>,
    /// SHA-256 of the card's public key.
    pub key_id: Option<Hex<32>>,
    /// Subject of the device certificate.
    pub device: Option<String>,
    /// Design of the card.
    pub design_id: Option<Hex<16>>,
    /// SHA-256 of the table image.
    pub policy_digest: Option<Hex<32>>,
    /// SHA-256 of the policy package's listing.
    pub package_digest: Option<Hex<32>>,
    /// Version of the mapping that the package digest names.
    pub mapping_version: Option<u32>,
    /// Who approved the policy.
    pub approvals: Vec<Signer>,
    /// Unix seconds of the first and the last checkpoint that a witness saw: the session ran between them, and may have gone on.
    pub witnessed: Option<(u64, u64)>,
    /// Ticks of the first and the last record, of all lanes.
    pub ticks: Option<(u64, u64)>,
    /// Lanes of the card, each with a log.
    pub lanes: u8,
    /// Signed checkpoints.
    pub checkpoints: u64,
    /// Records in the bundle.
    pub records: u64,
    /// Records that a checkpoint covers.
    pub signed_records: u64,
    /// Digest of the last checkpoint, which the next ticket names.
    pub last_checkpoint: Option<Hex<32>>,
    /// Previous close that the ticket names.
    pub previous_close: Option<Hex<32>>,
    /// Streams by mode, as far as their context documents are here.
    pub modes: Modes,
    /// The governed profiles, by digest. The operator chose them, unless the ticket permits certain ones only.
    pub profiles: BTreeMap<Hex<32>, ProfileUse>,
    /// Whether the ticket permits certain profiles only; absent where it could not be read.
    pub profiles_pinned: Option<bool>,
    /// Streams whose profile cannot be seen: their context document is not here, or of another version.
    pub profile_unknown: u64,
    /// Streams that name another one as their predecessor.
    pub continued: u64,
    /// What was taken out of the bundle, and why.
    pub withholdings: Vec<WithholdingUse>,
    /// Spans that were disclosed and fit their commitments.
    pub disclosed: u64,
    /// Counts of the log, as far as it follows its rules.
    pub counts: Counts,
    /// Rejects and decomposes, by what decided.
    pub refusals: Vec<RuleCount>,
}

/// Streams by mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Modes {
    /// Refused text never left the gate, and the engine never saw it again.
    pub driven: u64,
    /// Refused text was kept from readers, not from what the engine wrote next.
    pub held: u64,
    /// The text was there before it was judged: nothing was prevented.
    pub recorded: u64,
    /// The reader got the text whatever the verdict was.
    pub observed: u64,
}

/// Texts that were taken out of the bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WithholdingUse {
    /// Who took them out.
    pub signer: Signer,
    /// Why.
    pub reason: String,
    /// How many streams.
    pub streams: u64,
    /// Digest of the bundle before.
    pub before: Hex<32>,
}

/// A governed profile and how many streams used it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProfileUse {
    /// Streams.
    pub streams: u64,
    /// Subject domain; absent for the first that the policy declares, as with the fields below.
    pub domain: Option<String>,
    /// Audience.
    pub audience: Option<String>,
    /// Temporal condition.
    pub temporal: Option<String>,
    /// Epistemic mode.
    pub epistemic: Option<Epistemic>,
    /// Register of language.
    pub register: Option<String>,
}

impl std::fmt::Display for ProfileUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields = [
            ("domain", self.domain.as_deref()),
            ("audience", self.audience.as_deref()),
            ("temporal", self.temporal.as_deref()),
            ("epistemic", self.epistemic.map(Epistemic::name)),
            ("register", self.register.as_deref()),
        ];
        let given = fields.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?)));
        let given = given.collect::<Vec<_>>().join(", ");
        f.write_str(if given.is_empty() { "the policy's defaults" } else { &given })
    }
}

/// How often one rule, or none, decided against a mutation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleCount {
    /// Stage that decided.
    pub stage: Stage,
    /// Row of its bank; absent where no row matched, or where the host decided.
    pub row: Option<u16>,
    /// Number of the row's rule in the image, in order of the rules' ids.
    pub rule: Option<u16>,
    /// Id of that rule; absent where the package is not in the bundle.
    pub id: Option<String>,
    /// What the rule gives as its reason.
    pub reason: Option<String>,
    /// Times.
    pub count: u64,
}

/// Checks a bundle. `progress` is told how many records are done, now and then.
///
/// # Errors
/// Files that are no bundle, and reading that failed. Everything else is a finding in the report.
pub fn verify(
    files: &dyn Files,
    trust: &Trust,
    options: Options,
    progress: &mut dyn FnMut(u64),
) -> Result<Report, BundleError> {
    verify_snapshot(&Snapshot::new(files), trust, options, progress)
}

/// Checks a bundle, as [`verify`] does, over a snapshot that others read too.
///
/// # Errors
/// As [`verify`].
pub fn verify_snapshot(
    files: &Snapshot<'_>,
    trust: &Trust,
    options: Options,
    progress: &mut dyn FnMut(u64),
) -> Result<Report, BundleError> {
    let bundle = Bundle::open(files)?;
    let mut findings = Findings::default();
    let mut summary = Summary { checkpoints: bundle.checkpoints(), ..Summary::default() };
    summary.bundle_digest = Some(Hex(bundle.digest(bundle::MANIFEST)?));

    complete::manifest(&bundle, &mut findings)?;
    let tables = policy::image(&bundle, &mut findings, &mut summary)?;
    let ticket = gaps::ticket(&bundle, trust, &mut findings, &mut summary)?;
    let notes = gaps::notes(&bundle, &trust.witnesses, ticket.as_ref(), &mut findings, &mut summary)?;
    let at = summary.witnessed.map(|(first, _)| first).or(options.at);
    let device = genuine::certificate(&bundle, &trust.roots, at, &mut findings, &mut summary)?;
    policy::approval(&bundle, trust, &mut findings, &mut summary)?;
    replayable::files(&bundle, &mut findings)?;

    let withheld = withheld::read(&bundle, trust, ticket.as_ref(), &mut findings, &mut summary)?;

    let image = match tables {
        Tables::Image(image) => Some(image),
        Tables::Malformed => None,
        Tables::Unknown(what) => {
            return Ok(unknown(&what, ticket.as_ref(), device.as_ref(), options, findings, summary));
        }
    };
    let facts = walk::Facts { ticket, image, device, notes, withheld };
    let simulated = walk::records(&bundle, &facts, options, &mut findings, &mut summary, progress)?;
    summary.refusals = policy::rules(&summary.counts, facts.image.as_ref());
    // The package is the image's; else its names are nobody's.
    if summary.mapping_version.is_some() && !summary.refusals.is_empty() {
        let names = rules::names(&bundle)?;
        for refusal in &mut summary.refusals {
            let name = refusal.rule.and_then(|rule| names.get(usize::from(rule)));
            refusal.id = name.map(|name| name.id.clone());
            refusal.reason = name.and_then(|name| name.reason.clone());
        }
    }
    if let Some(name) = files.changed() {
        findings.contradict(Property::Complete, "file-changed", format!("`{name}` changed while it was read"));
    }
    Ok(conclude(findings, summary, simulated, facts.device.as_ref()))
}

/// A bundle of a version that this verifier does not know. Its records and checkpoints are not looked at, so that nothing is affirmed
/// and nothing of them contradicted; what does not depend on the card's layouts was checked.
fn unknown(
    what: &str,
    ticket: Option<&Signed<Ticket>>,
    device: Option<&DeviceCertificate>,
    options: Options,
    mut findings: Findings,
    summary: Summary,
) -> Report {
    if let Some(ticket) = ticket {
        if let Some(image) = summary.policy_digest {
            policy::ticket(&ticket.content, &image.0, &mut findings);
        }
        if let Some(device) = device {
            gaps::key(&ticket.content, device, &mut findings);
        }
    }
    let simulated = genuine::simulation(device, None, options, &mut findings);
    for property in Property::ALL {
        let what = format!("{what}: records and checkpoints were not read; verify with a release that knows it");
        findings.warn(property, UNKNOWN_VERSION, what);
    }
    // No signature was checked, so that there is no assurance of any level.
    conclude(findings, summary, simulated, None)
}

fn conclude(findings: Findings, session: Summary, simulated: bool, device: Option<&DeviceCertificate>) -> Report {
    let properties = findings.conclude();
    let status = properties.worst();
    let exit_code = status.exit_code(simulated);
    let assurance =
        device.filter(|_| properties.genuine.status != Status::Contradicted).map(|device| match device.class {
            _ if simulated => Assurance::L0,
            Class::Sim => Assurance::L0,
            Class::Class => Assurance::L1,
            Class::Device if device.supervised => Assurance::L3,
            Class::Device => Assurance::L2,
        });
    Report { status, simulated, exit_code, assurance, properties, session }
}
