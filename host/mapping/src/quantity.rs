//! Quantities: a number before a unit word, exact in the slot's unit or refused.

use crate::error::MappingError;
use crate::words::{is_boundary, lower, words};
use portcullis_core::manifest::Manifest;
use portcullis_core::mutation::Finding;
use portcullis_core::reason::ValidationReason;
use portcullis_core::wire::QUANTITY_SLOTS;
use std::ops::Range;

/// A positive fraction: so many of the slot's unit.
#[derive(Clone, Copy)]
struct Size {
    over: i128,
    under: i128,
}

struct Slot {
    /// Unit words in lower case, longest first.
    units: Vec<(String, Size)>,
    /// Phrases in lower case of which one must stand in the span; none is no condition.
    near: Vec<String>,
    range: std::ops::RangeInclusive<i32>,
}

/// The declared slots.
pub(crate) struct Quantities {
    slots: Vec<Slot>,
}

/// The quantities of one span and what stage 2 says of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) values: [Option<i32>; QUANTITY_SLOTS],
    pub(crate) finding: Finding<ValidationReason>,
}

/// Most digits that are read of a number: beyond it the value is out of every slot's range anyway.
const DIGITS_MAX: usize = 30;

impl Quantities {
    pub(crate) fn new(manifest: &Manifest) -> Result<Self, MappingError> {
        if manifest.quantities.len() > QUANTITY_SLOTS {
            let count = manifest.quantities.len();
            return Err(MappingError::TooMany { what: "quantity slots", count, most: QUANTITY_SLOTS });
        }
        let slot = |q: &portcullis_core::manifest::Quantity| -> Result<Slot, MappingError> {
            let mut units = Vec::new();
            for (unit, text) in &q.units {
                let size = size(text).ok_or_else(|| MappingError::UnitSize {
                    quantity: q.name.clone(),
                    unit: unit.clone(),
                    size: text.clone(),
                })?;
                units.push((unit.to_lowercase(), size));
            }
            units.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.0.cmp(&b.0)));
            Ok(Slot { units, near: q.near.iter().map(|n| n.to_lowercase()).collect(), range: q.min..=q.max })
        };
        Ok(Self { slots: manifest.quantities.iter().map(slot).collect::<Result<_, _>>()? })
    }

    /// Reads every quantity of `text`. The most severe finding stands: what cannot be held exactly or is out of range rejects,
    /// two values for one slot decompose.
    pub(crate) fn read(&self, text: &str) -> Found {
        let mut found = Found::default();
        if self.slots.is_empty() || !text.bytes().any(|b| b.is_ascii_digit()) {
            return found;
        }
        let folded = lower(text);
        for (slot, value) in self.slots.iter().zip(&mut found.values) {
            if !slot.near.is_empty() && !slot.near.iter().any(|n| holds(&folded, n)) {
                continue;
            }
            for number in numbers(text) {
                let Some(size) = slot.unit_at(text, number.end) else { continue };
                let reason = match text.get(number).and_then(decimal).and_then(|n| exact(n, size)) {
                    None => Some(Finding::Reject(ValidationReason::QuantityInexact)),
                    Some(n) => match i32::try_from(n).ok().filter(|n| slot.range.contains(n)) {
                        None => Some(Finding::Reject(ValidationReason::QuantityRange)),
                        Some(n) if value.is_some_and(|v| v != n) => {
                            Some(Finding::Decompose(ValidationReason::QuantityMultiple))
                        }
                        Some(n) => {
                            *value = Some(n);
                            None
                        }
                    },
                };
                match (reason, found.finding) {
                    (Some(r @ Finding::Reject(_)), Finding::Pass | Finding::Decompose(_)) => found.finding = r,
                    (Some(r), Finding::Pass) => found.finding = r,
                    _ => {}
                }
            }
        }
        found
    }
}

impl Slot {
    /// The unit right after a number, at most one space or hyphen between.
    fn unit_at(&self, text: &str, at: usize) -> Option<Size> {
        let rest = text.get(at..)?;
        let rest = rest.strip_prefix([' ', '-', '\u{a0}']).unwrap_or(rest);
        let from = text.len() - rest.len();
        let unit = self.units.iter().find(|(unit, _)| {
            rest.get(..unit.len()).is_some_and(|r| r.to_lowercase() == *unit) && is_boundary(text, from + unit.len())
        })?;
        Some(unit.1)
    }
}

/// Whether `phrase` stands in `text` at word boundaries.
fn holds(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| is_boundary(text, at) && is_boundary(text, at + phrase.len()))
}

/// Byte ranges of decimal numbers: digits with thousands commas and one decimal point, and a minus sign after no letter or digit.
fn numbers(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() && !bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        if at >= bytes.len() {
            return None;
        }
        let minus = at > 0
            && bytes.get(at - 1) == Some(&b'-')
            && !(at > 1 && bytes.get(at - 2).is_some_and(u8::is_ascii_alphanumeric));
        let start = if minus { at - 1 } else { at };
        while at < bytes.len() {
            let inner = matches!(bytes.get(at), Some(b'.' | b',')) && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
            if !inner && !bytes.get(at).is_some_and(u8::is_ascii_digit) {
                break;
            }
            at += 1;
        }
        Some(start..at)
    })
}

/// A decimal number as digits over a power of ten; `None` when it is no number or too long.
fn decimal(text: &str) -> Option<(i128, u32)> {
    let (sign, body) = text.strip_prefix('-').map_or((1, text), |b| (-1, b));
    let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
    let groups: Vec<&str> = whole.split(',').collect();
    let grouped = groups.len() == 1 || (groups.iter().skip(1).all(|g| g.len() == 3) && groups.first()?.len() <= 3);
    if !grouped || fraction.contains(['.', ',']) || body.len() > DIGITS_MAX {
        return None;
    }
    let digits: String = groups.concat() + fraction;
    let value: i128 = digits.parse().ok()?;
    Some((sign * value, u32::try_from(fraction.len()).ok()?))
}

/// The number in the slot's unit, when it is a whole number of it.
fn exact((digits, scale): (i128, u32), size: Size) -> Option<i128> {
    let over = digits.checked_mul(size.over)?;
    let under = size.under.checked_mul(10i128.checked_pow(scale)?)?;
    (over % under == 0).then(|| over / under)
}

fn size(text: &str) -> Option<Size> {
    let (over, under) = text.split_once('/').unwrap_or((text, "1"));
    let size = Size { over: over.trim().parse().ok()?, under: under.trim().parse().ok()? };
    (0 < size.over && 0 < size.under && size.over < 1 << 40 && size.under < 1 << 40).then_some(size)
}

/// Places between two quantities of one text where a split can part them: before each number but the first.
pub(crate) fn number_starts(text: &str) -> Vec<usize> {
    let mut last_word_end = 0;
    let mut starts = Vec::new();
    for word in words(text) {
        if text.get(word.clone()).is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit())) && last_word_end > 0 {
            starts.push(word.start);
        }
        last_word_end = word.end;
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::mutation::Finding::{Decompose, Pass, Reject};
    use portcullis_core::reason::ValidationReason::{QuantityInexact, QuantityMultiple, QuantityRange};

    fn slots() -> Quantities {
        let units = [("mg", "1"), ("g", "1000"), ("mcg", "1/1000"), ("milligrams", "1")];
        let units = units.iter().map(|(u, s)| (u.to_lowercase(), size(s).unwrap())).collect();
        Quantities { slots: vec![Slot { units, near: Vec::new(), range: 0..=10_000 }] }
    }

    #[test]
    fn numbers_and_units() {
        for (text, value, finding) in [
            ("take 500 mg daily", Some(500), Pass),
            ("take 0.5g daily", Some(500), Pass),
            ("take 1,500 milligrams", Some(1500), Pass),
            ("500 mg is 0.5 g", Some(500), Pass),
            ("500 mg or 600 mg", Some(500), Decompose(QuantityMultiple)),
            ("take 0.5 mg", None, Reject(QuantityInexact)),
            ("take 1,50 mg", None, Reject(QuantityInexact)),
            ("take 90 g", None, Reject(QuantityRange)),
            ("take -5 mg", None, Reject(QuantityRange)),
            ("take 99999999999999999999999999999999 mg", None, Reject(QuantityInexact)),
            ("500 mgs of it", None, Pass),
            ("no number mg", None, Pass),
        ] {
            let found = slots().read(text);
            assert_eq!((found.values[0], found.finding), (value, finding), "{text}");
        }
    }
}
