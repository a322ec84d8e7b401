//! Quantities: numbers with a unit. A number that is not exact in the slot's unit is refused.
//!
//! As with class hits, quantities are found in the whole text before it is cut. No cut separates a number from its
//! unit, or the two ends of a range. The phrases of `near` may be anywhere in the sentence, even outside the span.

use crate::error::MappingError;
use crate::language::{Language, kind};
use crate::number::{Decimal, JOINED_MAX, Number, numbers};
use crate::sentence::sentence_ends;
use crate::view::MatchingView;
use crate::words::{is_boundary, lower, words};
use portcullis_core::manifest::PackageManifest;
use portcullis_core::mutation::StageFinding;
use portcullis_core::reason::ValidationReason;
use portcullis_core::wire::QUANTITY_SLOTS;
use std::collections::BTreeMap;
use std::ops::Range;

/// A positive fraction: the size of a unit, measured in the slot's unit.
#[derive(Clone, Copy)]
struct Size {
    over: i128,
    under: i128,
}

struct QuantitySlot {
    /// Unit words in lower case, longest first.
    units: Vec<(String, Size)>,
    /// Phrases in lower case. The sentence must contain one of them; an empty list sets no condition.
    near: Vec<String>,
    range: std::ops::RangeInclusive<i32>,
}

/// The declared slots.
pub(crate) struct Quantities {
    slots: Vec<QuantitySlot>,
    language: &'static Language,
}

/// A quantity in a text: one number, or the ends of a range, with the unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QuantityHit {
    pub(crate) range: Range<usize>,
    slot: usize,
    /// Each number in the slot's unit, or the reason why it has no value in that unit.
    values: Vec<Result<i32, ValidationReason>>,
}

/// The quantities of one span, and the resulting finding of stage 2 (validation).
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct QuantityReading {
    pub(crate) values: [Option<i32>; QUANTITY_SLOTS],
    pub(crate) finding: StageFinding<ValidationReason>,
}

fn unit_size(quantity: &str, unit: &str, text: &str) -> Result<Size, MappingError> {
    let bad = || MappingError::UnitSize { quantity: quantity.into(), unit: unit.into(), size: text.into() };
    size(text).ok_or_else(bad)
}

/// The errors of all units.
pub(crate) fn problems(manifest: &PackageManifest) -> Vec<MappingError> {
    let units = manifest.quantities.iter().flat_map(|q| q.units.iter().map(move |(unit, text)| (&q.name, unit, text)));
    units.filter_map(|(quantity, unit, text)| unit_size(quantity, unit, text).err()).collect()
}

/// Words for doses or packs. If such a word follows a number, and an amount follows the word, the number is multiplied
/// by the amount.
const COUNTED: &[&str] = &[
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
const COUNTED_MAX: usize = 32;

/// Whether the text between two numbers means that the first is a number of doses and the second the amount of each.
fn counts(between: &str) -> bool {
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
const PER_MAX: usize = 48;
/// Greatest distance in bytes from the head of a table to the last row to which its units apply.
const TABLE_MAX: usize = 1024;

/// Whether the text between a quantity and a number means multiplication.
fn multiplies(between: &str) -> bool {
    between.len() <= 2 * GAP_MAX && TIMES.contains(&&*lower(between.trim()))
}

/// The unit after "per".
#[derive(Clone, Copy, PartialEq, Eq)]
enum Per {
    Weight,
    Other,
}

/// Whether the quantity that ends at `at` is stated per body weight or size, and the end of that unit.
fn per_body(text: &str, at: usize) -> Option<(usize, Per)> {
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

/// An answer about the last sentence that was asked about.
#[derive(Default)]
struct Once<T>(Option<(usize, T)>);

impl<T: Copy> Once<T> {
    fn get(&mut self, sentence: Range<usize>, answer: impl FnOnce(Range<usize>) -> T) -> T {
        match self.0 {
            Some((start, answer)) if start == sentence.start => answer,
            _ => {
                let start = sentence.start;
                let answer = answer(sentence);
                self.0 = Some((start, answer));
                answer
            }
        }
    }
}

/// The weight in kilograms in a sentence; `None` unless the sentence states exactly one.
fn weight(text: &str, sentence: &Range<usize>, numbers: &[Number]) -> Option<Decimal> {
    let from = numbers.partition_point(|n| n.range.start < sentence.start);
    let inside = numbers.iter().skip(from).take_while(|n| n.range.end <= sentence.end);
    let mut weights = inside.filter(|n| {
        let behind = text.get(n.range.end..).unwrap_or_default().trim_start_matches([' ', '\u{a0}', '\u{202f}']);
        words(behind)
            .next()
            .is_some_and(|w| w.start == 0 && behind.get(w).is_some_and(|w| WEIGHTS.contains(&&*lower(w))))
    });
    let one = weights.next()?;
    weights.next().is_none().then_some(one.value)?
}

/// The sentence around `at`.
fn sentence_at(text: &str, ends: &[usize], at: usize) -> Range<usize> {
    let next = ends.partition_point(|end| *end <= at);
    let start = next.checked_sub(1).and_then(|i| ends.get(i)).copied().unwrap_or(0);
    start..ends.get(next).copied().unwrap_or(text.len())
}

/// A cell of a table, and the head of its column.
struct Column {
    head: Range<usize>,
    cell: Range<usize>,
}

/// Ranges in order of their starts, for the question whether one of them covers or touches a range.
struct Covered {
    ranges: Vec<Range<usize>>,
    /// For each range, the greatest end up to it.
    reach: Vec<usize>,
}

impl Covered {
    fn new(mut ranges: Vec<Range<usize>>) -> Self {
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        let reach = ranges.iter().scan(0, |most, range| {
            *most = range.end.max(*most);
            Some(*most)
        });
        let reach = reach.collect();
        Self { ranges, reach }
    }

    /// Whether one of the ranges shares a byte with `range`.
    fn touches(&self, range: &Range<usize>) -> bool {
        let before = self.ranges.partition_point(|other| other.start < range.end);
        before.checked_sub(1).and_then(|last| self.reach.get(last)).is_some_and(|reach| range.start < *reach)
    }
}

/// Calls `found` with every cell of every table in a text, once for each head above it. A table has rows with bars
/// below a row of dashes (GitHub Flavored Markdown 4.10), or lines with as many tabs as an earlier line without digits.
fn columns(text: &str, mut found: impl FnMut(&Column)) {
    if !text.contains(['|', '\t']) {
        return;
    }
    let mut lines: Vec<Range<usize>> = Vec::new();
    for line in text.split_inclusive('\n') {
        let start = lines.last().map_or(0, |l| l.end);
        lines.push(start..start + line.len());
    }
    let shown = |line: &Range<usize>| text.get(line.clone()).unwrap_or_default();
    let tabs = |line: &Range<usize>| shown(line).matches('\t').count();
    let mut heads: Vec<Vec<Range<usize>>> = Vec::new();
    let mut mark = '|';
    for (at, line) in lines.iter().enumerate() {
        let next = lines.get(at + 1);
        let goes_on = match mark {
            '|' => shown(line).contains('|'),
            _ => heads.first().is_some_and(|head| tabs(line) + 1 == head.len()),
        };
        if !goes_on {
            heads.clear();
        }
        heads.retain(|head| head.first().is_some_and(|first| line.start - first.start <= TABLE_MAX));
        // The nearest head is paired first.
        for head in heads.iter().rev() {
            let pairs = head.iter().cloned().zip(cells(shown(line), line.start, mark));
            pairs.for_each(|(head, cell)| found(&Column { head, cell }));
        }
        if shown(line).contains('|') && next.is_some_and(|next| is_ruler(shown(next))) {
            if mark != '|' {
                heads.clear();
            }
            mark = '|';
            heads.push(cells(shown(line), line.start, mark));
        } else if tabs(line) > 0
            && !shown(line).contains(char::is_numeric)
            && next.is_some_and(|next| tabs(next) == tabs(line))
            && (mark == '\t' || heads.is_empty())
        {
            mark = '\t';
            heads.push(cells(shown(line), line.start, mark));
        }
    }
}

/// Whether a line is the ruler between the heads of a table and its rows.
fn is_ruler(line: &str) -> bool {
    line.contains('-') && line.trim().chars().all(|c| matches!(c, '-' | ':' | '|' | ' ' | '\t'))
}

/// The cells of a line that begins at `start`.
fn cells(line: &str, start: usize, mark: char) -> Vec<Range<usize>> {
    let body = line.trim_end();
    let open = if mark == '|' { body.len() - body.trim_start().trim_start_matches('|').len() } else { 0 };
    let mut at = start + open;
    let parts = body.get(open..).unwrap_or_default().split(mark);
    parts
        .map(|part| {
            let cell = at..at + part.len();
            at = cell.end + mark.len_utf8();
            cell
        })
        .collect()
}

/// Greatest length in bytes of a list of numbers that share a unit.
const JOINED_LIST: usize = 1024;
/// Text that is more than this many bytes after a number does not change the number's quantity.
const DECIDED_MAX: usize = 128;
/// Greatest length in bytes of letters between a number and its unit without a space.
const GLUED_MAX: usize = 16;
/// Greatest number of marks and spaces between a number and its unit, as in `**500** mg`.
const GAP_MAX: usize = 6;

impl Quantities {
    pub(crate) fn new(manifest: &PackageManifest, language: &'static Language) -> Result<Self, MappingError> {
        if manifest.quantities.len() > QUANTITY_SLOTS {
            let count = manifest.quantities.len();
            return Err(MappingError::TooMany { what: "quantity slots", count, most: QUANTITY_SLOTS });
        }
        let slot = |q: &portcullis_core::manifest::QuantityDeclaration| -> Result<QuantitySlot, MappingError> {
            let mut units = Vec::new();
            for (unit, text) in &q.units {
                let (unit, size) = (unit.to_lowercase(), unit_size(&q.name, unit, text)?);
                // The sign for micro exists as two characters: U+00B5 and the Greek letter.
                for (one, other) in [('\u{b5}', "\u{3bc}"), ('\u{3bc}', "\u{b5}")] {
                    if unit.contains(one) {
                        units.push((unit.replace(one, other), size));
                    }
                }
                units.push((unit, size));
            }
            units.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.0.cmp(&b.0)));
            units.dedup_by(|a, b| a.0 == b.0);
            Ok(QuantitySlot { units, near: q.near.iter().map(|n| n.to_lowercase()).collect(), range: q.min..=q.max })
        };
        Ok(Self { slots: manifest.quantities.iter().map(slot).collect::<Result<_, _>>()?, language })
    }

    /// Every quantity of a text, in order.
    pub(crate) fn scan(&self, text: &str) -> Vec<QuantityHit> {
        if self.slots.is_empty() {
            return Vec::new();
        }
        let numbers = numbers(text, self.language);
        let mut sentences: Option<Vec<usize>> = None;
        let mut found = Vec::new();
        // What the sentence of the current number states is read once, not for each of its numbers.
        let mut near: Vec<Once<bool>> = self.slots.iter().map(|_| Once::default()).collect();
        let mut stated: Once<Option<Decimal>> = Once::default();
        for at in 0..numbers.len() {
            let Some((last, before)) = numbers.get(..=at).and_then(<[Number]>::split_last) else { continue };
            for (number, slot) in self.slots.iter().enumerate() {
                let Some((size, end, certain)) = slot.unit_after(text, last.range.end) else { continue };
                if !slot.near.is_empty() {
                    let ends = sentences.get_or_insert_with(|| sentence_ends(text, 0, self.language));
                    let sentence = sentence_at(text, ends, last.range.start);
                    let is_near = |sentence| slot.is_near_in(text.get(sentence).unwrap_or_default());
                    if !near.get_mut(number).is_some_and(|near| near.get(sentence, is_near)) {
                        continue;
                    }
                }
                // The numbers of a list share the unit that follows the last number.
                let joined = before.iter().rev().zip(before.iter().chain([last]).rev());
                let near = |n: &Number| last.range.end - n.range.start <= JOINED_LIST;
                let others = joined.take_while(|(n, next)| next.joined && near(n)).map(|(n, _)| n);
                let group: Vec<&Number> = std::iter::once(last).chain(others).collect();
                let start = group.last().map_or(last.range.start, |n| n.range.start);
                // A number of doses and the amount of each dose give one product.
                let count = before.len().checked_sub(group.len()).and_then(|at| before.get(at));
                let count = count.filter(|c| text.get(c.range.end..start).is_some_and(counts));
                let start = count.map_or(start, |c| c.range.start);
                let mut factors: Vec<Option<Decimal>> = count.into_iter().map(|c| c.value).collect();
                let mut end = end;
                // A dose per kilogram has a value only if the text states the body weight.
                if let Some((to, per)) = per_body(text, end) {
                    let ends = sentences.get_or_insert_with(|| sentence_ends(text, 0, self.language));
                    let weight = |sentence| weight(text, &sentence, &numbers);
                    let stated = Some(stated.get(sentence_at(text, ends, end), weight));
                    factors.push(stated.filter(|_| per == Per::Weight).flatten());
                    end = to;
                }
                // Multiplication after the unit: "500 mg x 10".
                let next = numbers.get(at + 1);
                let next = next.filter(|n| text.get(end..n.range.start).is_some_and(multiplies));
                if let Some(next) = next {
                    factors.push(next.value);
                    end = next.range.end;
                }
                let whole = |n: &Number| {
                    let first = n.value.filter(|_| certain);
                    factors.iter().fold(first, |product, factor| times(product?, (*factor)?))
                };
                let values = group.iter().rev().map(|n| slot.value(whole(n), size)).collect();
                found.push(QuantityHit { range: start..end, slot: number, values });
            }
        }
        self.in_tables(text, &numbers, &mut found);
        found
    }

    /// The start of the first number whose quantity more text can change; the text's length if there is none.
    pub(crate) fn unfinished(&self, text: &str) -> usize {
        if self.slots.is_empty() {
            return text.len();
        }
        let numbers = numbers(text, self.language);
        let mut from = numbers.len();
        for (at, number) in numbers.iter().enumerate().rev() {
            let between = |next: &Number| text.get(number.range.end..next.range.start).unwrap_or_default();
            let leads_on = numbers.get(at + 1).filter(|_| at + 1 == from).is_some_and(|next| {
                let grows = next.range.end == text.len() && between(next).len() <= DECIDED_MAX;
                next.joined || counts(between(next)) || multiplies(between(next)) || grows
            });
            if leads_on || !self.is_finished(text, number.range.end) {
                from = at;
            } else if text.len() - number.range.end > JOINED_LIST {
                break;
            }
        }
        // The cells of a line are certain only when the line is complete.
        let line = text.rfind('\n').map_or(0, |at| at + 1);
        // The line after a table row may belong to the table, even if its first bar comes late.
        let before = text.get(..line.saturating_sub(1)).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let cells = text.get(before..).is_some_and(|lines| lines.contains(['|', '\t']));
        let number = numbers.get(from).map_or(text.len(), |number| number.range.start);
        if cells { number.min(line) } else { number }
    }

    /// Whether later text cannot change the quantity of the number that ends at `at`.
    fn is_finished(&self, text: &str, at: usize) -> bool {
        let rest = text.get(at..).unwrap_or_default();
        let glued = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let after = rest.get(glued..).unwrap_or_default();
        let Some(word) = words(after).next().filter(|word| word.end < after.len()) else {
            return rest.len() > DECIDED_MAX;
        };
        let unit_end = self.slots.iter().filter_map(|slot| slot.unit_after(text, at)).map(|(_, end, _)| end).max();
        let shown = lower(after.get(word.clone()).unwrap_or_default());
        let needed = match unit_end {
            Some(end) => end - at + PER_MAX + 2 * GAP_MAX,
            None if COUNTED.contains(&&*shown) => COUNTED_MAX + 1,
            None if self.language.kinds(&shown) & kind::RANGE != 0 => JOINED_MAX + 1,
            None => glued + word.start + self.longest_unit() + 1,
        };
        needed < rest.len()
    }

    /// Length of the longest unit in bytes.
    fn longest_unit(&self) -> usize {
        self.slots.iter().flat_map(|slot| &slot.units).map(|(unit, _)| unit.len()).max().unwrap_or(0)
    }

    /// Adds numbers whose unit is in the heading of their column.
    fn in_tables(&self, text: &str, numbers: &[Number], found: &mut Vec<QuantityHit>) {
        let mut added: BTreeMap<(usize, usize), QuantityHit> = BTreeMap::new();
        let of_slot = |slot: usize| found.iter().filter(move |hit| hit.slot == slot).map(|hit| hit.range.clone());
        let measured: Vec<Covered> = (0..self.slots.len()).map(|slot| Covered::new(of_slot(slot).collect())).collect();
        columns(text, |Column { head, cell }| {
            let from = numbers.partition_point(|n| n.range.start < cell.start);
            let inside = numbers.iter().skip(from).take_while(|n| n.range.end <= cell.end);
            for number in inside.take_while(|n| n.range.start - head.start <= TABLE_MAX) {
                for (at, slot) in self.slots.iter().enumerate() {
                    let key = (number.range.start, at);
                    let is_measured = measured.get(at).is_some_and(|measured| measured.touches(&number.range));
                    let Some((size, certain)) = slot.unit_in(text.get(head.clone()).unwrap_or_default()) else {
                        continue;
                    };
                    if is_measured
                        || added.contains_key(&key)
                        || !slot.is_near_in(text.get(head.start..cell.end).unwrap_or_default())
                    {
                        continue;
                    }
                    let values = vec![slot.value(number.value.filter(|_| certain), size)];
                    added.insert(key, QuantityHit { range: number.range.clone(), slot: at, values });
                }
            }
        });
        if !added.is_empty() {
            found.extend(added.into_values());
            found.sort_by_key(|hit| (hit.range.start, hit.range.end));
        }
    }

    /// Reads the quantities of a span. The most severe finding is returned: a value that is inexact or out of range
    /// gives a reject; two values for one slot give a decompose.
    pub(crate) fn read<'a>(measured: impl Iterator<Item = &'a QuantityHit>) -> QuantityReading {
        let mut found = QuantityReading::default();
        for quantity in measured {
            let Some(held) = found.values.get_mut(quantity.slot) else { continue };
            for value in &quantity.values {
                let reason = match value {
                    Err(reason) => StageFinding::Reject(*reason),
                    Ok(value) if held.is_some_and(|h| h != *value) => {
                        StageFinding::Decompose(ValidationReason::QuantityMultiple)
                    }
                    Ok(value) => {
                        *held = Some(*value);
                        StageFinding::Pass
                    }
                };
                match (reason, found.finding) {
                    (StageFinding::Reject(_), StageFinding::Pass | StageFinding::Decompose(_))
                    | (StageFinding::Decompose(_), StageFinding::Pass) => {
                        found.finding = reason;
                    }
                    _ => {}
                }
            }
        }
        found
    }
}

/// Compares `found` with `seen`, the quantities of the view. A number that the text lacks or shows differently becomes
/// an inexact quantity. Digits that only the view joins, across a line or a cell, are not a number.
pub(crate) fn compare(found: &mut Vec<QuantityHit>, seen: Vec<QuantityHit>, view: &MatchingView) {
    let mut inexact = Vec::new();
    found.sort_by_key(|hit| (hit.range.start, hit.range.end));
    let reach: Vec<usize> = found
        .iter()
        .scan(0, |most, hit| {
            *most = hit.range.end.max(*most);
            Some(*most)
        })
        .collect();
    for hit in seen {
        let range = view.origin(&hit.range);
        let same = |f: &QuantityHit| {
            // A quantity without a value is refused already, whatever other readings of the text show there.
            let lacks_value = |hit: &QuantityHit| hit.values.iter().any(Result::is_err);
            let values = f.values == hit.values || lacks_value(f) || lacks_value(&hit);
            f.slot == hit.slot && f.range.start <= range.start && range.end <= f.range.end && values
        };
        let before = found.partition_point(|f| f.range.start <= range.start);
        let near = found.iter().zip(&reach).take(before).rev().take_while(|(_, reach)| range.end <= **reach);
        if !view.joins_lines(&hit.range) && !near.map(|(f, _)| f).any(same) {
            inexact.push(QuantityHit { range, slot: hit.slot, values: vec![Err(ValidationReason::QuantityInexact)] });
        }
    }
    found.extend(inexact);
    found.sort_by_key(|hit| (hit.range.start, hit.range.end));
}

impl Quantities {
    /// Adds the quantities that only a page shows that was decoded from the text. They are inexact.
    pub(crate) fn only_decoded(&self, found: &mut Vec<QuantityHit>, text: &str, page: &MatchingView) {
        let is_encoded = |hit: &QuantityHit| {
            let origin = page.origin(&hit.range);
            text.get(origin) != page.text().get(hit.range.clone())
        };
        let seen = self.scan(page.text()).into_iter().filter(is_encoded).collect();
        compare(found, seen, page);
    }
}

impl QuantitySlot {
    /// The unit after a number, the unit's end, and whether only marks separate number and unit (not so in "5k mg").
    fn unit_after(&self, text: &str, at: usize) -> Option<(Size, usize, bool)> {
        let rest = text.get(at..)?;
        let near = rest.get(..rest.floor_char_boundary(GLUED_MAX + 4))?;
        let letters = near.find(|c: char| !c.is_alphanumeric()).unwrap_or(near.len());
        if letters > GLUED_MAX {
            return None;
        }
        let glued = self.unit_at(text, at).map(|(size, end)| (size, end, true));
        glued.or_else(|| {
            let after = rest.get(letters..)?;
            // Symbols such as U+338E (mg) are not letters, so the unit may begin inside the gap.
            let gap = 1 + after.char_indices().take(GAP_MAX).take_while(|(_, c)| !c.is_alphanumeric()).count();
            let mut places = after.char_indices().take(gap);
            places
                .find_map(|(place, _)| self.unit_at(text, at + letters + place))
                .map(|(size, end)| (size, end, letters == 0))
        })
    }

    /// The unit in the head of a column, and whether it certainly applies to the column's numbers. A unit of one letter
    /// must stand alone, in brackets, after a slash or comma, or after "in".
    fn unit_in(&self, head: &str) -> Option<(Size, bool)> {
        let head = lower(head);
        if head.contains(char::is_numeric) {
            return None;
        }
        self.units.iter().find_map(|(unit, size)| {
            let (at, _) = head.match_indices(unit.as_str()).find(|(at, _)| {
                let before = head.get(..*at).unwrap_or_default().trim_end();
                let shown = before.ends_with(['(', '[', '/', ',', '*', '_', '|']) || before.is_empty();
                let named = words(before).last().is_some_and(|w| w.end == before.len() && before.get(w) == Some("in"));
                let edge = is_boundary(&head, *at) && is_boundary(&head, at + unit.len());
                edge && (unit.chars().nth(1).is_some() || shown || named)
            })?;
            Some((*size, per_body(&head, at + unit.len()).is_none()))
        })
    }

    /// Whether a text contains one of the phrases of `near`, or `near` is empty.
    fn is_near_in(&self, text: &str) -> bool {
        let text = lower(text);
        self.near.is_empty() || self.near.iter().any(|n| holds(&text, n))
    }

    fn unit_at(&self, text: &str, at: usize) -> Option<(Size, usize)> {
        let rest = text.get(at..)?;
        let (unit, size) = self.units.iter().find(|(unit, _)| {
            rest.get(..unit.len()).is_some_and(|r| lower(r) == unit.as_str()) && is_boundary(text, at + unit.len())
        })?;
        Some((*size, at + unit.len()))
    }

    fn value(&self, number: Option<Decimal>, size: Size) -> Result<i32, ValidationReason> {
        let exact = number.and_then(|n| exact(n, size)).ok_or(ValidationReason::QuantityInexact)?;
        let value = i32::try_from(exact).map_err(|_| ValidationReason::QuantityRange)?;
        if self.range.contains(&value) { Ok(value) } else { Err(ValidationReason::QuantityRange) }
    }
}

/// Whether `phrase` is in `text` at word boundaries.
fn holds(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| is_boundary(text, at) && is_boundary(text, at + phrase.len()))
}

/// A product; `None` for an overflow.
fn times(one: Decimal, other: Decimal) -> Option<Decimal> {
    Some(Decimal { digits: one.digits.checked_mul(other.digits)?, scale: one.scale.checked_add(other.scale)? })
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

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::mutation::StageFinding::{Decompose, Pass, Reject};
    use portcullis_core::reason::ValidationReason::{QuantityInexact, QuantityMultiple, QuantityRange};

    fn slots(near: &[&str]) -> Quantities {
        let units = [("milligrams", "1"), ("mcg", "1/1000"), ("mg", "1"), ("g", "1000")];
        let units = units.iter().map(|(u, s)| (u.to_lowercase(), size(s).unwrap())).collect();
        let near = near.iter().map(|n| (*n).to_owned()).collect();
        Quantities {
            slots: vec![QuantitySlot { units, near, range: 0..=10_000 }],
            language: Language::of("en").unwrap(),
        }
    }

    fn read(text: &str) -> QuantityReading {
        Quantities::read(slots(&[]).scan(text).iter())
    }

    #[test]
    fn numbers_and_units() {
        for (text, value, finding) in [
            ("take 500 mg daily", Some(500), Pass),
            ("take 500mg daily", Some(500), Pass),
            ("take **500** mg daily", Some(500), Pass),
            ("take (500) mg daily", Some(500), Pass),
            ("take 0.5g daily", Some(500), Pass),
            ("take 1,500 milligrams", Some(1500), Pass),
            ("take five hundred mg", Some(500), Pass),
            ("500 mg is 0.5 g", Some(500), Pass),
            ("500 mg or 600 mg", Some(500), Decompose(QuantityMultiple)),
            ("take 10 tablets of 500 mg", Some(5000), Pass),
            ("take ten capsules of 50 mg each", Some(500), Pass),
            ("take 3 sachets (500 mg each)", Some(1500), Pass),
            ("take 4 caps. of 0.3 g", Some(1200), Pass),
            ("take 2 tablets of 200 to 400 mg", Some(400), Decompose(QuantityMultiple)),
            ("take B2 tablets of 500 mg", None, Reject(QuantityInexact)),
            ("take a tablet of 500 mg", Some(500), Pass),
            ("in 10 patients 500 mg", Some(500), Pass),
            ("10 tablets, 500 mg of it", Some(500), Pass),
            ("the 2019 trial of 500 mg", Some(500), Pass),
            ("take 0.5 mg", None, Reject(QuantityInexact)),
            ("take 1,50 mg", None, Reject(QuantityInexact)),
            ("take 90 g", None, Reject(QuantityRange)),
            ("take ninety grams or 90 g", None, Reject(QuantityRange)),
            ("take -5 mg", None, Reject(QuantityRange)),
            ("take 99999999999999999999999999999999 mg", None, Reject(QuantityInexact)),
            ("500 mgs of it", None, Pass),
            ("take 500 mg x 10", Some(5000), Pass),
            ("take 500 mg \u{d7} 30", None, Reject(QuantityRange)),
            ("take 500 mg x10", None, Reject(QuantityInexact)),
            ("take 50 mg/kg, he has 80 kg", Some(4000), Pass),
            ("take 50 mg per kg", None, Reject(QuantityInexact)),
            ("take 5 mg/kg/min at 80 kg or 90 kg", None, Reject(QuantityInexact)),
            ("take 5 mg/day per kg", None, Reject(QuantityInexact)),
            ("take 1200 mg/m\u{b2}", None, Reject(QuantityInexact)),
            ("it has 20 mg/ml", Some(20), Pass),
            ("500 mg for a week", Some(500), Pass),
            ("no number mg", None, Pass),
        ] {
            let found = read(text);
            assert_eq!((found.values[0], found.finding), (value, finding), "{text}");
        }
    }

    #[test]
    fn what_may_be_more_than_it_seems_is_refused() {
        for text in ["10 000 mg", "5k mg", "2 x 500 mg", "2x500 mg", "５０００ mg", "٥٠٠٠ mg", "B12 mg", "1½ g"]
        {
            assert_eq!(read(text).finding, Reject(QuantityInexact), "{text}");
        }
        for text in
            ["10\u{a0}001 mg", "10\u{202f}001 mg", "10\u{2009}001 mg", "10'001 mg", "ten thousand and one mg 10,001 mg"]
        {
            assert_eq!(read(text).finding, Reject(QuantityRange), "{text}");
        }
    }

    #[test]
    fn a_unit_in_the_head_of_a_column() {
        for (text, value, finding) in [
            ("| a | dose (mg) |\n|---|---|\n| b | 600 |", Some(600), Pass),
            ("a | dose in g\n--|--\nb | 6", Some(6000), Pass),
            ("a\tmg\nb\t600\n", Some(600), Pass),
            ("| a | mg/kg |\n|---|---|\n| b | 600 |", None, Reject(QuantityInexact)),
            ("| group g | a |\n|---|---|\n| 600 | b |", None, Pass),
            ("| a | 100 mg |\n|---|---|\n| b | 600 |", Some(100), Pass),
            ("| a | mg |\n| b | 600 |", None, Pass),
            ("| a | mg |\n|---|---|\n\n| b | 600 |", None, Pass),
            ("| a | mg | b |\n|---|---|---|\n| b | c | 600 |", None, Pass),
        ] {
            let found = read(text);
            assert_eq!((found.values[0], found.finding), (value, finding), "{text}");
        }
        let rows = |number: usize| format!("|mg|\n|-|\n{}|600|\n", "|other|\n".repeat(number));
        assert_eq!((read(&rows(9)).values[0], read(&rows(200)).values[0]), (Some(600), None));
    }

    #[test]
    fn both_ends_of_a_range_count() {
        for text in [
            "9000-200 mg",
            "200–9000 mg",
            "200 to 9000 mg",
            "9000 or 200 mg",
            "between 200 and 9000 mg",
            "9000, 200 mg",
        ] {
            assert_eq!(read(text).finding, Decompose(QuantityMultiple), "{text}");
        }
        assert_eq!(read("200-20000 mg").finding, Reject(QuantityRange));
    }

    #[test]
    fn near_is_looked_for_in_the_sentence() {
        let near = |text: &str| slots(&["dose"]).scan(text).len();
        assert_eq!(near("The dose, as he said, is 500 mg."), 1);
        assert_eq!(near("The dose is known. It has 500 mg."), 0);
    }
}
