//! Options and report of the verifier.

use super::code::Code;
use super::findings::BundleConclusions;
use super::property::EvidenceStatus;
use super::trust::SignerIdentity;
use crate::format::log::LogCounts;
use crate::format::note::LogView;
use portcullis_core::hex::HexBytes;
use portcullis_core::wire::{Epistemic, Stage};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default)]
pub struct VerifyOptions {
    /// Whether simulated evidence is checked like other evidence and marked, and not refused.
    pub allow_sim: bool,
    /// Whether streams in which nothing was prevented are accepted without a finding.
    pub allow_not_enforced: bool,
    /// Unix second at which certificates must be valid, if no witness gives a time.
    pub at: Option<u64>,
}

/// Assurance level of an affirmed bundle: how the card's key is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum AssuranceLevel {
    /// Simulated: the key is public.
    L0,
    /// One key for every card of the design.
    L1,
    /// The key of one card.
    L2,
    /// Like L2, and the key was placed under supervision.
    L3,
}

#[derive(Clone, Debug, Serialize)]
pub struct VerifyReport {
    /// The worst status of the five properties.
    pub status: EvidenceStatus,
    /// Whether any mark of a simulated card was found.
    pub simulated: bool,
    /// Exit code of `verify`: 3 contradicted, else 10 simulated or not enforced, else 5 warned, else 0.
    pub exit_code: u8,
    /// Level of assurance; absent if the certificate is not accepted.
    pub assurance: Option<AssuranceLevel>,
    pub properties: BundleConclusions,
    pub session: EvidenceSummary,
}

impl VerifyReport {
    /// Whether the evidence is simulated, or of streams in which nothing was prevented. Then the exit code is 10 or 3.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.simulated || self.properties.policy.reasons.iter().any(|reason| reason.code == Code::NotEnforced)
    }
}

/// The facts about a session in the bundle.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EvidenceSummary {
    /// SHA-256 of the manifest, which lists the digest of every other file.
    pub bundle_digest: Option<HexBytes<32>>,
    pub ticket_serial: Option<u64>,
    /// Digest of the ticket.
    pub ticket_digest: Option<HexBytes<32>>,
    /// Seat of the ticket: distinguishes cards that share a key.
    pub seat: Option<u16>,
    /// The issuer; `self` means the operator.
    pub issuer: Option<SignerIdentity>,
    /// SHA-256 of the card's public key.
    pub key_id: Option<HexBytes<32>>,
    /// Subject of the device certificate.
    pub device: Option<String>,
    pub design_id: Option<HexBytes<16>>,
    /// SHA-256 of the table image.
    pub policy_digest: Option<HexBytes<32>>,
    /// SHA-256 of the policy package's listing.
    pub package_digest: Option<HexBytes<32>>,
    /// Mapping version with which the package has the digest in the image.
    pub mapping_version: Option<u32>,
    /// Whether the card read the texts itself; absent if the image could not be read.
    pub text_lane: Option<bool>,
    pub approvals: Vec<SignerIdentity>,
    /// Unix seconds of the first and the last checkpoint that a witness saw. The session ran between these times, and
    /// may have run longer.
    pub witnessed: Option<(u64, u64)>,
    /// The first and the last note of a trusted witness, and between them the first two that contradict each other: to
    /// compare with those of other sessions.
    #[serde(skip)]
    pub notes: Vec<LogView>,
    /// Ticks of the first and the last record over all lanes.
    pub ticks: Option<(u64, u64)>,
    /// Lanes of the card, each with a log.
    pub lanes: u8,
    pub checkpoints: u64,
    pub records: u64,
    /// Number of records that a checkpoint covers.
    pub signed_records: u64,
    /// Digest of the last checkpoint, which the next ticket names.
    pub last_checkpoint: Option<HexBytes<32>>,
    /// Digest of the previous session's last checkpoint, as the ticket names it.
    pub previous_close: Option<HexBytes<32>>,
    /// Number of streams per mode, for streams whose context document is present.
    pub modes: StreamModeCounts,
    /// The profiles of the streams, by digest. The operator chose them, unless the ticket permits only certain ones.
    pub profiles: BTreeMap<HexBytes<32>, ProfileUse>,
    /// Whether the ticket permits only certain profiles; absent if the ticket could not be read.
    pub profiles_pinned: Option<bool>,
    /// Number of streams of unknown profile: their context document is missing, or has another version.
    pub profile_unknown: u64,
    /// Number of streams that name a predecessor.
    pub continued: u64,
    /// The removed texts, with signer and reason.
    pub withholdings: Vec<WithholdingUse>,
    /// Number of disclosed spans that match their commitments.
    pub disclosed: u64,
    /// Counts of the log, up to the first record that breaks a rule.
    pub counts: LogCounts,
    /// Rejects, by the rule or stage that decided.
    pub refusals: Vec<RuleCount>,
    /// Decomposes, by the rule or stage that decided.
    pub splits: Vec<RuleCount>,
}

/// Number of streams by mode. Each mode treats refused text in another way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StreamModeCounts {
    /// Refused text never left the gate, and the engine did not get it back as input.
    pub driven: u64,
    /// Like `driven`, but the engine had a client's conversation and tools.
    pub driven_conversation: u64,
    /// Refused text was kept from readers, but the engine continued after it.
    pub held: u64,
    /// The text was complete before it was judged, so nothing was prevented.
    pub recorded: u64,
    /// The reader got the text even if it was refused.
    pub observed: u64,
}

impl StreamModeCounts {
    /// Number of streams in which refused text was kept from readers.
    #[must_use]
    pub const fn enforced(&self) -> u64 {
        self.driven.saturating_add(self.driven_conversation).saturating_add(self.held)
    }

    /// Number of streams in which nothing was prevented.
    #[must_use]
    pub const fn not_enforced(&self) -> u64 {
        self.recorded.saturating_add(self.observed)
    }
}

/// Texts that were taken out of the bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WithholdingUse {
    pub signer: SignerIdentity,
    pub reason: String,
    pub streams: u64,
    /// Digest of the bundle before the texts were taken out.
    pub before: HexBytes<32>,
}

/// A governed profile and how many streams used it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProfileUse {
    pub streams: u64,
    /// Subject domain; if absent, the first one that the policy declares. The fields below follow the same rule.
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

/// How often one rule, or a stage without a rule, decided against a mutation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleCount {
    pub stage: Stage,
    /// Row of its bank; absent if no row matched or the host decided.
    pub row: Option<u16>,
    /// Number of the row's rule in the image. Rules are ordered by id.
    pub rule: Option<u16>,
    /// Id of that rule; absent if the package is not in the bundle.
    pub id: Option<String>,
    /// The rule's `@reason` text.
    pub reason: Option<String>,
    pub count: u64,
}
