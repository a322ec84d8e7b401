//! Deterministic automata: built from machines, minimised, and joined.

use crate::context::{self, Context};
use crate::hash::{Map, Mix};
use crate::machine::{FormMachine, Thread};
use std::hash::Hasher as _;

/// The classes that a state reports, one bit per class of its engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DfaReport {
    /// A match ends with the last byte read.
    pub(crate) now: u16,
    /// A match ended before the last byte read, but only that byte decided that it counts.
    pub(crate) before: u16,
    /// A match ends here if the text ends here.
    pub(crate) at_end: u16,
}

impl DfaReport {
    fn join(self, other: Self) -> Self {
        Self { now: self.now | other.now, before: self.before | other.before, at_end: self.at_end | other.at_end }
    }

    /// The report with its single class at bit `bit`.
    fn at_bit(self, bit: u32) -> Self {
        let of = |set: u16| if set == 0 { 0 } else { 1 << bit };
        Self { now: of(self.now), before: of(self.before), at_end: of(self.at_end) }
    }
}

/// An automaton over byte classes. State 0 is the initial state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dfa {
    /// The class of each byte.
    pub(crate) map: [u8; 256],
    /// Number of byte classes.
    pub(crate) classes: usize,
    /// Next state by state and byte class.
    pub(crate) next: Vec<u32>,
    /// The report of each state.
    pub(crate) reports: Vec<DfaReport>,
}

/// The identity of a state: the facts about earlier bytes, the threads, and the matches that the last byte decided.
#[derive(PartialEq, Eq, Hash)]
struct DfaStateKey {
    before: Context,
    now: bool,
    ended: bool,
    threads: Vec<Thread>,
}

impl Dfa {
    /// An automaton that reports for each place of a text whether a match ends there; `None` if it has more than `most`
    /// states before it is minimised.
    pub(crate) fn of(machine: &FormMachine, most: usize) -> Option<Self> {
        let (map, bytes) = classes_of(machine);
        let mut known: Map<DfaStateKey, u32> = Map::default();
        let mut open: Vec<(Context, Vec<Thread>)> = vec![(context::START & machine.needs, Vec::new())];
        let mut reports = vec![DfaReport::default()];
        known.insert(
            DfaStateKey { before: context::START & machine.needs, now: false, ended: false, threads: Vec::new() },
            0,
        );
        let mut next = Vec::new();
        let mut at = 0;
        while let Some((before, threads)) = open.get(at).map(|(before, threads)| (*before, threads.clone())) {
            for byte in &bytes {
                let step = machine.step(&threads, before, *byte, true);
                let then = context::after(before, *byte, machine.needs);
                let key = DfaStateKey { before: then, now: step.now, ended: step.before, threads: step.threads };
                let id = match known.get(&key) {
                    Some(id) => *id,
                    None => {
                        let id = u32::try_from(open.len()).ok()?;
                        if open.len() >= most {
                            return None;
                        }
                        let at_end = machine.at_end(&key.threads, then);
                        let bit = |yes: bool| u16::from(yes);
                        reports.push(DfaReport { now: bit(key.now), before: bit(key.ended), at_end: bit(at_end) });
                        open.push((then, key.threads.clone()));
                        known.insert(key, id);
                        id
                    }
                };
                next.push(id);
            }
            at += 1;
        }
        Some(Self { map, classes: bytes.len(), next, reports }.least())
    }

    /// Number of states.
    pub(crate) fn len(&self) -> usize {
        self.reports.len()
    }

    pub(crate) fn after(&self, state: u32, byte: u8) -> u32 {
        let class = self.map.get(usize::from(byte)).copied().unwrap_or(0);
        self.next.get(state as usize * self.classes + usize::from(class)).copied().unwrap_or(0)
    }

    pub(crate) fn report(&self, state: u32) -> DfaReport {
        self.reports.get(state as usize).copied().unwrap_or_default()
    }

    fn row(&self, state: usize) -> &[u32] {
        self.next.get(state * self.classes..(state + 1) * self.classes).unwrap_or_default()
    }

    /// The automaton, with its single class reported at bit `bit`.
    pub(crate) fn at_bit(mut self, bit: u32) -> Self {
        self.reports.iter_mut().for_each(|report| *report = report.at_bit(bit));
        self
    }

    /// The minimal automaton with the same reports (Moore's algorithm). Its states are numbered breadth-first from
    /// state 0.
    pub(crate) fn least(self) -> Self {
        let mut group: Vec<u32> = Vec::new();
        let mut kinds: Map<DfaReport, u32> = Map::default();
        for report in &self.reports {
            let new = u32::try_from(kinds.len()).unwrap_or(0);
            group.push(*kinds.entry(*report).or_insert(new));
        }
        let mut count = kinds.len();
        loop {
            let of = |state: u32| group.get(state as usize).copied().unwrap_or(0);
            // The first state of each group so far, by a hash of its successors. States with equal hashes are compared.
            let mut firsts: Map<u64, Vec<(u32, u32)>> = Map::default();
            let mut finer: Vec<u32> = Vec::with_capacity(group.len());
            let mut finer_count = 0;
            for (state, own) in (0..).zip(&group) {
                let row = self.row(state as usize);
                let mut hash = Mix::default();
                hash.write_u32(*own);
                row.iter().for_each(|next| hash.write_u32(of(*next)));
                let alike = firsts.entry(hash.finish()).or_default();
                let same = |first: u32| {
                    of(first) == *own && self.row(first as usize).iter().zip(row).all(|(a, b)| of(*a) == of(*b))
                };
                let known = alike.iter().find(|(first, _)| same(*first)).map(|(_, group)| *group);
                finer.push(known.unwrap_or_else(|| {
                    alike.push((state, finer_count));
                    finer_count += 1;
                    finer_count - 1
                }));
            }
            group = finer;
            let finer_count = finer_count as usize;
            if finer_count == count {
                break;
            }
            count = finer_count;
        }
        self.quotient(&group, count).narrowed()
    }

    /// Merges each group into one state, numbered breadth-first from state 0.
    fn quotient(&self, group: &[u32], count: usize) -> Self {
        let of = |state: u32| group.get(state as usize).copied().unwrap_or(0);
        let mut number = vec![u32::MAX; count];
        let mut order = vec![0u32];
        if let Some(first) = number.get_mut(of(0) as usize) {
            *first = 0;
        }
        let mut at = 0;
        let mut next = Vec::new();
        while let Some(state) = order.get(at).copied() {
            for then in self.row(state as usize) {
                let new = u32::try_from(order.len()).unwrap_or(0);
                let Some(known) = number.get_mut(of(*then) as usize) else { continue };
                if *known == u32::MAX {
                    *known = new;
                    order.push(*then);
                }
                next.push(*known);
            }
            at += 1;
        }
        let reports = order.iter().map(|state| self.report(*state)).collect();
        Self { map: self.map, classes: self.classes, next, reports }
    }

    /// Joins byte classes that lead to the same states.
    fn narrowed(self) -> Self {
        let mut known: Map<Vec<u32>, u8> = Map::default();
        let mut kept = Vec::new();
        let mut map = [0; 256];
        // New classes are numbered in the order of the bytes, independently of the old numbers.
        let mut new_of = vec![None; self.classes];
        for (byte, slot) in (0..=u8::MAX).zip(&mut map) {
            let class = self.map.get(usize::from(byte)).copied().map_or(0, usize::from);
            let new = new_of.get(class).copied().flatten().unwrap_or_else(|| {
                let column: Vec<u32> = self.next.iter().skip(class).step_by(self.classes).copied().collect();
                let new = u8::try_from(kept.len()).unwrap_or(u8::MAX);
                let number = *known.entry(column).or_insert(new);
                if number == new {
                    kept.push(class);
                }
                number
            });
            if let Some(known) = new_of.get_mut(class) {
                *known = Some(new);
            }
            *slot = new;
        }
        let states = 0..self.len();
        let column = |state: usize, class: &usize| self.row(state).get(*class).copied().unwrap_or(0);
        let next = states.flat_map(|state| kept.iter().map(move |class| column(state, class))).collect();
        Self { map, classes: kept.len(), next, reports: self.reports }
    }

    /// The automaton that reports the matches of both automata; `None` if it exceeds `most` states or `most_classes`.
    pub(crate) fn joined(&self, other: &Self, most: usize, most_classes: usize) -> Option<Self> {
        let (map, bytes) = classes_by(|byte| {
            let class = |of: &Self| of.map.get(usize::from(byte)).copied().unwrap_or(0);
            u16::from(class(self)) << 8 | u16::from(class(other))
        });
        if bytes.len() > most_classes {
            return None;
        }
        let class = |of: &Self, byte: u8| of.map.get(usize::from(byte)).copied().map_or(0, usize::from);
        let columns: Vec<(usize, usize)> = bytes.iter().map(|byte| (class(self, *byte), class(other, *byte))).collect();
        let mut known: Map<u64, u32> = Map::default();
        known.insert(0, 0);
        let mut open = vec![(0u32, 0u32)];
        let mut next = Vec::new();
        let mut at = 0;
        while let Some((a, b)) = open.get(at).copied() {
            let (mine, others) = (self.row(a as usize), other.row(b as usize));
            for (mine_at, others_at) in &columns {
                let a = mine.get(*mine_at).copied().unwrap_or(0);
                let b = others.get(*others_at).copied().unwrap_or(0);
                let new = u32::try_from(open.len()).ok()?;
                let id = *known.entry(u64::from(a) << 32 | u64::from(b)).or_insert(new);
                if id == new {
                    if open.len() >= most {
                        return None;
                    }
                    open.push((a, b));
                }
                next.push(id);
            }
            at += 1;
        }
        let reports = open.iter().map(|(a, b)| self.report(*a).join(other.report(*b))).collect();
        Some(Self { map, classes: bytes.len(), next, reports })
    }
}

/// The byte classes that a machine distinguishes, with one example byte of each.
fn classes_of(machine: &FormMachine) -> ([u8; 256], Vec<u8>) {
    let mut edges = [false; 257];
    machine.edges(&mut edges);
    let mut known: Map<u64, u16> = Map::default();
    let mut of = [0u16; 256];
    let mut class = 0;
    for (byte, (slot, edge)) in (0..=u8::MAX).zip(of.iter_mut().zip(edges)) {
        if edge || byte == 0 {
            let new = u16::try_from(known.len()).unwrap_or(0);
            class = *known.entry(machine.signature(byte)).or_insert(new);
        }
        *slot = class;
    }
    classes_by(|byte| of.get(usize::from(byte)).copied().unwrap_or(0))
}

/// Groups the bytes by `key`, and numbers the groups in the order of the bytes.
fn classes_by(key: impl Fn(u8) -> u16) -> ([u8; 256], Vec<u8>) {
    let mut known: Vec<u16> = Vec::new();
    let mut map = [0; 256];
    let mut bytes = Vec::new();
    for (byte, slot) in (0..=u8::MAX).zip(&mut map) {
        let key = key(byte);
        let class = known.iter().position(|other| *other == key).unwrap_or_else(|| {
            known.push(key);
            bytes.push(byte);
            known.len() - 1
        });
        *slot = u8::try_from(class).unwrap_or(u8::MAX);
    }
    (map, bytes)
}
