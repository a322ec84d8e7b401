//! The candidates of a driven stream: makes the next request to the engine, and keeps the steps for a rollback.
//!
//! The proposer never waits. It describes the next request ([`Proposer::request`]) and the messages before it
//! ([`Proposer::take_moves`]); the code that runs the engine brings the answer.
//!
//! If more text could turn the end of a candidate into a part of a hit, this end stays pending. The engine continues
//! from this end, which is judged with the following text. A hit that crosses from one candidate into the next joins
//! both into one step.

use super::pending::{PendingEnd, Upcoming};
use crate::engine::{EngineError, EngineMove, EngineView};
use portcullis_core::manifest::GatedLoopLimits;
use portcullis_core::state::{CommitUndo, SemanticState};
use portcullis_mapping::{ReferenceLabels, TextMapper};

/// Greatest length of a pattern's match in bytes.
const REACH: usize = 1024;

/// A step: one candidate, or several candidates that a hit joins. A step is admitted completely or in part.
#[derive(Debug)]
pub(super) struct CandidateStep {
    /// Number of the candidate at its place, from 0.
    pub(super) attempt: u32,
    /// Inert bytes that were held before the step.
    pub(super) inert: String,
    /// Sequences of the step's admitted transitions, in order, each with its undo record.
    pub(super) admitted: Vec<(u32, CommitUndo)>,
    /// Number of bytes of admitted text before the step.
    text_before: usize,
    /// Number of bytes of proposed text before the step.
    proposed_before: usize,
    pub(super) proposed: String,
    /// Number of candidates in the step; each has its own place.
    pub(super) places: usize,
    /// Number of places of this step that the engine was already moved past, because their ends were pending.
    passed: usize,
}

impl Default for CandidateStep {
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

/// The target of a possible rollback.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    back: usize,
    /// Index of the target's step in `reversible`.
    at: usize,
}

/// A request without an answer yet.
#[derive(Clone, Debug)]
pub(super) struct OutstandingProposalRequest {
    /// The text before the answer as the engine sees it: admitted text, then held inert bytes.
    shown: String,
    attempt: u32,
    /// Set if the answer is an alternative at this earlier place, for a rollback.
    pub(super) rollback: Option<Target>,
}

/// The engine's candidates so far, and the next request to the engine.
#[derive(Default)]
pub(super) struct Proposer {
    /// Admitted text, released or not.
    text: String,
    /// The labels of references in the first bytes of `text`, and the number of these bytes.
    labels: (ReferenceLabels, usize),
    /// All proposed text before the current step, refused or not; later text is read after it.
    proposed: String,
    pub(super) step: CandidateStep,
    /// The pending end of the candidates.
    pub(super) pending: PendingEnd,
    /// The next candidate. It was read together with the pending end, as a step of its own.
    pub(super) upcoming: Option<Upcoming>,
    /// Admitted steps that can be undone, in order.
    reversible: Vec<CandidateStep>,
    proposals: u32,
    request: Option<OutstandingProposalRequest>,
    /// Messages that the engine receives before the next request.
    moves: Vec<EngineMove>,
    rollbacks: u8,
    pub(super) place: usize,
    pub(super) open: bool,
    pub(super) ended: bool,
    /// Why the engine does not propose any more.
    pub(super) failed: Option<EngineError>,
    /// Whether a part of the current candidate was refused.
    pub(super) refused: bool,
    pub(super) deferred: bool,
}

impl Proposer {
    /// Requests the candidate of the current attempt, or the text after the pending end.
    pub(super) fn ask(&mut self, held: &str) {
        self.proposals += 1;
        let stands = [held, &self.pending.text()].concat();
        let shown = self.ending(self.text.len(), &stands, EngineView::ADMITTED_MAX);
        let attempt = if self.pending.is_empty() { self.step.attempt } else { 0 };
        self.request = Some(OutstandingProposalRequest { shown, attempt, rollback: None });
    }

    /// The last `most` bytes of the first `end` bytes of admitted text followed by `held`.
    fn ending(&self, end: usize, held: &str, most: usize) -> String {
        last_bytes([self.text.get(..end).unwrap_or_default(), held], most)
    }

    pub(super) const fn is_asking(&self) -> bool {
        self.request.is_some()
    }

    /// The request and the number of the attempt. The engine sees the operator's words, admitted text, and held inert
    /// and pending bytes, nothing else.
    pub(super) fn request<'a>(&'a self, state: &'a SemanticState) -> Option<(EngineView<'a>, u32)> {
        let OutstandingProposalRequest { shown, attempt, .. } = self.request.as_ref()?;
        Some((EngineView { intent: &state.intent.text, facts: &state.intent.facts, admitted: shown }, *attempt))
    }

    pub(super) fn take_moves(&mut self) -> Vec<EngineMove> {
        std::mem::take(&mut self.moves)
    }

    /// Removes the request, because it was answered or given up.
    pub(super) fn take_request(&mut self) -> Option<OutstandingProposalRequest> {
        self.request.take()
    }

    /// The text before the pending end, as far back as a pattern can reach: admitted text, then held inert bytes.
    pub(super) fn tail(&self, held: &str) -> String {
        self.ending(self.text.len(), held, REACH)
    }

    /// The labels of references in the admitted text before [`Self::tail`]. Each byte is read once, but again after a
    /// rollback.
    pub(super) fn labels_before(&mut self, held: &str, mapper: &TextMapper) -> &ReferenceLabels {
        let end =
            self.text.floor_char_boundary(self.text.len() - REACH.saturating_sub(held.len()).min(self.text.len()));
        if end < self.labels.1 {
            self.labels = Default::default();
        }
        let (labels, read) = &mut self.labels;
        mapper.remember(self.text.get(*read..).unwrap_or_default(), end - *read, labels);
        *read = end;
        labels
    }

    /// As [`Self::tail`], but of all proposed text, refused or not.
    pub(super) fn before(&self) -> String {
        let read = self.step.proposed.len() - self.pending.text().len();
        last_bytes([&self.proposed, self.step.proposed.get(..read).unwrap_or_default()], REACH)
    }

    pub(super) const fn proposals(&self) -> u32 {
        self.proposals
    }

    pub(super) fn admitted(&mut self, seq: u32, undo: CommitUndo, bytes: &str) {
        self.text.push_str(bytes);
        self.step.admitted.push((seq, undo));
    }

    /// Records text that was admitted between two candidates from the deferred queue.
    pub(super) fn resubmitted(&mut self, bytes: &str) {
        self.text.push_str(bytes);
        self.proposed.push_str(bytes);
        // A rollback to a place before resubmitted text is not possible.
        self.reversible.clear();
    }

    /// Moves the engine past the judged text and the pending end, which is judged later with the following text.
    pub(super) fn wait(&mut self, held: &str) {
        let said = [self.said(held), &self.pending.text()].concat();
        self.moves.push(EngineMove::Advance(said));
        self.step.passed += 1;
    }

    /// The text that the current step has added: admitted text, or only held bytes.
    fn said<'a>(&'a self, held: &'a str) -> &'a str {
        let said = self.text.get(self.step.text_before..).unwrap_or_default();
        let kept = if self.step.admitted.is_empty() { held.strip_prefix(&self.step.inert) } else { None };
        kept.unwrap_or(said)
    }

    /// Ends the current step. `held` are inert bytes that no admitted span has taken yet; `keep` is whether the step
    /// can be undone later.
    pub(super) fn advance(&mut self, held: &str, keep: bool) {
        // After a refusal, the engine must continue from admitted text and held bytes. So the engine is moved back
        // first.
        if self.refused {
            self.take_back();
        }
        let places = self.step.places;
        let said = self.said(held).to_owned();
        let mut left = (self.step.passed..places).map(|_| ());
        if left.next().is_some() {
            self.moves.push(EngineMove::Advance(said));
        }
        self.moves.extend(left.map(|()| EngineMove::Advance(String::new())));
        self.place += places;
        let step = std::mem::take(&mut self.step);
        self.proposed.push_str(&step.proposed);
        if keep {
            self.reversible.push(step);
        }
    }

    /// Moves the engine back to the place where the current step began.
    pub(super) fn take_back(&mut self) {
        if self.step.passed > 0 {
            self.moves.push(EngineMove::RollBack(std::mem::take(&mut self.step.passed)));
            self.ended = false;
        }
    }

    /// Drops the pending end and the candidate read after the current step, because they follow refused text.
    pub(super) fn forget(&mut self) {
        self.pending = PendingEnd::default();
        self.upcoming = None;
    }

    /// Continues with the place after the current step, without any of its text.
    pub(super) fn pass(&mut self) {
        let CandidateStep { places, proposed, .. } = std::mem::take(&mut self.step);
        self.proposed.push_str(&proposed);
        self.moves.extend((0..places).map(|_| EngineMove::Advance(String::new())));
        self.place += places;
    }

    /// Makes all steps so far final, because their text has been released.
    pub(super) fn seal(&mut self) {
        self.reversible.clear();
    }

    /// Looks for an admitted step, at least `back` steps ago, that may be tried once more, and requests an alternative
    /// to it. The rollback takes place only when the engine has answered. Returns whether there is such a step.
    pub(super) fn seek(&mut self, back: usize, limits: &GatedLoopLimits) -> bool {
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
            self.moves.push(EngineMove::RollBack(places));
            self.proposals += 1;
            let shown = self.ending(step.text_before, &step.inert, EngineView::ADMITTED_MAX);
            self.request = Some(OutstandingProposalRequest { shown, attempt, rollback: Some(Target { back, at }) });
            return true;
        }
        false
    }

    /// Called when the engine has no alternative at the target: moves the engine forward again over the text after the
    /// target, and tries an earlier step. Returns whether there is one.
    pub(super) fn seek_further(&mut self, Target { back, at }: Target, limits: &GatedLoopLimits) -> bool {
        let ends = self.reversible.iter().skip(at + 1).map(|s| s.text_before).chain([self.text.len()]);
        for (step, end) in self.reversible.iter().skip(at).zip(ends) {
            let said = self.text.get(step.text_before..end).unwrap_or_default();
            self.moves.push(EngineMove::Advance(said.to_owned()));
            self.moves.extend((1..step.places).map(|_| EngineMove::Advance(String::new())));
        }
        self.seek(back + 1, limits)
    }

    /// Rolls back to the target, where the engine's alternative is judged next.
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
        self.step = CandidateStep {
            attempt,
            inert: inert.to_owned(),
            text_before,
            proposed_before,
            ..CandidateStep::default()
        };
        self.open = true;
        self.refused = false;
        self.deferred = false;
    }
}

/// The last `most` bytes of two texts that follow each other, from the start of a character on. Only these bytes are
/// copied, so the cost of a candidate does not depend on the text before it.
fn last_bytes([first, second]: [&str; 2], most: usize) -> String {
    let ending = |text: &str, most: usize| {
        let from = text.ceil_char_boundary(text.len().saturating_sub(most));
        text.get(from..).unwrap_or_default().to_owned()
    };
    if second.len() >= most {
        return ending(second, most);
    }
    ending(first, most - second.len()) + second
}

pub(super) struct Rollback {
    /// Sequences of the undone transitions, in order.
    pub(super) transitions: Vec<u32>,
    pub(super) inert: String,
}
