//! The rationale of a verdict: which rule or reason decided, as an id and in words.

use portcullis_core::mutation::{Finding, Mutation};
use portcullis_core::reason::generic;
use portcullis_core::wire::{Determination, RowKind, Stage};
use portcullis_policy::Compiled;
use portcullis_policy::evaluate::Verdict;
use portcullis_policy::image::Bank;

/// Id and words of a refusal or a decompose; `None` for an admit. A refusal never lacks an id.
pub(crate) fn explain(compiled: &Compiled, mutation: &Mutation, verdict: &Verdict) -> Option<(String, String)> {
    let (id, mut words, wanted_split) = match verdict.stage {
        Stage::None => return None,
        Stage::Policy => bank(compiled, Bank::Policy, verdict.policy_row),
        Stage::Entropy => bank(compiled, Bank::Entropy, verdict.entropy_row),
        Stage::Validation => match mutation.validation {
            Finding::Reject(reason) => host(reason.id(), reason.words(), false),
            Finding::Decompose(reason) => host(reason.id(), reason.words(), true),
            Finding::Pass => host(generic::FAULT, "stage 2 failed in the card but passed on the host", false),
        },
        Stage::Lineage => match mutation.lineage {
            Finding::Reject(reason) => host(reason.id(), reason.words(), false),
            Finding::Decompose(reason) => host(reason.id(), reason.words(), true),
            Finding::Pass => host(generic::FAULT, "stage 3 failed in the card but passed on the host", false),
        },
    };
    if wanted_split && verdict.determination == Determination::Reject {
        words = format!("{words}; {} at depth {}: nothing smaller to judge", generic::DEPTH_LIMIT, mutation.depth);
    }
    Some((id, words))
}

fn host(id: &str, words: &str, wanted_split: bool) -> (String, String, bool) {
    (id.to_owned(), words.to_owned(), wanted_split)
}

/// The rule that a bank's row belongs to, and whether the row asks for a split.
fn bank(compiled: &Compiled, bank: Bank, row: Option<u16>) -> (String, String, bool) {
    let Some(row) = row else {
        return host(generic::DEFAULT_DENY, &format!("no rule of the {} bank permits it", bank.name()), false);
    };
    let split =
        compiled.image.rows(bank).get(usize::from(row)).is_some_and(|r| r.kind == u8::from(RowKind::ForbidDecompose));
    match compiled.rule_of_row(bank, row) {
        Some(rule) => (rule.id.clone(), rule.reason.clone().unwrap_or_else(|| format!("rule {}", rule.id)), split),
        None => (generic::DEFAULT_DENY.to_owned(), format!("row {row} of the {} bank", bank.name()), split),
    }
}
