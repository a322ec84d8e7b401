//! Boundaries and embedding: faked turns and system tags, data that closes its own fence, and orders inside quoted text
//! or tool content.

use super::{EvaluatorBudget, Input, finding, halt};
use crate::blocks::places;
use crate::report::EvaluatorFinding;
use crate::rules::{FormMeasure, Measurements, RuleSet};

/// The nesting is so deep that parsers may read it differently.
const HALT_NESTING: &str = "HALT-NESTING";
/// Largest number of open brackets or quotations.
const DEPTH_MAX: usize = 512;

pub(super) fn judge(bytes: Input, rules: &RuleSet, budget: EvaluatorBudget) -> EvaluatorFinding {
    let mut measured = Measurements::default();
    if let Some(at) = nesting(&bytes, &mut measured) {
        return halt(rules, HALT_NESTING, 0, at, at as u64);
    }
    finding(rules, &bytes, &measured, budget)
}

/// Measures the nesting of brackets and quotations. Returns the place where the nesting becomes too deep, if there is
/// one.
fn nesting(bytes: &[u8], measured: &mut Measurements) -> Option<usize> {
    let (mut depth, mut quotes, mut run) = (0usize, 0usize, 0usize);
    let (mut deepest, mut longest) = (0, 0);
    let mut next = 0;
    for at in places(bytes, is_sign) {
        let Some(byte) = bytes.get(at) else { continue };
        // Other text ends a run of quotation marks; spaces do not.
        if bytes.get(next..at).unwrap_or_default().iter().any(|b| *b != b' ') {
            run = 0;
        }
        next = at + 1;
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' | b'\'' => {
                run += 1;
                let before = at.checked_sub(1).and_then(|b| bytes.get(b)).copied().unwrap_or(b' ');
                let opens = before.is_ascii_whitespace() || matches!(before, b'(' | b'[' | b'{' | b'"' | b'\'');
                let blank = bytes.get(at + 1).is_none_or(|b| b.is_ascii_whitespace() || b.is_ascii_punctuation());
                // An apostrophe inside a word neither opens nor closes.
                match (opens, blank) {
                    (true, false) => quotes += 1,
                    (false, true) => quotes = quotes.saturating_sub(1),
                    _ => {}
                }
            }
            // A sign that is neither a bracket nor a quotation mark also continues a run.
            _ => run += 1,
        }
        let deep = depth.max(quotes);
        if deep > deepest || run > longest {
            (deepest, longest) = (deepest.max(deep), longest.max(run));
            measured.note(FormMeasure::Depth, deepest, 0, at + 1);
            measured.note(FormMeasure::QuoteRun, longest, at + 1 - run.min(at + 1), at + 1);
            if deepest > DEPTH_MAX || longest > DEPTH_MAX {
                return Some(at + 1);
            }
        }
    }
    None
}

fn is_sign(byte: u8) -> bool {
    matches!(byte, b'(' | b'[' | b'{' | b')' | b']' | b'}' | b'"' | b'\'' | b'>' | b'\\')
}
