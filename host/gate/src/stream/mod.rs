//! One governed stream: what is submitted next, what an answer means, what is released.
//!
//! A stream is a state machine. It never waits for the card: [`Stream::next`] gives the next entry and [`Stream::answer`] takes what
//! the card said of it. Work is depth-first: the parts of a decomposed span come right after it. What happens is told as events, in
//! order, and nothing leaves but by [`What::Released`].

mod deferred;
mod feed;
mod release;

use crate::commitment::commit;
use crate::determination::{Determination, Summary, Termination, Trigger};
use crate::engine::{Engine, Proposal, Recorded};
use crate::event::{Closing, Event, Judged, What};
use crate::governor::Governor;
use crate::rationale::{self, Rationale};
use crate::source::{Candidate, Item};
use crate::stage::{self, Staged};
use deferred::{Knowledge, Queue};
use feed::{Feed, RolledBack};
use portcullis_card::{Outcome, SessionError};
use portcullis_core::context::{CONTEXT_VERSION, ContextDocument, Mode, OnRefuse, Release};
use portcullis_core::drift::Drift;
use portcullis_core::hex::{self, Hex};
use portcullis_core::inert::{is_formatting, leading_formatting};
use portcullis_core::mutation::{Mutation, Place};
use portcullis_core::state::{SemanticState, Task};
use portcullis_core::wire::{Descriptor, Determination as Answer, Fault, Granularity, Opcode, Record};
use portcullis_mapping::{Call, LogProbs, LogProbsError, Piece, Text};
use portcullis_policy::evaluate::Verdict;
use std::ops::Range;
use std::sync::Arc;
use zerocopy::IntoBytes;

/// One span to be judged.
#[derive(Clone, Debug)]
struct Work {
    text: Arc<Text>,
    logprobs: Option<Result<LogProbs, LogProbsError>>,
    range: Range<usize>,
    inert: bool,
    depth: u8,
    parent: Option<u32>,
    /// Place of its candidate, and which candidate of the place it is; `None` in a whole text.
    place: Option<(usize, u8)>,
    /// Steps that it may wait again, when it comes from the queue.
    waited: Option<u16>,
    /// Whether it was to be a tool call and is none.
    malformed: bool,
}

/// A span that the card has and has not answered.
struct InFlight {
    work: Work,
    sequence: u32,
    mutation: Mutation,
    descriptor: Descriptor,
    staged: Staged,
}

enum Phase {
    Begin,
    Body,
    End,
    Done,
}

/// Where a stream sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Number that its events carry.
    pub number: u64,
    /// Number that its salts are made from: never twice under one key.
    pub salted: u64,
    /// Slot of the card.
    pub slot: u16,
}

/// A stream under a governor.
pub(crate) struct Stream<'g> {
    governor: &'g Governor<'g>,
    id: String,
    seat: Seat,
    sequence: u32,
    task: Task,
    state: SemanticState,
    /// What the anchors are asked with, besides the span.
    vouched: stage::Vouched,
    /// Where candidates come from; `None` for a whole text.
    feed: Option<Feed>,
    /// A whole text, kept until it was told in [`What::Begun`].
    whole: Option<String>,
    /// Work of the current text, the next on top.
    work: Vec<Work>,
    /// Inert bytes held as the prefix of the next commitment.
    held: String,
    /// The pieces that they are, in a whole text.
    held_work: Vec<Work>,
    queue: Queue,
    unreleased: release::Held,
    /// Admitted candidates, or spans of a whole text, since the last checkpoint.
    since_checkpoint: u16,
    /// Whether an entry is with the card.
    awaiting: bool,
    /// Whether that entry is a NOTE.
    noting: bool,
    in_flight: Option<InFlight>,
    phase: Phase,
    /// Digest of the pre-execution report, until it is noted right after BEGIN.
    note: Option<[u8; 32]>,
    last_refusal: String,
    closing: Option<Closing>,
    events: Vec<Event>,
    summary: Summary,
}

impl<'g> Stream<'g> {
    pub(crate) fn new(governor: &'g Governor<'g>, item: Item, seat: Seat) -> Self {
        let mut note = None;
        let (id, task, whole, engine) = match item {
            Item::Text { id, text, task } => (id, task, Some(text), None),
            Item::Candidates { id, steps, task } => {
                let engine: Box<dyn Engine> = Box::new(Recorded::new(steps));
                (id, task, None, Some(Ok(engine)))
            }
            Item::Prompt { id, task } => {
                let entered = governor.enter(seat.number, &task);
                note = entered.note;
                (id, task, None, Some(entered.engine))
            }
        };
        let mode = if whole.is_some() { Mode::Recorded } else { Mode::Driven };
        let state = governor.initial_state(&task);
        let mut stream = Self {
            vouched: stage::Vouched::of(governor, &state),
            governor,
            id,
            seat,
            sequence: 0,
            state,
            task,
            feed: None,
            whole: whole.clone(),
            work: Vec::new(),
            held: String::new(),
            held_work: Vec::new(),
            queue: Queue::default(),
            unreleased: release::Held::default(),
            since_checkpoint: 0,
            awaiting: false,
            noting: false,
            in_flight: None,
            phase: Phase::Begin,
            note,
            last_refusal: String::new(),
            closing: None,
            events: Vec::new(),
            summary: Summary::new(mode),
        };
        match engine {
            None => stream.read(whole.unwrap_or_default(), None, None),
            Some(Ok(engine)) => stream.feed = Some(Feed::new(engine)),
            Some(Err((trigger, why))) => stream.stop(trigger, why),
        }
        if let Some(store) = governor.anchors().changed() {
            let what = format!("`{}` is not what it was when it was opened", store.path().display());
            stream.stop(Trigger::AnchorsChanged, what);
        }
        stream
    }

    pub(crate) const fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }

    /// What happened since the last call, in order.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn tell(&mut self, what: What) {
        self.events.push(Event { stream: self.seat.number, what });
    }

    /// Makes the pieces of `text` the work.
    fn read(&mut self, text: String, logprobs: Option<Result<LogProbs, LogProbsError>>, place: Option<(usize, u8)>) {
        self.summary.bytes += text.len();
        // What began in admitted text ends here: hits and quantities are looked for across the boundary.
        let before = self.feed.as_ref().map_or_else(String::new, |feed| feed.tail(&self.held));
        let text = Arc::new(self.governor.read(&before, text, place.is_some()));
        let whole = Work {
            text: Arc::clone(&text),
            logprobs,
            range: 0..0,
            inert: false,
            depth: 0,
            parent: None,
            place,
            waited: None,
            malformed: false,
        };
        self.push_pieces(&whole, text.pieces());
    }

    /// Makes a tool call the work: one step. What is no call is judged by what was written, and stage 2 rejects it.
    fn read_call(&mut self, call: &Call, logprobs: Option<Result<LogProbs, LogProbsError>>, place: (usize, u8)) {
        let read = self.governor.mapper.read_call(call);
        let malformed = read.is_none();
        let text = read.unwrap_or_else(|| {
            let shown = format!("{}({})", call.name, call.arguments);
            self.governor.mapper.read(shown, Granularity::Step)
        });
        self.summary.bytes += text.as_str().len();
        let range = 0..text.as_str().len();
        let text = Arc::new(text);
        let place = Some(place);
        let work = Work { text, logprobs, range, inert: false, depth: 0, parent: None, place, waited: None, malformed };
        self.work.push(work);
    }

    /// Puts pieces of a span on top of the work, the first uppermost.
    fn push_pieces(&mut self, of: &Work, pieces: &[Piece]) {
        let work = pieces.iter().rev().map(|p| Work { range: p.range.clone(), inert: p.inert, ..of.clone() });
        self.work.extend(work);
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
        if matches!(self.phase, Phase::Body | Phase::End)
            && let Some(digest) = self.note.take().or_else(|| self.governor.note_at(self.sequence))
        {
            self.noting = true;
            return Some(self.entry(Opcode::Note, digest));
        }
        match self.phase {
            Phase::Begin => Some(self.entry(Opcode::Begin, self.context().digest())),
            Phase::Body => {
                while self.summary.stopped.is_none() {
                    if let Some(work) = self.next_work() {
                        return Some(self.gate(work));
                    }
                    if !self.next_candidate() {
                        break;
                    }
                }
                if let Some(work) = self.last_connectives() {
                    return Some(self.gate(work));
                }
                for seq in self.queue.drain() {
                    self.tell(What::Expired { seq });
                }
                // END is judged by nobody: words that no span took with it do not leave.
                self.held.truncate(leading_formatting(&self.held).len());
                self.phase = Phase::End;
                self.next_entry()
            }
            Phase::End => Some(self.entry(Opcode::End, commit(self.salt(), &[self.held.as_bytes()]))),
            Phase::Done => None,
        }
    }

    fn context(&self) -> ContextDocument {
        let driven = self.summary.mode == Mode::Driven;
        ContextDocument {
            version: CONTEXT_VERSION,
            mode: self.summary.mode,
            granularity: self.governor.granularity(driven),
            on_refuse: self.governor.on_refuse(driven),
            release: self.governor.release(),
            max_proposals: self.governor.max_proposals(),
            policy: self.state.policy.package.clone(),
            package_digest: Hex(self.state.policy.package_digest),
            profile: self.governor.profile().clone(),
            profile_digest: self.governor.profile().digest(),
            task: self.task.clone(),
            anchor_digests: self.governor.anchors().digests().into_iter().map(Hex).collect(),
            predecessor: None,
            id: self.id.clone(),
        }
    }

    /// Salt of the entry that comes next.
    fn salt(&self) -> [u8; 16] {
        self.governor.salts.salt(self.seat.salted, self.sequence)
    }

    fn entry(&self, opcode: Opcode, digest: [u8; 32]) -> Descriptor {
        Descriptor::entry(opcode, Place { slot: self.seat.slot, sequence: self.sequence }, digest).sealed()
    }

    /// The next span that is not inert; inert ones are held on the way.
    fn next_work(&mut self) -> Option<Work> {
        while let Some(work) = self.work.pop() {
            if !work.inert {
                return Some(work);
            }
            self.held.push_str(work.text.slice(&work.range));
            if self.feed.is_none() {
                self.held_work.push(work);
            }
        }
        None
    }

    /// The next connectives that were held for a span and that no admitted span took: in a whole text they are judged by themselves. What
    /// an engine proposes can be taken back with what is held before it, so that there they do not leave.
    fn last_connectives(&mut self) -> Option<Work> {
        if self.feed.is_some() || self.summary.stopped.is_some() {
            return None;
        }
        self.held.clear();
        let held = std::mem::take(&mut self.held_work);
        let is_words = |work: &Work| !is_formatting(work.text.slice(&work.range));
        self.work = held.into_iter().rev().map(|work| Work { inert: work.inert && !is_words(&work), ..work }).collect();
        self.next_work()
    }

    fn gate(&mut self, work: Work) -> Descriptor {
        let (mutation, staged) = stage::judge(
            self.governor,
            &self.state,
            &self.vouched,
            &stage::Span {
                text: &work.text,
                range: &work.range,
                driven: self.feed.is_some(),
                inert_prefix: !self.held.is_empty(),
                depth: work.depth,
                alternatives: work.place.map_or(0, |(_, alternative)| alternative),
                logprobs: work.logprobs.as_ref(),
                malformed: work.malformed,
            },
        );
        let commitment = commit(self.salt(), &[self.held.as_bytes(), work.text.slice(&work.range).as_bytes()]);
        let place = Place { slot: self.seat.slot, sequence: self.sequence };
        let descriptor = mutation.descriptor(place, commitment);
        self.in_flight = Some(InFlight { work, sequence: self.sequence, mutation, descriptor, staged });
        descriptor
    }

    /// Takes the card's answer to the entry that [`Stream::next`] gave last.
    pub(crate) fn answer(&mut self, outcome: Outcome, record: Option<&Record>) {
        self.awaiting = false;
        if std::mem::take(&mut self.noting) && outcome == Outcome::Accepted {
            self.sequence += 1;
            return;
        }
        match (&self.phase, self.in_flight.take(), outcome) {
            (Phase::Body, Some(flight), Outcome::Judged(verdict)) => {
                self.sequence += 1;
                self.verdict(flight, verdict, record);
            }
            (Phase::Body, Some(flight), Outcome::Fault(fault)) => self.faulted(&flight, fault, record),
            (Phase::Begin, None, Outcome::Accepted) => {
                self.sequence = 1;
                self.phase = Phase::Body;
                let what = What::Begun {
                    id: self.id.clone(),
                    context: Box::new(self.context()),
                    text: self.whole.take(),
                    lane: record.map_or(0, |record| record.answer.lane),
                    log_index: index_of(record),
                };
                self.tell(what);
            }
            (Phase::End, None, Outcome::Accepted) => {
                self.closing = Some(Closing {
                    seq: self.sequence,
                    inert: self.held.clone(),
                    salt: hex::encode(&self.salt()),
                    log_index: index_of(record),
                });
                // Trailing inert bytes are covered by END's commitment, so they go out with it.
                if !self.held.is_empty() {
                    self.unreleased.push(self.sequence, std::mem::take(&mut self.held));
                }
                self.release();
                self.done();
            }
            // A fault of BEGIN or END, or an answer of the wrong kind: nothing further is released.
            (_, _, outcome) => {
                self.summary.faults += 1;
                let name = outcome.fault().map_or("an answer of the wrong kind", Fault::name);
                self.stop(Trigger::Fault, name.into());
                self.unreleased.clear();
                self.done();
            }
        }
    }

    /// The card's word counts no more: what waits for its answer is refused, and the stream ends with what was released before.
    pub(crate) fn cut(&mut self, why: &SessionError) {
        if self.awaiting {
            self.answer(Outcome::Fault(why.fault()), None);
        }
        if !self.is_done() {
            self.stop(Trigger::Fault, why.to_string());
            self.unreleased.clear();
            self.done();
        }
    }

    fn done(&mut self) {
        self.phase = Phase::Done;
        self.summary.trust_slope = self.state.bounds.trust_slope;
        let what = What::Ended { id: self.id.clone(), summary: self.summary.clone(), closing: self.closing.take() };
        self.tell(what);
    }

    fn verdict(&mut self, flight: InFlight, verdict: Verdict, record: Option<&Record>) {
        self.summary.mutations += 1;
        let why = rationale::explain(self.governor, &flight.mutation, &flight.descriptor, &flight.staged, &verdict);
        match verdict.determination {
            Answer::Admit => {
                self.summary.admitted += 1;
                self.admitted(flight, &verdict, record);
            }
            Answer::Decompose => {
                self.summary.decomposed += 1;
                self.record(&flight, Some(&verdict), why, None, record);
                self.decompose(&flight);
            }
            Answer::Reject => {
                self.summary.rejected += 1;
                self.last_refusal = why.as_ref().map(|w| w.rule.clone()).unwrap_or_default();
                self.record(&flight, Some(&verdict), why, None, record);
                self.refused(flight);
            }
            // The driver gives no such verdict; were it to, nothing goes out and nothing follows.
            Answer::None => {
                self.record(&flight, Some(&verdict), why, None, record);
                self.stop(Trigger::Fault, "no determination".into());
            }
        }
    }

    /// Commits the change and hands the bytes on.
    fn admitted(&mut self, flight: InFlight, verdict: &Verdict, record: Option<&Record>) {
        let before = self.state.bounds.drift;
        let undo = self.state.admit(&flight.mutation, flight.sequence, flight.descriptor.commitment);
        self.record(&flight, Some(verdict), None, None, record);
        let mut bytes = std::mem::take(&mut self.held);
        self.held_work.clear();
        bytes.push_str(flight.work.text.slice(&flight.work.range));
        self.summary.bytes_admitted += bytes.len();
        if let Some(feed) = &mut self.feed {
            match flight.work.waited {
                Some(_) => feed.resubmitted(&bytes),
                None => feed.admitted(flight.sequence, undo, &bytes),
            }
        }
        self.unreleased.push(flight.sequence, bytes);
        if self.governor.release() == Release::Span {
            self.seal();
        }
        let bounds = self.state.bounds;
        if bounds.drift != before {
            self.tell(What::Drift { seq: flight.sequence, level: bounds.drift, slope: bounds.trust_slope });
        }
        if bounds.drift == Drift::Halt {
            self.stop(
                Trigger::DriftHalt,
                format!("the trust slope is {} at sequence {}", bounds.trust_slope, flight.sequence),
            );
        } else if self.feed.is_none() {
            self.step_passed(true);
        }
    }

    /// Puts the parts of a span on top of the work. A span without smaller parts goes back at the depth limit, where the card
    /// answers a decompose with a reject.
    fn decompose(&mut self, flight: &InFlight) {
        let depth = flight.work.depth.saturating_add(1);
        let parent = Some(flight.sequence);
        let parts = flight.work.text.split(&flight.work.range, &flight.staged.apart);
        if parts.is_empty() {
            let depth = self.governor.limits().max_depth.max(depth);
            self.work.push(Work { depth, parent, ..flight.work.clone() });
        } else {
            self.push_pieces(&Work { depth, parent, ..flight.work.clone() }, &parts);
        }
    }

    /// After a reject: the queue, the next part, the next alternative, or the end.
    fn refused(&mut self, flight: InFlight) {
        let limits = self.governor.limits();
        let again = flight.work.waited.is_some();
        let depth = flight.work.depth;
        let mut deferred = false;
        if limits.defer.contains(&self.last_refusal) {
            let known = Knowledge::of(&self.state);
            deferred = self.queue.push(flight.work, flight.sequence, limits.defer_expiry, known);
            if deferred {
                self.summary.deferred += 1;
                let what = What::Deferred {
                    seq: flight.sequence,
                    rule: self.last_refusal.clone(),
                    expiry: limits.defer_expiry,
                };
                self.tell(what);
            }
        }
        if again {
            return;
        }
        let Some(feed) = &mut self.feed else {
            if self.governor.on_refuse(false) == OnRefuse::Stop && !deferred {
                self.stop(Trigger::NoAdmissibleCandidate, self.last_refusal.clone());
            } else {
                self.step_passed(false);
            }
            return;
        };
        feed.refused = true;
        feed.deferred |= deferred;
        let partly = !feed.step.admitted.is_empty();
        let another = feed.step.attempt < u32::from(limits.alternatives);
        // A candidate of which nothing was admitted gives way to an alternative; one that was admitted in part keeps that part, and
        // of a span that was split the other parts are still judged.
        if depth == 0 || (!partly && another) {
            self.work.clear();
        }
    }

    /// A candidate, or a span of a whole text, has been dealt with: those that wait are looked at, checkpoints made.
    fn step_passed(&mut self, admitted: bool) {
        for seq in self.queue.step() {
            self.tell(What::Expired { seq });
        }
        if let Some(work) = self.queue.due(Knowledge::of(&self.state)) {
            self.work.push(work);
        }
        self.since_checkpoint += u16::from(admitted);
        if self.governor.release() == Release::Checkpoint && self.since_checkpoint >= self.governor.limits().checkpoint
        {
            self.seal();
        }
    }

    /// Everything admitted so far leaves, and can no longer be taken back.
    fn seal(&mut self) {
        self.since_checkpoint = 0;
        if let Some(feed) = &mut self.feed {
            feed.seal();
        }
        self.release();
    }

    fn release(&mut self) {
        if let Some((seqs, text)) = self.unreleased.take() {
            self.tell(What::Released { seqs, text });
        }
    }

    /// The work is used up: closes the candidate and asks for the next. Says whether there may be more work.
    fn next_candidate(&mut self) -> bool {
        let Some(feed) = &mut self.feed else { return false };
        if feed.open {
            feed.open = false;
            self.close_candidate();
            return true;
        }
        !feed.ended && self.propose()
    }

    /// What becomes of the candidate whose work is used up.
    fn close_candidate(&mut self) {
        let Some(feed) = &mut self.feed else { return };
        let admitted = !feed.step.admitted.is_empty();
        if admitted || !feed.refused {
            feed.advance(&self.held, self.governor.release() != Release::Span);
            self.step_passed(admitted);
            return;
        }
        self.held = std::mem::take(&mut feed.step.inert);
        if feed.step.attempt < u32::from(self.governor.limits().alternatives) {
            feed.step.attempt += 1;
        } else {
            self.dead_end();
        }
    }

    /// No candidate is left at this place: on without it when it waits in the queue, back to a checkpoint, on without it when the
    /// settings say so, or the end.
    fn dead_end(&mut self) {
        let Some(feed) = &mut self.feed else { return };
        let deferred = feed.deferred;
        let back = if deferred { Ok(None) } else { feed.roll_back(&mut self.state, self.governor.limits()) };
        self.tell_proposals();
        match back {
            Ok(Some(RolledBack { transitions, inert, candidate })) => {
                self.held = inert;
                self.unreleased.truncate(transitions.first().copied().unwrap_or(self.sequence));
                self.summary.rolled_back += transitions.len() as u64;
                let to = self.state.lineage.last().map_or(0, |t| t.sequence);
                self.tell(What::RolledBack { to, transitions });
                self.take(candidate);
            }
            Ok(None) if deferred || self.governor.on_refuse(true) == OnRefuse::Skip => {
                self.feed.iter_mut().for_each(Feed::pass);
                self.step_passed(false);
            }
            Ok(None) => self.stop(Trigger::NoAdmissibleCandidate, self.last_refusal.clone()),
            Err(error) => self.stop(Trigger::Engine, error.to_string()),
        }
    }

    /// Tells what the engine has answered.
    fn tell_proposals(&mut self) {
        let answers = self.feed.as_mut().map(Feed::take_answers).unwrap_or_default();
        answers.into_iter().for_each(|answer| self.tell(What::Proposed(Box::new(answer))));
    }

    /// Makes a candidate of the engine the work.
    fn take(&mut self, candidate: Candidate) {
        let Some(feed) = &self.feed else { return };
        let place = (feed.place, u8::try_from(feed.step.attempt).unwrap_or(u8::MAX));
        match candidate.call {
            None => self.read(candidate.text, candidate.logprobs, Some(place)),
            Some(call) => self.read_call(&call, candidate.logprobs, place),
        }
    }

    /// Asks the engine. Says whether there may be more work.
    fn propose(&mut self) -> bool {
        let Some(feed) = &mut self.feed else { return false };
        if feed.proposals() >= self.governor.max_proposals() {
            let most = self.governor.max_proposals();
            self.stop(Trigger::Limit, format!("the engine was asked {most} times"));
            return false;
        }
        let proposed = feed.propose(&self.state, &self.held);
        self.tell_proposals();
        match proposed {
            Ok(Proposal::Candidate(candidate)) => {
                self.take(candidate);
                true
            }
            Ok(Proposal::Exhausted) => {
                if self.last_refusal.is_empty() {
                    self.last_refusal = "the engine proposed nothing".into();
                }
                self.dead_end();
                true
            }
            Ok(Proposal::End) => false,
            Err(error) => {
                self.stop(Trigger::Engine, error.to_string());
                false
            }
        }
    }

    /// The card refused the entry: no determination. The stream ends; its slot and sequence stand where they were.
    fn faulted(&mut self, flight: &InFlight, fault: Fault, record: Option<&Record>) {
        self.summary.faults += 1;
        self.record(flight, None, Some(Rationale::fault(fault)), Some(fault), record);
        self.unreleased.clear();
        self.stop(Trigger::Fault, fault.name().into());
    }

    /// Ends the stream early: nothing that is still to come is judged, and nothing but what was admitted is released.
    fn stop(&mut self, trigger: Trigger, detail: String) {
        self.work.clear();
        self.held.clear();
        if self.summary.stopped.is_some() {
            return;
        }
        self.summary.stopped = Some(format!("{}: {detail}", trigger.words()));
        self.summary.termination = Some(Termination {
            trigger,
            detail,
            seq: self.sequence.saturating_sub(1),
            slope: self.state.bounds.trust_slope,
            lineage: self.state.lineage.iter().map(|t| t.sequence).collect(),
        });
    }

    fn record(
        &mut self,
        flight: &InFlight,
        verdict: Option<&Verdict>,
        why: Option<Rationale>,
        fault: Option<Fault>,
        record: Option<&Record>,
    ) {
        let work = &flight.work;
        let (rule, reason, fields) = match why {
            Some(why) => (Some(why.rule), Some(why.words), why.fields),
            None => (None, None, Vec::new()),
        };
        let admit = verdict.is_some_and(|v| v.determination == Answer::Admit);
        let determination = Determination {
            id: self.id.clone(),
            stream: self.seat.number,
            seq: flight.sequence,
            parent: work.parent,
            depth: work.depth,
            start: work.range.start - work.text.origin(),
            end: work.range.end - work.text.origin(),
            step: work.place.map(|(place, _)| place),
            alternative: work.place.map(|(_, alternative)| alternative),
            category: flight.mutation.category,
            determination: verdict.map(|v| v.determination),
            stage: verdict.map(|v| v.stage),
            rule,
            reason,
            fault,
        };
        let judged = Judged {
            determination,
            inert: self.held.clone(),
            text: work.text.slice(&work.range).to_owned(),
            salt: hex::encode(&self.governor.salts.salt(self.seat.salted, flight.sequence)),
            descriptor: hex::encode(flight.descriptor.as_bytes()),
            fields,
            distance: self.state.lineage.last().filter(|_| admit).map(|t| t.distance.get()),
            slope: self.state.bounds.trust_slope,
            tick: record.map(|r| r.answer.tick.get()),
            log_index: index_of(record),
        };
        self.tell(What::Determined(Box::new(judged)));
    }
}

fn index_of(record: Option<&Record>) -> Option<u64> {
    record.map(|r| r.answer.log_index.get())
}

#[cfg(test)]
mod tests;
