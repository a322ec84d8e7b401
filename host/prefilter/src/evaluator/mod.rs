//! The evaluators. Each evaluator is a pure function of its own copy of the bytes and its own rules.

mod boundary;
mod form;
mod imperative;
mod inducement;
mod intake;

use crate::report::{EvaluatorFinding, FilterViolation};
use crate::rules::{RuleError, RuleHit, RuleSet};
use crate::tier::SeverityTier;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The bytes of an input, owned by one evaluator.
pub type Input = Box<[u8]>;

/// Judges an input by rules, within a budget.
pub type Judge = fn(Input, &RuleSet, EvaluatorBudget) -> EvaluatorFinding;

/// The cost limit of a judgement. It does not depend on the machine: an input that would cost more halts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvaluatorBudget {
    /// Largest number of bytes of an input.
    pub bytes: usize,
    /// Largest number of steps per byte.
    pub steps_per_byte: u64,
}

impl Default for EvaluatorBudget {
    fn default() -> Self {
        Self { bytes: 8 << 20, steps_per_byte: 64 }
    }
}

impl EvaluatorBudget {
    #[must_use]
    pub fn steps(self, bytes: usize) -> u64 {
        (bytes as u64).saturating_mul(self.steps_per_byte).saturating_add(4096)
    }
}

/// A judging function and its rules.
#[derive(Debug)]
pub struct PrefilterEvaluator {
    rules: RuleSet,
    judge: Judge,
}

impl PrefilterEvaluator {
    /// An evaluator with the given rules; its name is the name of the rules.
    #[must_use]
    pub const fn new(rules: RuleSet, judge: Judge) -> Self {
        Self { rules, judge }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        self.rules.evaluator()
    }

    #[must_use]
    pub const fn rules(&self) -> &RuleSet {
        &self.rules
    }

    pub(crate) fn with_rules(self, change: impl FnOnce(RuleSet) -> RuleSet) -> Self {
        Self { rules: change(self.rules), judge: self.judge }
    }

    pub(crate) fn judge(&self, bytes: Input, budget: EvaluatorBudget) -> EvaluatorFinding {
        (self.judge)(bytes, &self.rules, budget)
    }

    /// The evaluator's finding; `None` if it panicked.
    pub(crate) fn judge_caught(&self, bytes: Input, budget: EvaluatorBudget) -> Option<EvaluatorFinding> {
        // After a panic, no state of the evaluator is used again.
        catch_unwind(AssertUnwindSafe(|| self.judge(bytes, budget))).ok()
    }
}

/// Name, rules and function of each built-in evaluator. `intake` checks that the bytes are text, and is always enabled.
const BUILTIN: [(&str, &str, Judge); 5] = [
    ("boundary", include_str!("../../rules/boundary.toml"), boundary::judge),
    ("form", include_str!("../../rules/form.toml"), form::judge),
    ("imperative", include_str!("../../rules/imperative.toml"), imperative::judge),
    ("inducement", include_str!("../../rules/inducement.toml"), inducement::judge),
    (INTAKE, include_str!("../../rules/intake.toml"), intake::judge),
];

/// The evaluator that a policy cannot disable.
pub(crate) const INTAKE: &str = "intake";

/// All built-in evaluators, by name. Errors: a built-in rule file is invalid, which is a defect of the program; tests
/// parse all of these files.
pub fn builtin() -> Result<Vec<PrefilterEvaluator>, RuleError> {
    BUILTIN.iter().map(|(name, text, judge)| Ok(PrefilterEvaluator::new(RuleSet::parse(name, text)?, *judge))).collect()
}

/// The identifier of a halt after the budget was spent.
pub(crate) const HALT_BUDGET: &str = "HALT-BUDGET";

/// The finding of an evaluator that halts because of the range from `start` to `end`.
pub(crate) fn halt(rules: &RuleSet, id: &str, start: usize, end: usize, steps: u64) -> EvaluatorFinding {
    let violation = FilterViolation { id: id.to_owned(), evaluator: rules.evaluator().to_owned(), start, end };
    EvaluatorFinding { violations: vec![(SeverityTier::Critical, violation)], halted: true, steps }
}

/// The findings of the rules over cues and measures, or a halt if the budget is spent.
fn finding(
    rules: &RuleSet,
    bytes: &[u8],
    measured: &crate::rules::Measurements,
    budget: EvaluatorBudget,
) -> EvaluatorFinding {
    let (mut found, steps, done) = rules.match_cues(bytes, budget.steps(bytes.len()));
    if !done {
        return halt(rules, HALT_BUDGET, 0, bytes.len(), steps);
    }
    found.extend(rules.match_measures(measured));
    found_to_finding(rules, found, steps)
}

fn found_to_finding(rules: &RuleSet, found: Vec<RuleHit>, steps: u64) -> EvaluatorFinding {
    EvaluatorFinding { violations: rules.violations(found), halted: false, steps }
}
