//! Options and report of the verifier.

use super::findings::Properties;
use super::property::Status;
use super::trust::Signer;
use crate::format::log::Counts;
use portcullis_core::hex::Hex;
use portcullis_core::wire::{Epistemic, Stage};
use serde::Serialize;
use std::collections::BTreeMap;

/// Options of a verification.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Simulated evidence is checked like any other, and marked.
    pub allow_sim: bool,
    /// Unix second at which certificates must be valid where no witness gives a time.
    pub at: Option<u64>,
}

/// The value of an affirmed bundle: who vouches for the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Assurance {
    /// Simulated: the key is public.
    L0,
    /// One key for every card of the design.
    L1,
    /// The key of one card.
    L2,
    /// As L2, and under supervision.
    L3,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The worst of the five.
    pub status: Status,
    /// Whether any mark of a simulated card was found.
    pub simulated: bool,
    /// Exit code of `verify`: 3 contradicted, else 10 simulated, else 5 warned, else 0.
    pub exit_code: u8,
    /// Level of assurance; absent if the certificate is not accepted.
    pub assurance: Option<Assurance>,
    pub properties: Properties,
    pub session: Summary,
}

/// The facts about a session that the bundle shows.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// SHA-256 of the manifest, which names every other file with its digest.
    pub bundle_digest: Option<Hex<32>>,
    pub ticket_serial: Option<u64>,
    /// Seat that it is for: which of several cards with one key.
    pub seat: Option<u16>,
    /// The issuer; `self` is the operator.
    pub issuer: Option<Signer>,
    /// SHA-256 of the card's public key.
    pub key_id: Option<Hex<32>>,
    /// Subject of the device certificate.
    pub device: Option<String>,
    pub design_id: Option<Hex<16>>,
    /// SHA-256 of the table image.
    pub policy_digest: Option<Hex<32>>,
    /// SHA-256 of the policy package's listing.
    pub package_digest: Option<Hex<32>>,
    /// Version of the mapping that the package digest names.
    pub mapping_version: Option<u32>,
    pub approvals: Vec<Signer>,
    /// Unix seconds of the first and the last checkpoint that a witness saw: the session ran between them, and may have
    /// continued.
    pub witnessed: Option<(u64, u64)>,
    /// Ticks of the first and the last record, of all lanes.
    pub ticks: Option<(u64, u64)>,
    /// Lanes of the card, each with a log.
    pub lanes: u8,
    pub checkpoints: u64,
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
    /// Streams of unknown profile: their context document is missing, or has another version.
    pub profile_unknown: u64,
    /// Streams that name another one as their predecessor.
    pub continued: u64,
    /// What was taken out of the bundle, and why.
    pub withholdings: Vec<WithholdingUse>,
    /// Spans that were disclosed and fit their commitments.
    pub disclosed: u64,
    /// Counts of the log, as far as it follows its rules.
    pub counts: Counts,
    /// Rejects, by what decided.
    pub refusals: Vec<RuleCount>,
    /// Decomposes, by what decided.
    pub splits: Vec<RuleCount>,
}

/// Streams by mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Modes {
    /// Refused text never left the gate, and the engine never saw it again.
    pub driven: u64,
    /// The same, and the engine knew a client's own conversation and tools.
    pub driven_conversation: u64,
    /// Refused text was kept from readers, but not from the engine, which wrote on.
    pub held: u64,
    /// The text was there before it was judged: nothing was prevented.
    pub recorded: u64,
    /// The reader got the text, whatever the verdict was.
    pub observed: u64,
}

/// Texts that were taken out of the bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WithholdingUse {
    pub signer: Signer,
    pub reason: String,
    pub streams: u64,
    /// Digest of the bundle before the texts were taken out.
    pub before: Hex<32>,
}

/// A governed profile and how many streams used it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProfileUse {
    pub streams: u64,
    /// Subject domain; absent for the first that the policy declares, as with the fields below.
    pub domain: Option<String>,
    pub audience: Option<String>,
    pub temporal: Option<String>,
    /// Epistemic mode.
    pub epistemic: Option<Epistemic>,
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
    pub stage: Stage,
    /// Row of its bank; absent where no row matched, or where the host decided.
    pub row: Option<u16>,
    /// Number of the row's rule in the image, in order of the rules' ids.
    pub rule: Option<u16>,
    /// Id of that rule; absent where the package is not in the bundle.
    pub id: Option<String>,
    /// The reason that the rule gives.
    pub reason: Option<String>,
    pub count: u64,
}
