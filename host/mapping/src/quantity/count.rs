//! Products of amounts: tablets and the amount of each, multiplication, and doses per body weight.

use crate::number::{Decimal, Number};
use crate::words::{lower, words};
use std::ops::Range;

/// Greatest number of marks and spaces between a number and its unit, as in `**500** mg`.
pub(super) const GAP_MAX: usize = 6;
/// Words for doses or packs. If such a word follows a number, and an amount follows the word, the number is multiplied
/// by the amount.
pub(super) const COUNTED: &[&str] = &[
    "tablet",
    "tablets",
    "tab",
    "tabs",
    "pill",
    "pills",
    "capsule",
    "capsules",
    "cap",
    "caps",
    "caplet",
    "caplets",
    "sachet",
    "sachets",
    "vial",
    "vials",
    "ampoule",
    "ampoules",
    "ampule",
    "ampules",
    "patch",
    "patches",
    "puff",
    "puffs",
    "spray",
    "sprays",
    "drop",
    "drops",
    "lozenge",
    "lozenges",
    "suppository",
    "suppositories",
    "injection",
    "injections",
    "dose",
    "doses",
    "scoop",
    "scoops",
    "spoonful",
    "spoonfuls",
    "packet",
    "packets",
    "piece",
    "pieces",
    "tablette",
    "tabletten",
    "kapsel",
    "kapseln",
    "comprimé",
    "comprimés",
    "gélule",
    "gélules",
    "comprimido",
    "comprimidos",
    "cápsula",
    "cápsulas",
    "compressa",
    "compresse",
];
/// Words between a word of [`COUNTED`] and the amount of each dose.
const EACH: &[&str] = &["of", "at", "with", "each", "containing", "à", "zu", "je", "de", "da", "mit", "von"];
/// Greatest length in bytes of the text between the number of doses and the amount of each dose.
pub(super) const COUNTED_MAX: usize = 32;

/// Whether the text between two numbers means that the first is a number of doses and the second the amount of each.
pub(super) fn counts(between: &str) -> bool {
    let mut words = words(between).filter_map(|w| between.get(w)).map(lower);
    between.len() <= COUNTED_MAX
        && !between.contains([';', ',', ':', '!', '?', '\n'])
        && words.next().is_some_and(|w| COUNTED.contains(&&*w))
        && words.all(|w| EACH.contains(&&*w))
}

/// Signs and words of multiplication.
const TIMES: &[&str] = &["x", "\u{d7}", "*", "\u{b7}", "times"];
/// Units of body weight and size after "per". Doses per unit of `WEIGHTS` are computed, doses per unit of `BODY` are
/// not.
const WEIGHTS: &[&str] = &["kg", "kilogram", "kilograms", "kilogramme", "kilogrammes", "kilo", "kilos"];
const BODY: &[&str] = &["m\u{b2}", "m2", "lb", "lbs", "pound", "pounds", "stone"];
/// Words between an amount and the unit after "per".
const PER: &[&str] = &["per", "pro", "je", "for", "each", "every"];
/// Words for times and doses that may stand before a unit of body weight: "5 mg per day and kg".
const TIME: &[&str] =
    &["s", "min", "minute", "h", "hr", "hour", "d", "day", "dose", "week", "and", "of", "tag", "stunde"];
/// Greatest distance in bytes from an amount to the end of the unit after "per".
pub(super) const PER_MAX: usize = 48;
/// Whether the text between a quantity and a number means multiplication.
pub(super) fn multiplies(between: &str) -> bool {
    between.len() <= 2 * GAP_MAX && TIMES.contains(&&*lower(between.trim()))
}

/// The unit after "per".
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Per {
    Weight,
    Other,
}

/// Whether the quantity that ends at `at` is stated per body weight or size, and the end of that unit.
pub(super) fn per_body(text: &str, at: usize) -> Option<(usize, Per)> {
    let rest = text.get(at..)?;
    let rest = rest.get(..rest.floor_char_boundary(PER_MAX))?;
    let mut end = 0;
    let mut shown = false;
    for range in rest.split_inclusive(|c: char| !c.is_alphanumeric()).take(12).scan(0, |from, part| {
        let start = *from;
        *from += part.len();
        Some(start..*from)
    }) {
        let part = rest.get(range.clone()).unwrap_or_default();
        let word = part.trim_end_matches(|c: char| !c.is_alphanumeric());
        let lowered = lower(word);
        let mark = part.get(word.len()..).unwrap_or_default();
        let here = range.start + word.len();
        if !word.is_empty() {
            if shown && WEIGHTS.contains(&&*lowered) {
                return Some((at + here, Per::Weight));
            }
            let squared = lowered == "m" && rest.get(here..).is_some_and(|r| r.starts_with(['\u{b2}', '^', '2']));
            if shown && (squared || BODY.contains(&&*lowered)) {
                return Some((at + here, Per::Other));
            }
            shown |= PER.contains(&&*lowered);
            if !shown || !(PER.contains(&&*lowered) || TIME.contains(&&*lowered)) {
                return None;
            }
        }
        shown |= mark == "/";
        end = range.end.max(end);
        if !mark.is_empty() && !matches!(mark, "/" | " " | "\u{a0}" | "(" | ")") {
            return None;
        }
    }
    None
}

/// The weight in kilograms in a sentence; `None` unless the sentence states exactly one.
pub(super) fn weight(text: &str, sentence: &Range<usize>, numbers: &[Number]) -> Option<Decimal> {
    let from = numbers.partition_point(|n| n.range.start < sentence.start);
    let inside = numbers.iter().skip(from).take_while(|n| n.range.end <= sentence.end);
    let mut weights = inside.filter(|n| {
        let behind = text.get(n.range.end..).unwrap_or_default().trim_start_matches([' ', '\u{a0}', '\u{202f}']);
        words(behind)
            .next()
            .is_some_and(|w| w.start == 0 && behind.get(w).is_some_and(|w| WEIGHTS.contains(&&*lower(w))))
    });
    let one = weights.next()?;
    weights.next().is_none().then_some(one.amount.usual.filter(|_| !one.glued))?
}
