//! Where the candidates of a driven stream come from: the next request to the engine, and the steps to go back.
//!
//! Nothing here waits. The proposer says what is asked ([`Proposer::request`]) and what the engine receives before
//! ([`Proposer::take_moves`]); whoever runs the engine brings the answer.
//!
//! The end of a candidate that more text could make a part of a hit is not judged at once: it stays pending, the engine
//! continues from it, and it is judged with what follows. A hit that crosses the border makes both candidates one step.

use super::pending::{Pending, Upcoming};
use crate::engine::{EngineError, Move, View};
use portcullis_core::manifest::Limits;
use portcullis_core::state::{SemanticState, Undo};

/// Bytes that a pattern can reach back.
const REACH: usize = 1024;

/// One candidate, or several that a hit joins, admitted wholly or in parts.
#[derive(Debug)]
pub(super) struct Step {
    /// Which candidate of its place it was, from 0.
    pub(super) attempt: u32,
    /// Inert bytes that were held before it.
    pub(super) inert: String,
    /// Its admitted transitions, in order, each with its undo.
    pub(super) admitted: Vec<(u32, Undo)>,
    /// Bytes of the admitted text before it.
    text_before: usize,
    /// Bytes that were proposed before it.
    proposed_before: usize,
    pub(super) proposed: String,
    /// Places of the engine that it takes up: its candidates.
    pub(super) places: usize,
    /// How many of them the engine passed while an end was pending.
    passed: usize,
}

impl Default for Step {
    fn default() -> Self {
        Self {
            attempt: 0,
            inert: String::new(),
            admitted: Vec::new(),
            text_before: 0,
            proposed_before: 0,
            proposed: String::new(),
            places: 1,
            passed: 0,
        }
    }
}

/// A place that a rollback may go back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    back: usize,
    /// Its candidate's place in the admitted ones.
    at: usize,
}

/// A request that is not answered yet.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// The text before the answer, as the engine is shown it: admitted text, then the held inert bytes.
    shown: String,
    attempt: u32,
    /// The answer is the other way of a rollback to this place.
    pub(super) rollback: Option<Target>,
}

/// The admitted part of the engine's candidates, and the next request to the engine.
#[derive(Default)]
pub(super) struct Proposer {
    /// Admitted text, whether it left or not.
    text: String,
    /// All proposed text up to the current step, refused or not: the following text is read after it.
    proposed: String,
    pub(super) step: Step,
    /// The end of the candidates that waits for what follows.
    pub(super) pending: Pending,
    /// The text that was read after it and comes next.
    pub(super) upcoming: Option<Upcoming>,
    /// Admitted steps that can be taken back, in order.
    reversible: Vec<Step>,
    proposals: u32,
    request: Option<Request>,
    /// Messages that the engine receives before the next request.
    moves: Vec<Move>,
    rollbacks: u8,
    pub(super) place: usize,
    pub(super) open: bool,
    pub(super) ended: bool,
    /// Why the engine proposes nothing more.
    pub(super) failed: Option<EngineError>,
    /// Whether something of the current candidate was refused.
    pub(super) refused: bool,
    pub(super) deferred: bool,
}

impl Proposer {
    /// Asks for the candidate of the current attempt, or for what follows the pending end.
    pub(super) fn ask(&mut self, held: &str) {
        self.proposals += 1;
        let stands = [held, &self.pending.text()].concat();
        let shown = self.ending(self.text.len(), &stands, View::ADMITTED_MAX);
        let attempt = if self.pending.is_empty() { self.step.attempt } else { 0 };
        self.request = Some(Request { shown, attempt, rollback: None });
    }

    /// The end, at most `most` bytes, of the first `end` bytes of the admitted text and what is held after them.
    fn ending(&self, end: usize, held: &str, most: usize) -> String {
        let text = [self.text.get(..end).unwrap_or_default(), held].concat();
        let from = text.ceil_char_boundary(text.len().saturating_sub(most));
        text.get(from..).unwrap_or_default().to_owned()
    }

    pub(super) const fn is_asking(&self) -> bool {
        self.request.is_some()
    }

    /// The request and the number of the attempt. The engine sees the operator's words, admitted text and held inert
    /// bytes, nothing else.
    pub(super) fn request<'a>(&'a self, state: &'a SemanticState) -> Option<(View<'a>, u32)> {
        let Request { shown, attempt, .. } = self.request.as_ref()?;
        Some((View { intent: &state.intent.text, facts: &state.intent.facts, admitted: shown }, *attempt))
    }

    /// Messages that the engine receives before the request, in order.
    pub(super) fn take_moves(&mut self) -> Vec<Move> {
        std::mem::take(&mut self.moves)
    }

    /// The request is answered, or given up.
    pub(super) fn take_request(&mut self) -> Option<Request> {
        self.request.take()
    }

    /// The end of the text before the pending end, as long as a pattern can be: admitted text, then held inert bytes.
    pub(super) fn tail(&self, held: &str) -> String {
        self.ending(self.text.len(), held, REACH)
    }

    /// The same, of all proposed text, refused or not.
    pub(super) fn before(&self) -> String {
        let read = self.step.proposed.len() - self.pending.text().len();
        let text = [self.proposed.as_str(), self.step.proposed.get(..read).unwrap_or_default()].concat();
        let from = text.ceil_char_boundary(text.len().saturating_sub(REACH));
        text.get(from..).unwrap_or_default().to_owned()
    }

    pub(super) const fn proposals(&self) -> u32 {
        self.proposals
    }

    pub(super) fn admitted(&mut self, seq: u32, undo: Undo, bytes: &str) {
        self.text.push_str(bytes);
        self.step.admitted.push((seq, undo));
    }

    /// Text that is not the engine's, admitted between two candidates.
    pub(super) fn resubmitted(&mut self, bytes: &str) {
        self.text.push_str(bytes);
        self.proposed.push_str(bytes);
        // The text before a resubmitted text cannot be taken back by itself.
        self.reversible.clear();
    }

    /// Judged text stays, and the pending end waits: the engine continues from all of it.
    pub(super) fn wait(&mut self, held: &str) {
        let said = [self.said(held), &self.pending.text()].concat();
        self.moves.push(Move::Advance(said));
        self.step.passed += 1;
    }

    /// The rest of the current step: admitted text, or the held bytes that it added to.
    fn said<'a>(&'a self, held: &'a str) -> &'a str {
        let said = self.text.get(self.step.text_before..).unwrap_or_default();
        let kept = if self.step.admitted.is_empty() { held.strip_prefix(&self.step.inert) } else { None };
        kept.unwrap_or(said)
    }

    /// The current step is done. `held` are inert bytes that no admitted span has taken yet; `keep` says whether the
    /// step can be taken back.
    pub(super) fn advance(&mut self, held: &str, keep: bool) {
        // The engine continues from the admitted text and the held bytes. Some of the text that it was shown was
        // refused.
        if self.refused {
            self.take_back();
        }
        let places = self.step.places;
        let said = self.said(held).to_owned();
        let mut left = (self.step.passed..places).map(|_| ());
        if left.next().is_some() {
            self.moves.push(Move::Advance(said));
        }
        self.moves.extend(left.map(|()| Move::Advance(String::new())));
        self.place += places;
        let step = std::mem::take(&mut self.step);
        self.proposed.push_str(&step.proposed);
        if keep {
            self.reversible.push(step);
        }
    }

    /// The engine goes back to the place where the current step began.
    pub(super) fn take_back(&mut self) {
        if self.step.passed > 0 {
            self.moves.push(Move::RollBack(std::mem::take(&mut self.step.passed)));
            self.ended = false;
        }
    }

    /// Drops the text that was read after the current step, and the step's own end: they followed refused text.
    pub(super) fn forget(&mut self) {
        self.pending = Pending::default();
        self.upcoming = None;
    }

    /// Continues to the place after the current step with nothing.
    pub(super) fn pass(&mut self) {
        let Step { places, proposed, .. } = std::mem::take(&mut self.step);
        self.proposed.push_str(&proposed);
        self.moves.extend((0..places).map(|_| Move::Advance(String::new())));
        self.place += places;
    }

    /// Everything so far has left: nothing can be taken back any more.
    pub(super) fn seal(&mut self) {
        self.reversible.clear();
    }

    /// Searches backwards, at least `back` candidates, for an admitted candidate with another alternative, and asks for
    /// that alternative. Nothing is taken back before the engine has answered. Returns whether there is such a place.
    pub(super) fn seek(&mut self, back: usize, limits: &Limits) -> bool {
        if self.rollbacks >= limits.rollbacks {
            return false;
        }
        for back in back..=self.reversible.len() {
            let at = self.reversible.len() - back;
            let Some(step) = self.reversible.get(at) else { break };
            let attempt = step.attempt + 1;
            if attempt > u32::from(limits.alternatives) {
                continue;
            }
            let places = self.reversible.iter().skip(at).map(|step| step.places).sum();
            self.moves.push(Move::RollBack(places));
            self.proposals += 1;
            let shown = self.ending(step.text_before, &step.inert, View::ADMITTED_MAX);
            self.request = Some(Request { shown, attempt, rollback: Some(Target { back, at }) });
            return true;
        }
        false
    }

    /// That place has no other alternative: the engine is moved forward again over the text that stays, and the next
    /// place is tried.
    pub(super) fn seek_further(&mut self, Target { back, at }: Target, limits: &Limits) -> bool {
        let ends = self.reversible.iter().skip(at + 1).map(|s| s.text_before).chain([self.text.len()]);
        for (step, end) in self.reversible.iter().skip(at).zip(ends) {
            let said = self.text.get(step.text_before..end).unwrap_or_default();
            self.moves.push(Move::Advance(said.to_owned()));
            self.moves.extend((1..step.places).map(|_| Move::Advance(String::new())));
        }
        self.seek(back + 1, limits)
    }

    /// Goes back to that place, where another candidate is judged.
    pub(super) fn roll_back(&mut self, state: &mut SemanticState, Target { at, .. }: Target) -> Rollback {
        self.rollbacks += 1;
        let mut transitions = Vec::new();
        let mut inert = String::new();
        let attempt = self.reversible.get(at).map_or(0, |step| step.attempt + 1);
        self.place -= self.reversible.iter().skip(at).map(|step| step.places).sum::<usize>();
        for step in self.reversible.drain(at..).rev() {
            for (seq, undo) in step.admitted.into_iter().rev() {
                state.revert(undo);
                transitions.push(seq);
            }
            self.text.truncate(step.text_before);
            self.proposed.truncate(step.proposed_before);
            inert = step.inert;
        }
        transitions.reverse();
        self.begin(attempt, &inert);
        Rollback { transitions, inert }
    }

    pub(super) fn begin(&mut self, attempt: u32, inert: &str) {
        let (text_before, proposed_before) = (self.text.len(), self.proposed.len());
        self.step = Step { attempt, inert: inert.to_owned(), text_before, proposed_before, ..Step::default() };
        self.open = true;
        self.refused = false;
        self.deferred = false;
    }
}

pub(super) struct Rollback {
    /// Sequences of the transitions, in order.
    pub(super) transitions: Vec<u32>,
    pub(super) inert: String,
}
