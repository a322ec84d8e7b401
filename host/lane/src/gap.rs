//! The gap automaton reads the bytes after a numeral and decides whether the number can still continue.
//!
//! It is derived from the forms whose numbers are counted. A separator that any form allows between two numerals is
//! allowed everywhere, so the automaton never ends a number in the middle of a match.

use crate::dfa::{Dfa, DfaReport};
use crate::machine::FormMachine;
use std::collections::BTreeMap;

/// The state from which no number can continue.
pub(crate) const DEAD: u16 = 0;

/// The automaton. A numeral leads to the same state from every state. `None` if there are more than `most` states.
pub(crate) fn automaton(machines: &[FormMachine], is_numeral: fn(u8) -> bool, most: usize) -> Option<Dfa> {
    type Places = Vec<Vec<u32>>;
    let all: Places = machines.iter().map(reachable).collect();
    let numerals: Vec<u8> = (0..=u8::MAX).filter(|byte| is_numeral(*byte)).collect();
    let others: Vec<u8> = (0..=u8::MAX).filter(|byte| !is_numeral(*byte)).collect();
    let useful: Places = machines.iter().zip(&all).map(|(machine, all)| useful(machine, all, &numerals)).collect();
    let beyond = |places: &Places, byte: u8| -> Places {
        let parts = machines.iter().zip(places).zip(&useful);
        let of = |((machine, places), useful): ((&FormMachine, &Vec<u32>), &Vec<u32>)| {
            let mut next = machine.beyond(places, byte);
            next.retain(|place| useful.binary_search(place).is_ok());
            next
        };
        parts.map(of).collect()
    };
    let mut behind: Places = machines.iter().map(|_| Vec::new()).collect();
    for byte in &numerals {
        for (behind, next) in behind.iter_mut().zip(beyond(&all, *byte)) {
            behind.extend(next);
        }
    }
    for places in &mut behind {
        places.sort_unstable();
        places.dedup();
    }
    let dead: Places = machines.iter().map(|_| Vec::new()).collect();
    let mut known: BTreeMap<Places, u32> = BTreeMap::from([(dead.clone(), 0), (behind.clone(), 1)]);
    let mut open = vec![dead, behind];
    let mut next = Vec::new();
    let mut at = 0;
    while let Some(places) = open.get(at).cloned() {
        let mut row = vec![1u32; 256];
        for byte in &others {
            let then = beyond(&places, *byte);
            let new = u32::try_from(open.len()).ok()?;
            let id = *known.entry(then.clone()).or_insert(new);
            if id == new {
                open.push(then);
            }
            if let Some(slot) = row.get_mut(usize::from(*byte)) {
                *slot = id;
            }
        }
        next.extend(row);
        at += 1;
        if open.len() > most {
            return None;
        }
    }
    let mut map = [0; 256];
    (0..=u8::MAX).zip(&mut map).for_each(|(byte, slot)| *slot = byte);
    // Only the dead state has a report; minimisation therefore keeps it apart.
    let report = |state| DfaReport { now: u16::from(state == 0), ..DfaReport::default() };
    let reports = (0..open.len()).map(report).collect();
    Some(Dfa { map, classes: 256, next, reports }.least())
}

/// Every place that a match can reach.
fn reachable(machine: &FormMachine) -> Vec<u32> {
    let mut all = machine.beginnings();
    loop {
        let mut more: Vec<u32> = (0..=u8::MAX).flat_map(|byte| machine.beyond(&all, byte)).collect();
        more.extend(&all);
        more.sort_unstable();
        more.dedup();
        if more.len() == all.len() {
            return all;
        }
        all = more;
    }
}

/// The places from which another numeral can be read.
fn useful(machine: &FormMachine, all: &[u32], numerals: &[u8]) -> Vec<u32> {
    let read = |place: &u32, bytes: &[u8]| -> Vec<u32> {
        bytes.iter().flat_map(|byte| machine.beyond(&[*place], *byte)).collect()
    };
    let mut useful: Vec<u32> = all.iter().filter(|place| !read(place, numerals).is_empty()).copied().collect();
    let bytes: Vec<u8> = (0..=u8::MAX).collect();
    let next: Vec<(u32, Vec<u32>)> = all.iter().map(|place| (*place, read(place, &bytes))).collect();
    loop {
        let leads = |(_, next): &&(u32, Vec<u32>)| next.iter().any(|place| useful.binary_search(place).is_ok());
        let mut more: Vec<u32> = next.iter().filter(leads).map(|(place, _)| *place).collect();
        more.extend(&useful);
        more.sort_unstable();
        more.dedup();
        if more.len() == useful.len() {
            return useful;
        }
        useful = more;
    }
}
