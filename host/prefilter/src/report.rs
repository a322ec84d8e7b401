//! The report about an input.

use crate::tier::SeverityTier;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The identifier of a refusal if the evaluators that refuse gave no identifier.
pub const STRUCT_UNSPECIFIED: &str = "STRUCT-UNSPECIFIED";
/// The identifier of a halt that does not depend on the input: the evaluator failed, or was late.
pub const HALTED_BY_FAULT: &str = "HALT-FAULT";

/// A structure that was found, and its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilterViolation {
    /// The id of the rule, or of the reason for a halt.
    pub id: String,
    /// The evaluator that found the structure.
    pub evaluator: String,
    /// The structure's first byte.
    pub start: usize,
    /// The byte after the structure's last byte.
    pub end: usize,
}

/// An evaluator's result for one input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluatorFinding {
    pub violations: Vec<(SeverityTier, FilterViolation)>,
    /// Whether the evaluator stopped early; then there may be further structures.
    pub halted: bool,
    pub steps: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluatorVerdict {
    pub evaluator: String,
    /// The most severe tier found; [`SeverityTier::Critical`] if the evaluator halted.
    pub tier: SeverityTier,
    pub halted: bool,
    /// Whether the halt has a cause outside the input: a panic, a dead process, a deadline.
    pub fault: bool,
    pub bytes: u64,
    /// Number of steps used.
    pub steps: u64,
    violations: Vec<FilterViolation>,
}

impl EvaluatorVerdict {
    /// The verdict that follows from an evaluator's finding.
    #[must_use]
    pub(crate) fn of(evaluator: &str, bytes: usize, finding: EvaluatorFinding) -> Self {
        let seen = finding.violations.iter().map(|(t, _)| *t).fold(SeverityTier::Clear, SeverityTier::escalate);
        Self {
            evaluator: evaluator.to_owned(),
            tier: if finding.halted { SeverityTier::Critical } else { seen },
            halted: finding.halted,
            fault: false,
            bytes: bytes as u64,
            steps: finding.steps,
            violations: finding.violations.into_iter().map(|(_, v)| v).collect(),
        }
    }

    /// The verdict of an evaluator that failed.
    #[must_use]
    pub(crate) fn fault(evaluator: &str, bytes: usize) -> Self {
        let id = HALTED_BY_FAULT.to_owned();
        let violation = FilterViolation { id, evaluator: evaluator.to_owned(), start: 0, end: bytes };
        let finding =
            EvaluatorFinding { violations: vec![(SeverityTier::Critical, violation)], halted: true, steps: 0 };
        Self { fault: true, ..Self::of(evaluator, bytes, finding) }
    }

    /// The structures found.
    #[must_use]
    pub fn violations(&self) -> &[FilterViolation] {
        &self.violations
    }
}

/// The report on an input. Only one function constructs it. This function takes the most severe verdict and gives every
/// refusal an identifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FilterReport {
    version: u32,
    profile: String,
    verdict: SeverityTier,
    threshold: SeverityTier,
    executive: bool,
    rules: String,
    input: String,
    evaluators: Vec<EvaluatorVerdict>,
    #[serde(skip)]
    length: usize,
}

const VERSION: u32 = 1;
/// Domain separation of the commitment to an input.
const INPUT_TAG: &[u8] = b"portcullis/prefilter/input/1\0";

impl FilterReport {
    pub(crate) fn new(
        profile: &str,
        threshold: SeverityTier,
        rules: [u8; 32],
        input: [u8; 32],
        length: usize,
        mut evaluators: Vec<EvaluatorVerdict>,
    ) -> Self {
        // The report must not depend on the order in which the evaluators ran.
        evaluators.sort_by(|a, b| a.evaluator.cmp(&b.evaluator));
        let verdict = evaluators.iter().map(|e| e.tier).fold(SeverityTier::Clear, SeverityTier::escalate);
        // Without an evaluator the input was not judged, so it is refused.
        let verdict = if evaluators.is_empty() { SeverityTier::Critical } else { verdict };
        let executive = verdict <= threshold && verdict < SeverityTier::Critical;
        // The identifier comes from an evaluator that refuses, not from another evaluator's milder finding.
        let refuses = |e: &EvaluatorVerdict| e.tier > threshold || e.tier == SeverityTier::Critical;
        let named = evaluators.iter().any(|e| refuses(e) && !e.violations.is_empty());
        if !executive && !named {
            let unspecified =
                FilterViolation { id: STRUCT_UNSPECIFIED.into(), evaluator: "router".into(), start: 0, end: length };
            let finding = EvaluatorFinding { violations: vec![(verdict, unspecified)], halted: false, steps: 0 };
            evaluators.push(EvaluatorVerdict::of("router", length, finding));
        }
        Self {
            version: VERSION,
            profile: profile.to_owned(),
            verdict,
            threshold,
            executive,
            rules: hex(&rules),
            input: hex(&input),
            evaluators,
            length,
        }
    }

    /// The most severe verdict of any evaluator.
    #[must_use]
    pub const fn verdict(&self) -> SeverityTier {
        self.verdict
    }

    /// The most severe tier whose inputs the policy permits to be executed.
    #[must_use]
    pub const fn threshold(&self) -> SeverityTier {
        self.threshold
    }

    /// Whether the input may be passed to the program that acts on it.
    #[must_use]
    pub const fn is_executive(&self) -> bool {
        self.executive
    }

    /// The profile of the policy.
    #[must_use]
    pub fn profile(&self) -> &str {
        &self.profile
    }

    #[must_use]
    pub fn evaluators(&self) -> &[EvaluatorVerdict] {
        &self.evaluators
    }

    /// All structures found. A refusal has at least one.
    pub fn violations(&self) -> impl Iterator<Item = &FilterViolation> {
        self.evaluators.iter().flat_map(|e| &e.violations)
    }

    /// Whether an evaluator failed for a reason outside the input.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        self.evaluators.iter().any(|e| e.fault)
    }

    /// The commitment to the input, hexadecimal.
    #[must_use]
    pub fn input(&self) -> &str {
        &self.input
    }

    /// Number of bytes of the input.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.length
    }

    /// The report as JSON: keys in order, no white space.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        // Plain strings and numbers can always be serialised.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// SHA-256 of [`FilterReport::bytes`], for a NOTE record.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.bytes()).into()
    }
}

/// The commitment to an input: SHA-256(tag ‖ u64 length ‖ bytes).
pub(crate) fn commitment(bytes: &[u8]) -> [u8; 32] {
    let hash = Sha256::new().chain_update(INPUT_TAG).chain_update((bytes.len() as u64).to_le_bytes());
    hash.chain_update(bytes).finalize().into()
}

/// The filter must not depend on a library that can decode, so this function is written here.
fn hex(bytes: &[u8; 32]) -> String {
    bytes.iter().flat_map(|b| [b >> 4, b & 15]).filter_map(|d| char::from_digit(d.into(), 16)).collect()
}
