//! Encoded and obfuscated forms, in which a text hides its content. The form itself is the finding; nothing is decoded.
//!
//! One pass reads the tokens between white space. The classes of a token's bytes determine which detailed checks it
//! needs; most tokens need none.

mod script;
mod shifted;
mod token;

use super::{EvaluatorBudget, Input, finding};
use crate::blocks::places;
use crate::report::EvaluatorFinding;
use crate::rules::{FormMeasure, Measurements, RuleSet};
use token::Runs;

pub(super) fn judge(bytes: Input, rules: &RuleSet, budget: EvaluatorBudget) -> EvaluatorFinding {
    let mut measured = Measurements::default();
    let mut runs = Runs::default();
    let mut script = script::Scripts::default();
    let mut shifted = shifted::Shifted::default();
    let mut start = 0;
    let end = bytes.len();
    for blank in places(&bytes, is_blank).chain([end]) {
        if let Some(token @ [_, ..]) = bytes.get(start..blank) {
            let class = |b: &u8| CLASS.get(usize::from(*b)).copied().unwrap_or(OTHER);
            let classes = token.iter().map(class).fold(0, |all, class| all | class);
            let token = FormToken { bytes: token, start, classes };
            runs.take(&token, &mut measured);
            if classes & (HIGH | CONTROL) == 0 {
                shifted.take(&token, &mut measured);
            }
            if classes & (HIGH | CONTROL) != 0 {
                script.take(&token, &mut measured);
            }
        }
        start = blank + 1;
    }
    finding(rules, &bytes, &measured, budget)
}

#[derive(Clone, Copy)]
struct FormToken<'b> {
    bytes: &'b [u8],
    start: usize,
    classes: u16,
}

impl FormToken<'_> {
    /// Whether every byte of the token is of one of these classes.
    const fn only(&self, classes: u16) -> bool {
        self.classes & !classes == 0
    }

    fn end(&self) -> usize {
        self.start + self.bytes.len()
    }

    fn note(&self, measured: &mut Measurements, measure: FormMeasure, value: usize) {
        measured.note(measure, value, self.start, self.end());
    }
}

const BLANK: u16 = 0;

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

const BIT: u16 = 1;
const DIGIT: u16 = 1 << 1;
const HEX: u16 = 1 << 2;
const LOWER: u16 = 1 << 3;
const UPPER: u16 = 1 << 4;
/// `.` and `-`, the signs of Morse code.
const MORSE: u16 = 1 << 5;
const BASE64: u16 = 1 << 6;
/// Signs that stand for letters: `@`, `$`, `!`.
const LEET: u16 = 1 << 7;
/// Signs that begin an escape: `\`, `%`, `&`.
const ESCAPE: u16 = 1 << 8;
/// Bytes that are not ASCII.
const HIGH: u16 = 1 << 9;
const CONTROL: u16 = 1 << 10;
const OTHER: u16 = 1 << 11;

#[expect(clippy::indexing_slicing, reason = "a constant: a place outside would not compile")]
const CLASS: [u16; 256] = {
    let mut class = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' => BLANK,
            b'0' | b'1' => BIT,
            b'2'..=b'9' => DIGIT,
            b'a'..=b'f' => HEX | LOWER,
            b'A'..=b'F' => HEX | UPPER,
            b'g'..=b'z' => LOWER,
            b'G'..=b'Z' => UPPER,
            b'.' | b'-' => MORSE,
            b'+' | b'/' | b'=' | b'_' => BASE64,
            b'@' | b'$' | b'!' => LEET,
            b'\\' | b'%' | b'&' => ESCAPE,
            0x80.. => HIGH,
            0..0x20 | 0x7f => CONTROL,
            _ => OTHER,
        };
        byte += 1;
    }
    class
};
