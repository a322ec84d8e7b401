//! Imperative command structure: orders that override, reassign a role, claim a rank, call for tools or secrets.

use super::{Budget, Input, finding};
use crate::report::Finding;
use crate::rules::{Measured, RuleSet};

pub(super) fn judge(bytes: Input, rules: &RuleSet, budget: Budget) -> Finding {
    finding(rules, &bytes, &Measured::default(), budget)
}
