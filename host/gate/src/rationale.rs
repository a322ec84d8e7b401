//! The rationale of a verdict: the deciding rule or reason, and the fields it examined, as data and in words.

use crate::determination::DecidingField;
use crate::governor::StreamGovernor;
use crate::stage::HostFindings;
use portcullis_core::mutation::{SpanMutation, StageFinding};
use portcullis_core::reason::generic;
use portcullis_core::wire::{Descriptor, Determination, Fault, RowKind, Stage};
use portcullis_image::{BankKind, EntryVerdict};
use portcullis_policy::commands::conditions;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rationale {
    pub(crate) rule: String,
    pub(crate) words: String,
    pub(crate) fields: Vec<DecidingField>,
}

impl Rationale {
    fn new(rule: &str, words: &str, fields: Vec<DecidingField>) -> Self {
        Self { rule: rule.to_owned(), words: words.to_owned(), fields }
    }

    pub(crate) fn fault(fault: Fault) -> Self {
        Self::new(generic::FAULT, &format!("the card refused the entry: {}", fault.name()), Vec::new())
    }
}

/// Why a verdict is not an admit; `None` for an admit. A refusal always has an id.
pub(crate) fn explain(
    governor: &StreamGovernor,
    mutation: &SpanMutation,
    descriptor: &Descriptor,
    staged: &HostFindings,
    verdict: &EntryVerdict,
) -> Option<Rationale> {
    let (mut why, wanted_split) = match verdict.stage {
        Stage::None => return None,
        Stage::Policy => bank(governor, descriptor, BankKind::Policy, verdict.policy_row),
        Stage::Entropy => bank(governor, descriptor, BankKind::Entropy, verdict.entropy_row),
        Stage::Validation => match mutation.validation {
            StageFinding::Reject(r) => (Rationale::new(r.id(), r.words(), staged.validation.clone()), false),
            StageFinding::Decompose(r) => (Rationale::new(r.id(), r.words(), staged.validation.clone()), true),
            StageFinding::Pass => unfounded("stage 2"),
        },
        Stage::Lineage => match mutation.lineage {
            StageFinding::Reject(r) => (Rationale::new(r.id(), r.words(), staged.lineage.clone()), false),
            StageFinding::Decompose(r) => (Rationale::new(r.id(), r.words(), staged.lineage.clone()), true),
            StageFinding::Pass => unfounded("stage 3"),
        },
    };
    if wanted_split && verdict.determination == Determination::Reject {
        let depth = mutation.depth;
        why.words = format!("{}; {} at depth {depth}: nothing smaller to judge", why.words, generic::DEPTH_LIMIT);
    }
    Some(why)
}

fn unfounded(stage: &str) -> (Rationale, bool) {
    let words = format!("{stage} failed in the card but passed on the host");
    (Rationale::new(generic::FAULT, &words, Vec::new()), false)
}

/// The rule behind a row of a bank, and whether the row's effect is decompose.
fn bank(governor: &StreamGovernor, descriptor: &Descriptor, bank: BankKind, row: Option<u16>) -> (Rationale, bool) {
    let compiled = &governor.policy.compiled;
    let Some(number) = row else {
        let words = format!("no rule of the {} bank permits it", bank.name());
        return (Rationale::new(generic::DEFAULT_DENY, &words, Vec::new()), false);
    };
    let row = compiled.image.rows(bank).get(usize::from(number));
    let split = row.is_some_and(|r| r.kind == u8::from(RowKind::ForbidDecompose));
    let fields = row.map_or_else(Vec::new, |row| {
        let conditions = conditions(compiled, governor.policy.package.vocabulary(), row, descriptor);
        let deciding = |c: portcullis_policy::commands::ExplainedCondition| DecidingField {
            field: c.field,
            value: c.value,
            condition: c.wanted,
        };
        conditions.into_iter().map(deciding).collect()
    });
    let why = match compiled.rule_of_row(bank, number) {
        Some(rule) => {
            let words = rule.reason.clone().unwrap_or_else(|| format!("rule {}", rule.id));
            Rationale::new(&rule.id, &words, fields)
        }
        None => Rationale::new(generic::DEFAULT_DENY, &format!("row {number} of the {} bank", bank.name()), fields),
    };
    (why, split)
}
