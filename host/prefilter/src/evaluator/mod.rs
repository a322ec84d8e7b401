//! The evaluators: each a pure function of its own copy of the bytes and its own rules.

mod boundary;
mod form;
mod imperative;
mod inducement;
mod intake;

use crate::report::{EvaluatorFinding, Violation};
use crate::rules::{RuleError, RuleHit, RuleSet};
use crate::tier::Tier;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The bytes of an input, owned: no one else sees them.
pub type Input = Box<[u8]>;

/// Judges an input by rules, within a budget.
pub type Judge = fn(Input, &RuleSet, Budget) -> EvaluatorFinding;

/// The cost limit of a judgement. It is a part of the verdict: an input that would cost more halts, on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of an input at most.
    pub bytes: usize,
    /// Steps for each byte at most.
    pub steps_per_byte: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: 8 << 20, steps_per_byte: 64 }
    }
}

impl Budget {
    #[must_use]
    pub fn steps(self, bytes: usize) -> u64 {
        (bytes as u64).saturating_mul(self.steps_per_byte).saturating_add(4096)
    }
}

/// A function and its rules.
#[derive(Debug)]
pub struct Evaluator {
    rules: RuleSet,
    judge: Judge,
}

impl Evaluator {
    /// An evaluator of these rules; its name is theirs.
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

    pub(crate) fn judge(&self, bytes: Input, budget: Budget) -> EvaluatorFinding {
        (self.judge)(bytes, &self.rules, budget)
    }

    /// Its findings; `None` when it panicked.
    pub(crate) fn judge_caught(&self, bytes: Input, budget: Budget) -> Option<EvaluatorFinding> {
        // It has no state that a panic could leave half done.
        catch_unwind(AssertUnwindSafe(|| self.judge(bytes, budget))).ok()
    }
}

/// Name, rules and function of each evaluator that there is. `intake` says whether the bytes are text at all, and is
/// always there.
const BUILTIN: [(&str, &str, Judge); 5] = [
    ("boundary", include_str!("../../rules/boundary.toml"), boundary::judge),
    ("form", include_str!("../../rules/form.toml"), form::judge),
    ("imperative", include_str!("../../rules/imperative.toml"), imperative::judge),
    ("inducement", include_str!("../../rules/inducement.toml"), inducement::judge),
    (INTAKE, include_str!("../../rules/intake.toml"), intake::judge),
];

/// The evaluator that no policy can leave out.
pub(crate) const INTAKE: &str = "intake";

/// The evaluators that there are, by name. Errors: the rules are part of the program and are read in its tests; an
/// error is a defect.
pub fn builtin() -> Result<Vec<Evaluator>, RuleError> {
    BUILTIN.iter().map(|(name, text, judge)| Ok(Evaluator::new(RuleSet::parse(name, text)?, *judge))).collect()
}

/// The identifier of a halt because a budget was spent.
pub(crate) const HALT_BUDGET: &str = "HALT-BUDGET";

/// A halt of an evaluator, where it stopped.
pub(crate) fn halt(rules: &RuleSet, id: &str, start: usize, end: usize, steps: u64) -> EvaluatorFinding {
    let violation = Violation { id: id.to_owned(), evaluator: rules.evaluator().to_owned(), start, end };
    EvaluatorFinding { violations: vec![(Tier::Critical, violation)], halted: true, steps }
}

/// The finding of rules over cues and measures, or the halt because a budget was spent.
fn finding(rules: &RuleSet, bytes: &[u8], measured: &crate::rules::Measurements, budget: Budget) -> EvaluatorFinding {
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
