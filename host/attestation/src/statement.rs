//! The statement: what programs read, in the order of its JSON.

use crate::period::{AttestationPeriod, UtcDay};
use portcullis_core::hex::HexBytes;
use portcullis_evidence::verify::series::CheckedPublicLog;
use portcullis_evidence::verify::{
    AssuranceLevel, BundleProperty, EvidenceStatus, SignerIdentity, StreamModeCounts, TrustFile,
};
use serde::Serialize;

/// Kind and version of a statement, its first field.
pub const KIND: &str = "portcullis-attestation/2";

/// What the bundles show about a period.
///
/// A session belongs to the period if it may have run in it: between the times at which a witness saw its first and its
/// last checkpoint. A session whose time is not known counts, too.
#[derive(Clone, Debug, Serialize)]
pub struct PeriodStatement {
    pub kind: &'static str,
    /// Name of whoever makes the statement. The signature does not prove it.
    pub by: String,
    /// Name and version of the program.
    pub program: String,
    pub period: AttestationPeriod,
    /// The day of the statement, in UTC. It is a claim: nothing depends on it.
    pub dated: UtcDay,
    /// The files of the trust folder: whose signatures were accepted.
    pub trust: Vec<TrustFile>,
    /// The issuer's public log, if it was given and can be trusted.
    pub public_log: Option<CheckedPublicLog>,
    /// Whether simulated evidence was checked like other evidence.
    pub allow_sim: bool,
    /// Whether streams in which nothing was prevented were accepted without a finding.
    pub allow_not_enforced: bool,
    /// Unix second at which certificates had to be valid if no witness gave a time.
    pub at: Option<u64>,
    /// The worst status of the findings.
    pub status: EvidenceStatus,
    /// Whether any session has a mark of a simulated card.
    pub simulated: bool,
    /// As of `verify`: 3 contradicted, else 10 simulated or not enforced, else 5 warned, else 0.
    pub exit_code: u8,
    /// Everything that is not affirmed, the most serious first.
    pub findings: Vec<AttestationFinding>,
    /// The chains of sessions, one per card key and seat.
    pub chains: Vec<AttestedChain>,
    /// The sessions of the period, by chain and serial.
    pub sessions: Vec<AttestedSession>,
    /// Number of bundles whose sessions are before or after the period. They only show that no session is missing.
    pub outside: u64,
    /// The policies in force, by digest.
    pub policies: Vec<PolicyUse>,
    pub changes: Vec<PolicyChange>,
    /// Number of streams per mode.
    pub modes: StreamModeCounts,
    pub totals: AttestedTotals,
    /// Rejects, by policy and rule.
    pub refusals: Vec<RuleRefusalCount>,
    /// Decomposes, by policy and rule.
    pub splits: Vec<RuleRefusalCount>,
    /// Texts that were removed from bundles.
    pub withheld: Vec<AttestedWithholding>,
    /// The replayed sample; absent if nothing was to be replayed.
    pub replay: Option<AttestedReplay>,
    pub clauses: Vec<AttestedClause>,
}

/// The check that made a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttestationFindingSource {
    /// The verification of a bundle.
    Bundle,
    /// The order of the sessions.
    Series,
    /// The replay of a bundle's texts.
    Replay,
    /// The period itself.
    Period,
}

/// Why something is not affirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttestationFinding {
    pub status: EvidenceStatus,
    pub source: AttestationFindingSource,
    /// The property of the bundle that the finding concerns; absent for findings of other checks.
    pub property: Option<BundleProperty>,
    /// Name of the bundle; absent if the finding is about a chain or the whole period.
    pub session: Option<String>,
    pub code: &'static str,
    pub detail: String,
    /// Number of findings with this code.
    pub count: u64,
    /// Advice for the reader.
    pub remedy: &'static str,
}

/// The sessions of one card key and seat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttestedChain {
    /// SHA-256 of the card's public key.
    pub key: HexBytes<32>,
    pub seat: u16,
    /// Serials of the first and the last session of the period.
    pub first: u64,
    pub last: u64,
    pub sessions: u64,
    /// Whether it is shown that no session of the period is before `first`.
    pub begins: bool,
    /// Serial of the first session after the period.
    pub next: Option<u64>,
    /// Whether it is shown that no session of the period is after `last`: by the next session, or by the public log,
    /// which witnesses saw after the period.
    pub ends: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct AttestedSession {
    /// Name of the bundle.
    pub name: String,
    /// SHA-256 of the bundle's manifest.
    pub bundle: Option<HexBytes<32>>,
    pub key: Option<HexBytes<32>>,
    pub seat: Option<u16>,
    pub serial: Option<u64>,
    /// Issuer of the ticket; `self` means the operator.
    pub issuer: Option<SignerIdentity>,
    /// Subject of the card's certificate.
    pub device: Option<String>,
    /// The times in UTC at which a witness saw the first and the last checkpoint.
    pub witnessed: Option<(String, String)>,
    pub status: EvidenceStatus,
    pub simulated: bool,
    pub assurance: Option<AssuranceLevel>,
    /// SHA-256 of the table image.
    pub policy: Option<HexBytes<32>>,
    /// Whether a trusted key approved this policy.
    pub approved: bool,
    /// Whether the card read the texts itself.
    pub text_lane: Option<bool>,
    pub records: u64,
    pub streams: u64,
}

/// A policy that was in force, in words.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyUse {
    /// SHA-256 of the table image.
    pub policy: HexBytes<32>,
    /// The packages; more than one for a composition. Empty if no bundle has the package of this image.
    pub packages: Vec<AttestedPackage>,
    /// Approvers whose keys are trusted.
    pub approvers: Vec<SignerIdentity>,
    pub sessions: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttestedPackage {
    pub name: String,
    pub version: String,
    pub description: String,
    /// The checks of the stages that the package has off.
    pub checks_off: Vec<&'static str>,
    pub rules: Vec<AttestedRule>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttestedRule {
    pub id: String,
    /// `permit`, `reject` or `decompose`; `none` for a rule that never matches.
    pub effect: &'static str,
    /// The rule's `@reason` text.
    pub reason: Option<String>,
}

/// A session that ran another policy than the session before it in its chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyChange {
    pub key: HexBytes<32>,
    pub seat: u16,
    /// Serial of the first session with the new policy.
    pub serial: u64,
    pub before: Option<HexBytes<32>>,
    pub after: Option<HexBytes<32>>,
    /// When a witness saw the first checkpoint with the new policy, in UTC.
    pub witnessed: Option<String>,
    /// Whether a trusted key approved the new policy.
    pub approved: bool,
}

/// Sums over the sessions of the period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AttestedTotals {
    pub records: u64,
    /// Number of records that a checkpoint covers.
    pub signed_records: u64,
    pub streams: u64,
    pub admitted: u64,
    pub rejected: u64,
    pub decomposed: u64,
    /// Entries that cards refused because of a fault.
    pub refused_entries: u64,
    pub alarms: u64,
}

/// How often a rule, or a stage without a rule, decided against a mutation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleRefusalCount {
    pub policy: Option<HexBytes<32>>,
    pub stage: &'static str,
    /// Id of the rule, or its number if no bundle has the package; absent if no rule decided.
    pub rule: Option<String>,
    pub reason: Option<String>,
    pub count: u64,
}

/// Texts that were removed from a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttestedWithholding {
    /// Name of the bundle.
    pub session: String,
    pub signer: SignerIdentity,
    pub reason: String,
    pub streams: u64,
}

/// The sample of streams that was replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttestedReplay {
    /// The largest number of streams per session.
    pub sample: u64,
    /// Seed of the sample: the digest of the bundles' digests, or the choice of whoever checks.
    pub seed: String,
    /// The worst status of the replays.
    pub status: EvidenceStatus,
    /// Sessions of which at least one stream replays.
    pub sessions: u64,
    /// Streams of the sessions of the period.
    pub streams: u64,
    /// Streams of the sample whose every record equals that of the replay.
    pub replayed: u64,
    /// Records that equal those of the replay.
    pub records: u64,
}

/// What a regulation asks for, and what this period shows of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttestedClause {
    pub clause: String,
    pub shown: Vec<AttestedTopic>,
    /// What the operator must add; no evidence of a card shows it.
    pub not_shown: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttestedTopic {
    pub topic: &'static str,
    pub status: EvidenceStatus,
    pub text: String,
}
