//! A form as a machine that reads bytes. Its state is a set of threads. A thread is a place in the expression with the
//! state of the check there.
//!
//! The compiler and the proof both run machines; [`crate::dfa`] turns sets of threads into states.

use crate::check::{CheckState, FormCheck, FormCheckResult};
use crate::context::{self, Context};
use crate::hash::Mix;
use crate::source::FormBorder;
use regex_automata::nfa::thompson::{self, NFA, State, WhichCaptures};
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;
use regex_syntax::hir::Hir;
use std::hash::Hasher;

/// A place in the expression, and the state of the check there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Thread {
    pub(crate) place: u32,
    pub(crate) check: CheckState,
}

/// What a thread does at a place of the expression.
enum FormInstruction {
    /// Reads a byte: ranges of bytes in order, each with its next place.
    Bytes(Box<[(u8, u8, u32)]>),
    /// Continues without reading a byte if the look-around holds.
    Look(Look, u32),
    Match,
    Fail,
}

/// A compiled form.
pub(crate) struct FormMachine {
    places: Vec<FormInstruction>,
    /// For each place, the places that it reaches without reading a byte or evaluating a look-around.
    closures: Vec<Box<[u32]>>,
    start: u32,
    pub(crate) border: FormBorder,
    pub(crate) check: FormCheck,
    /// The facts about earlier bytes that the machine needs.
    pub(crate) needs: Context,
    has_looks: bool,
}

/// The result of one byte for a set of threads.
#[derive(Default)]
pub(crate) struct FormMachineStep {
    /// A match ended before the byte, but only the byte decided that.
    pub(crate) before: bool,
    /// A match ends with the byte.
    pub(crate) now: bool,
    /// The threads after the byte, sorted.
    pub(crate) threads: Vec<Thread>,
}

impl FormMachine {
    pub(crate) fn new(hir: &Hir, border: FormBorder, check: FormCheck) -> Result<Self, String> {
        let config = thompson::Config::new().which_captures(WhichCaptures::None).nfa_size_limit(Some(4 << 20));
        let nfa = NFA::compiler().configure(config).build_from_hir(hir).map_err(|e| e.to_string())?;
        let places = nfa.states().iter().map(place).collect();
        let needs = context::of_looks(nfa.look_set_any()) | check.needs();
        let needs = needs
            | match border {
                FormBorder::Free => 0,
                FormBorder::Digits => context::DIGIT,
                FormBorder::Words => context::ALNUM,
            };
        let mut machine = Self {
            places,
            closures: Vec::new(),
            start: nfa.start_anchored().as_u32(),
            border,
            check,
            needs: context::closed(needs),
            has_looks: !nfa.look_set_any().is_empty(),
        };
        machine.closures = (0..nfa.states().len()).map(|from| closure(&nfa, from)).collect();
        Ok(machine)
    }

    /// Number of places of the expression.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether every match is decided by its last byte.
    pub(crate) const fn is_immediate(&self) -> bool {
        matches!(self.border, FormBorder::Free) && !self.check.looks_ahead()
    }

    /// Whether a look-around counts as holding without being evaluated.
    pub(crate) fn takes_looks(&self) -> bool {
        self.places.iter().any(|place| matches!(place, FormInstruction::Look(look, _) if context::is_taken(*look)))
    }

    /// Marks the bytes that the machine treats differently from the byte before them in numerical order.
    pub(crate) fn edges(&self, edges: &mut [bool; 257]) {
        for place in &self.places {
            let FormInstruction::Bytes(ranges) = place else { continue };
            for (from, to, _) in ranges {
                for at in [usize::from(*from), usize::from(*to) + 1] {
                    if let Some(edge) = edges.get_mut(at) {
                        *edge = true;
                    }
                }
            }
        }
        for byte in 1..=u8::MAX {
            let apart = |of: &dyn Fn(u8) -> u8| of(byte) != of(byte - 1);
            if (apart(&|b| self.check.kind(b)) || apart(&|b| context::kind(b, self.needs)))
                && let Some(edge) = edges.get_mut(usize::from(byte))
            {
                *edge = true;
            }
        }
    }

    /// A hash of the behaviour of all threads on a byte. Bytes with equal hashes count as equal. If hashes collide, the
    /// proof fails.
    pub(crate) fn signature(&self, byte: u8) -> u64 {
        let mut hash = Mix::default();
        hash.write_u8(self.check.kind(byte));
        hash.write_u8(context::kind(byte, self.needs));
        for place in &self.places {
            let FormInstruction::Bytes(ranges) = place else { continue };
            let then = ranges.iter().position(|(from, to, _)| (*from..=*to).contains(&byte));
            hash.write_usize(then.map_or(0, |at| at + 1));
        }
        hash.finish()
    }

    /// Adds the threads of a match that begins between `before` and `next`.
    fn seed(&self, before: Context, next: u8, threads: &mut Vec<Thread>) {
        if divides(self.border, before, Some(next)) {
            return;
        }
        let check = self.check.start(before);
        self.close(self.start, check, threads, false);
    }

    /// Adds the places reached from a place. Without `ends`, ends of matches are left out, so no empty match counts.
    fn close(&self, place: u32, check: CheckState, threads: &mut Vec<Thread>, ends: bool) {
        for place in self.closures.get(place as usize).into_iter().flatten() {
            if ends || !matches!(self.places.get(*place as usize), Some(FormInstruction::Match)) {
                threads.push(Thread { place: *place, check });
            }
        }
    }

    /// For each thread from index `from` on: adds the threads after its look-around, if the look-around holds.
    fn look(&self, threads: &mut Vec<Thread>, from: usize, before: Context, next: Option<u8>, ends: bool) {
        if !self.has_looks {
            return;
        }
        let mut at = from;
        while let Some(thread) = threads.get(at).copied() {
            at += 1;
            if let Some(FormInstruction::Look(look, then)) = self.places.get(thread.place as usize)
                && context::holds(*look, before, next)
            {
                let length = threads.len();
                self.close(*then, thread.check, threads, ends);
                // A thread is added only once.
                let mut kept = length;
                for i in length..threads.len() {
                    let Some(new) = threads.get(i).copied() else { break };
                    if threads.get(..kept).is_some_and(|known| !known.contains(&new)) {
                        if let Some(slot) = threads.get_mut(kept) {
                            *slot = new;
                        }
                        kept += 1;
                    }
                }
                threads.truncate(kept);
            }
        }
    }

    /// Whether one of the threads is at the end of a match that may end between these bytes.
    fn ends(&self, threads: &[Thread], before: Context, next: Option<u8>) -> bool {
        !divides(self.border, before, next)
            && threads.iter().any(|thread| {
                matches!(self.places.get(thread.place as usize), Some(FormInstruction::Match))
                    && self.check.ends(thread.check, next) == FormCheckResult::Accepted
            })
    }

    /// Reads a byte: computes the next threads and the decided matches. With `anew`, matches may also begin here.
    pub(crate) fn step(&self, threads: &[Thread], before: Context, byte: u8, anew: bool) -> FormMachineStep {
        let mut step = FormMachineStep::default();
        let mut all = threads.to_vec();
        self.look(&mut all, 0, before, Some(byte), true);
        // An immediate machine reported a match with its last byte, unless a look-around had to be evaluated first.
        let pending = if self.is_immediate() { all.get(threads.len()..) } else { all.get(..) };
        step.before = self.ends(pending.unwrap_or_default(), before, Some(byte));
        if anew {
            let seeds = all.len();
            self.seed(before, byte, &mut all);
            self.look(&mut all, seeds, before, Some(byte), false);
        }
        for thread in &all {
            self.advance(*thread, byte, &mut step.threads);
            // The end of a match that is still undecided waits for the next byte.
            if matches!(self.places.get(thread.place as usize), Some(FormInstruction::Match))
                && let FormCheckResult::Open(check) = self.check.ends(thread.check, Some(byte))
            {
                step.threads.push(Thread { check, ..*thread });
            }
        }
        step.threads.sort_unstable();
        step.threads.dedup();
        if self.check == FormCheck::Ip {
            self.drop_outlived(&mut step.threads);
        }
        if self.is_immediate() {
            step.now = self.take_ends(&mut step.threads);
        }
        let undecided = step.threads.len();
        step.threads.retain(|thread| !self.check.is_decided(thread.check));
        step.now |= step.threads.len() < undecided;
        step
    }

    /// Drops a thread if another thread at the same place finds all its matches.
    fn drop_outlived(&self, threads: &mut Vec<Thread>) {
        let all = threads.clone();
        let outlived = |thread: &Thread| {
            let same = all.iter().filter(|other| other.place == thread.place && *other != thread);
            same.into_iter().any(|other| {
                let back = self.check.outlives(thread.check, other.check);
                self.check.outlives(other.check, thread.check) && (!back || other < thread)
            })
        };
        threads.retain(|thread| !outlived(thread));
    }

    /// Adds the threads that follow a thread after a byte.
    pub(crate) fn advance(&self, thread: Thread, byte: u8, next: &mut Vec<Thread>) {
        let Some(FormInstruction::Bytes(ranges)) = self.places.get(thread.place as usize) else { return };
        for (from, to, then) in ranges {
            if (*from..=*to).contains(&byte)
                && let Some(check) = self.check.step(thread.check, byte)
            {
                self.close(*then, check, next, true);
            }
        }
    }

    /// Whether a thread is at a place that reads a byte, in a machine that decides a match with its last byte.
    pub(crate) fn is_plain(&self, thread: Thread) -> bool {
        self.is_immediate() && matches!(self.places.get(thread.place as usize), Some(FormInstruction::Bytes(_)))
    }

    /// Removes the ends of matches from the threads, and returns whether there was an end. Only for immediate machines.
    pub(crate) fn take_ends(&self, threads: &mut Vec<Thread>) -> bool {
        let ends = self.ends(threads, 0, None);
        threads.retain(|thread| !matches!(self.places.get(thread.place as usize), Some(FormInstruction::Match)));
        ends
    }

    /// Whether a byte can have an effect on a thread, directly or through a look-around.
    pub(crate) fn reads(&self, thread: Thread, byte: u8) -> bool {
        match self.places.get(thread.place as usize) {
            Some(FormInstruction::Bytes(ranges)) => ranges.iter().any(|(from, to, _)| (*from..=*to).contains(&byte)),
            Some(FormInstruction::Look(..) | FormInstruction::Match) => true,
            _ => false,
        }
    }

    /// Whether a match ends at the end of the text.
    pub(crate) fn at_end(&self, threads: &[Thread], before: Context) -> bool {
        let mut all = threads.to_vec();
        self.look(&mut all, 0, before, None, true);
        self.ends(&all, before, None)
    }

    /// The places where a match begins, if all look-arounds hold.
    pub(crate) fn beginnings(&self) -> Vec<u32> {
        self.reach(vec![self.start])
    }

    /// The places reached without a byte, if all look-arounds hold.
    fn reach(&self, from: Vec<u32>) -> Vec<u32> {
        let mut seen: Vec<u32> = Vec::new();
        let mut open = from;
        while let Some(place) = open.pop() {
            for place in self.closures.get(place as usize).into_iter().flatten() {
                if !seen.contains(place) {
                    seen.push(*place);
                    if let Some(FormInstruction::Look(_, then)) = self.places.get(*place as usize) {
                        open.push(*then);
                    }
                }
            }
        }
        seen.sort_unstable();
        seen
    }

    /// The places after a byte, without the check, if all look-arounds hold.
    pub(crate) fn beyond(&self, places: &[u32], byte: u8) -> Vec<u32> {
        let mut next = Vec::new();
        for place in places {
            let Some(FormInstruction::Bytes(ranges)) = self.places.get(*place as usize) else { continue };
            next.extend(ranges.iter().filter(|(from, to, _)| (*from..=*to).contains(&byte)).map(|(_, _, then)| *then));
        }
        next.sort_unstable();
        next.dedup();
        self.reach(next)
    }

    /// Whether one of the places is a match.
    pub(crate) fn is_end(&self, places: &[u32]) -> bool {
        places.iter().any(|place| matches!(self.places.get(*place as usize), Some(FormInstruction::Match)))
    }
}

/// Whether the border forbids a match to begin or end between these bytes.
fn divides(border: FormBorder, before: Context, next: Option<u8>) -> bool {
    match border {
        FormBorder::Free => false,
        FormBorder::Digits => before & context::DIGIT != 0 && next.is_some_and(|byte| byte.is_ascii_digit()),
        FormBorder::Words => before & context::ALNUM != 0 && next.is_some_and(|byte| byte.is_ascii_alphanumeric()),
    }
}

fn place(state: &State) -> FormInstruction {
    match state {
        State::ByteRange { trans } => FormInstruction::Bytes([(trans.start, trans.end, trans.next.as_u32())].into()),
        State::Sparse(sparse) => {
            FormInstruction::Bytes(sparse.transitions.iter().map(|t| (t.start, t.end, t.next.as_u32())).collect())
        }
        State::Dense(dense) => {
            let of = |byte: u8| dense.matches_byte(byte).map(|next| (byte, byte, next.as_u32()));
            FormInstruction::Bytes((0..=u8::MAX).filter_map(of).collect())
        }
        State::Look { look, next } => FormInstruction::Look(*look, next.as_u32()),
        State::Match { .. } => FormInstruction::Match,
        _ => FormInstruction::Fail,
    }
}

/// The places reached from a place without reading a byte or evaluating a look-around. Only places that read a byte,
/// look around or end a match are kept.
fn closure(nfa: &NFA, from: usize) -> Box<[u32]> {
    let mut seen: Vec<StateID> = Vec::new();
    let mut open: Vec<StateID> = StateID::new(from).into_iter().collect();
    let mut closed = Vec::new();
    while let Some(id) = open.pop() {
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        match nfa.state(id) {
            State::Union { alternates } => open.extend(alternates.iter().copied()),
            State::BinaryUnion { alt1, alt2 } => open.extend([*alt1, *alt2]),
            State::Capture { next, .. } => open.push(*next),
            State::Fail => {}
            _ => closed.push(id.as_u32()),
        }
    }
    closed.sort_unstable();
    closed.into()
}
