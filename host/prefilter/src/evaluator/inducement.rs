//! Inducement without an order: role-play frames, persona contracts, staged dialogues, games and stories that contain a
//! directive.
//!
//! No single word of such a text is an order, so the evaluator searches for frames: parts that occur together.

use super::{EvaluatorBudget, Input, finding};
use crate::blocks::places;
use crate::report::EvaluatorFinding;
use crate::rules::{FormMeasure, Measurements, RuleSet};

pub(super) fn judge(bytes: Input, rules: &RuleSet, budget: EvaluatorBudget) -> EvaluatorFinding {
    let mut measured = Measurements::default();
    labels(&bytes, &mut measured);
    finding(rules, &bytes, &measured, budget)
}

/// Greatest length of a label's name in bytes.
const NAME_MAX: usize = 32;

/// Measures the labels of staged voices: names in brackets that are quoted, or that a colon follows.
fn labels(bytes: &[u8], measured: &mut Measurements) {
    let mut seen = 0;
    let mut first = 0;
    let mut from = 0;
    for open in places(bytes, |b| b == b'[') {
        // This bracket belongs to the name of the previous label.
        if open < from {
            continue;
        }
        from = open + 1;
        let name = bytes.get(from..bytes.len().min(from + NAME_MAX)).unwrap_or_default();
        let Some(length) = name.iter().position(|b| matches!(b, b']' | b'[' | b'\n')) else { continue };
        let begins = name.first().is_some_and(|b| b.is_ascii_uppercase() || *b >= 0x80);
        if !begins || length < 2 || name.get(length) != Some(&b']') {
            continue;
        }
        let close = from + length;
        let colon = matches!(bytes.get(close + 1), Some(b':' | b'"')) || bytes.get(close + 1..close + 3) == Some(b" :");
        let quoted = open.checked_sub(1).and_then(|b| bytes.get(b)) == Some(&b'"');
        if colon || quoted {
            if seen == 0 {
                first = open;
            }
            seen += 1;
            measured.note(FormMeasure::Turns, seen, first, close + 1);
        }
        from = close;
    }
}
