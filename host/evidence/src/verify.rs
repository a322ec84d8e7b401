//! The verifier: five properties of a session, each affirmed, warned or contradicted, with reasons.
//!
//! The verifier trusts nothing in a bundle. Trust comes from outside: roots, issuers and witnesses. The verifier uses
//! no clock; times come from the witness or from the caller.

mod check;
mod code;
mod facts;
mod findings;
pub mod judge;
mod lane;
mod lane_state;
mod property;
mod report;
mod scan;
pub mod series;
mod trust;

pub use check::image::{mapping_version, other_layout};
pub(crate) use check::simulation::marks as marks_of_simulation;
pub(crate) use check::span::is_cut;
pub use code::{Code, PeriodCode, ReplayCode, SeriesCode};
pub use findings::{BundleConclusions, PropertyConclusion, StatusReason};
pub use property::{BundleProperty, EvidenceStatus};
pub use report::{
    AssuranceLevel, EvidenceSummary, ProfileUse, RuleCount, StreamModeCounts, VerifyOptions, VerifyReport,
    WithholdingUse,
};
pub use trust::{SignerIdentity, TrustError, TrustFile, TrustTexts, TrustedKey, TrustedParties};

use crate::format::bundle::{self, Bundle, BundleError, BundleFiles, SnapshotFiles};
use crate::format::certificate::{CardKeyClass, DeviceCertificate};
use crate::format::ticket::{SessionTicket, SignedTicket};
use check::image::BundleImageContent;
use facts::BundleFacts;
use findings::VerifyFindings;
use portcullis_core::hex::HexBytes;

/// Checks a bundle. `progress` receives the number of records read so far, from time to time. Errors: the files are not
/// a bundle, or reading failed. Everything else is a finding in the report.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let world = portcullis_test_support::world::World::new();
/// # let files = world.honest().files();
/// use portcullis_evidence::verify::{BundleProperty, EvidenceStatus, TrustedParties, VerifyOptions, verify};
///
/// // The signatures in `files` are right, but this user trusts no authority.
/// let report = verify(&files, &TrustedParties::default(), VerifyOptions::default(), &mut |_records| {})?;
/// assert_ne!(report.properties.of(BundleProperty::Genuine).status, EvidenceStatus::Affirmed);
/// # Ok(())
/// # }
/// ```
pub fn verify(
    files: &dyn BundleFiles,
    trust: &TrustedParties,
    options: VerifyOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<VerifyReport, BundleError> {
    verify_snapshot(&SnapshotFiles::new(files), trust, options, progress)
}

/// Like [`verify`], over a snapshot that other checks share. Errors: as [`verify`].
pub fn verify_snapshot(
    files: &SnapshotFiles<'_>,
    trust: &TrustedParties,
    options: VerifyOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<VerifyReport, BundleError> {
    let bundle = Bundle::open(files)?;
    let mut findings = VerifyFindings::default();
    let mut summary = EvidenceSummary { checkpoints: bundle.checkpoints(), ..EvidenceSummary::default() };
    summary.bundle_digest = Some(HexBytes(bundle.digest(bundle::MANIFEST)?));

    findings.append(check::files::manifest(&bundle)?);
    let tables = check::image::read(&bundle, &mut findings, &mut summary)?;
    let ticket = check::ticket::read(&bundle, &mut findings, &mut summary)?;
    let notes = check::witness::read(&bundle, &trust.witnesses, ticket.as_ref(), &mut findings, &mut summary)?;
    let at = summary.witnessed.map(|(first, _)| first).or(options.at);
    // Behind the last note, the card may have signed at any time.
    let is_seen = notes.contains_key(&bundle.checkpoints().saturating_sub(1));
    let last = summary.witnessed.map_or(options.at, |(_, last)| Some(last).filter(|_| is_seen));
    summary.issuer = ticket.as_ref().map(|ticket| check::ticket::issuer(ticket, trust, at, &mut findings));
    let device = check::certificate::read(&bundle, &trust.roots, at, last, &mut findings, &mut summary)?;
    check::approval::read(&bundle, trust, &mut findings, &mut summary)?;
    findings.append(check::files::digests(&bundle)?);

    let withheld = check::withholding::read(&bundle, trust, ticket.as_ref(), &mut findings, &mut summary)?;

    let image = match tables {
        BundleImageContent::Image(image) => Some(*image),
        BundleImageContent::Malformed => None,
        BundleImageContent::Unknown(what) => {
            return Ok(unknown(&what, ticket.as_ref(), device.as_ref(), options, findings, summary));
        }
    };
    let facts = BundleFacts { ticket, image, device, notes, withheld };
    let simulated = scan::records(&bundle, &facts, options, &mut findings, &mut summary, progress)?;
    findings.append(check::enforcement::check(&summary.modes, options));
    summary.refusals = check::image::rules(&summary.counts.refusals, facts.image.as_ref());
    summary.splits = check::image::rules(&summary.counts.splits, facts.image.as_ref());
    // The package gives the names of rules only if the image was built from it.
    if summary.mapping_version.is_some() && !(summary.refusals.is_empty() && summary.splits.is_empty()) {
        let names = check::rule_names::names(&bundle)?;
        for decided in summary.refusals.iter_mut().chain(&mut summary.splits) {
            let name = decided.rule.and_then(|rule| names.get(usize::from(rule)));
            decided.id = name.map(|name| name.id.clone());
            decided.reason = name.and_then(|name| name.reason.clone());
        }
    }
    if let Some(name) = files.changed() {
        findings.add(Code::FileChanged, format_args!("`{name}` changed while it was read"));
    }
    Ok(conclude(findings, summary, simulated, facts.device.as_ref()))
}

/// The report on a bundle of a version that this verifier does not know. Records and checkpoints are not read, so no
/// property is affirmed and nothing in them is contradicted. Checks that do not depend on the card's layouts have run.
fn unknown(
    what: &str,
    ticket: Option<&SignedTicket<SessionTicket>>,
    device: Option<&DeviceCertificate>,
    options: VerifyOptions,
    mut findings: VerifyFindings,
    summary: EvidenceSummary,
) -> VerifyReport {
    if let Some(ticket) = ticket {
        if let Some(image) = summary.policy_digest {
            findings.append(check::ticket::tables(&ticket.content, &image.0));
        }
        if let Some(device) = device {
            findings.append(check::ticket::card(&ticket.content, device));
        }
    }
    let simulated = check::simulation::check(device, None, options, &mut findings);
    let what = format!("{what}: records and checkpoints were not read; verify with a release that knows it");
    findings.add(Code::UnknownVersion, what);
    // No signature was checked, so there is no assurance level.
    conclude(findings, summary, simulated, None)
}

fn conclude(
    findings: VerifyFindings,
    session: EvidenceSummary,
    simulated: bool,
    device: Option<&DeviceCertificate>,
) -> VerifyReport {
    let properties = findings.conclude();
    let status = properties.worst();
    let assurance =
        device.filter(|_| properties.genuine.status != EvidenceStatus::Contradicted).map(|device| match device.class {
            _ if simulated => AssuranceLevel::L0,
            CardKeyClass::Sim => AssuranceLevel::L0,
            CardKeyClass::Class => AssuranceLevel::L1,
            CardKeyClass::Device if device.supervised => AssuranceLevel::L3,
            CardKeyClass::Device => AssuranceLevel::L2,
        });
    let mut report = VerifyReport { status, simulated, exit_code: 0, assurance, properties, session };
    report.exit_code = status.exit_code(report.is_marked());
    report
}
