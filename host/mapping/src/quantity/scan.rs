//! Finds the quantities of a text.

use super::count::{Per, counts, multiplies, per_body, weight};
use super::currency::{is_gap, is_sign};
use super::table::{Column, Covered, TABLE_MAX, columns};
use super::unit::{QuantitySlot, UnitPlace};
use super::{JOINED_LIST, Quantities, QuantityHit};
use crate::language::Language;
use crate::number::{Decimal, Number, numbers};
use crate::sentence::sentence_ends;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;

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

/// The sentence around `at`.
fn sentence_at(text: &str, ends: &[usize], at: usize) -> Range<usize> {
    let next = ends.partition_point(|end| *end <= at);
    let start = next.checked_sub(1).and_then(|i| ends.get(i)).copied().unwrap_or(0);
    start..ends.get(next).copied().unwrap_or(text.len())
}

/// A text whose quantities are looked for.
struct Scan<'a> {
    text: &'a str,
    language: &'static Language,
    numbers: Vec<Number>,
    sentences: OnceCell<Vec<usize>>,
}

impl Scan<'_> {
    fn sentence(&self, at: usize) -> Range<usize> {
        sentence_at(self.text, self.sentences.get_or_init(|| sentence_ends(self.text, 0, self.language)), at)
    }

    fn between(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// The unit after number `at`. A currency that the text joins to the next number measures that number only.
    fn after(&self, slot: &QuantitySlot, at: usize, before: Option<UnitPlace>) -> Option<UnitPlace> {
        let number = self.numbers.get(at)?;
        let place = slot.after(self.text, number.range.end)?;
        let belongs = self.numbers.get(at + 1).is_some_and(|next| {
            let is_glued = next.range.start == place.edge;
            let is_near = self.between(place.edge, next.range.start).chars().all(is_gap);
            let is_apart = |c: char| !c.is_alphanumeric() && !is_sign(c);
            let apart = self.text.get(number.range.end..).is_some_and(|rest| rest.starts_with(is_apart));
            let is_next = (is_glued && apart || before.is_some() && is_near) && place.edge <= next.range.start;
            is_next && slot.currency_before(self.text, next).is_some()
        });
        (!belongs).then_some(place)
    }

    /// The quantity whose unit follows number `at`. The numbers of a list before it share the unit, unless a number
    /// has its own.
    fn measured_after(
        &self,
        slot: &QuantitySlot,
        at: usize,
        place: UnitPlace,
        stated: &mut Once<Option<Decimal>>,
    ) -> Option<QuantityHit> {
        let (last, before) = self.numbers.get(..=at)?.split_last()?;
        let joined = before.iter().rev().zip(before.iter().chain([last]).rev());
        let near = |n: &Number| last.range.end - n.range.start <= JOINED_LIST;
        let others = joined.take_while(|(n, next)| next.joined && near(n)).map(|(n, _)| n);
        let group: Vec<&Number> = std::iter::once(last).chain(others).collect();
        let start = group.last().map_or(last.range.start, |n| n.range.start);
        // A number of doses and the amount of each dose give one product.
        let count = before.len().checked_sub(group.len()).and_then(|at| before.get(at));
        let count = count.filter(|c| counts(self.between(c.range.end, start)));
        let mut start = count.map_or(start, |c| c.range.start);
        let mut factors: Vec<Option<Decimal>> =
            count.into_iter().map(|c| c.amount.usual.filter(|_| !c.glued)).collect();
        let mut end = place.edge;
        // A dose per kilogram has a value only if the text states the body weight.
        if let Some((to, per)) = per_body(self.text, end) {
            let weight = |sentence| weight(self.text, &sentence, &self.numbers);
            let stated = Some(stated.get(self.sentence(end), weight));
            factors.push(stated.filter(|_| per == Per::Weight).flatten());
            end = to;
        }
        // Multiplication after the unit: "500 mg x 10".
        let next = self.numbers.get(at + 1).filter(|n| multiplies(self.between(end, n.range.start)));
        if let Some(next) = next {
            factors.push(next.amount.usual.filter(|_| !next.glued));
            end = next.range.end;
        }
        let mut values = Vec::new();
        for number in group.iter().rev() {
            let own = slot.currency_before(self.text, number);
            start = own.map_or(start, |own| own.edge.min(start));
            let power = if number.range == last.range { place.power } else { Some(0) };
            let place = UnitPlace { power, ..place };
            values.extend(slot.values(number, own.unwrap_or(place), &factors, number.glued && own.is_none()));
        }
        Some(QuantityHit { range: start..end, slot: 0, is_near: false, values })
    }

    /// The quantity whose currency or label stands before number `at`. The numbers of a list after it share the unit.
    /// `None` if the last of them has a unit behind it, which then measures all of them.
    fn measured_before(&self, slot: &QuantitySlot, at: usize, place: UnitPlace) -> Option<QuantityHit> {
        let first = self.numbers.get(at)?;
        let near = |n: &Number| {
            n.joined && n.range.end - first.range.start <= JOINED_LIST && slot.currency_before(self.text, n).is_none()
        };
        let others = self.numbers.iter().skip(at + 1).take_while(|n| near(n));
        let mut values: Vec<_> = slot.values(first, place, &[], false).collect();
        let (mut end, mut number) = (first.range.end, at);
        for other in others {
            number += 1;
            end = other.range.end;
            values.extend(slot.values(other, UnitPlace { power: Some(0), ..place }, &[], other.glued));
        }
        let is_measured = number > at && self.after(slot, number, None).is_some();
        (!is_measured).then_some(QuantityHit { range: place.edge..end, slot: 0, is_near: false, values })
    }
}

impl Quantities {
    /// Every quantity of a text, in order, also without a phrase of `near`.
    pub(super) fn scan(&self, text: &str) -> Vec<QuantityHit> {
        if self.slots.is_empty() {
            return Vec::new();
        }
        let numbers = numbers(text, self.language);
        let scan = Scan { text, language: self.language, numbers, sentences: OnceCell::new() };
        let mut found = Vec::new();
        // What the sentence of the current number states is read once, not for each of its numbers.
        let mut near: Vec<Once<bool>> = self.slots.iter().map(|_| Once::default()).collect();
        let mut stated: Once<Option<Decimal>> = Once::default();
        for (at, number) in scan.numbers.iter().enumerate() {
            for (index, slot) in self.slots.iter().enumerate() {
                let before = slot.currency_before(text, number);
                let after = scan.after(slot, at, before);
                let before = before.or_else(|| slot.in_label(text, number).filter(|_| after.is_none()));
                if before.is_none() && after.is_none() {
                    continue;
                }
                let is_near = !slot.has_near() || {
                    let is_near = |sentence: Range<usize>| slot.is_near_in(scan.between(sentence.start, sentence.end));
                    near.get_mut(index).is_some_and(|near| near.get(scan.sentence(number.range.start), is_near))
                };
                let hit = match (before, after) {
                    (_, Some(place)) => scan.measured_after(slot, at, place, &mut stated),
                    (Some(place), None) => scan.measured_before(slot, at, place),
                    (None, None) => None,
                };
                found.extend(hit.map(|hit| QuantityHit { slot: index, is_near, ..hit }));
            }
        }
        self.in_tables(text, &scan.numbers, &mut found);
        found
    }

    /// Adds numbers whose unit is in the heading of their column.
    fn in_tables(&self, text: &str, numbers: &[Number], found: &mut Vec<QuantityHit>) {
        let mut added: BTreeMap<(usize, usize), QuantityHit> = BTreeMap::new();
        let of_slot =
            |slot: usize| found.iter().filter(move |hit| hit.is_near && hit.slot == slot).map(|hit| hit.range.clone());
        let measured: Vec<Covered> = (0..self.slots.len()).map(|slot| Covered::new(of_slot(slot).collect())).collect();
        columns(text, |Column { head, cell }| {
            let from = numbers.partition_point(|n| n.range.start < cell.start);
            let inside = numbers.iter().skip(from).take_while(|n| n.range.end <= cell.end);
            for number in inside.take_while(|n| n.range.start - head.start <= TABLE_MAX) {
                for (at, slot) in self.slots.iter().enumerate() {
                    let key = (number.range.start, at);
                    let is_measured = measured.get(at).is_some_and(|measured| measured.touches(&number.range));
                    let Some((size, certain)) = slot.in_head(text.get(head.clone()).unwrap_or_default()) else {
                        continue;
                    };
                    if is_measured
                        || added.contains_key(&key)
                        || !slot.is_near_in(text.get(head.start..cell.end).unwrap_or_default())
                    {
                        continue;
                    }
                    let values = slot.in_cell(number, size, certain);
                    added.insert(key, QuantityHit { range: number.range.clone(), slot: at, is_near: true, values });
                }
            }
        });
        if !added.is_empty() {
            found.extend(added.into_values());
            found.sort_by_key(|hit| (hit.range.start, hit.range.end));
        }
    }
}
