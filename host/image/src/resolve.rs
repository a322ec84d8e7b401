//! Resolves the four stages in order; the first stage that does not pass decides.

use crate::answer::{BankAnswers, BankOutcome, TableBankAnswer};
use portcullis_core::wire::{Descriptor, Determination, Stage, StageOutcome};

/// A determination, the deciding stage, and the rows of the banks' answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryVerdict {
    /// Reject, decompose or admit; never `None`.
    pub determination: Determination,
    /// The first stage that did not pass; `None` for an admit.
    pub stage: Stage,
    /// Row in the policy bank's answer, whether or not it decided.
    pub policy_row: Option<u16>,
    /// Row in the entropy bank's answer, whether or not it decided.
    pub entropy_row: Option<u16>,
}

/// The verdict on a descriptor that follows from the answers of the banks. An unknown stage outcome gives a reject, and
/// so does a decompose at `max_depth` or deeper.
#[must_use]
pub fn resolve(descriptor: &Descriptor, banks: &BankAnswers, max_depth: u8) -> EntryVerdict {
    let stages = [
        (Stage::Policy, banks.policy.outcome),
        (Stage::Validation, host(descriptor.validation_outcome)),
        (Stage::Lineage, host(descriptor.lineage_outcome)),
        (Stage::Entropy, banks.entropy.outcome),
    ];
    let failed = stages.into_iter().find(|(_, outcome)| *outcome != BankOutcome::Pass);
    let (determination, stage) = match failed {
        None => (Determination::Admit, Stage::None),
        Some((stage, BankOutcome::Decompose)) if descriptor.depth < max_depth => (Determination::Decompose, stage),
        Some((stage, _)) => (Determination::Reject, stage),
    };
    EntryVerdict { determination, stage, policy_row: banks.policy.row, entropy_row: banks.entropy.row }
}

/// Whether `verdict` would be a decompose at a smaller depth.
#[must_use]
pub fn depth_limited(descriptor: &Descriptor, banks: &BankAnswers, verdict: &EntryVerdict) -> bool {
    let TableBankAnswer { outcome, .. } = match verdict.stage {
        Stage::None => return false,
        Stage::Policy => banks.policy,
        Stage::Validation => TableBankAnswer { outcome: host(descriptor.validation_outcome), row: None },
        Stage::Lineage => TableBankAnswer { outcome: host(descriptor.lineage_outcome), row: None },
        Stage::Entropy => banks.entropy,
    };
    verdict.determination == Determination::Reject && outcome == BankOutcome::Decompose
}

fn host(code: u8) -> BankOutcome {
    match StageOutcome::try_from(code) {
        Ok(StageOutcome::Pass) => BankOutcome::Pass,
        Ok(StageOutcome::Decompose) => BankOutcome::Decompose,
        Ok(StageOutcome::Reject) | Err(_) => BankOutcome::Reject,
    }
}
