//! Checks that the bytes are text. Other bytes have no certain meaning, so the filter halts.

use super::{EvaluatorBudget, Input, halt};
use crate::report::EvaluatorFinding;
use crate::rules::RuleSet;

/// The bytes are not UTF-8.
const HALT_ENCODING: &str = "HALT-ENCODING";
/// The text contains a zero byte; programs disagree on whether the text ends there.
const HALT_NUL: &str = "HALT-NUL";

pub(super) fn judge(bytes: Input, rules: &RuleSet, _budget: EvaluatorBudget) -> EvaluatorFinding {
    let steps = bytes.len() as u64;
    if let Err(error) = std::str::from_utf8(&bytes) {
        let start = error.valid_up_to();
        return halt(rules, HALT_ENCODING, start, start + error.error_len().unwrap_or(bytes.len() - start), steps);
    }
    if bytes.contains(&0) {
        let at = bytes.iter().position(|b| *b == 0).unwrap_or_default();
        return halt(rules, HALT_NUL, at, at + 1, steps);
    }
    EvaluatorFinding { steps, ..EvaluatorFinding::default() }
}
