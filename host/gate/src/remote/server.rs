//! The gate's side: how one connection is served, and how its streams share the card with those of other connections.

use super::clients::Place;
use super::{ToClient, ToGate, VERSION, Wire};
use crate::engine::{Engine, EngineError, Proposal, View};
use crate::event::{Event, What};
use crate::governor::Governor;
use crate::source::Item;
use crate::stream::{Seat, Stream};
use portcullis_card::{Card, Session, SessionError};
use portcullis_core::state::ProfileError;
use portcullis_core::wire::Descriptor;
use portcullis_prefilter::Prefilter;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Why the gate ends before it is asked to.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The card.
    #[error(transparent)]
    Card(#[from] SessionError),
    /// What the gate keeps of its streams cannot be kept.
    #[error("{0}")]
    Journal(JournalError),
    /// Connections cannot be accepted.
    #[error("connections cannot be accepted: {0}")]
    Accept(io::Error),
}

/// Why an event was not kept.
pub type JournalError = Box<dyn std::error::Error + Send + Sync>;

/// Keeps every event before its client hears of it. Events of one lane come in the order of that lane's log. Streams have the numbers of
/// the gate, each of which is used once.
pub type Journal<'j> = Box<dyn FnMut(&Event) -> Result<(), JournalError> + Send + 'j>;

/// What a connection came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Served {
    /// It was closed after so many items.
    Closed(u64),
    /// It was refused, or given up, and why.
    Refused(String),
}

/// An engine at the other end of the connection.
struct Remote {
    wire: Arc<Wire>,
    stopping: Arc<AtomicBool>,
    /// What the client's engine hears before the next proposal. The card is held when this comes up, and nothing is sent then.
    unsent: Vec<ToClient>,
}

impl Engine for Remote {
    fn name(&self) -> String {
        "client".into()
    }

    fn propose(&mut self, view: &View<'_>, attempt: u32) -> Result<Proposal, EngineError> {
        if self.stopping.load(Ordering::Relaxed) {
            return Err(EngineError::Gone("the gate is being stopped".into()));
        }
        let message = ToClient::Propose {
            intent: view.intent.to_owned(),
            facts: view.facts.to_vec(),
            admitted: view.admitted.to_owned(),
            attempt,
        };
        let mut messages = self.unsent.drain(..).chain([message]);
        messages.try_for_each(|message| self.wire.send(&message)).map_err(|e| EngineError::Gone(e.to_string()))?;
        match self.wire.receive() {
            Ok(Some(ToGate::Proposal(answer))) => answer,
            Ok(Some(_)) => Err(EngineError::Answer("the client did not answer with a proposal".into())),
            Ok(None) => Err(EngineError::Gone("the client has closed".into())),
            Err(error) => Err(EngineError::Gone(error.to_string())),
        }
    }

    fn advance(&mut self, admitted: &str) {
        self.unsent.push(ToClient::Advance(admitted.to_owned()));
    }

    fn roll_back(&mut self, steps: usize) {
        self.unsent.push(ToClient::RollBack(steps));
    }
}

enum Failure {
    Client(io::Error),
    Gate(String),
}

/// What one stream at a time has.
struct Shared<'j, C: Card> {
    session: Session<C>,
    journal: Journal<'j>,
    /// Why the gate is over.
    failed: Option<GateError>,
}

impl<C: Card> Shared<'_, C> {
    /// Has the card answer an entry, and keeps what comes of it. Nothing of it may leave when this fails.
    fn judge(&mut self, stream: &mut Stream<'_>, entry: Descriptor) -> Result<Vec<Event>, Failure> {
        self.healthy()?;
        match self.session.submit(&[entry]).and_then(|_| self.session.wait()) {
            Ok(answered) => {
                answered.into_iter().for_each(|answer| stream.answer(answer.outcome, answer.record.as_ref()));
            }
            Err(error) => {
                stream.cut(&error);
                self.failed = Some(error.into());
            }
        }
        let events = stream.take_events();
        self.keep(&events)?;
        Ok(events)
    }

    fn keep(&mut self, events: &[Event]) -> Result<(), Failure> {
        let kept = events.iter().try_for_each(|event| (self.journal)(event));
        kept.map_err(|error| {
            let failure = Failure::Gate(error.to_string());
            self.failed = Some(GateError::Journal(error));
            failure
        })
    }

    fn healthy(&self) -> Result<(), Failure> {
        self.failed.as_ref().map_or(Ok(()), |error| Err(Failure::Gate(error.to_string())))
    }
}

/// What the connections of a gate share: the card's session and what is kept of it, held for one entry at a time; and the count of items,
/// which numbers streams and salts: no number is used twice, whatever numbers clients choose.
pub struct Gate<'j, C: Card> {
    shared: Mutex<Shared<'j, C>>,
    /// Slots of the card that no stream has.
    free: Mutex<Vec<u16>>,
    /// Judges tasks before the client's engine sees them.
    filter: Arc<Prefilter>,
    items: AtomicU64,
    pub(super) stopping: Arc<AtomicBool>,
}

impl<'j, C: Card> Gate<'j, C> {
    /// A gate over an open session, for so many connections at most.
    pub fn new(session: Session<C>, journal: Journal<'j>, filter: Arc<Prefilter>, clients: u16) -> Self {
        let slots = u16::try_from(session.info().max_streams).unwrap_or(u16::MAX).min(clients);
        Self {
            shared: Mutex::new(Shared { session, journal, failed: None }),
            free: Mutex::new((0..slots).rev().collect()),
            filter,
            items: AtomicU64::new(0),
            stopping: Arc::default(),
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared<'j, C>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free(&self) -> MutexGuard<'_, Vec<u16>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Streams that can be open at the same time.
    pub(super) fn slots(&self) -> usize {
        self.free().len()
    }

    /// Whether the gate cannot go on.
    pub(super) fn is_over(&self) -> bool {
        self.shared().failed.is_some()
    }

    /// The session, for its end, and why the gate is over, if it failed.
    pub fn into_session(self) -> (Session<C>, Option<GateError>) {
        let shared = self.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        (shared.session, shared.failed)
    }

    /// Serves one connection until the client closes it. `make` makes the governor, which is given the client's engine.
    pub(super) fn serve<'g>(
        &self,
        wire: &Arc<Wire>,
        place: &Place<'_>,
        welcome: &ToClient,
        make: impl Fn() -> Result<Governor<'g>, ProfileError>,
    ) -> Served {
        let refused = |why: String| {
            let _ = wire.send(&ToClient::Failed(why.clone()));
            Served::Refused(why)
        };
        match wire.receive_hello() {
            Ok(Some(ToGate::Hello { version: VERSION })) => {}
            Ok(Some(ToGate::Hello { version })) => {
                return refused(format!("version {version} is not spoken here, {VERSION} is"));
            }
            Ok(_) => return refused("the client did not say hello".into()),
            Err(error) => return refused(error.to_string()),
        }
        place.greeted();
        if let Err(error) = wire.send(welcome) {
            return Served::Refused(error.to_string());
        }
        let mut items = 0;
        loop {
            let (number, item) = match wire.receive() {
                Ok(Some(ToGate::Govern { number, item })) => (number, item),
                Ok(None) if self.stopping.load(Ordering::Relaxed) => {
                    return refused("the gate is being stopped".into());
                }
                Ok(None) => return Served::Closed(items),
                Ok(Some(_)) => return refused("an item was expected".into()),
                Err(error) => return refused(error.to_string()),
            };
            items += 1;
            match self.govern(wire, number, item, &make) {
                Ok(()) => {}
                Err(Failure::Client(error)) => return Served::Refused(error.to_string()),
                Err(Failure::Gate(error)) => return refused(format!("the gate failed: {error}")),
            }
            if let Err(error) = wire.send(&ToClient::Done) {
                return Served::Refused(error.to_string());
            }
        }
    }

    fn govern<'g>(
        &self,
        wire: &Arc<Wire>,
        number: u64,
        item: Item,
        make: &impl Fn() -> Result<Governor<'g>, ProfileError>,
    ) -> Result<(), Failure> {
        let slot = self.free().pop().ok_or_else(|| Failure::Gate("every slot of the card is in use".into()))?;
        let governed = self.govern_in(slot, wire, number, item, make);
        self.free().push(slot);
        governed
    }

    /// A client that goes away ends its own stream: what happens after is kept and sent to nobody, but the card's stream is ended in order.
    fn govern_in<'g>(
        &self,
        slot: u16,
        wire: &Arc<Wire>,
        number: u64,
        item: Item,
        make: &impl Fn() -> Result<Governor<'g>, ProfileError>,
    ) -> Result<(), Failure> {
        let governor = make().map_err(|e| Failure::Client(io::Error::other(e)))?;
        let (remote, stopping) = (Arc::clone(wire), Arc::clone(&self.stopping));
        let made = Box::new(move |_, _| {
            let (wire, stopping) = (Arc::clone(&remote), Arc::clone(&stopping));
            Ok(Box::new(Remote { wire, stopping, unsent: Vec::new() }) as Box<dyn Engine>)
        });
        let governor = governor.with_engines(Arc::clone(&self.filter), made);
        let counted = self.items.fetch_add(1, Ordering::Relaxed);
        let mut stream = Stream::new(&governor, item, Seat { number: counted, salted: counted, slot });
        let mut gone = None;
        let mut send = |events: Vec<Event>| {
            for event in events {
                if gone.is_none() {
                    gone = wire.send(&ToClient::Event(renumbered(event, number))).err();
                }
            }
        };
        // The engine is asked in `next`, and events are sent, while the card serves others: a client that is slow holds up nobody else.
        while let Some(entry) = stream.next() {
            let before = stream.take_events();
            let mut shared = self.shared();
            shared.keep(&before)?;
            let after = shared.judge(&mut stream, entry);
            drop(shared);
            send(before);
            send(after?);
        }
        let rest = stream.take_events();
        self.shared().keep(&rest)?;
        send(rest);
        gone.map_or(Ok(()), |error| Err(Failure::Client(error)))
    }
}

/// The event under the number that the client chose for its item.
fn renumbered(mut event: Event, number: u64) -> Event {
    event.stream = number;
    if let What::Determined(judged) = &mut event.what {
        judged.determination.stream = number;
    }
    event
}
