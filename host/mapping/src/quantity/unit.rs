//! The units of a slot, and where a text names them.

use super::count::{GAP_MAX, per_body};
use super::currency::{is_currency, is_gap, is_sign, power};
use crate::error::MappingError;
use crate::number::{Decimal, Number};
use crate::words::{is_boundary, lower, words};
use portcullis_core::manifest::QuantityDeclaration;
use portcullis_core::reason::ValidationReason;

/// Greatest length in bytes of letters between a number and its unit without a space.
const GLUED_MAX: usize = 16;
/// Greatest number of letters before the sign of a currency: `US$`.
const COUNTRY_MAX: usize = 3;
/// Greatest number of bytes before a number in which the unit of its label ends.
const LABEL_MAX: usize = 48;

/// A positive fraction: the size of a unit, measured in the slot's unit.
#[derive(Clone, Copy)]
pub(super) struct Size {
    over: i128,
    under: i128,
}

/// A unit beside a number.
#[derive(Clone, Copy)]
pub(super) struct UnitPlace {
    pub(super) size: Size,
    /// The unit's start before a number, or its end after a number.
    pub(super) edge: usize,
    /// The power of ten by which letters multiply the number: 3 in `1.2k`. `None` for other letters, as in `5q mg`.
    pub(super) power: Option<u32>,
}

pub(super) struct Unit {
    /// In lower case.
    name: String,
    /// The unit as declared, if it is one letter. Directly after a number it is read in this case or as a small letter.
    letter: Option<char>,
    is_currency: bool,
    size: Size,
}

pub(super) struct QuantitySlot {
    /// The longest units first.
    units: Vec<Unit>,
    /// Whether a unit is a currency. Then every unit of the slot measures money.
    is_money: bool,
    /// Phrases in lower case. The sentence must contain one of them; an empty list sets no condition.
    near: Vec<String>,
    range: std::ops::RangeInclusive<i32>,
}

/// The errors of a quantity's units.
pub(super) fn problems(quantity: &QuantityDeclaration) -> impl Iterator<Item = MappingError> {
    quantity.units.iter().filter_map(|(unit, text)| problem(&quantity.name, unit, text).err())
}

fn problem(quantity: &str, unit: &str, text: &str) -> Result<Size, MappingError> {
    let (quantity, unit) = (quantity.to_owned(), unit.to_owned());
    if unit.trim() != unit || unit.starts_with(char::is_numeric) || !unit.contains(|c: char| !c.is_whitespace()) {
        return Err(MappingError::Unit { quantity, unit });
    }
    size(text).ok_or_else(|| MappingError::UnitSize { quantity, unit, size: text.into() })
}

impl QuantitySlot {
    pub(super) fn new(quantity: &QuantityDeclaration) -> Result<Self, MappingError> {
        let mut units = Vec::new();
        for (unit, text) in &quantity.units {
            let (name, size) = (unit.to_lowercase(), problem(&quantity.name, unit, text)?);
            let mut letters = unit.chars();
            let letter = letters.next().filter(|c| c.is_alphabetic() && letters.next().is_none());
            // A policy that declares both cases means both.
            let has = |other: String| other != *unit && quantity.units.contains_key(&other);
            let letter = letter.filter(|_| !has(unit.to_uppercase()) && !has(unit.to_lowercase()));
            // The sign for micro exists as two characters: U+00B5 and the Greek letter.
            for (one, other) in [('\u{b5}', "\u{3bc}"), ('\u{3bc}', "\u{b5}")] {
                if name.contains(one) {
                    units.push(Unit { name: name.replace(one, other), letter: None, is_currency: false, size });
                }
            }
            units.push(Unit { is_currency: is_currency(&name), name, letter, size });
        }
        units.sort_by(|a, b| b.name.len().cmp(&a.name.len()).then_with(|| a.name.cmp(&b.name)));
        units.dedup_by(|a, b| a.name == b.name);
        let near = quantity.near.iter().map(|n| n.to_lowercase()).collect();
        let is_money = units.iter().any(|unit| unit.is_currency);
        Ok(Self { units, is_money, near, range: quantity.min..=quantity.max })
    }

    /// Length of the longest unit in bytes.
    pub(super) fn longest(&self) -> usize {
        self.units.iter().map(|unit| unit.name.len()).max().unwrap_or(0)
    }

    pub(super) const fn has_near(&self) -> bool {
        !self.near.is_empty()
    }

    /// The unit after a number.
    pub(super) fn after(&self, text: &str, at: usize) -> Option<UnitPlace> {
        let rest = text.get(at..)?;
        let near = rest.get(..rest.floor_char_boundary(GLUED_MAX + 4))?;
        let letters = near.find(|c: char| !c.is_alphanumeric()).unwrap_or(near.len());
        if letters > GLUED_MAX {
            return None;
        }
        // `5G` is not five grams.
        let is_own = |unit: &Unit| {
            unit.letter.is_none_or(|letter| rest.starts_with(letter) || rest.starts_with(char::is_lowercase))
        };
        if let Some((unit, edge)) = self.unit_at(text, at).filter(|(unit, _)| is_own(unit)) {
            return Some(UnitPlace { size: unit.size, edge, power: Some(0) });
        }
        let between = rest.get(letters..)?;
        // Symbols such as U+338E (mg) are not letters, so the unit may begin inside the gap.
        let gap = 1 + between.char_indices().take(GAP_MAX).take_while(|(_, c)| !c.is_alphanumeric()).count();
        let mut places = between.char_indices().take(gap).map(|(place, _)| at + letters + place);
        let (unit, edge) = places.find_map(|at| self.unit_at(text, at).or_else(|| self.behind_country(text, at)))?;
        let power = match near.get(..letters)? {
            "" => Some(0),
            letters => power(&lower(letters)).filter(|_| self.is_money),
        };
        Some(UnitPlace { size: unit.size, edge, power })
    }

    /// The unit of money behind the capital letters of a country: `US dollars`.
    fn behind_country(&self, text: &str, at: usize) -> Option<(&Unit, usize)> {
        let rest = text.get(at..).filter(|_| self.is_money)?;
        let letters = rest.bytes().take_while(u8::is_ascii_uppercase).count();
        let unit = at + letters + usize::from(rest.get(letters..)?.starts_with(' '));
        (1..=COUNTRY_MAX).contains(&letters).then(|| self.unit_at(text, unit)).flatten()
    }

    /// The unit before a number: a currency, or the unit that ends the number's label.
    pub(super) fn before(&self, text: &str, number: &Number) -> Option<UnitPlace> {
        self.currency_before(text, number).or_else(|| self.in_label(text, number))
    }

    /// The unit at the end of the label before a number: `Dose (mg): 5`, `"dose_mg": 5`, `dose_mg = 5`. A unit behind
    /// the number goes before it.
    pub(super) fn in_label(&self, text: &str, number: &Number) -> Option<UnitPlace> {
        let near = text.ceil_char_boundary(number.range.start.saturating_sub(LABEL_MAX));
        let marks = [' ', '\t', '"', '\'', '`', '*', '_', ')', ']'];
        let label = text.get(near..number.range.start)?.trim_end_matches(marks);
        let label = label.strip_suffix([':', '='])?.trim_end_matches(marks);
        let before = label.trim_end_matches(char::is_alphabetic);
        let name = lower(label.get(before.len()..)?);
        let unit = self.units.iter().find(|unit| unit.name == name)?;
        let is_letter = name.chars().nth(1).is_none();
        let stands =
            before.ends_with(if is_letter { &['(', '[', '_', '/'][..] } else { &['(', '[', '_', '/', '-', ' '] });
        let measures = before.trim_end().ends_with(char::is_numeric);
        let power = power_behind(text, number)?;
        (stands && !measures).then_some(UnitPlace { size: unit.size, edge: near + before.len(), power })
    }

    /// The currency before a number, and the letters behind the number that multiply it.
    pub(super) fn currency_before(&self, text: &str, number: &Number) -> Option<UnitPlace> {
        let before = before_gap(text.get(..number.range.start).filter(|_| self.is_money)?);
        let (unit, edge) = self.currency_at_end(before)?;
        let power = power_behind(text, number)?;
        Some(UnitPlace { size: unit.size, edge, power })
    }

    /// The currency with which a text ends, and its start.
    fn currency_at_end(&self, text: &str) -> Option<(&Unit, usize)> {
        self.units.iter().filter(|unit| unit.is_currency).find_map(|unit| {
            let mut start = text.len().checked_sub(unit.name.len())?;
            let is_sign = text.ends_with(is_sign);
            if lower(text.get(start..)?) != unit.name || !is_sign && !is_boundary(text, start) {
                return None;
            }
            if is_sign {
                let country = text.get(..start)?.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
                start -= if country <= COUNTRY_MAX { country } else { 0 };
            }
            Some((unit, start))
        })
    }

    /// The start of a currency at the end of a text, whose number may follow, also of the beginning of its name.
    pub(super) fn open_currency(&self, text: &str) -> Option<usize> {
        let before = before_gap(text);
        let begun = || {
            let letters = text.bytes().rev().take_while(u8::is_ascii_alphabetic).take(COUNTRY_MAX + 1).count();
            let start = text.len().checked_sub(letters).filter(|start| letters > 0 && is_boundary(text, *start))?;
            let word = text.get(start..)?;
            let country = letters <= COUNTRY_MAX && word.bytes().all(|b| b.is_ascii_uppercase());
            let begins = |unit: &Unit| unit.is_currency && unit.name.starts_with(&*lower(word));
            (self.is_money && (country || self.units.iter().any(begins))).then_some(start)
        };
        self.currency_at_end(before).map(|(_, start)| start).or_else(begun)
    }

    /// The unit in the head of a column, and whether it certainly applies to the column's numbers. A unit of one letter
    /// must stand alone, in brackets, after a slash or comma, or after "in".
    pub(super) fn in_head(&self, head: &str) -> Option<(Size, bool)> {
        let head = lower(head);
        if head.contains(char::is_numeric) {
            return None;
        }
        self.units.iter().find_map(|Unit { name, size, .. }| {
            let (at, _) = head.match_indices(name.as_str()).find(|(at, _)| {
                let before = head.get(..*at).unwrap_or_default().trim_end();
                let shown = before.ends_with(['(', '[', '/', ',', '*', '_', '|']) || before.is_empty();
                let named = words(before).last().is_some_and(|w| w.end == before.len() && before.get(w) == Some("in"));
                let edge = is_boundary(&head, *at) && is_boundary(&head, at + name.len());
                edge && (name.chars().nth(1).is_some() || shown || named)
            })?;
            Some((*size, per_body(&head, at + name.len()).is_none()))
        })
    }

    /// Whether a text contains one of the phrases of `near`, or `near` is empty.
    pub(super) fn is_near_in(&self, text: &str) -> bool {
        let text = lower(text);
        self.near.is_empty() || self.near.iter().any(|n| holds(&text, n))
    }

    fn unit_at(&self, text: &str, at: usize) -> Option<(&Unit, usize)> {
        let rest = text.get(at..)?;
        let unit = self.units.iter().find(|Unit { name, .. }| {
            rest.get(..name.len()).is_some_and(|r| lower(r) == name.as_str()) && is_boundary(text, at + name.len())
        })?;
        Some((unit, at + unit.name.len()))
    }

    /// The values of a number, multiplied by `factors`, in the slot's unit: each reading of it that the slot can hold.
    pub(super) fn values(
        &self,
        number: &Number,
        place: UnitPlace,
        factors: &[Option<Decimal>],
        is_glued: bool,
    ) -> impl Iterator<Item = Result<i32, ValidationReason>> {
        let amount = number.amount;
        let product = |value: Option<Decimal>| {
            let value = value.filter(|_| !is_glued).and_then(|value| raised(value, place.power?));
            factors.iter().fold(value, |product, factor| times(product?, (*factor)?))
        };
        let usual = self.value(product(if self.is_money { amount.money } else { amount.usual }), place.size);
        let grouped = amount.grouped.filter(|_| !self.is_money).and_then(|value| product(Some(value)));
        [usual].into_iter().chain(grouped.map(|value| self.value(Some(value), place.size)).filter(Result::is_ok))
    }

    /// The value of a number in a table, in the slot's unit.
    pub(super) fn in_cell(&self, number: &Number, size: Size, certain: bool) -> Vec<Result<i32, ValidationReason>> {
        let place = UnitPlace { size, edge: 0, power: certain.then_some(0) };
        self.values(number, place, &[], number.glued).collect()
    }

    fn value(&self, number: Option<Decimal>, size: Size) -> Result<i32, ValidationReason> {
        let exact = number.and_then(|n| exact(n, size)).ok_or(ValidationReason::QuantityInexact)?;
        let value = i32::try_from(exact).map_err(|_| ValidationReason::QuantityRange)?;
        if self.range.contains(&value) { Ok(value) } else { Err(ValidationReason::QuantityRange) }
    }
}

/// A text without the marks and spaces at its end that may stand between a currency and its number.
fn before_gap(text: &str) -> &str {
    let mut before = text;
    for _ in 0..GAP_MAX {
        before = before.strip_suffix(is_gap).unwrap_or(before);
    }
    let breaks = text.get(before.len()..).unwrap_or_default().matches('\n').count();
    if breaks > 1 { text } else { before }
}

/// Whether `phrase` is in `text` at word boundaries. A phrase that begins with a dash is the end of a word, and a digit
/// may stand directly before any other.
fn holds(text: &str, phrase: &str) -> bool {
    let (end, phrase) = phrase.strip_prefix('-').map_or((false, phrase), |end| (true, end));
    text.match_indices(phrase).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let begins = if end {
            before.is_some_and(char::is_alphabetic)
        } else {
            is_boundary(text, at) || before.is_some_and(char::is_numeric)
        };
        begins && is_boundary(text, at + phrase.len())
    })
}

/// A product; `None` for an overflow.
fn times(one: Decimal, other: Decimal) -> Option<Decimal> {
    Some(Decimal { digits: one.digits.checked_mul(other.digits)?, scale: one.scale.checked_add(other.scale)? })
}

/// A number times a power of ten; `None` for an overflow.
fn raised(number: Decimal, power: u32) -> Option<Decimal> {
    Some(Decimal { digits: number.digits.checked_mul(10i128.checked_pow(power)?)?, scale: number.scale })
}

/// The number in the slot's unit; `None` if it is not a whole number in that unit.
fn exact(number: Decimal, size: Size) -> Option<i128> {
    let over = number.digits.checked_mul(size.over)?;
    let under = size.under.checked_mul(10i128.checked_pow(number.scale)?)?;
    (over % under == 0).then(|| over / under)
}

fn size(text: &str) -> Option<Size> {
    let (over, under) = text.split_once('/').unwrap_or((text, "1"));
    let size = Size { over: over.trim().parse().ok()?, under: under.trim().parse().ok()? };
    (0 < size.over && 0 < size.under && size.over < 1 << 40 && size.under < 1 << 40).then_some(size)
}

/// The power of ten that the letters behind a number name: `5k`, `5 million`; 0 without letters, and `Some(None)` for
/// other letters.
fn power_behind(text: &str, number: &Number) -> Option<Option<u32>> {
    let rest = text.get(number.range.end..)?;
    let spaced = rest.strip_prefix([' ', '\u{a0}', '\u{202f}']);
    let letters = |rest: &str| {
        let near = rest.get(..rest.floor_char_boundary(GLUED_MAX))?;
        let end = near.find(|c: char| !c.is_alphanumeric()).unwrap_or(near.len());
        near.get(..end).map(|letters| lower(letters).into_owned())
    };
    Some(match letters(rest)?.as_str() {
        "" => Some(spaced.and_then(letters).and_then(|letters| power(&letters)).unwrap_or(0)),
        letters => power(letters),
    })
}
