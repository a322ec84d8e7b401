//! Data that the loop shares with its callers: the inbox of the session, and a mailbox per stream.
//!
//! Locks are held briefly, and never two at a time. A changed mailbox is marked in the inbox, so that the loop examines
//! only the streams whose mailboxes changed.

use crate::engine::{EngineError, EngineMove, EngineProposal, EngineView, ProposalRequest};
use crate::event::StreamEvent;
use crate::stream::{HeldStreamPart, StreamRequest};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bounds of a session's inbox. A caller that reaches a bound waits; other callers are not affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboxBounds {
    /// Largest number of streams that wait for a slot of the card.
    pub waiting: usize,
    /// Largest number of parts per stream that wait to be judged.
    pub parts: usize,
    pub part_bytes: usize,
    /// Largest number of unread messages per stream. A stream whose caller does not read them is not judged further.
    pub messages: usize,
    /// When checkpoints are requested. `None`: the card signs after its interval of records, and at the end.
    pub settle: Option<CheckpointSchedule>,
}

/// When the session requests checkpoints, so that recent records are signed soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointSchedule {
    /// Shortest time between a checkpoint and the request for the next.
    pub every: Duration,
    /// Whether each record needs a checkpoint; otherwise only the ends of streams do.
    pub each_record: bool,
}

impl Default for InboxBounds {
    fn default() -> Self {
        Self { waiting: 64, parts: 16, part_bytes: 1 << 20, messages: 64, settle: None }
    }
}

/// The session's room for more work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCapacity {
    /// Free slots of the card when it last answered.
    pub slots: usize,
    /// Number of streams that wait for a slot now.
    pub waiting: usize,
    /// Number of entries that the card could take when it last answered, for any slots.
    pub entries: usize,
}

/// A message from the loop to the caller of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamMessage {
    /// An event that has been stored, so that the text it releases may leave the gate.
    Event(StreamEvent),
    /// A request for a candidate.
    Propose(ProposalRequest),
    /// The results of earlier candidates, for the engine.
    Move(EngineMove),
}

/// Called after a change of a mailbox, so that no thread has to wait for the change.
pub(super) type Notify = Arc<dyn Fn() + Send + Sync>;

/// A stream that waits for a slot.
pub(super) struct Arrival {
    pub(super) request: StreamRequest,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) supply: Supply,
    /// Whether the caller already has an open stream. If so, the new stream is accepted even during a shut-down.
    pub(super) further: bool,
}

/// How a stream gets its candidates through its mailbox, and whether its caller reads the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Supply {
    /// Whether the caller submits parts of a text; otherwise an engine is asked.
    pub(super) given: bool,
    pub(super) events: bool,
}

#[derive(Default)]
struct InboxState {
    arrivals: VecDeque<Arrival>,
    changed: BTreeSet<u64>,
    numbered: u64,
    /// Number of live [`super::SessionHandle`]s.
    handles: usize,
    /// During a shut-down: the time after which open streams get no more proposals, and the reason of the shut-down.
    drain: Option<(Instant, &'static str)>,
    over: Option<String>,
    credit: SessionCapacity,
}

pub(super) struct Inbox {
    pub(super) bounds: InboxBounds,
    state: Mutex<InboxState>,
    arrived: Condvar,
    /// Signalled when a waiting stream has got its slot, or the session is over.
    left: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArrivalOptions {
    /// Whether the caller waits for room.
    pub(super) wait: bool,
    /// See [`Arrival::further`].
    pub(super) further: bool,
}

pub(super) enum InboxRefusal {
    Full(Box<StreamRequest>),
    Over(String),
}

pub(super) const DRAINING: &str = "the session is being shut down";

impl Inbox {
    pub(super) fn new(bounds: InboxBounds) -> Arc<Self> {
        Arc::new(Self { bounds, state: Mutex::default(), arrived: Condvar::new(), left: Condvar::new() })
    }

    fn state(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The mailbox of the stream with this number.
    pub(super) fn mailbox(self: &Arc<Self>, number: u64, owner: u64) -> Arc<Mailbox> {
        Arc::new(Mailbox { number, owner, inbox: Arc::clone(self), mail: Mutex::default(), changed: Condvar::new() })
    }

    /// Puts a stream into the queue for a slot.
    pub(super) fn arrive(
        self: &Arc<Self>,
        request: StreamRequest,
        supply: Supply,
        ArrivalOptions { wait, further }: ArrivalOptions,
    ) -> Result<Arc<Mailbox>, InboxRefusal> {
        let mut state = self.state();
        loop {
            if let Some(why) = &state.over {
                return Err(InboxRefusal::Over(why.clone()));
            }
            if let Some((_, why)) = state.drain.filter(|_| !further) {
                return Err(InboxRefusal::Over(why.into()));
            }
            if state.arrivals.len() < self.bounds.waiting {
                break;
            }
            if !wait {
                return Err(InboxRefusal::Full(Box::new(request)));
            }
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let mailbox = self.mailbox(state.numbered, request.owner);
        state.numbered += 1;
        state.arrivals.push_back(Arrival { request, mailbox: Arc::clone(&mailbox), supply, further });
        self.arrived.notify_one();
        Ok(mailbox)
    }

    /// Marks a stream as changed, and wakes the loop.
    pub(super) fn mark(&self, number: u64) {
        self.state().changed.insert(number);
        self.arrived.notify_one();
    }

    pub(super) fn handle_made(&self) {
        self.state().handles += 1;
    }

    pub(super) fn handle_dropped(&self) {
        self.state().handles -= 1;
        self.arrived.notify_one();
    }

    pub(super) fn credit(&self) -> SessionCapacity {
        let state = self.state();
        SessionCapacity { waiting: state.arrivals.len(), ..state.credit }
    }

    pub(super) fn over(&self) -> Option<String> {
        self.state().over.clone()
    }

    /// Starts a shut-down. A later call can only move the cut-off to an earlier time.
    pub(super) fn drain(&self, within: Duration, why: &'static str) {
        let until = Instant::now() + within;
        let mut state = self.state();
        state.drain = Some(state.drain.map_or((until, why), |(earlier, why)| (earlier.min(until), why)));
        let (kept, arrivals) = std::mem::take(&mut state.arrivals).into_iter().partition(|arrival| arrival.further);
        state.arrivals = kept;
        let arrivals: VecDeque<Arrival> = arrivals;
        drop(state);
        self.left.notify_all();
        self.arrived.notify_one();
        arrivals.into_iter().for_each(|arrival| arrival.mailbox.close(Some(why.into())));
    }

    pub(super) fn drain_until(&self) -> Option<(Instant, &'static str)> {
        self.state().drain
    }

    /// The next stream of the queue, for a free slot.
    pub(super) fn next_arrival(&self) -> Option<Arrival> {
        let arrival = self.state().arrivals.pop_front();
        if arrival.is_some() {
            self.left.notify_one();
        }
        arrival
    }

    /// Whether no more streams will come.
    pub(super) fn is_shut(&self) -> bool {
        let state = self.state();
        state.arrivals.is_empty() && (state.drain.is_some() || state.handles == 0)
    }

    /// The streams whose mailbox changed since the last call.
    pub(super) fn take_changed(&self) -> BTreeSet<u64> {
        std::mem::take(&mut self.state().changed)
    }

    /// Waits until there is work: mail, an arrival for a free slot, the end of the intake if no stream is open, or the
    /// time after which streams get no more proposals.
    pub(super) fn wait(&self, is_idle: bool, free: bool, cut_off: bool, most: Option<Duration>) {
        let most = most.map(|most| Instant::now() + most);
        let mut state = self.state();
        loop {
            let arrival = free && !state.arrivals.is_empty();
            let shut = is_idle && (state.drain.is_some() || state.handles == 0);
            if arrival || shut || !state.changed.is_empty() {
                return;
            }
            let until = [state.drain.filter(|_| !cut_off).map(|(until, _)| until), most].into_iter().flatten().min();
            match until.map(|until| until.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return,
                Some(left) => {
                    state = self.arrived.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
                }
                None => state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    pub(super) fn set_credit(&self, slots: usize, entries: usize) {
        self.state().credit = SessionCapacity { slots, waiting: 0, entries };
    }

    /// Ends the session: all waiting callers get the reason.
    pub(super) fn close(&self, why: &str) {
        let mut state = self.state();
        state.over.get_or_insert_with(|| why.to_owned());
        state.credit = SessionCapacity::default();
        let arrivals = std::mem::take(&mut state.arrivals);
        drop(state);
        self.left.notify_all();
        arrivals.into_iter().for_each(|arrival| arrival.mailbox.close(Some(why.to_owned())));
    }
}

#[derive(Default)]
struct Mail {
    /// Parts that wait to be judged.
    parts: VecDeque<HeldStreamPart>,
    /// The answer to the last [`StreamMessage::Propose`].
    answer: Option<Result<EngineProposal, EngineError>>,
    /// Whether the last part was submitted.
    ended: bool,
    /// Whether the stream has judged all parts and waits for the next one.
    idle: bool,
    /// Why no more proposals come.
    gone: Option<String>,
    /// Whether messages are not read any more.
    unread: bool,
    messages: VecDeque<StreamMessage>,
    /// Whether the loop waits for room for more messages.
    full: bool,
    /// Set when the stream is over; the inner value is the reason if it did not reach its own end.
    over: Option<Option<String>>,
    notify: Option<Notify>,
}

/// The messages between one stream and its caller.
pub(super) struct Mailbox {
    pub(super) number: u64,
    /// See [`StreamRequest::owned`].
    pub(super) owner: u64,
    inbox: Arc<Inbox>,
    mail: Mutex<Mail>,
    changed: Condvar,
}

pub(super) enum PartRefusal {
    Full(Box<HeldStreamPart>),
    Over(Option<String>),
}

impl Mailbox {
    fn mail(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases the lock, then wakes the caller.
    fn wake(&self, mail: MutexGuard<'_, Mail>) {
        let notify = mail.notify.clone();
        drop(mail);
        self.changed.notify_all();
        if let Some(notify) = notify {
            notify();
        }
    }

    // Methods for the caller.

    pub(super) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    pub(super) fn set_notify(&self, notify: Notify) {
        self.mail().notify = Some(notify);
    }

    pub(super) fn push(&self, part: HeldStreamPart, wait: bool) -> Result<(), PartRefusal> {
        let mut mail = self.mail();
        loop {
            if let Some(over) = &mail.over {
                return Err(PartRefusal::Over(over.clone()));
            }
            if mail.ended || mail.gone.is_some() {
                return Err(PartRefusal::Over(mail.gone.clone()));
            }
            if mail.parts.len() < self.inbox.bounds.parts {
                break;
            }
            if !wait {
                return Err(PartRefusal::Full(Box::new(part)));
            }
            mail = self.changed.wait(mail).unwrap_or_else(PoisonError::into_inner);
        }
        mail.ended = part.is_last();
        mail.idle = false;
        mail.parts.push_back(part);
        drop(mail);
        self.inbox.mark(self.number);
        Ok(())
    }

    pub(super) fn set_answer(&self, answer: Result<EngineProposal, EngineError>) {
        self.mail().answer = Some(answer);
        self.inbox.mark(self.number);
    }

    /// Records why no more proposals come, and drops queued parts.
    pub(super) fn set_gone(&self, why: String) {
        let mut mail = self.mail();
        mail.parts.clear();
        mail.gone = Some(why);
        drop(mail);
        self.changed.notify_all();
        self.inbox.mark(self.number);
    }

    /// Records that the caller stops reading messages and proposing.
    pub(super) fn leave(&self, why: &str) {
        let mut mail = self.mail();
        mail.unread = true;
        mail.messages.clear();
        mail.parts.clear();
        mail.gone.get_or_insert_with(|| why.to_owned());
        drop(mail);
        self.inbox.mark(self.number);
    }

    /// Waits for the next message until `until`; `None` if there is none by then, or no more will come.
    pub(super) fn receive(&self, until: Option<Instant>) -> Option<StreamMessage> {
        let mut mail = self.mail();
        loop {
            if let Some(message) = mail.messages.pop_front() {
                let room = std::mem::take(&mut mail.full);
                drop(mail);
                if room {
                    self.inbox.mark(self.number);
                }
                return Some(message);
            }
            if mail.over.is_some() {
                return None;
            }
            match until.map(|until| until.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return None,
                Some(left) => mail = self.changed.wait_timeout(mail, left).unwrap_or_else(PoisonError::into_inner).0,
                None => mail = self.changed.wait(mail).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    pub(super) fn over(&self) -> Option<Option<String>> {
        self.mail().over.clone()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.mail().idle
    }

    // Methods for the loop.

    /// Whether there is room for more messages. If not, the stream is marked as changed when room is made.
    pub(super) fn has_room(&self) -> bool {
        let mut mail = self.mail();
        mail.full = !mail.unread && mail.messages.len() >= self.inbox.bounds.messages;
        !mail.full
    }

    pub(super) fn send(&self, message: StreamMessage) {
        let mut mail = self.mail();
        if !mail.unread {
            mail.messages.push_back(message);
            self.wake(mail);
        }
    }

    pub(super) fn ask(&self, moves: Vec<EngineMove>, view: &EngineView<'_>, attempt: u32) {
        let mut mail = self.mail();
        if mail.unread {
            return;
        }
        mail.answer = None;
        mail.messages.extend(moves.into_iter().map(StreamMessage::Move));
        mail.messages.push_back(StreamMessage::Propose(ProposalRequest::new(view, attempt)));
        self.wake(mail);
    }

    /// The answer of the caller's engine, or why none comes; `None` if it has not arrived.
    pub(super) fn take_answer(&self) -> Option<Result<EngineProposal, EngineError>> {
        let mut mail = self.mail();
        match &mail.gone {
            Some(why) => Some(Err(EngineError::Gone(why.clone()))),
            None => mail.answer.take(),
        }
    }

    /// The next submitted part, or why none comes; `None` if it has not arrived.
    pub(super) fn take_part(&self) -> Option<Result<HeldStreamPart, EngineError>> {
        let mut mail = self.mail();
        if let Some(why) = &mail.gone {
            return Some(Err(EngineError::Gone(why.clone())));
        }
        let part = mail.parts.pop_front();
        let was_idle = std::mem::replace(&mut mail.idle, part.is_none());
        if !was_idle {
            self.wake(mail);
        }
        part.map(Ok)
    }

    /// Stops sending messages to a caller that does not read them; the caller gets this reason.
    pub(super) fn give_up(&self, why: &str) {
        let mut mail = self.mail();
        mail.unread = true;
        mail.messages.clear();
        mail.over.get_or_insert_with(|| Some(why.to_owned()));
        self.wake(mail);
    }

    /// Ends the stream; `why` is the reason if it did not reach its own end.
    pub(super) fn close(&self, why: Option<String>) {
        let mut mail = self.mail();
        mail.over.get_or_insert(why);
        self.wake(mail);
    }
}
