//! Orders: commands that override, reassign a role, claim authority, or request tools or secrets.

use super::{Budget, Input, finding};
use crate::report::EvaluatorFinding;
use crate::rules::{Measurements, RuleSet};

pub(super) fn judge(bytes: Input, rules: &RuleSet, budget: Budget) -> EvaluatorFinding {
    finding(rules, &bytes, &Measurements::default(), budget)
}
