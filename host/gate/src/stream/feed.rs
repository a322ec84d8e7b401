//! Where the candidates of a driven stream come from, and what it takes to go back.

use crate::engine::{Engine, EngineError, Proposal, View};
use crate::source::Candidate;
use portcullis_core::manifest::Limits;
use portcullis_core::state::{SemanticState, Undo};

/// One candidate that was admitted, wholly or in parts.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// Which candidate of its place it was, from 0.
    pub(super) attempt: u32,
    /// Inert bytes that were held before it.
    pub(super) inert: String,
    /// Its admitted transitions, in order, with what takes each back.
    pub(super) admitted: Vec<(u32, Undo)>,
    /// Bytes of the admitted text before it.
    text_before: usize,
}

/// An engine with the place where it stands.
pub(super) struct Feed {
    engine: Box<dyn Engine>,
    /// Admitted text, whether it left or not.
    text: String,
    /// The candidate that is being judged.
    pub(super) step: Step,
    /// Admitted candidates that can be taken back, in order.
    journal: Vec<Step>,
    /// Proposals asked for.
    proposals: u32,
    /// What the engine answered since it was told.
    answers: Vec<Result<Proposal, EngineError>>,
    /// Rollbacks made.
    rollbacks: u8,
    /// Places passed, for reports.
    pub(super) place: usize,
    /// Whether a candidate is being judged.
    pub(super) open: bool,
    /// Whether the engine said that the text is complete.
    pub(super) ended: bool,
    /// Whether something of the current candidate was refused.
    pub(super) refused: bool,
    /// Whether what was refused waits in the queue.
    pub(super) deferred: bool,
}

impl Feed {
    pub(super) fn new(engine: Box<dyn Engine>) -> Self {
        Self {
            engine,
            text: String::new(),
            step: Step::default(),
            journal: Vec::new(),
            proposals: 0,
            answers: Vec::new(),
            rollbacks: 0,
            place: 0,
            open: false,
            ended: false,
            refused: false,
            deferred: false,
        }
    }

    /// Asks for the candidate of the current attempt. The engine is shown the operator's words and admitted text, nothing else.
    pub(super) fn propose(&mut self, state: &SemanticState, inert: &str) -> Result<Proposal, EngineError> {
        self.proposals += 1;
        let proposal = self.ask(state, self.text.len(), self.step.attempt)?;
        match proposal {
            Proposal::Candidate(_) => self.begin(self.step.attempt, inert),
            Proposal::End => self.ended = true,
            Proposal::Exhausted => {}
        }
        Ok(proposal)
    }

    /// The end of what stands before the next candidate: admitted text, then held inert bytes. As long as a pattern can reach.
    pub(super) fn tail(&self, held: &str) -> String {
        const REACH: usize = 1024;
        let start = self.text.len().saturating_sub(REACH);
        let start = (start..=self.text.len()).find(|at| self.text.is_char_boundary(*at)).unwrap_or(self.text.len());
        [self.text.get(start..).unwrap_or_default(), held].concat()
    }

    pub(super) fn take_answers(&mut self) -> Vec<Result<Proposal, EngineError>> {
        std::mem::take(&mut self.answers)
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
        // What stands before a resubmitted text cannot be taken back without it.
        self.journal.clear();
    }

    /// The current candidate is done. `held` are inert bytes that no admitted span has taken yet; `keep` says whether the candidate
    /// can be taken back.
    pub(super) fn advance(&mut self, held: &str, keep: bool) {
        let said = self.text.get(self.step.text_before..).unwrap_or_default();
        // The engine goes on from all that will stand there, the held bytes included.
        let text = if self.step.admitted.is_empty() { held } else { said };
        self.engine.advance(text);
        self.place += 1;
        let step = std::mem::take(&mut self.step);
        if keep {
            self.journal.push(step);
        }
    }

    /// Goes on to the next place with nothing.
    pub(super) fn pass(&mut self) {
        self.engine.advance("");
        self.place += 1;
        self.step = Step::default();
    }

    /// Everything so far has left: nothing can be taken back any more.
    pub(super) fn seal(&mut self) {
        self.journal.clear();
    }

    /// Goes back to the last admitted candidate that has another alternative, and takes that. Nothing changes when there is none:
    /// the engine is asked before anything is taken back.
    pub(super) fn roll_back(
        &mut self,
        state: &mut SemanticState,
        limits: &Limits,
    ) -> Result<Option<RolledBack>, EngineError> {
        if self.rollbacks >= limits.rollbacks {
            return Ok(None);
        }
        for back in 1..=self.journal.len() {
            let at = self.journal.len() - back;
            let Some(step) = self.journal.get(at) else { break };
            let (text_before, attempt) = (step.text_before, step.attempt + 1);
            if attempt > u32::from(limits.alternatives) {
                continue;
            }
            self.engine.roll_back(back);
            self.proposals += 1;
            if let Proposal::Candidate(candidate) = self.ask(state, text_before, attempt)? {
                self.rollbacks += 1;
                return Ok(Some(self.take_back(state, at, attempt, candidate)));
            }
            // No other way from there: the engine goes forward again over what stands.
            let mut from = text_before;
            let ends = self.journal.iter().skip(at + 1).map(|s| s.text_before).chain([self.text.len()]);
            for to in ends.collect::<Vec<_>>() {
                self.engine.advance(self.text.get(from..to).unwrap_or_default());
                from = to;
            }
        }
        Ok(None)
    }

    fn take_back(&mut self, state: &mut SemanticState, at: usize, attempt: u32, candidate: Candidate) -> RolledBack {
        let mut transitions = Vec::new();
        let mut inert = String::new();
        self.place -= self.journal.len() - at;
        for step in self.journal.drain(at..).rev() {
            for (seq, undo) in step.admitted.into_iter().rev() {
                state.revert(undo);
                transitions.push(seq);
            }
            self.text.truncate(step.text_before);
            inert = step.inert;
        }
        transitions.reverse();
        self.begin(attempt, &inert);
        RolledBack { transitions, inert, candidate }
    }

    fn ask(&mut self, state: &SemanticState, text_end: usize, attempt: u32) -> Result<Proposal, EngineError> {
        let from = text_end.saturating_sub(View::ADMITTED_MAX);
        let from = (from..=text_end).find(|at| self.text.is_char_boundary(*at)).unwrap_or(text_end);
        let admitted = self.text.get(from..text_end).unwrap_or_default();
        let view = View { intent: &state.intent.text, facts: &state.intent.facts, admitted };
        let answer = self.engine.propose(&view, attempt);
        self.answers.push(answer.clone());
        answer
    }

    /// A candidate is up for judgement.
    fn begin(&mut self, attempt: u32, inert: &str) {
        self.step = Step { attempt, inert: inert.to_owned(), admitted: Vec::new(), text_before: self.text.len() };
        self.open = true;
        self.refused = false;
        self.deferred = false;
    }
}

/// What a rollback took back, and the way that is taken instead.
pub(super) struct RolledBack {
    /// Sequences of the transitions, in order.
    pub(super) transitions: Vec<u32>,
    /// Inert bytes that were held there.
    pub(super) inert: String,
    /// The other candidate.
    pub(super) candidate: Candidate,
}
