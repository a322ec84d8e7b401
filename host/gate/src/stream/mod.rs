//! One governed stream as a state machine: decides the next submission, interprets answers, and releases text.
//!
//! The machine never waits, neither for the card nor for an engine. [`StreamMachine::next`] returns the next entry or
//! requests a proposal; [`StreamMachine::answer`] accepts the card's answer, [`StreamMachine::proposed`] the engine's.
//! Work is depth-first: the parts of a divided span come right after it. All effects are reported as events, in order,
//! and only [`StreamEventKind::Released`] lets bytes leave.

mod deferred;
mod journal;
mod part;
mod pending;
mod proposer;
mod queue;
mod release;
mod request;
mod seat;
mod step;
mod work;

pub use part::{HeldStreamPart, PartReader};
pub use request::StreamRequest;
pub(crate) use request::{GivenParts, SpanSource};
pub use seat::StreamNumbers;
pub(crate) use step::StreamMachineInput;

use crate::candidate::AnswerCandidate;
use crate::determination::{StreamTermination, TerminationTrigger};
use crate::end_state::EndState;
use crate::engine::{EngineError, EngineMove, EngineProposal, EngineView};
use crate::event::{StreamEvent, StreamEventKind};
use crate::governor::StreamGovernor;
use crate::rationale::{self, Rationale};
use crate::settings::HELD_MAX;
use crate::stage;
use crate::text_lane::{AdmittedTextScan, PolicyTextLane};
use deferred::{DeferredQueue, Knowledge};
use journal::{CardAnswer, Position, StreamJournal, index_of};
use pending::{CandidateReading, Fragment, PendingEnd, Upcoming};
use portcullis_card::{EntryOutcome, SessionError};
use portcullis_core::class::ClassSet;
use portcullis_core::commitment::{HEAD_BYTES, SpanKind, commitment, preimage};
use portcullis_core::context::{CONTEXT_VERSION, ContextDocument, OnRefuse, ReleaseMode, StreamMode};
use portcullis_core::drift::DriftLevel;
use portcullis_core::hex::HexBytes;
use portcullis_core::mutation::{ProposedValues, SlotSequence};
use portcullis_core::state::{SemanticState, StreamTask};
use portcullis_core::wire::{Descriptor, Determination as Answer, Fault, Opcode, Record, Stage};
use portcullis_image::EntryVerdict;
use portcullis_mapping::{EngineToolCall, IntroducedWords, LogProbs, LogProbsError};
use proposer::{OutstandingProposalRequest, Proposer, Rollback};
use queue::WorkQueue;
use std::sync::Arc;
use work::{InFlight, SpanWork, ValueChoice};

enum Phase {
    Begin,
    Body,
    End,
    Done,
}

/// The entry that the card has not answered yet.
enum PendingEntry {
    /// BEGIN or END.
    Session,
    Note,
    Gate(Box<InFlight>),
}

/// An entry for the card.
#[derive(Debug)]
pub(crate) struct Submission {
    pub(crate) entry: Descriptor,
    /// The bytes under the entry's commitment; `None` if the card does not read texts, or the entry has no text.
    pub(crate) text: Option<Vec<u8>>,
}

/// What a stream needs in order to continue.
#[derive(Debug)]
pub(crate) enum Next {
    Entry(Submission),
    /// The card's answer to the submitted entry.
    Answer,
    /// A proposal, as described by [`StreamMachine::request`].
    Proposal,
    /// The next part of the text, through [`StreamMachine::part`].
    Part,
    /// Nothing; the stream is over.
    Done,
}

pub(crate) struct StreamMachine {
    governor: Arc<StreamGovernor>,
    seat: StreamNumbers,
    sequence: u32,
    task: StreamTask,
    state: SemanticState,
    operator_facts: stage::OperatorFacts,
    /// The nouns that the words of the state introduce.
    introduced: IntroducedWords,
    /// The engine's candidates; `None` for a whole text.
    proposer: Option<Proposer>,
    /// Whether more parts of the text may come.
    is_given: bool,
    /// A whole text, until it is reported in [`StreamEventKind::Begun`].
    whole: Option<String>,
    queue: WorkQueue,
    deferred: DeferredQueue,
    /// Admitted candidates, or spans of a whole text, since the last release checkpoint.
    since_checkpoint: u16,
    submitted: Option<PendingEntry>,
    /// The state of the text lane's scan after the stream's admitted text.
    scan: AdmittedTextScan,
    /// Whether the last admitted span is a tool call.
    after_call: bool,
    phase: Phase,
    /// Digest of the filter's report, until the NOTE right after BEGIN is submitted.
    note: Option<[u8; 32]>,
    last_refusal: String,
    journal: StreamJournal,
}

impl StreamMachine {
    pub(crate) fn new(request: StreamRequest, seat: StreamNumbers) -> Self {
        let StreamRequest { governor, id, task, note, source, refusal, local: _, parts: _, owner: _ } = request;
        let mut state = governor.initial_state(&task);
        let operator_facts = stage::OperatorFacts::of(&governor, &state);
        if let Some(end) = governor.predecessor() {
            state.continue_from(end.memory());
        }
        let mode = source.mode();
        let mut stream = Self {
            introduced: stage::introduced(&governor, &state),
            operator_facts,
            governor,
            seat,
            sequence: 0,
            state,
            task,
            proposer: None,
            is_given: matches!(source, SpanSource::Parts(_)),
            whole: None,
            queue: WorkQueue::default(),
            deferred: DeferredQueue::default(),
            since_checkpoint: 0,
            submitted: None,
            scan: AdmittedTextScan::NEW,
            after_call: false,
            phase: Phase::Begin,
            note,
            last_refusal: String::new(),
            journal: StreamJournal::new(id, seat, mode),
        };
        match source {
            SpanSource::Text { whole, text } => {
                stream.journal.summary.bytes += whole.len();
                stream.whole = Some(whole);
                stream.queue.set_whole_text(text);
            }
            SpanSource::Proposals(_) => stream.proposer = Some(Proposer::default()),
            SpanSource::Parts(_) => {}
        }
        if let Some((trigger, why)) = refusal {
            stream.stop(trigger, why);
        }
        stream
    }

    pub(crate) const fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }

    pub(crate) fn take_events(&mut self) -> Vec<StreamEvent> {
        self.journal.take_events()
    }

    /// The request to the engine and the number of the attempt, after [`Next::EngineProposal`].
    pub(crate) fn request(&self) -> Option<(EngineView<'_>, u32)> {
        self.proposer.as_ref().and_then(|proposer| proposer.request(&self.state))
    }

    /// Messages that the engine receives before its next request.
    pub(crate) fn take_moves(&mut self) -> Vec<EngineMove> {
        self.proposer.as_mut().map(Proposer::take_moves).unwrap_or_default()
    }

    pub(crate) fn next(&mut self) -> Next {
        if self.submitted.is_some() {
            return Next::Answer;
        }
        if matches!(self.phase, Phase::Body | Phase::End)
            && let Some(digest) = self.note.take().or_else(|| self.governor.note_at(self.sequence))
        {
            return self.submit(PendingEntry::Note, Opcode::Note, digest, None);
        }
        match self.phase {
            Phase::Begin => self.submit(PendingEntry::Session, Opcode::Begin, self.context().digest(), None),
            Phase::Body => self.next_span(),
            Phase::End => {
                // After a call, the held bytes can be formatting from before the call, which came too late to release.
                let late = self.reads_texts() && self.after_call;
                if late || self.overflows(self.queue.held().len()) || self.holds_a_hit() {
                    self.queue.set_held(String::new());
                }
                let (salt, parts) = (self.salt(), [self.queue.held().as_bytes()]);
                let digest = commitment(SpanKind::Text, &salt, &parts);
                let text = self.reads_texts().then(|| preimage(SpanKind::Text, &salt, &parts));
                self.submit(PendingEntry::Session, Opcode::End, digest, text)
            }
            Phase::Done => Next::Done,
        }
    }

    fn next_span(&mut self) -> Next {
        let whole = self.proposer.is_none();
        while self.journal.summary.stopped.is_none() {
            if self.proposer.as_ref().is_some_and(Proposer::is_asking) {
                return Next::Proposal;
            }
            if let Some(work) = self.queue.next(whole) {
                return self.gate(work);
            }
            if self.is_given {
                return Next::Part;
            }
            if !self.next_candidate() {
                break;
            }
        }
        if whole
            && self.journal.summary.stopped.is_none()
            && let Some(work) = self.queue.next_connective()
        {
            return self.gate(work);
        }
        for seq in self.deferred.drain() {
            self.journal.push(StreamEventKind::Expired { seq });
        }
        self.queue.keep_formatting();
        self.phase = Phase::End;
        self.next()
    }

    fn context(&self) -> ContextDocument {
        let mode = self.journal.summary.mode;
        ContextDocument {
            version: CONTEXT_VERSION,
            mode,
            granularity: self.governor.granularity(matches!(mode, StreamMode::Driven | StreamMode::DrivenConversation)),
            on_refuse: self.on_refuse(),
            release: self.governor.release(),
            max_proposals: self.governor.max_proposals(),
            policy: self.state.policy.package.clone(),
            package_digest: HexBytes(self.state.policy.package_digest),
            profile: self.governor.profile().clone(),
            profile_digest: self.governor.profile().digest(),
            task: self.task.clone(),
            anchor_digests: self.governor.anchors().digests().into_iter().map(HexBytes).collect(),
            predecessor: self.governor.predecessor().map(|end| end.leaf()),
            id: self.journal.id().to_owned(),
        }
    }

    fn on_refuse(&self) -> OnRefuse {
        self.governor.on_refuse(self.journal.summary.mode != StreamMode::Recorded)
    }

    /// Salt of the next entry.
    fn salt(&self) -> [u8; 16] {
        self.governor.salts.salt(self.seat.salted, self.sequence)
    }

    const fn place(&self) -> SlotSequence {
        SlotSequence { slot: self.seat.slot, sequence: self.sequence }
    }

    fn submit(&mut self, submitted: PendingEntry, opcode: Opcode, digest: [u8; 32], text: Option<Vec<u8>>) -> Next {
        self.submitted = Some(submitted);
        Next::Entry(Submission { entry: Descriptor::entry(opcode, self.place(), digest).sealed(), text })
    }

    /// Whether the text lane finds a class that closes gates in the held bytes. The card would refuse an END with these
    /// bytes, and each text after them.
    fn holds_a_hit(&self) -> bool {
        let held = self.queue.held().as_bytes();
        let found = |lane: &PolicyTextLane| lane.scan(self.scan, SpanKind::Text, &[held]).0;
        self.governor.policy.text_lane.as_ref().is_some_and(|lane| found(lane) != ClassSet::EMPTY)
    }

    fn reads_texts(&self) -> bool {
        self.governor.policy.text_lane.is_some()
    }

    /// Whether the card reads texts, and `bytes` bytes of text do not fit a text window.
    fn overflows(&self, bytes: usize) -> bool {
        self.reads_texts() && HEAD_BYTES + bytes > 1 << self.governor.policy.text_stride_log2()
    }

    fn gate(&mut self, work: SpanWork) -> Next {
        if self.holds_a_hit() {
            drop(self.queue.take_held());
        }
        let work = self.above_limit(work);
        let bytes = self.queue.held_before(&work, self.reads_texts()).len() + work.slice().len();
        if self.overflows(bytes) {
            self.stop(
                TerminationTrigger::Limit,
                format!("a text of {bytes} bytes does not fit the card's text window"),
            );
            return self.next();
        }
        let (mut mutation, findings) = stage::judge(
            &self.governor,
            &self.state,
            &self.operator_facts,
            &self.introduced,
            &stage::Span {
                text: &work.text,
                range: &work.range,
                driven: self.proposer.is_some(),
                inert_prefix: !self.queue.held_before(&work, self.reads_texts()).is_empty(),
                depth: work.depth,
                part: work.depth > u8::from(work.choice.is_some()) && work.kind.is_text(),
                choice: work.choice.map(|choice| choice.number),
                alternatives: work.place.map_or(0, |(_, alternative)| alternative),
                uncertainty: work.uncertainty(),
                malformed: work.malformed,
            },
        );
        if work.is_value() {
            // The span itself comes last; only that entry has its text and changes the state.
            mutation.length = 0;
            mutation.proposed = ProposedValues::default();
        }
        let (salt, parts) =
            (self.salt(), [self.queue.held_before(&work, self.reads_texts()).as_bytes(), work.slice().as_bytes()]);
        let digest = commitment(work.kind, &salt, &parts);
        let (mut scan, mut text) = (self.scan, None);
        if let Some(lane) = &self.governor.policy.text_lane {
            let (found, after) = lane.scan(self.scan, work.kind, &parts);
            mutation.classes = mutation.classes.union(found);
            mutation.call = work.kind == SpanKind::Call;
            (scan, text) = (after, Some(preimage(work.kind, &salt, &parts)));
        }
        let entry = mutation.descriptor(self.place(), digest);
        let flight = InFlight { work, sequence: self.sequence, mutation, descriptor: entry, findings, scan };
        self.submitted = Some(PendingEntry::Gate(Box::new(flight)));
        Next::Entry(Submission { entry, text })
    }

    /// A tool call comes at the depth limit, where the card does not decompose. If it has several values of a quantity,
    /// it comes one level above the limit.
    fn above_limit(&self, work: SpanWork) -> SpanWork {
        let limit = self.governor.limits().max_depth;
        let is_chosen = work.parent.is_some() || work.text.choices(&work.range) < 2;
        SpanWork { depth: if is_chosen { work.depth } else { work.depth.min(limit.saturating_sub(1)) }, ..work }
    }

    /// Accepts the card's answer to the last entry from [`StreamMachine::next`].
    pub(crate) fn answer(&mut self, outcome: EntryOutcome, record: Option<&Record>) {
        match (&self.phase, self.submitted.take(), outcome) {
            (_, Some(PendingEntry::Note), EntryOutcome::Accepted) => self.sequence += 1,
            (Phase::Body, Some(PendingEntry::Gate(flight)), EntryOutcome::Judged(verdict)) => {
                self.sequence += 1;
                self.judged(*flight, &outcome, &verdict, record);
            }
            (Phase::Body, Some(PendingEntry::Gate(flight)), EntryOutcome::Fault(fault)) => {
                self.faulted(&flight, fault, record)
            }
            (Phase::Begin, Some(PendingEntry::Session), EntryOutcome::Accepted) => {
                self.sequence = 1;
                self.phase = Phase::Body;
                let what = StreamEventKind::Begun {
                    id: self.journal.id().to_owned(),
                    context: Box::new(self.context()),
                    text: self.whole.take(),
                    supplied: self.governor.supplied(),
                    lane: record.map_or(0, |record| record.answer.lane),
                    log_index: index_of(record),
                };
                self.journal.push(what);
            }
            (Phase::End, Some(PendingEntry::Session), EntryOutcome::Accepted) => {
                let (salt, inert) = (self.salt(), self.queue.take_held());
                self.journal.close(self.sequence, inert, salt, record);
                self.phase = Phase::Done;
                let state = record.filter(|_| self.journal.summary.faults == 0).map(|record| self.end_state(record));
                self.journal.end(self.state.bounds.trust_slope, state);
            }
            // BEGIN or END has a fault, or the answer does not fit the submitted entry: nothing more is released.
            (_, _, outcome) => {
                self.journal.summary.faults += 1;
                let name = outcome.fault().map_or("an answer of the wrong kind", Fault::name);
                self.stop(TerminationTrigger::Fault, name.into());
                self.journal.unreleased.clear();
                self.done();
            }
        }
    }

    /// Ends the stream because the card is no longer trusted; the submitted entry is refused.
    pub(crate) fn abort(&mut self, why: &SessionError) {
        if self.submitted.is_some() {
            self.answer(EntryOutcome::Fault(why.fault()), None);
        }
        if !self.is_done() {
            self.stop(TerminationTrigger::Fault, why.to_string());
            self.journal.unreleased.clear();
            self.done();
        }
    }

    fn done(&mut self) {
        self.phase = Phase::Done;
        self.journal.end(self.state.bounds.trust_slope, None);
    }

    /// The final state for a successor. The memory is moved into it, because the stream has ended.
    fn end_state(&mut self, record: &Record) -> Arc<EndState> {
        let (policy, memory) = (self.state.policy.clone(), std::mem::take(&mut self.state.memory));
        Arc::new(EndState::new(record, policy, self.governor.profile().digest(), memory))
    }

    fn judged(&mut self, flight: InFlight, outcome: &EntryOutcome, verdict: &EntryVerdict, record: Option<&Record>) {
        self.journal.summary.mutations += 1;
        let why = rationale::explain(&self.governor, &flight.mutation, &flight.descriptor, &flight.findings, verdict);
        if outcome.is_admit() {
            self.journal.summary.admitted += 1;
            return self.admitted(flight, verdict, record);
        }
        let refusal = why.as_ref().map(|w| w.rule.clone()).unwrap_or_default();
        self.determined(CardAnswer { flight: &flight, verdict: Some(verdict), why, fault: None, record });
        match verdict.determination {
            Answer::Decompose => {
                self.journal.summary.decomposed += 1;
                self.decompose(&flight, verdict);
            }
            Answer::Reject => {
                self.journal.summary.rejected += 1;
                self.last_refusal = refusal;
                self.refused(flight);
            }
            // The driver never returns this verdict for a refusal. If it did, the stream would end without a release.
            Answer::Admit | Answer::None => self.stop(TerminationTrigger::Fault, "no determination".into()),
        }
    }

    fn determined(&mut self, answered: CardAnswer<'_>) {
        let position = Position {
            held: self.queue.held_before(&answered.flight.work, self.reads_texts()),
            salt: self.governor.salts.salt(self.seat.salted, answered.flight.sequence),
            distance: self.state.lineage.last().map(|t| t.distance.get()),
            slope: self.state.bounds.trust_slope,
        };
        self.journal.determined(answered, &position);
    }

    /// Commits an admitted mutation to the state, and queues its bytes for release.
    fn admitted(&mut self, flight: InFlight, verdict: &EntryVerdict, record: Option<&Record>) {
        let before = self.state.bounds.drift;
        self.scan = flight.scan;
        self.after_call = !flight.work.kind.is_text();
        if let Some(next) = flight.work.next_choice() {
            self.determined(CardAnswer { flight: &flight, verdict: Some(verdict), why: None, fault: None, record });
            self.queue.push(next);
            return;
        }
        let undo = self.state.admit(&flight.mutation, flight.sequence, flight.descriptor.commitment);
        stage::introduce(&self.governor, &self.state, &mut self.introduced, &flight.mutation.proposed.words);
        self.determined(CardAnswer { flight: &flight, verdict: Some(verdict), why: None, fault: None, record });
        let leaves = !self.queue.held_before(&flight.work, self.reads_texts()).is_empty();
        let mut bytes = if leaves { self.queue.take_held() } else { String::new() };
        let held = bytes.len();
        bytes.push_str(flight.work.slice());
        let call = (flight.work.kind == SpanKind::Call).then_some(held..bytes.len());
        self.journal.summary.bytes_admitted += bytes.len();
        if let Some(proposer) = &mut self.proposer {
            match flight.work.waited {
                Some(_) => proposer.resubmitted(&bytes),
                None => proposer.admitted(flight.sequence, undo, &bytes),
            }
        }
        self.journal.unreleased.push(flight.sequence, &bytes, call);
        if self.governor.release() == ReleaseMode::Span {
            self.seal();
        }
        let bounds = self.state.bounds;
        if bounds.drift != before {
            self.journal.push(StreamEventKind::Drift {
                seq: flight.sequence,
                level: bounds.drift,
                slope: bounds.trust_slope,
            });
        }
        if bounds.drift == DriftLevel::Halt {
            self.stop(
                TerminationTrigger::DriftHalt,
                format!("the trust slope is {} at sequence {}", bounds.trust_slope, flight.sequence),
            );
        } else if self.proposer.is_none() {
            self.step_passed(true);
        }
    }

    /// Queues the parts of a span as the next work, or the choices of values of a span with several values of a
    /// quantity. A span that cannot be divided is submitted again at the depth limit, where the card rejects instead of
    /// decomposing. A tool call is treated in the same way.
    fn decompose(&mut self, flight: &InFlight, verdict: &EntryVerdict) {
        let work = &flight.work;
        let parent = Some(flight.sequence);
        let of = work.text.choices(&work.range);
        if work.choice.is_none() && verdict.stage == Stage::Validation && of > 1 {
            let choice = Some(ValueChoice { number: 0, of });
            return self.queue.push(SpanWork { depth: work.depth.saturating_add(1), parent, choice, ..work.clone() });
        }
        let span = work.clone().span();
        let depth = span.depth.saturating_add(1);
        let parts = span.text.split(&span.range, &flight.findings.apart);
        if parts.is_empty() {
            let depth = self.governor.limits().max_depth.max(depth);
            self.queue.push(SpanWork { depth, parent, ..span });
        } else {
            self.queue.push_pieces(&SpanWork { depth, parent, ..span }, &parts);
        }
    }

    /// After a reject: defers the mutation, continues with the next part or alternative, or ends the stream.
    fn refused(&mut self, flight: InFlight) {
        let limits = self.governor.limits();
        let again = flight.work.waited.is_some();
        let work = flight.work.span();
        let depth = work.depth;
        let mut deferred = false;
        if limits.defer.contains(&self.last_refusal) {
            let known = Knowledge::of(&self.state);
            deferred = self.deferred.push(work, flight.sequence, limits.defer_expiry, known);
            if deferred {
                self.journal.summary.deferred += 1;
                let rule = self.last_refusal.clone();
                self.journal.push(StreamEventKind::Deferred {
                    seq: flight.sequence,
                    rule,
                    expiry: limits.defer_expiry,
                });
            }
        }
        if again {
            return;
        }
        let Some(proposer) = &mut self.proposer else {
            self.queue.keep_held();
            if self.on_refuse() == OnRefuse::Stop && !deferred {
                self.stop(TerminationTrigger::NoAdmissibleCandidate, self.last_refusal.clone());
            } else {
                self.step_passed(false);
            }
            return;
        };
        proposer.refused = true;
        proposer.deferred |= deferred;
        let partly = !proposer.step.admitted.is_empty();
        let another = proposer.step.attempt < u32::from(limits.alternatives);
        // A refused span of depth 0 drops the rest of the candidate. A refused part of a divided span drops the rest
        // only if nothing of the candidate was admitted and an alternative can replace it.
        if depth == 0 || (!partly && another) {
            self.queue.clear();
            proposer.forget();
        }
    }

    /// Ends a step, which is a candidate or a span of a whole text. Handles deferred mutations and release checkpoints.
    fn step_passed(&mut self, admitted: bool) {
        for seq in self.deferred.step() {
            self.journal.push(StreamEventKind::Expired { seq });
        }
        if let Some(work) = self.deferred.due(Knowledge::of(&self.state)) {
            self.queue.push(work);
        }
        self.since_checkpoint += u16::from(admitted);
        if self.governor.release() == ReleaseMode::Checkpoint
            && self.since_checkpoint >= self.governor.limits().checkpoint
        {
            self.seal();
        }
    }

    /// Releases everything admitted so far; these bytes cannot be undone any more.
    fn seal(&mut self) {
        self.since_checkpoint = 0;
        if let Some(proposer) = &mut self.proposer {
            proposer.seal();
        }
        self.journal.release();
    }

    /// Called when no work is left: closes the candidate or requests the next one. Returns whether the stream
    /// continues.
    fn next_candidate(&mut self) -> bool {
        let Some(proposer) = &mut self.proposer else { return false };
        if proposer.open {
            proposer.open = false;
            self.close_candidate();
            return true;
        }
        if let Some(Upcoming { text, work, pending }) = proposer.upcoming.take() {
            proposer.begin(0, self.queue.held());
            proposer.step.proposed = text;
            proposer.pending = pending;
            self.queue.push_all(work);
            return true;
        }
        if let Some(error) = proposer.failed.take() {
            self.stop(TerminationTrigger::Engine, error.to_string());
            return false;
        }
        if proposer.ended {
            return false;
        }
        let most = self.governor.max_proposals();
        if proposer.proposals() >= most {
            if !proposer.pending.is_empty() {
                self.read_on(None);
                return true;
            }
            self.stop(TerminationTrigger::Limit, format!("the engine was asked {most} times"));
            return false;
        }
        if self.queue.held().len() > HELD_MAX {
            self.stop(
                TerminationTrigger::Limit,
                format!("over {HELD_MAX} bytes of formatting with nothing between them"),
            );
            return false;
        }
        proposer.ask(self.queue.held());
        true
    }

    /// Decides how to continue after a candidate whose spans are all judged.
    fn close_candidate(&mut self) {
        let Some(proposer) = &mut self.proposer else { return };
        let admitted = !proposer.step.admitted.is_empty();
        if admitted || !proposer.refused {
            if proposer.pending.is_empty() {
                proposer.advance(self.queue.held(), self.governor.release() != ReleaseMode::Span);
                self.step_passed(admitted);
            } else {
                proposer.wait(self.queue.held());
            }
            return;
        }
        proposer.forget();
        proposer.take_back();
        self.queue.set_held(std::mem::take(&mut proposer.step.inert));
        if proposer.step.attempt < u32::from(self.governor.limits().alternatives) {
            proposer.step.attempt += 1;
        } else {
            self.dead_end();
        }
    }

    /// No alternative is left at this place. If the candidate was deferred, continues without it; otherwise looks for
    /// an earlier place at which an alternative can be requested.
    fn dead_end(&mut self) {
        let Some(proposer) = &mut self.proposer else { return };
        let deferred = proposer.deferred;
        if deferred || !proposer.seek(1, self.governor.limits()) {
            self.no_way_back(deferred);
        }
    }

    /// No rollback is possible. If the candidate was deferred or the settings skip refusals, continues without it;
    /// otherwise ends the stream.
    fn no_way_back(&mut self, deferred: bool) {
        if deferred || self.on_refuse() == OnRefuse::Skip {
            self.proposer.iter_mut().for_each(Proposer::pass);
            self.step_passed(false);
        } else {
            self.stop(TerminationTrigger::NoAdmissibleCandidate, self.last_refusal.clone());
        }
    }

    /// Accepts the answer to [`Next::HeldStreamPart`]: the next part, or why none comes.
    pub(crate) fn part(&mut self, part: Result<HeldStreamPart, EngineError>) {
        let mut report = |answer| self.journal.push(StreamEventKind::Proposed(Box::new(answer)));
        match part {
            Ok(part) => {
                self.is_given = !part.is_last();
                part.given.into_iter().for_each(|given| report(Ok(given)));
                self.journal.summary.bytes += part.work.iter().map(|work| work.range.len()).sum::<usize>();
                self.queue.push_all(part.work);
            }
            Err(error) => {
                self.is_given = false;
                report(Err(error.clone()));
                self.stop(TerminationTrigger::Engine, error.to_string());
            }
        }
    }

    /// Accepts the engine's answer to the last request.
    pub(crate) fn proposed(&mut self, answer: Result<EngineProposal, EngineError>) {
        let Some(proposer) = &mut self.proposer else { return };
        let Some(OutstandingProposalRequest { rollback, .. }) = proposer.take_request() else { return };
        self.journal.push(StreamEventKind::Proposed(Box::new(answer.clone())));
        match (answer, rollback) {
            // The engine failed, so the pending end becomes the end of the text.
            (Err(error), None) if !proposer.pending.is_empty() => {
                proposer.failed = Some(error);
                self.read_on(None);
            }
            (Err(error), _) => self.stop(TerminationTrigger::Engine, error.to_string()),
            (Ok(EngineProposal::Candidate(candidate)), None) => {
                if proposer.pending.is_empty() {
                    proposer.begin(proposer.step.attempt, self.queue.held());
                }
                self.read_candidate(candidate);
            }
            // The engine has no further text after the pending end.
            (Ok(end @ (EngineProposal::Exhausted | EngineProposal::End)), None) if !proposer.pending.is_empty() => {
                proposer.ended = end == EngineProposal::End;
                self.read_on(None);
            }
            (Ok(EngineProposal::Exhausted), None) => {
                if self.last_refusal.is_empty() {
                    self.last_refusal = "the engine proposed nothing".into();
                }
                self.dead_end();
            }
            (Ok(EngineProposal::End), None) => proposer.ended = true,
            (Ok(EngineProposal::Candidate(candidate)), Some(target)) => {
                let Rollback { transitions, inert } = proposer.roll_back(&mut self.state, target);
                self.introduced = stage::introduced(&self.governor, &self.state);
                self.queue.set_held(inert);
                self.journal.unreleased.truncate(transitions.first().copied().unwrap_or(self.sequence));
                self.journal.summary.rolled_back += transitions.len() as u64;
                let to = self.state.lineage.last().map_or(0, |t| t.sequence);
                self.journal.push(StreamEventKind::RolledBack { to, transitions });
                self.read_candidate(candidate);
            }
            (Ok(EngineProposal::Exhausted | EngineProposal::End), Some(target)) => {
                if !proposer.seek_further(target, self.governor.limits()) {
                    self.no_way_back(false);
                }
            }
        }
    }

    /// Turns a candidate of the engine into work.
    fn read_candidate(&mut self, candidate: AnswerCandidate) {
        match candidate.call {
            None => {
                self.journal.summary.bytes += candidate.text.len();
                self.read_on(Some(Fragment { text: candidate.text, skipped: 0, logprobs: candidate.logprobs }));
            }
            Some(call) => self.read_call(&call, candidate.logprobs),
        }
    }

    /// Reads a candidate after the pending text; without a candidate, the pending text is final. Hits and quantities
    /// that begin in earlier text are found, too.
    fn read_on(&mut self, next: Option<Fragment>) {
        let Some(proposer) = &mut self.proposer else { return };
        let (admitted, proposed) = (proposer.tail(self.queue.held()), proposer.before());
        let labels = proposer.labels_before(self.queue.held(), self.governor.mapper()).clone();
        let place = (proposer.place, u8::try_from(proposer.step.attempt).unwrap_or(u8::MAX));
        let next_place = proposer.place + proposer.step.places;
        let most = usize::from(self.governor.limits().span_bytes);
        let read = |parts: &[&str]| self.governor.read_parts(&admitted, &proposed, parts, &labels);
        let pending = std::mem::take(&mut proposer.pending);
        let CandidateReading { work, pending, added, joined, upcoming } =
            pending.read(next, place, next_place, read, most);
        proposer.open = true;
        proposer.step.places += usize::from(joined);
        proposer.step.proposed.push_str(&added);
        proposer.pending = pending;
        proposer.upcoming = upcoming;
        self.queue.push_all(work);
    }

    /// Turns a tool call into work. The call does not continue the text before it.
    fn read_call(&mut self, call: &EngineToolCall, logprobs: Option<Result<LogProbs, LogProbsError>>) {
        let work = part::call_work(&self.governor, call, logprobs);
        self.journal.summary.bytes += work.range.len();
        let work = |place| SpanWork { place: Some(place), ..work };
        let Some(proposer) = &mut self.proposer else { return };
        if proposer.pending.is_empty() {
            let attempt = u8::try_from(proposer.step.attempt).unwrap_or(u8::MAX);
            self.queue.push(work((proposer.place, attempt)));
        } else {
            let work = vec![work((proposer.place + proposer.step.places, 0))];
            self.read_on(None);
            if let Some(proposer) = &mut self.proposer {
                proposer.upcoming = Some(Upcoming { text: String::new(), work, pending: PendingEnd::default() });
            }
        }
    }

    /// The card refused the entry with a fault instead of a determination: the stream ends. Its slot and sequence stay
    /// the same.
    fn faulted(&mut self, flight: &InFlight, fault: Fault, record: Option<&Record>) {
        self.journal.summary.faults += 1;
        let why = Some(Rationale::fault(fault));
        self.determined(CardAnswer { flight, verdict: None, why, fault: Some(fault), record });
        self.journal.unreleased.clear();
        self.stop(TerminationTrigger::Fault, fault.name().into());
    }

    /// Ends the stream early: remaining text is not judged, and only admitted text is released.
    fn stop(&mut self, trigger: TerminationTrigger, detail: String) {
        self.queue.abandon();
        self.proposer.iter_mut().for_each(Proposer::forget);
        if self.journal.summary.stopped.is_some() {
            return;
        }
        self.journal.summary.stopped = Some(format!("{}: {detail}", trigger.words()));
        self.journal.summary.termination = Some(StreamTermination {
            trigger,
            detail,
            seq: self.sequence.saturating_sub(1),
            slope: self.state.bounds.trust_slope,
            lineage: self.state.lineage.iter().map(|t| t.sequence).collect(),
        });
    }
}

#[cfg(test)]
mod tests;
