//! Finds arrangements of cues: sequences, families that occur together, repetitions.
//!
//! Each arrangement keeps a few places. Each hit, in order, updates them, so the work is linear in the number of hits.
//! Places in earlier passages are ignored, except by rules about the border between passages.

use super::RuleHit;
use super::clause::{begins_clause, ends_clause};
use super::file::{Families, FilterRule, RuleFile};
use super::lexicon::FamilyHit;
use super::passage::Passages;
use super::quotation::Quotations;

/// Largest distance in bytes between an excluding family and an arrangement that it prevents: a space, or a short word.
const BARRED: usize = 8;
/// Largest distance in bytes from a lead to its arrangement, and from an arrangement to its tail: a space and a mark.
const BESIDE: usize = 2;
/// A place that is far before every input.
const NOWHERE: i64 = i64::MIN / 2;
const NESTING_MAX: usize = 4;

#[derive(Clone, Copy, Debug)]
enum ArrangementShape {
    /// Steps in order; each step begins at most `gap` bytes after the end of the previous step.
    Sequence { steps: usize, gap: usize },
    /// At least `at_least` slots must have a hit within `within` bytes, including all of the first `needed` slots.
    Together { slots: usize, needed: usize, at_least: usize, within: usize },
    /// At least `at_least` hits of one slot must be within `within` bytes.
    Repeated { at_least: usize, within: usize },
}

#[derive(Clone, Copy, Debug)]
enum Yields {
    Rule(usize),
    Family(usize),
}

#[derive(Debug)]
struct Arrangement {
    shape: ArrangementShape,
    yields: Yields,
    /// Whether the parts may be in different passages.
    crosses: bool,
    /// Whether the arrangement must begin a clause or follow a lead.
    opens: bool,
    /// Whether the arrangement must end a clause or precede a tail.
    ends: bool,
}

#[derive(Debug)]
pub(super) struct Structures {
    arrangements: Vec<Arrangement>,
    /// Indexed by family: the arrangements that the family advances, each with the step or slot. Last steps come first,
    /// so that one hit advances an arrangement by one step only.
    uses: Vec<Vec<(usize, usize)>>,
    /// Indexed by family: the rules that the family cancels.
    closes: Vec<Vec<usize>>,
    /// Indexed by family: arrangements that must not begin right after the family.
    bars: Vec<Vec<usize>>,
    /// Indexed by family: arrangements that may begin right after the family.
    leads: Vec<Vec<usize>>,
    /// Indexed by family: arrangements that may end right before the family.
    tails: Vec<Vec<usize>>,
}

impl Structures {
    pub(super) fn new(file: &RuleFile, families: &Families) -> Result<Self, (String, String)> {
        let none = || vec![Vec::new(); families.len()];
        let empty = || vec![Vec::new(); families.len()];
        let mut all = Self {
            arrangements: Vec::new(),
            uses: none(),
            closes: empty(),
            bars: empty(),
            leads: empty(),
            tails: empty(),
        };
        for phrase in &file.phrases {
            let yields = families.get(&phrase.name).copied().map(Yields::Family);
            let yields = yields.ok_or_else(|| (phrase.name.clone(), "has no number".to_owned()))?;
            let shape = ArrangementShape::Sequence { steps: phrase.sequence.len(), gap: phrase.gap };
            all.add(&phrase.name, shape, yields, &phrase.sequence, families)?;
            let sides = [&phrase.unless_after, &phrase.opens, &phrase.ends];
            all.beside(&phrase.name, sides, false, families)?;
        }
        for (number, rule) in file.rules.iter().enumerate() {
            let wrong = |problem: &str| Err((rule.id.clone(), problem.to_owned()));
            let kinds = [
                !rule.sequence.is_empty(),
                !rule.together.is_empty() || !rule.needs.is_empty(),
                rule.repeated.is_some(),
            ];
            let yields = Yields::Rule(number);
            match (kinds, rule.measure) {
                ([true, false, false], None) => {
                    let shape = ArrangementShape::Sequence { steps: rule.sequence.len(), gap: rule.gap };
                    all.add(&rule.id, shape, yields, &rule.sequence, families)?;
                }
                ([false, true, false], None) => {
                    let FilterRule { at_least, within, .. } = *rule;
                    let all_slots = [rule.needs.as_slice(), rule.together.as_slice()].concat();
                    let (slots, needed) = (all_slots.len(), rule.needs.len());
                    if at_least < 2 || at_least > slots || within == 0 {
                        return wrong("`together` needs `at_least` of 2 or more of its families, `within` some bytes");
                    }
                    let shape = ArrangementShape::Together { slots, needed, at_least, within };
                    all.add(&rule.id, shape, yields, &all_slots, families)?;
                }
                ([false, false, true], None) => {
                    let FilterRule { at_least, within, .. } = *rule;
                    if at_least < 2 || within == 0 {
                        return wrong("`repeated` needs `at_least` of 2 or more, `within` some bytes");
                    }
                    all.add(
                        &rule.id,
                        ArrangementShape::Repeated { at_least, within },
                        yields,
                        rule.repeated.as_slice(),
                        families,
                    )?;
                }
                ([false, false, false], Some(_)) if rule.at_least > 0 => {}
                _ => return wrong("is one of `sequence`, `together`, `repeated`, or a `measure` with `at_least`"),
            }
            let sides = [&rule.unless_after, &rule.opens, &rule.ends];
            if kinds.first() != Some(&true) && sides.iter().any(|side| side.is_some()) {
                return wrong("has no `sequence` that could begin or end beside a family");
            }
            if rule.measure.is_none() {
                all.beside(&rule.id, sides, rule.crosses, families)?;
            }
        }
        all.add_closings(file, families)?;
        for uses in &mut all.uses {
            uses.sort_unstable_by_key(|(arrangement, step)| (*arrangement, std::cmp::Reverse(*step)));
        }
        Ok(all)
    }

    fn add(
        &mut self,
        name: &str,
        shape: ArrangementShape,
        yields: Yields,
        slots: &[String],
        families: &Families,
    ) -> Result<(), (String, String)> {
        let number = self.arrangements.len();
        for (slot, alternatives) in slots.iter().enumerate() {
            for family in alternatives.split('|') {
                let known = families.get(family).and_then(|f| self.uses.get_mut(*f));
                let Some(uses) = known else {
                    return Err((name.to_owned(), format!("there is no family `{family}`")));
                };
                uses.push((number, slot));
            }
        }
        self.arrangements.push(Arrangement { shape, yields, crosses: false, opens: false, ends: false });
        Ok(())
    }

    /// Adds conditions to the last arrangement: its excluding families, its leads and its tails.
    fn beside(
        &mut self,
        name: &str,
        [bars, leads, tails]: [&Option<String>; 3],
        crosses: bool,
        families: &Families,
    ) -> Result<(), (String, String)> {
        let number = self.arrangements.len().saturating_sub(1);
        if let Some(last) = self.arrangements.last_mut() {
            *last = Arrangement {
                shape: last.shape,
                yields: last.yields,
                crosses,
                opens: leads.is_some(),
                ends: tails.is_some(),
            };
        }
        for (side, family) in [(&mut self.bars, bars), (&mut self.leads, leads), (&mut self.tails, tails)] {
            let Some(family) = family else { continue };
            match families.get(family).and_then(|f| side.get_mut(*f)) {
                Some(of) => of.push(number),
                None => return Err((name.to_owned(), format!("there is no family `{family}`"))),
            }
        }
        Ok(())
    }

    fn add_closings(&mut self, file: &RuleFile, families: &Families) -> Result<(), (String, String)> {
        for (number, rule) in file.rules.iter().enumerate() {
            for family in rule.closed_by.iter().flat_map(|f| f.split('|')) {
                let known = families.get(family).and_then(|f| self.closes.get_mut(*f));
                let Some(closes) = known else {
                    return Err((rule.id.clone(), format!("there is no family `{family}`")));
                };
                closes.push(number);
            }
        }
        Ok(())
    }

    /// Starts the search in an input. `quotations` are the ranges where a finding may have a lower tier.
    pub(super) fn start<'s>(&'s self, bytes: &'s [u8], quotations: Quotations) -> StructureSearch<'s> {
        let places = |a: &Arrangement| match a.shape {
            ArrangementShape::Sequence { steps, .. } => (steps, 0),
            ArrangementShape::Together { slots, .. } => (0, slots),
            ArrangementShape::Repeated { at_least, .. } => (at_least, 0),
        };
        let mut offsets = Vec::with_capacity(self.arrangements.len());
        let (mut total, mut starts) = (0, 0);
        for arrangement in &self.arrangements {
            let (more_places, more_starts) = places(arrangement);
            offsets.push(if more_starts > 0 { starts } else { total });
            total += more_places;
            starts += more_starts;
        }
        let count = self.arrangements.len();
        StructureSearch {
            structures: self,
            bytes,
            passages: Passages::of(bytes),
            quotations,
            offsets,
            places: vec![[None; 2]; total],
            starts: vec![NOWHERE; starts],
            barred: vec![None; count],
            led: vec![None; count],
            ended: vec![None; count],
            done: vec![false; count],
            found: Vec::new(),
        }
    }
}

/// The range from the start to the end of an arrangement, as far as it was found.
#[derive(Clone, Copy, Debug)]
struct ArrangementRange {
    start: usize,
    end: usize,
}

/// A place as a signed number, for subtractions.
fn place_of(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX / 4)
}

pub(super) struct StructureSearch<'s> {
    structures: &'s Structures,
    bytes: &'s [u8],
    passages: Passages<'s>,
    quotations: Quotations,
    /// Indexed by arrangement: the index of its first element in `places` or `starts`.
    offsets: Vec<usize>,
    /// Indexed by step of a sequence: the two latest ranges, the later one first. For a repetition: its latest ranges.
    places: Vec<[Option<ArrangementRange>; 2]>,
    /// Indexed by slot of families that occur together: the start of the last hit.
    starts: Vec<i64>,
    /// Indexed by arrangement: the end of the last hit of its excluding families.
    barred: Vec<Option<usize>>,
    /// Indexed by arrangement: the end of the last hit of its leads.
    led: Vec<Option<usize>>,
    /// Indexed by arrangement: the arrangement's range, if only its tail is missing.
    ended: Vec<Option<ArrangementRange>>,
    /// Indexed by arrangement: whether the arrangement's rule was found.
    done: Vec<bool>,
    found: Vec<RuleHit>,
}

impl StructureSearch<'_> {
    pub(super) fn hit(&mut self, hit: FamilyHit, steps: &mut u64) {
        self.passages.go_to(hit.start);
        self.nested(hit, steps, 0);
    }

    pub(super) fn found(self) -> Vec<RuleHit> {
        self.found
    }

    fn nested(&mut self, hit: FamilyHit, steps: &mut u64, depth: usize) {
        let structures = self.structures;
        let Some(uses) = structures.uses.get(hit.family) else { return };
        if let Some(closes) = structures.closes.get(hit.family).filter(|c| !c.is_empty()) {
            self.found.retain(|f| !closes.contains(&f.rule));
        }
        for (side, of) in [(&structures.bars, &mut self.barred), (&structures.leads, &mut self.led)] {
            for number in side.get(hit.family).into_iter().flatten() {
                if let Some(last) = of.get_mut(*number) {
                    *last = Some(hit.end);
                }
            }
        }
        for number in structures.tails.get(hit.family).into_iter().flatten() {
            *steps += 1;
            let waits = self.ended.get(*number).copied().flatten();
            if let Some(place) = waits.filter(|p| p.end <= hit.start && hit.start - p.end <= BESIDE) {
                self.complete(*number, place, steps, depth);
            }
        }
        for (number, slot) in uses {
            *steps += 1;
            if self.done.get(*number).copied().unwrap_or(true) {
                continue;
            }
            let Some(arrangement) = structures.arrangements.get(*number) else { continue };
            if *slot == 0 && !self.may_begin(*number, arrangement, hit.start) {
                continue;
            }
            let Some(offset) = self.offsets.get(*number).copied() else { continue };
            let floor = if arrangement.crosses { 0 } else { self.passages.start() };
            let complete = match arrangement.shape {
                ArrangementShape::Sequence { steps, gap } => self.step(offset, *slot, (steps, gap), floor, hit),
                ArrangementShape::Together { slots, needed, at_least, within } => {
                    self.meet(offset, *slot, (slots, needed), (at_least, within), floor, hit)
                }
                ArrangementShape::Repeated { at_least, within } => self.repeat(offset, at_least, within, floor, hit),
            };
            let Some(place) = complete else { continue };
            if !arrangement.ends || ends_clause(self.bytes, place.end) {
                self.complete(*number, place, steps, depth);
            } else if let Some(ended) = self.ended.get_mut(*number) {
                *ended = Some(place);
            }
        }
    }

    /// Whether the arrangement may begin at `at`, according to the text before `at`.
    fn may_begin(&self, number: usize, arrangement: &Arrangement, at: usize) -> bool {
        let near = |of: &[Option<usize>], most: usize| {
            of.get(number).copied().flatten().is_some_and(|end| end <= at && at - end <= most)
        };
        !near(&self.barred, BARRED) && (!arrangement.opens || begins_clause(self.bytes, at) || near(&self.led, BESIDE))
    }

    /// Handles a complete arrangement: it is the finding of a rule, or a hit of another family.
    fn complete(&mut self, number: usize, place: ArrangementRange, steps: &mut u64, depth: usize) {
        let structures = self.structures;
        match structures.arrangements.get(number).map(|a| a.yields) {
            Some(Yields::Family(family)) if depth < NESTING_MAX => {
                self.nested(FamilyHit { family, start: place.start, end: place.end }, steps, depth + 1);
            }
            Some(Yields::Family(_)) | None => {}
            Some(Yields::Rule(rule)) => {
                let quoted = self.quotations.hold(place.start, place.end);
                if self.found.iter().all(|f| f.rule != rule || f.quoted != quoted) {
                    self.found.push(RuleHit { rule, start: place.start, end: place.end, quoted });
                }
                // After a first finding that is final and not quoted, further findings of this rule are not needed.
                let closable = structures.closes.iter().any(|c| c.contains(&rule));
                if let Some(done) = self.done.get_mut(number).filter(|_| !closable && !quoted) {
                    *done = true;
                }
            }
        }
    }

    fn put(&mut self, at: usize, place: ArrangementRange) {
        if let Some([first, second]) = self.places.get_mut(at) {
            if first.is_some_and(|f| f.start < place.start) {
                *second = *first;
            }
            *first = Some(place);
        }
    }

    fn step(
        &mut self,
        offset: usize,
        slot: usize,
        (steps, gap): (usize, usize),
        floor: usize,
        hit: FamilyHit,
    ) -> Option<ArrangementRange> {
        let place = match slot.checked_sub(1) {
            None => ArrangementRange { start: hit.start, end: hit.end },
            Some(before) => {
                let reaches =
                    |p: &&ArrangementRange| p.start >= floor && p.end <= hit.start && hit.start - p.end <= gap;
                let from = self.places.get(offset + before)?.iter().flatten().find(reaches)?;
                ArrangementRange { start: from.start, end: hit.end }
            }
        };
        if slot + 1 == steps {
            return Some(place);
        }
        // The sequence is not complete yet. The later range is kept, because more hits can be within its gap.
        self.put(offset + slot, place);
        None
    }

    fn meet(
        &mut self,
        offset: usize,
        slot: usize,
        (slots, needed): (usize, usize),
        (at_least, within): (usize, usize),
        floor: usize,
        hit: FamilyHit,
    ) -> Option<ArrangementRange> {
        let begins = place_of(hit.start);
        *self.starts.get_mut(offset + slot)? = begins;
        let starts = self.starts.get(offset..offset + slots)?;
        let earliest = (place_of(hit.end) - place_of(within)).max(place_of(floor));
        let near = |start: &&i64| **start >= earliest;
        if !starts.iter().take(needed).all(|start| near(&start)) || starts.iter().filter(near).count() < at_least {
            return None;
        }
        // A word that belongs to several families counts once.
        let mut met: Vec<i64> = starts.iter().filter(near).copied().collect();
        met.sort_unstable();
        met.dedup();
        let first = usize::try_from(*met.first()?).ok()?.min(hit.start);
        (met.len() >= at_least).then_some(ArrangementRange { start: first, end: hit.end })
    }

    /// Adds a hit to a repetition. `places` holds the latest hits, the latest first.
    fn repeat(
        &mut self,
        offset: usize,
        at_least: usize,
        within: usize,
        floor: usize,
        hit: FamilyHit,
    ) -> Option<ArrangementRange> {
        let places = self.places.get_mut(offset..offset + at_least)?;
        let latest = places.first().copied().and_then(|[first, _]| first);
        if latest.is_some_and(|l| l.end > hit.start) {
            return None;
        }
        places.rotate_right(1);
        *places.first_mut()? = [Some(ArrangementRange { start: hit.start, end: hit.end }), None];
        let oldest = places.last().copied().and_then(|[first, _]| first)?;
        (oldest.start >= floor && oldest.start + within >= hit.end)
            .then_some(ArrangementRange { start: oldest.start, end: hit.end })
    }
}
