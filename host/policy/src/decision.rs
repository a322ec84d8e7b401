//! Determinations in the terms of a policy: stage, rule and reason.

use crate::compile::CompiledPackage;
use portcullis_core::reason::{ValidationReason, generic};
use portcullis_core::wire::{Descriptor, Determination, RowKind, Stage};
use portcullis_image::{BankAnswers, BankKind, BankOutcome, EntryVerdict, TableBankAnswer, depth_limited, resolve};
use serde::Serialize;

/// The answer of one bank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BankDecision {
    /// `pass`, `reject` or `decompose`.
    pub outcome: &'static str,
    /// Id of the deciding rule; `DEFAULT-DENY` if no row matched, `None` for the row permit-all of the entropy bank.
    pub rule: Option<String>,
    pub row: Option<u16>,
}

/// A determination, and the answers of both banks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DescriptorDecision {
    /// `admit`, `reject` or `decompose`.
    pub determination: Determination,
    /// The first stage that did not pass.
    pub stage: Option<Stage>,
    /// Id of the deciding rule or reason; `None` for an admit.
    pub rule: Option<String>,
    /// The rule's `@reason`; `DEPTH-LIMIT` for a decompose that became a reject.
    pub reason: Option<String>,
    pub policy: BankDecision,
    pub entropy: BankDecision,
}

/// The answer of `bank`, derived from the row number that a completion contains.
#[must_use]
pub fn answer_of_row(compiled: &CompiledPackage, bank: BankKind, row: Option<u16>) -> TableBankAnswer {
    let found = row.and_then(|row| compiled.image.rows(bank).get(usize::from(row)));
    let outcome = match found.map(|row| RowKind::try_from(row.kind)) {
        Some(Ok(RowKind::Permit)) => BankOutcome::Pass,
        Some(Ok(RowKind::ForbidDecompose)) => BankOutcome::Decompose,
        _ => BankOutcome::Reject,
    };
    TableBankAnswer { outcome, row: found.and(row) }
}

impl DescriptorDecision {
    /// The decision on `descriptor` that follows from the answers of the banks.
    #[must_use]
    pub fn new(compiled: &CompiledPackage, descriptor: &Descriptor, banks: &BankAnswers) -> Self {
        let verdict = resolve(descriptor, banks, compiled.image.header().max_depth);
        let (rule, reason) = deciding(compiled, descriptor, &verdict);
        let limited = depth_limited(descriptor, banks, &verdict);
        Self {
            determination: verdict.determination,
            stage: Some(verdict.stage).filter(|stage| *stage != Stage::None),
            rule,
            reason: if limited { Some(generic::DEPTH_LIMIT.into()) } else { reason },
            policy: bank_decision(compiled, BankKind::Policy, banks.policy),
            entropy: bank_decision(compiled, BankKind::Entropy, banks.entropy),
        }
    }
}

fn bank_decision(compiled: &CompiledPackage, bank: BankKind, answer: TableBankAnswer) -> BankDecision {
    let outcome = match answer.outcome {
        BankOutcome::Pass => "pass",
        BankOutcome::Reject => "reject",
        BankOutcome::Decompose => "decompose",
    };
    let rule = match answer.row {
        Some(row) => compiled.rule_of_row(bank, row).map(|rule| rule.id.clone()),
        None => Some(generic::DEFAULT_DENY.into()),
    };
    BankDecision { outcome, rule, row: answer.row }
}

fn deciding(
    compiled: &CompiledPackage,
    descriptor: &Descriptor,
    verdict: &EntryVerdict,
) -> (Option<String>, Option<String>) {
    let of_row = |bank: BankKind, row: Option<u16>| match row.and_then(|row| compiled.rule_of_row(bank, row)) {
        Some(rule) => (Some(rule.id.clone()), rule.reason.clone()),
        None => (Some(generic::DEFAULT_DENY.to_owned()), None),
    };
    match verdict.stage {
        Stage::None => (None, None),
        Stage::Policy => of_row(BankKind::Policy, verdict.policy_row),
        Stage::Entropy => of_row(BankKind::Entropy, verdict.entropy_row),
        Stage::Validation => {
            let code = descriptor.validation_reason;
            let known = ValidationReason::from_code(code).map(|reason| reason.id().to_owned());
            (Some(known.unwrap_or_else(|| format!("VALIDATION-{code}"))), None)
        }
        Stage::Lineage => (Some(format!("LINEAGE-{}", descriptor.lineage_reason)), None),
    }
}
