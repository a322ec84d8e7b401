//! One governed stream: what is submitted next, what an answer means, what is released.
//!
//! A stream is a pure state machine. It never waits: [`Stream::next`] gives the next entry for the card and
//! [`Stream::answer`] takes what the card said of it. Work is depth-first: the parts of a decomposed span come right after it.

use crate::commitment::commit;
use crate::context::{ContextDocument, Mode};
use crate::determination::{Determination, Summary};
use crate::governor::{Governor, OnRefuse};
use crate::rationale;
use crate::source::{Candidate, Item};
use portcullis_card::Outcome;
use portcullis_core::mutation::{Mutation, Place};
use portcullis_core::state::SemanticState;
use portcullis_core::wire::{Descriptor, Determination as Answer, Fault, Opcode};
use portcullis_mapping::{LogProbs, Piece, Text};
use portcullis_policy::evaluate::Verdict;
use sha2::{Digest, Sha256};
use std::ops::Range;

/// What a finished stream leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Identity of the text in its input.
    pub id: String,
    /// Every determination, in order of sequence.
    pub determinations: Vec<Determination>,
    /// Admitted text, held inert bytes included.
    pub released: String,
    /// Totals.
    pub summary: Summary,
}

/// One span to be judged.
#[derive(Clone, Debug)]
struct Work {
    range: Range<usize>,
    inert: bool,
    depth: u8,
    parent: Option<u32>,
}

/// A span that the card has and has not answered.
struct InFlight {
    work: Work,
    sequence: u32,
    mutation: Mutation,
    commitment: [u8; 32],
}

enum Phase {
    Begin,
    Body,
    End,
    Done,
}

/// A stream under a governor.
pub(crate) struct Stream<'g> {
    governor: &'g Governor<'g>,
    id: String,
    number: u64,
    slot: u16,
    sequence: u32,
    mode: Mode,
    /// Steps still to come, the current one first; empty for a whole text.
    steps: std::vec::IntoIter<Vec<Candidate>>,
    alternatives: std::vec::IntoIter<Candidate>,
    step: Option<usize>,
    alternative: u8,
    /// Whether a part of the current candidate was admitted already: then no alternative can take its place.
    partly_released: bool,
    text: Text,
    logprobs: Option<LogProbs>,
    state: SemanticState,
    /// Work of the current text, the next on top.
    work: Vec<Work>,
    /// Inert bytes held as the prefix of the next commitment.
    held: String,
    /// How many of them came from before the current step: an alternative keeps those and drops its predecessor's.
    held_before: usize,
    /// Whether an entry is with the card.
    awaiting: bool,
    in_flight: Option<InFlight>,
    phase: Phase,
    determinations: Vec<Determination>,
    released: String,
    summary: Summary,
}

impl<'g> Stream<'g> {
    pub(crate) fn new(governor: &'g Governor<'g>, item: Item, number: u64, slot: u16) -> Self {
        let (id, mode, text, steps, task) = match item {
            Item::Text { id, text, task } => (id, Mode::Recorded, text, Vec::new(), task),
            Item::Candidates { id, steps, task } => (id, Mode::Driven, String::new(), steps, task),
        };
        let mut stream = Self {
            governor,
            id,
            number,
            slot,
            sequence: 0,
            mode,
            steps: steps.into_iter(),
            alternatives: Vec::new().into_iter(),
            step: None,
            alternative: 0,
            partly_released: false,
            text: governor.read(String::new(), mode),
            logprobs: None,
            state: governor.initial_state(&task),
            work: Vec::new(),
            held: String::new(),
            held_before: 0,
            awaiting: false,
            in_flight: None,
            phase: Phase::Begin,
            determinations: Vec::new(),
            released: String::new(),
            summary: Summary::new(mode),
        };
        if mode == Mode::Recorded {
            stream.take_text(text, None);
        }
        stream
    }

    pub(crate) const fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }

    /// Makes `text` the current text and its pieces the work.
    fn take_text(&mut self, text: String, logprobs: Option<LogProbs>) {
        self.summary.bytes += text.len();
        self.text = self.governor.read(text, self.mode);
        self.work = work_of(self.text.pieces(), 0, None);
        self.logprobs = logprobs;
        self.partly_released = false;
    }

    /// The next entry for the card; `None` while one is unanswered or when the stream is done.
    pub(crate) fn next(&mut self) -> Option<Descriptor> {
        if self.awaiting {
            return None;
        }
        let entry = self.next_entry();
        self.awaiting = entry.is_some();
        entry
    }

    fn next_entry(&mut self) -> Option<Descriptor> {
        match self.phase {
            Phase::Begin => {
                let document = ContextDocument {
                    version: 1,
                    mode: self.mode,
                    granularity: self.governor.granularity(self.mode),
                    policy: self.state.policy.package.clone(),
                    package_digest: hex(&self.state.policy.package_digest),
                    profile_digest: hex(&digest(&self.state)),
                    anchor_digests: Vec::new(),
                    id: self.id.clone(),
                };
                Some(self.entry(Opcode::Begin, document.digest()))
            }
            Phase::Body => {
                if let Some(work) = self.next_work() {
                    return Some(self.gate(work));
                }
                self.phase = Phase::End;
                self.next_entry()
            }
            Phase::End => {
                let salt = self.governor.salt.salt(self.number, self.sequence);
                Some(self.entry(Opcode::End, commit(salt, &[self.held.as_bytes()])))
            }
            Phase::Done => None,
        }
    }

    fn entry(&self, opcode: Opcode, digest: [u8; 32]) -> Descriptor {
        Descriptor::entry(opcode, Place { slot: self.slot, sequence: self.sequence }, digest).sealed()
    }

    /// The next span that is not inert; inert ones are held on the way. Takes the next step when the text is used up.
    fn next_work(&mut self) -> Option<Work> {
        loop {
            while let Some(work) = self.work.pop() {
                if !work.inert {
                    return Some(work);
                }
                self.held.push_str(self.text.slice(&work.range));
            }
            if self.summary.stopped.is_some() {
                return None;
            }
            let step = self.steps.next()?;
            self.step = Some(self.step.map_or(0, |s| s + 1));
            self.alternative = 0;
            self.alternatives = step.into_iter();
            let first = self.alternatives.next()?;
            self.held_before = self.held.len();
            self.take_text(first.text, first.logprobs);
        }
    }

    fn gate(&mut self, work: Work) -> Descriptor {
        let mapped = self.governor.mapper.map(
            &self.state,
            portcullis_mapping::Candidate {
                text: &self.text,
                span: &work.range,
                granularity: self.governor.granularity(self.mode),
                inert_prefix: !self.held.is_empty(),
                depth: work.depth,
                alternatives: self.alternative,
                logprobs: self.logprobs,
            },
        );
        let salt = self.governor.salt.salt(self.number, self.sequence);
        let commitment = commit(salt, &[self.held.as_bytes(), self.text.slice(&work.range).as_bytes()]);
        let place = Place { slot: self.slot, sequence: self.sequence };
        let descriptor = mapped.mutation.descriptor(place, commitment);
        self.in_flight = Some(InFlight { work, sequence: self.sequence, mutation: mapped.mutation, commitment });
        descriptor
    }

    /// Takes the card's answer to the entry that [`Stream::next`] gave last.
    pub(crate) fn answer(&mut self, outcome: Outcome) {
        self.awaiting = false;
        match (&self.phase, self.in_flight.take(), outcome) {
            (Phase::Body, Some(flight), Outcome::Judged(verdict)) => {
                self.sequence += 1;
                self.verdict(flight, verdict);
            }
            (Phase::Body, Some(flight), Outcome::Fault(fault)) => self.faulted(&flight, fault),
            (Phase::Begin, None, Outcome::Accepted) => {
                self.sequence = 1;
                self.phase = Phase::Body;
            }
            (Phase::End, None, Outcome::Accepted) => {
                // Trailing inert bytes are covered by END's commitment, so they go out with it.
                let held = std::mem::take(&mut self.held);
                self.release(&held);
                self.phase = Phase::Done;
            }
            // A fault of BEGIN or END, or an answer of the wrong kind: nothing further is released.
            (_, _, outcome) => {
                let name = outcome.fault().map_or("an answer of the wrong kind", Fault::name);
                self.stop(format!("FAULT {name}"));
                self.summary.faults += 1;
                self.phase = Phase::Done;
            }
        }
    }

    fn verdict(&mut self, flight: InFlight, verdict: Verdict) {
        self.summary.mutations += 1;
        let why = rationale::explain(self.governor.compiled, &flight.mutation, &verdict);
        self.record(&flight, Some(&verdict), why, None);
        match verdict.determination {
            Answer::Admit => {
                self.summary.admitted += 1;
                let mut out = std::mem::take(&mut self.held);
                out.push_str(self.text.slice(&flight.work.range));
                self.release(&out);
                self.partly_released = true;
                self.state.admit(&flight.mutation, flight.sequence, flight.commitment);
            }
            Answer::Decompose => {
                self.summary.decomposed += 1;
                self.decompose(&flight);
            }
            Answer::Reject => {
                self.summary.rejected += 1;
                self.refused();
            }
            // The driver gives no such verdict; were it to, nothing goes out and nothing follows.
            Answer::None => self.stop("FAULT no determination".into()),
        }
    }

    /// Puts the parts of a span on top of the work. A span without smaller parts goes back at the depth limit, where the card
    /// answers a decompose with a reject.
    fn decompose(&mut self, flight: &InFlight) {
        let depth = flight.work.depth.saturating_add(1);
        let parent = Some(flight.sequence);
        let parts = self.text.split(&flight.work.range);
        if parts.is_empty() {
            let depth = self.governor.max_depth().max(depth);
            self.work.push(Work { depth, parent, ..flight.work.clone() });
        } else {
            self.work.extend(work_of(&parts, depth, parent));
        }
    }

    /// After a reject: the next alternative of the step, or on, or the end.
    fn refused(&mut self) {
        if self.mode == Mode::Driven
            && !self.partly_released
            && self.alternative < self.governor.alternatives()
            && let Some(next) = self.alternatives.next()
        {
            self.alternative += 1;
            self.held.truncate(self.held_before);
            self.take_text(next.text, next.logprobs);
            return;
        }
        if self.governor.on_refuse(self.mode) == OnRefuse::Stop {
            self.stop("no admissible candidate is left".into());
        }
    }

    /// The card refused the entry: no determination. The stream ends; its slot and sequence stand where they were.
    fn faulted(&mut self, flight: &InFlight, fault: Fault) {
        self.summary.faults += 1;
        let why = Some((
            portcullis_core::reason::generic::FAULT.to_owned(),
            format!("the card refused the entry: {}", fault.name()),
        ));
        self.record(flight, None, why, Some(fault));
        self.stop(format!("FAULT {}", fault.name()));
    }

    /// Ends the stream early: nothing that is still to come is judged or released.
    fn stop(&mut self, why: String) {
        self.summary.stopped.get_or_insert(why);
        self.work.clear();
        self.held.clear();
        self.steps = Vec::new().into_iter();
    }

    fn release(&mut self, text: &str) {
        self.released.push_str(text);
        self.summary.bytes_admitted += text.len();
    }

    fn record(
        &mut self,
        flight: &InFlight,
        verdict: Option<&Verdict>,
        why: Option<(String, String)>,
        fault: Option<Fault>,
    ) {
        let (rule, reason) = why.unzip();
        self.determinations.push(Determination {
            id: self.id.clone(),
            stream: self.number,
            seq: flight.sequence,
            parent: flight.work.parent,
            depth: flight.work.depth,
            start: flight.work.range.start,
            end: flight.work.range.end,
            step: self.step,
            alternative: self.step.map(|_| self.alternative),
            category: flight.mutation.category,
            determination: verdict.map(|v| v.determination),
            stage: verdict.map(|v| v.stage),
            rule,
            reason,
            fault,
        });
    }

    pub(crate) fn finish(self) -> Finished {
        Finished { id: self.id, determinations: self.determinations, released: self.released, summary: self.summary }
    }
}

/// Pieces as work, the first on top.
fn work_of(pieces: &[Piece], depth: u8, parent: Option<u32>) -> Vec<Work> {
    pieces.iter().rev().map(|p| Work { range: p.range.clone(), inert: p.inert, depth, parent }).collect()
}

/// SHA-256 of what the stream starts from: intent, verified facts and conditions.
fn digest(state: &SemanticState) -> [u8; 32] {
    // Plain strings and numbers always serialise.
    Sha256::digest(serde_json::to_vec(&(&state.intent, &state.context)).unwrap_or_default()).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
