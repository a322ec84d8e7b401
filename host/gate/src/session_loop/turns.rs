//! The turns of the loop. In a turn, it lets each stream submit, waits for the card, and distributes the answers.

use super::handle::SessionHandle;
use super::intake::{Arrivals, Entrant, Intake, Items};
use super::mailbox::{CheckpointSchedule, DRAINING, Inbox, InboxBounds, Mailbox, StreamMessage, Supply};
use crate::engine::{CandidateEngine, EngineError, EngineProposal};
use crate::event::StreamEvent;
use crate::governor::StreamGovernor;
use crate::source::StreamInput;
use crate::stream::{GivenParts, HeldStreamPart, Next, StreamMachine, StreamMachineInput, StreamNumbers, Submission};
use crate::workers::WorkerPool;
use portcullis_card::{CardSession, CardTransport, CompletedEntry, SessionError};
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A session loop whose streams come through its inbox.
///
/// [`SessionLoop::handle`] returns handles for opening streams; [`SessionLoop::run`] judges them in the calling thread.
pub struct SessionLoop {
    inbox: Arc<Inbox>,
}

impl SessionLoop {
    #[must_use]
    pub fn new(bounds: InboxBounds) -> Self {
        Self { inbox: Inbox::new(bounds) }
    }

    #[must_use]
    pub fn handle(&self) -> SessionHandle {
        SessionHandle::new(Arc::clone(&self.inbox))
    }

    /// Judges streams until the session is shut down or every handle is dropped, and all streams have ended. `keep`
    /// receives each event before the stream's caller. Streams are numbered in the order of their opening. Errors: the
    /// session's, or the first error of `keep`; every stream then ends with that reason and releases nothing more.
    pub fn run<C: CardTransport, E: From<SessionError> + ToString>(
        self,
        session: &mut CardSession<C>,
        mut keep: impl FnMut(&StreamEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        let slots = u16::try_from(session.info().max_streams).unwrap_or(u16::MAX);
        let keep = |event: StreamEvent| keep(&event).map(|()| Some(event));
        let mut turns = Turns::new(session, Arc::clone(&self.inbox), (0..slots).rev().collect(), keep);
        turns.finished = Some(Finished::default());
        let ran = turns.run(&mut Arrivals);
        let why = ran.as_ref().err().map_or_else(|| DRAINING.to_owned(), E::to_string);
        turns.close(&why);
        ran
    }
}

impl Drop for SessionLoop {
    fn drop(&mut self) {
        self.inbox.close("the session has ended");
    }
}

impl StreamGovernor {
    /// Governs every item over one session. `sink` receives the events: in order for each stream, with streams
    /// interleaved. Texts are mapped in this thread, so that equal items give equal logs. When a slot becomes free, the
    /// next item is taken from the iterator, which may block. Engines run in their own threads. Errors: the session's;
    /// streams that are still open then end with a report of the error, and release nothing more. An error of `sink`
    /// ends the run.
    pub fn govern<C: CardTransport, E: From<SessionError>>(
        self: &Arc<Self>,
        session: &mut CardSession<C>,
        items: impl IntoIterator<Item = StreamInput>,
        sink: impl FnMut(StreamEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        let most = u16::try_from(session.info().max_streams).unwrap_or(u16::MAX);
        let free = (0..self.settings.streams.clamp(1, most.max(1))).rev().collect();
        self.govern_in(session, free, items.into_iter().zip((0..).map(|n| (n, n))), sink)
    }

    /// Governs one item with the given numbers and slot. Errors: as [`StreamGovernor::govern`].
    pub fn govern_one<C: CardTransport, E: From<SessionError>>(
        self: &Arc<Self>,
        session: &mut CardSession<C>,
        seat: StreamNumbers,
        item: StreamInput,
        sink: impl FnMut(StreamEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        self.govern_in(session, vec![seat.slot], [(item, (seat.number, seat.salted))], sink)
    }

    fn govern_in<C: CardTransport, E: From<SessionError>>(
        self: &Arc<Self>,
        session: &mut CardSession<C>,
        free: Vec<u16>,
        items: impl IntoIterator<Item = (StreamInput, (u64, u64))>,
        mut sink: impl FnMut(StreamEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        let keep = |event| sink(event).map(|()| None);
        let mut turns = Turns::new(session, Inbox::new(InboxBounds::default()), free, keep);
        let ran = turns.run(&mut Items { governor: self, items: items.into_iter().fuse() });
        turns.close("the run has ended");
        ran
    }
}

struct LoopStream {
    number: u64,
    owner: u64,
    place: StreamTurnState,
    /// A local engine, which answers at once.
    local: Option<Box<dyn CandidateEngine>>,
    mailbox: Option<(Arc<Mailbox>, Supply)>,
    parts: Option<GivenParts>,
    asked: bool,
    /// Whether the stream's slot is in [`Turns::runnable`].
    is_runnable: bool,
}

/// When a worker started with a step; not set while the step waits for a worker.
type Started = Arc<OnceLock<Instant>>;

/// Where a stream is.
enum StreamTurnState {
    /// It may take its next step, with this input.
    Due(Box<StreamMachine>, StreamMachineInput),
    /// A worker has it, or will have it.
    AtWork(Started),
    /// Its last step is done; it needs this next.
    Here(Box<StreamMachine>, Next),
}

/// A stream after a step, and what it needs next. `None`: the step panicked, so the stream is lost.
type Stepped = Option<(Box<StreamMachine>, Next)>;

/// The streams whose steps the workers have done, by number.
#[derive(Clone, Default)]
struct Finished(Arc<Mutex<Vec<(u64, Stepped)>>>);

impl Finished {
    /// Gives a stream to the workers, and wakes the loop after its step.
    fn after(
        &self,
        stream: &LoopStream,
        mut machine: Box<StreamMachine>,
        input: StreamMachineInput,
        inbox: &Arc<Inbox>,
    ) {
        let (finished, inbox, number) = (self.clone(), Arc::clone(inbox), stream.number);
        let started =
            if let StreamTurnState::AtWork(started) = &stream.place { Arc::clone(started) } else { Started::default() };
        let step = move || {
            let _ = started.set(Instant::now());
            // A machine that panicked is dropped, so nothing of its half-done step is used.
            let step = AssertUnwindSafe(move || {
                let next = machine.step(input);
                (machine, next)
            });
            let stepped = catch_unwind(step).ok();
            finished.0.lock().unwrap_or_else(PoisonError::into_inner).push((number, stepped));
            inbox.mark(number);
        };
        WorkerPool::shared().give(stream.owner, Box::new(step));
    }

    /// The steps that were done since the last call.
    fn take(&self) -> Vec<(u64, Stepped)> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What the loop does for a stream in a turn.
enum TurnAction {
    Submit(Submission),
    /// The stream's place says when a worker starts.
    Map(Box<StreamMachine>, StreamMachineInput),
    /// Nothing: a worker has the stream, or it waits for the card, for a proposal, or for its caller to read.
    Wait,
}

/// The streams of a session, and their turns. `keep` receives each event and returns it for the stream's caller.
struct Turns<'l, C: CardTransport, K> {
    session: &'l mut CardSession<C>,
    inbox: Arc<Inbox>,
    keep: K,
    /// Free slots; the last one is used next.
    free: Vec<u16>,
    streams: BTreeMap<u16, LoopStream>,
    slots: BTreeMap<u64, u16>,
    /// Slots of streams that may have something to submit, in order of waiting.
    runnable: VecDeque<u16>,
    /// Why the streams get no more proposals; `None` while they do.
    cut_off: Option<&'static str>,
    settling: CheckpointScheduler,
    /// The streams whose steps the workers have done. `None`: the loop maps the texts itself.
    finished: Option<Finished>,
}

/// Longest time for one step of a stream. The work of a step is bounded, so a step that takes longer never ends. The
/// stream then ends without any further release, and its slot is not used again.
const STEP_LIMIT: Duration = Duration::from_secs(300);
/// Longest wait for the workers when the card has failed.
const LAST_STEPS: Duration = Duration::from_secs(5);
/// The reason of a lost stream.
const LOST: &str = "the mapping of its text failed";
/// Longest step of a wait for a checkpoint when there is no other work. New work waits until the step ends.
const STEP: Duration = Duration::from_millis(2);
/// Time between two checks for a finished checkpoint while streams are judged.
const LOOK: Duration = Duration::from_millis(20);

/// Checkpoints that the loop requests, so that the records of ended streams are signed soon.
struct CheckpointScheduler {
    when: Option<CheckpointSchedule>,
    /// Whether a checkpoint is needed for events since the last request.
    due: bool,
    /// Whether a requested checkpoint has not come yet.
    asked: bool,
    /// Time of the next request for a checkpoint, or of the next check whether it has come.
    next: Instant,
}

impl<'l, C: CardTransport, K> Turns<'l, C, K> {
    fn new(session: &'l mut CardSession<C>, inbox: Arc<Inbox>, free: Vec<u16>, keep: K) -> Self {
        let (streams, slots, runnable) = (BTreeMap::new(), BTreeMap::new(), VecDeque::new());
        let settling =
            CheckpointScheduler { when: inbox.bounds.settle, due: false, asked: false, next: Instant::now() };
        Self { session, inbox, keep, free, streams, slots, runnable, cut_off: None, settling, finished: None }
    }

    fn run<E: From<SessionError>>(&mut self, intake: &mut impl Intake) -> Result<(), E>
    where
        K: FnMut(StreamEvent) -> Result<Option<StreamEvent>, E>,
    {
        loop {
            self.take_in(intake);
            self.look_at_mail();
            self.take_finished()?;
            let submissions = self.step_all()?;
            let submitted = self.submit(&submissions);
            self.inbox.set_credit(self.free.len(), self.session.room());
            if submissions.is_empty() && self.runnable.is_empty() && self.session.in_flight() == 0 {
                let is_idle = self.streams.is_empty();
                if is_idle && (self.free.is_empty() || intake.is_over(&self.inbox)) {
                    return Ok(());
                }
                match self.settle(true).map(|most| most.into_iter().chain(self.step_deadline()).min()) {
                    Ok(most) => self.inbox.wait(is_idle, !self.free.is_empty(), self.cut_off.is_some(), most),
                    Err(error) => return self.abort(error),
                }
                continue;
            }
            if let Err(error) = self.settle(false) {
                return self.abort(error);
            }
            match submitted.and_then(|_| self.session.wait()) {
                Ok(answered) => answered.into_iter().try_for_each(|completed| self.hand_out(&completed))?,
                Err(error) => return self.abort(error),
            }
        }
    }

    /// Gives free slots to new streams.
    fn take_in(&mut self, intake: &mut impl Intake) {
        while let Some(slot) = self.free.pop() {
            let Some(Entrant { mut request, number, salted, mailbox }) = intake.next(&self.inbox) else {
                self.free.push(slot);
                break;
            };
            let (owner, local, parts) = (request.owner, request.local.take(), request.parts.take());
            let machine = Box::new(StreamMachine::new(request, StreamNumbers { number, salted, slot }));
            let place = StreamTurnState::Due(machine, StreamMachineInput::Nothing);
            let stream = LoopStream { number, owner, place, local, mailbox, parts, asked: false, is_runnable: true };
            self.streams.insert(slot, stream);
            self.slots.insert(number, slot);
            self.runnable.push_back(slot);
        }
    }

    /// Makes streams with new mail runnable.
    fn look_at_mail(&mut self) {
        for number in self.inbox.take_changed() {
            if let Some(slot) = self.slots.get(&number) {
                make_runnable(&mut self.streams, &mut self.runnable, *slot);
            }
        }
        let over = self.inbox.drain_until().filter(|(until, _)| self.cut_off.is_none() && *until <= Instant::now());
        if let Some((_, why)) = over {
            self.cut_off = Some(why);
            let slots: Vec<u16> = self.streams.keys().copied().collect();
            slots.into_iter().for_each(|slot| make_runnable(&mut self.streams, &mut self.runnable, slot));
        }
    }

    /// Collects the next entries of the runnable streams while the card has room, and gives the workers what is to be
    /// mapped.
    fn step_all<E>(&mut self) -> Result<Vec<Submission>, E>
    where
        K: FnMut(StreamEvent) -> Result<Option<StreamEvent>, E>,
    {
        let room = self.session.room();
        if self.runnable.len() <= room {
            // Every runnable stream has room, so the order is free. Sorted by slot, equal items give the same log.
            self.runnable.make_contiguous().sort_unstable();
        }
        let mut entries = Vec::new();
        while entries.len() < room {
            let Some(slot) = self.runnable.pop_front() else { break };
            let Some(stream) = self.streams.get_mut(&slot) else { continue };
            stream.is_runnable = false;
            match stream.turn(self.cut_off, self.finished.is_some(), &mut self.keep)? {
                TurnAction::Submit(entry) => entries.push(entry),
                TurnAction::Map(machine, input) => {
                    if let Some(finished) = &self.finished {
                        finished.after(stream, machine, input, &self.inbox);
                    }
                }
                TurnAction::Wait => {}
            }
        }
        Ok(entries)
    }

    /// Takes the streams back whose steps are done. A stream whose step failed or takes too long is lost.
    fn take_finished<E>(&mut self) -> Result<(), E>
    where
        K: FnMut(StreamEvent) -> Result<Option<StreamEvent>, E>,
    {
        let Some(finished) = &self.finished else { return Ok(()) };
        for (number, stepped) in finished.take() {
            let Some(slot) = self.slots.get(&number).copied() else { continue };
            let Some(stream) = self.streams.get_mut(&slot) else { continue };
            let Some((machine, next)) = stepped else {
                self.lose(slot);
                continue;
            };
            stream.place = StreamTurnState::Here(machine, next);
            stream.report(&mut self.keep)?;
            make_runnable(&mut self.streams, &mut self.runnable, slot);
        }
        self.lose_hung(Instant::now());
        Ok(())
    }

    /// Ends the streams whose steps have taken too long.
    fn lose_hung(&mut self, now: Instant) {
        let is_lost = |stream: &LoopStream| stream.started().is_some_and(|since| since + STEP_LIMIT <= now);
        let lost: Vec<u16> = self.streams.iter().filter(|(_, stream)| is_lost(stream)).map(|(slot, _)| *slot).collect();
        lost.into_iter().for_each(|slot| self.lose(slot));
    }

    /// The longest time that the loop may wait for the steps in work; `None` if there are none.
    fn step_deadline(&self) -> Option<Duration> {
        let first = self.streams.values().filter_map(LoopStream::started).min();
        let is_waiting = || self.streams.values().any(|stream| matches!(stream.place, StreamTurnState::AtWork(_)));
        let left = |first: Instant| (first + STEP_LIMIT).saturating_duration_since(Instant::now());
        first.map(left).or_else(|| is_waiting().then_some(STEP_LIMIT))
    }

    /// Ends a stream whose state is lost. Its slot stays unused, because the card still has the stream open.
    fn lose(&mut self, slot: u16) {
        if let Some(stream) = self.streams.remove(&slot) {
            self.slots.remove(&stream.number);
            stream.close(Some(LOST.to_owned()));
        }
    }

    /// Writes the texts into their windows if the card reads texts, then submits the entries.
    fn submit(&mut self, submissions: &[Submission]) -> Result<(), SessionError> {
        if submissions.is_empty() {
            return Ok(());
        }
        for Submission { entry, text } in submissions {
            text.as_ref().map_or(Ok(()), |text| self.session.present_text(entry.slot.get(), text))?;
        }
        let entries: Vec<_> = submissions.iter().map(|submission| submission.entry).collect();
        self.session.submit(&entries).map(drop)
    }

    fn hand_out<E>(&mut self, completed: &CompletedEntry) -> Result<(), E>
    where
        K: FnMut(StreamEvent) -> Result<Option<StreamEvent>, E>,
    {
        let slot = completed.entry.slot.get();
        let Some(stream) = self.streams.get_mut(&slot) else { return Ok(()) };
        stream.answered(completed);
        self.settling.due |= self.settling.when.is_some_and(|when| when.each_record);
        stream.report(&mut self.keep)?;
        if stream.is_done() {
            self.remove(slot);
        } else {
            make_runnable(&mut self.streams, &mut self.runnable, slot);
        }
        Ok(())
    }

    /// Requests a checkpoint if one is due, and checks whether a requested one has come. Returns the longest time that
    /// the loop may wait for mail; `None` if there is no limit.
    fn settle(&mut self, is_idle: bool) -> Result<Option<Duration>, SessionError> {
        let CheckpointScheduler { when: Some(CheckpointSchedule { every, .. }), due, asked, next } = self.settling
        else {
            return Ok(None);
        };
        if !due && !asked {
            return Ok(None);
        }
        let now = Instant::now();
        if asked && (is_idle || next <= now) {
            let step = if is_idle { STEP } else { Duration::ZERO };
            let is_settled = self.session.settle(step)?;
            let next = now + if is_settled { every } else { LOOK };
            self.settling = CheckpointScheduler { asked: !is_settled, next, ..self.settling };
            return Ok(Some(Duration::ZERO));
        }
        if !asked && next <= now {
            self.session.ask_settled()?;
            self.settling = CheckpointScheduler { due: false, asked: true, next: now, ..self.settling };
            return Ok(Some(Duration::ZERO));
        }
        Ok(Some(next - now))
    }

    fn remove(&mut self, slot: u16) {
        self.settling.due = true;
        if let Some(stream) = self.streams.remove(&slot) {
            self.slots.remove(&stream.number);
            stream.close(None);
        }
        self.free.push(slot);
    }

    /// Ends every stream, because the card is no longer trusted.
    fn abort<E: From<SessionError>>(&mut self, error: SessionError) -> Result<(), E>
    where
        K: FnMut(StreamEvent) -> Result<Option<StreamEvent>, E>,
    {
        let until = Instant::now() + LAST_STEPS;
        while self.streams.values().any(|stream| matches!(stream.place, StreamTurnState::AtWork(_)))
            && Instant::now() < until
        {
            self.inbox.wait(false, false, true, Some(STEP));
            self.inbox.take_changed();
            self.take_finished()?;
        }
        for stream in self.streams.values_mut() {
            stream.abort(&error);
            stream.report(&mut self.keep)?;
        }
        Err(error.into())
    }

    fn close(&mut self, why: &str) {
        self.inbox.close(why);
        for stream in std::mem::take(&mut self.streams).into_values() {
            stream.close(Some(why.to_owned()));
        }
    }
}

impl<C: CardTransport, K> Drop for Turns<'_, C, K> {
    fn drop(&mut self) {
        // However the loop ended, its callers must not wait forever.
        self.close("the session's loop has ended");
    }
}

fn make_runnable(streams: &mut BTreeMap<u16, LoopStream>, runnable: &mut VecDeque<u16>, slot: u16) {
    if let Some(stream) = streams.get_mut(&slot).filter(|stream| !stream.is_runnable) {
        stream.is_runnable = true;
        runnable.push_back(slot);
    }
}

impl LoopStream {
    /// What the stream needs now. With `by_worker`, a step that maps a text is returned as a job; otherwise it is done
    /// here.
    fn turn<E>(
        &mut self,
        cut_off: Option<&'static str>,
        by_worker: bool,
        keep: &mut impl FnMut(StreamEvent) -> Result<Option<StreamEvent>, E>,
    ) -> Result<TurnAction, E> {
        if let Some((mailbox, Supply { events: true, .. })) = &self.mailbox
            && !mailbox.has_room()
        {
            let Some(why) = cut_off else { return Ok(TurnAction::Wait) };
            mailbox.give_up(why);
        }
        loop {
            let (place, turn) = match self.take_place() {
                StreamTurnState::Due(machine, input) if by_worker && machine.maps(&input) => {
                    return Ok(TurnAction::Map(machine, input));
                }
                StreamTurnState::Due(mut machine, input) => {
                    let next = machine.step(input);
                    self.place = StreamTurnState::Here(machine, next);
                    self.report(keep)?;
                    continue;
                }
                StreamTurnState::Here(machine, Next::Entry(entry)) => {
                    (StreamTurnState::Here(machine, Next::Answer), TurnAction::Submit(entry))
                }
                StreamTurnState::Here(machine, Next::Part) => match self.part(cut_off) {
                    Some(part) => {
                        self.place = StreamTurnState::Due(machine, StreamMachineInput::Part(part));
                        continue;
                    }
                    None => (StreamTurnState::Here(machine, Next::Part), TurnAction::Wait),
                },
                StreamTurnState::Here(mut machine, Next::Proposal) => match self.proposal(&mut machine, cut_off) {
                    Some(answer) => {
                        self.place = StreamTurnState::Due(machine, StreamMachineInput::Proposed(answer));
                        continue;
                    }
                    None => (StreamTurnState::Here(machine, Next::Proposal), TurnAction::Wait),
                },
                place @ (StreamTurnState::AtWork(_) | StreamTurnState::Here(_, Next::Answer | Next::Done)) => {
                    (place, TurnAction::Wait)
                }
            };
            self.place = place;
            return Ok(turn);
        }
    }

    /// Takes the stream out of its place; until it is put back, it counts as given to a worker.
    fn take_place(&mut self) -> StreamTurnState {
        std::mem::replace(&mut self.place, StreamTurnState::AtWork(Started::default()))
    }

    /// Hands the stream the card's answer. Its events are reported in the order of the answers, whoever maps the texts.
    fn answered(&mut self, completed: &CompletedEntry) {
        self.place = match self.take_place() {
            StreamTurnState::Here(mut machine, _) => {
                machine.answer(completed.outcome, completed.record.as_ref());
                StreamTurnState::Due(machine, StreamMachineInput::Nothing)
            }
            // Only a stream that is here has an entry at the card.
            place @ (StreamTurnState::Due(..) | StreamTurnState::AtWork(_)) => place,
        };
    }

    /// When a worker started with the stream's step; `None` if none has it.
    fn started(&self) -> Option<Instant> {
        if let StreamTurnState::AtWork(started) = &self.place { started.get().copied() } else { None }
    }

    fn is_done(&self) -> bool {
        matches!(&self.place, StreamTurnState::Due(machine, _) | StreamTurnState::Here(machine, _) if machine.is_done())
    }

    /// Ends the stream, because the card is no longer trusted.
    fn abort(&mut self, error: &SessionError) {
        if let StreamTurnState::Due(machine, _) | StreamTurnState::Here(machine, _) = &mut self.place {
            machine.abort(error);
        }
    }

    /// The next part of the text; `None` if it has not arrived.
    fn part(&mut self, cut_off: Option<&str>) -> Option<Result<HeldStreamPart, EngineError>> {
        let gone = |why: &str| Some(Err(EngineError::Gone(why.to_owned())));
        match (&mut self.parts, &self.mailbox) {
            (Some(parts), _) => parts.next().or_else(|| gone("no further part is there")),
            (None, None) => gone("no one gives the text"),
            (None, Some((mailbox, _))) => cut_off.map_or_else(|| mailbox.take_part(), gone),
        }
    }

    /// The answer to the stream's request for a proposal; `None` if it has not arrived.
    fn proposal(
        &mut self,
        machine: &mut StreamMachine,
        cut_off: Option<&str>,
    ) -> Option<Result<EngineProposal, EngineError>> {
        let gone = |why: &str| Some(Err(EngineError::Gone(why.to_owned())));
        if let Some(engine) = &mut self.local {
            machine.take_moves().into_iter().for_each(|step| engine.make(step));
            let (view, attempt) = machine.request()?;
            return Some(engine.propose(&view, attempt));
        }
        let Some((mailbox, _)) = &self.mailbox else { return gone("no one proposes") };
        if let Some(why) = cut_off {
            return gone(why);
        }
        if !self.asked {
            let moves = machine.take_moves();
            let (view, attempt) = machine.request()?;
            mailbox.ask(moves, &view, attempt);
        }
        let answer = mailbox.take_answer();
        self.asked = answer.is_none();
        answer
    }

    /// Stores the stream's new events, then sends them to its caller.
    fn report<E>(&mut self, keep: &mut impl FnMut(StreamEvent) -> Result<Option<StreamEvent>, E>) -> Result<(), E> {
        let (StreamTurnState::Due(machine, _) | StreamTurnState::Here(machine, _)) = &mut self.place else {
            return Ok(());
        };
        for event in machine.take_events() {
            let kept = keep(event)?;
            if let (Some(event), Some((mailbox, Supply { events: true, .. }))) = (kept, &self.mailbox) {
                mailbox.send(StreamMessage::Event(event));
            }
        }
        Ok(())
    }

    fn close(self, why: Option<String>) {
        if let Some((mailbox, _)) = self.mailbox {
            mailbox.close(why);
        }
    }
}

#[cfg(test)]
mod tests;
