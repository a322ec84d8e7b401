//! Orders: commands that override, reassign a role, claim authority, or request tools or secrets.

use super::{EvaluatorBudget, Input, finding};
use crate::report::EvaluatorFinding;
use crate::rules::{Measurements, RuleSet};

pub(super) fn judge(bytes: Input, rules: &RuleSet, budget: EvaluatorBudget) -> EvaluatorFinding {
    finding(rules, &bytes, &Measurements::default(), budget)
}
