//! Proves how an automaton is related to its form, by walking both at once over all texts.
//!
//! [`missed`] searches for a match of the form during which the automaton reports nothing; if there is none, the
//! automaton is a superset. [`invents`] searches for a report without a match of the form. Both functions walk the
//! reachable pairs of automaton state and machine state, so the result holds for texts of any length.

use crate::context::{self, Context};
use crate::dfa::Dfa;
use crate::hash::Map;
use crate::machine::{FormMachine, FormMachineStep, Thread};

/// Largest number of pairs that [`invents`] examines.
const MOST_PAIRS: usize = 1 << 15;

/// For each pair, the previous pair and the byte that led from it to this pair.
type Trail = Vec<(usize, u8)>;

/// A text with a match of `machine` during which `dfa` reports nothing at bit 0; `None` if no such text exists.
pub(crate) fn missed(machine: &FormMachine, dfa: &Dfa) -> Option<Vec<u8>> {
    let bytes = bytes_apart(machine, dfa);
    // A pair without a thread is a place where a match may begin; any other pair has one thread of an unreported match.
    let mut known: Map<(u32, Context, Option<Thread>), ()> = Map::default();
    let begin = (0, context::START & machine.needs, None);
    known.insert(begin, ());
    let mut open: Vec<(u32, Context, Option<Thread>)> = vec![begin];
    let mut trail: Trail = vec![(0, 0)];
    let mut at = 0;
    while let Some((state, before, thread)) = open.get(at).copied() {
        let held = thread.as_slice();
        if thread.is_some() && machine.at_end(held, before) && dfa.report(state).at_end & 1 == 0 {
            return Some(text_to(&trail, at, None));
        }
        for byte in &bytes {
            if thread.is_some_and(|thread| !machine.reads(thread, *byte)) {
                continue;
            }
            let then = dfa.after(state, *byte);
            let report = dfa.report(then);
            let step = match thread {
                Some(thread) if machine.is_plain(thread) => {
                    let mut step = FormMachineStep::default();
                    machine.advance(thread, *byte, &mut step.threads);
                    step.now = machine.take_ends(&mut step.threads);
                    step
                }
                _ => machine.step(held, before, *byte, thread.is_none()),
            };
            let told_before = thread.is_some() && report.before & 1 == 1;
            if step.before && !told_before || step.now && !told_before && report.now & 1 == 0 {
                return Some(text_to(&trail, at, Some(*byte)));
            }
            let facts = context::after(before, *byte, machine.needs);
            let mut add = |thread: Option<Thread>| {
                let next = (then, facts, thread);
                if known.insert(next, ()).is_none() {
                    open.push(next);
                    trail.push((at, *byte));
                }
            };
            if thread.is_none() {
                add(None);
            }
            if !told_before && report.now & 1 == 0 {
                step.threads.into_iter().for_each(|thread| add(Some(thread)));
            }
        }
        at += 1;
    }
    None
}

/// Whether `dfa` reports at bit 0 a place where no match of `machine` ends; `None` if the limit of pairs was reached.
pub(crate) fn invents(machine: &FormMachine, dfa: &Dfa) -> Option<bool> {
    let bytes = bytes_apart(machine, dfa);
    let mut known: Map<(u32, Context, Vec<Thread>), ()> = Map::default();
    let begin = (0, context::START & machine.needs, Vec::new());
    known.insert(begin.clone(), ());
    let mut open = vec![begin];
    while let Some((state, before, threads)) = open.pop() {
        for byte in &bytes {
            let then = dfa.after(state, *byte);
            let report = dfa.report(then);
            let step = machine.step(&threads, before, *byte, true);
            let facts = context::after(before, *byte, machine.needs);
            let ends = || machine.at_end(&step.threads, facts);
            if report.now & 1 == 1 && !step.now
                || report.before & 1 == 1 && !step.before
                || report.at_end & 1 == 1 && !ends()
            {
                return Some(true);
            }
            let next = (then, facts, step.threads);
            if known.insert(next.clone(), ()).is_none() {
                open.push(next);
            }
        }
        if known.len() > MOST_PAIRS {
            return None;
        }
    }
    Some(false)
}

/// Whether no match is a prefix of another match; then a search with a single end per start finds all matches.
pub(crate) fn is_prefix_free(machine: &FormMachine) -> bool {
    let mut edges = [false; 257];
    machine.edges(&mut edges);
    let bytes = representatives(&edges);
    let mut known: Map<(bool, Vec<u32>), ()> = Map::default();
    let begin = (false, machine.beginnings());
    known.insert(begin.clone(), ());
    let mut open = vec![begin];
    while let Some((ended, places)) = open.pop() {
        for byte in &bytes {
            let next = machine.beyond(&places, *byte);
            let ends = machine.is_end(&next);
            if ended && ends {
                return false;
            }
            let next = (ended || ends, next);
            if !next.1.is_empty() && known.insert(next.clone(), ()).is_none() {
                open.push(next);
            }
        }
        if known.len() > MOST_PAIRS {
            return false;
        }
    }
    true
}

/// The bytes on the way to the pair at `at`, and an optional last byte.
fn text_to(trail: &Trail, mut at: usize, last: Option<u8>) -> Vec<u8> {
    let mut text: Vec<u8> = last.into_iter().collect();
    while let Some((from, byte)) = trail.get(at).filter(|_| at > 0) {
        text.push(*byte);
        at = *from;
    }
    text.reverse();
    text
}

/// One byte of each class of bytes that the machine or the automaton distinguishes.
fn bytes_apart(machine: &FormMachine, dfa: &Dfa) -> Vec<u8> {
    let mut edges = [false; 257];
    machine.edges(&mut edges);
    for byte in 1..=u8::MAX {
        let class = |byte: u8| dfa.map.get(usize::from(byte)).copied();
        if class(byte) != class(byte - 1)
            && let Some(edge) = edges.get_mut(usize::from(byte))
        {
            *edge = true;
        }
    }
    representatives(&edges)
}

fn representatives(edges: &[bool; 257]) -> Vec<u8> {
    (0..=u8::MAX).filter(|byte| *byte == 0 || edges.get(usize::from(*byte)).copied().unwrap_or(true)).collect()
}
