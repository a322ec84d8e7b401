//! The gate's side: who may connect, and how one connection is served.

use super::{ToClient, ToGate, VERSION, Wire};
use crate::engine::{Engine, EngineError, Proposal, View};
use crate::event::Event;
use crate::governor::Governor;
use crate::source::Item;
use crate::stream::Seat;
use portcullis_card::{Card, Session, SessionError};
use portcullis_core::state::ProfileError;
use portcullis_prefilter::Prefilter;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a connection came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    /// It was closed after so many items.
    Closed(u64),
    /// It was refused, or given up, and why.
    Refused(String),
}

/// An engine at the other end of the connection.
struct Remote(Arc<Wire>);

impl Engine for Remote {
    fn name(&self) -> String {
        "client".into()
    }

    fn propose(&mut self, view: &View<'_>, attempt: u32) -> Result<Proposal, EngineError> {
        let message = ToClient::Propose {
            intent: view.intent.to_owned(),
            facts: view.facts.to_vec(),
            admitted: view.admitted.to_owned(),
            attempt,
        };
        self.0.send(&message).map_err(|e| EngineError::Gone(e.to_string()))?;
        match self.0.receive() {
            Ok(Some(ToGate::Proposal(answer))) => answer,
            Ok(Some(_)) => Err(EngineError::Answer("the client did not answer with a proposal".into())),
            Ok(None) => Err(EngineError::Gone("the client has closed".into())),
            Err(error) => Err(EngineError::Gone(error.to_string())),
        }
    }

    // A client that is gone is noticed at the next proposal.
    fn advance(&mut self, admitted: &str) {
        let _ = self.0.send(&ToClient::Advance(admitted.to_owned()));
    }

    fn roll_back(&mut self, steps: usize) {
        let _ = self.0.send(&ToClient::RollBack(steps));
    }
}

enum Failure {
    Client(io::Error),
    Card(SessionError),
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        Self::Card(error)
    }
}

/// What every connection of a gate shares: the card's session, which is held for one item at a time so that clients take turns, and
/// the count of items, which numbers the streams' salts: one number is never used twice, whatever numbers clients choose.
pub struct Gate<C: Card> {
    session: Mutex<Session<C>>,
    /// Judges tasks before the client's engine sees them.
    filter: Arc<Prefilter>,
    items: AtomicU64,
}

impl<C: Card> Gate<C> {
    /// A gate over an open session.
    pub const fn new(session: Session<C>, filter: Arc<Prefilter>) -> Self {
        Self { session: Mutex::new(session), filter, items: AtomicU64::new(0) }
    }

    /// Serves one connection until the client closes it. `deadline` bounds every frame that the client is waited for, from its first
    /// byte to its last. `make` makes the governor, which is given the client's engine.
    pub fn serve<'g>(
        &self,
        stream: UnixStream,
        allowed: &[u32],
        deadline: Duration,
        welcome: &ToClient,
        make: impl Fn() -> Result<Governor<'g>, ProfileError>,
    ) -> Served {
        let peer = rustix::net::sockopt::socket_peercred(&stream);
        let wire = Arc::new(Wire::new(stream, deadline));
        let refused = |why: String| {
            let _ = wire.send(&ToClient::Failed(why.clone()));
            Served::Refused(why)
        };
        match peer {
            Ok(peer) if allowed.contains(&peer.uid.as_raw()) => {}
            Ok(peer) => return refused(format!("user {} may not use this gate", peer.uid.as_raw())),
            Err(error) => return refused(format!("the peer's credentials cannot be read: {error}")),
        }
        match wire.receive() {
            Ok(Some(ToGate::Hello { version: VERSION })) => {}
            Ok(Some(ToGate::Hello { version })) => {
                return refused(format!("version {version} is not spoken here, {VERSION} is"));
            }
            Ok(_) => return refused("the client did not say hello".into()),
            Err(error) => return refused(error.to_string()),
        }
        if let Err(error) = wire.send(welcome) {
            return Served::Refused(error.to_string());
        }
        let mut items = 0;
        loop {
            let (number, item) = match wire.receive() {
                Ok(Some(ToGate::Govern { number, item })) => (number, item),
                Ok(None) => return Served::Closed(items),
                Ok(Some(_)) => return refused("an item was expected".into()),
                Err(error) => return refused(error.to_string()),
            };
            items += 1;
            match self.govern(&wire, number, item, &make) {
                Ok(()) => {}
                Err(Failure::Client(error)) => return Served::Refused(error.to_string()),
                Err(Failure::Card(error)) => return refused(format!("the card failed: {error}")),
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
        let governor = make().map_err(|e| Failure::Client(io::Error::other(e)))?;
        let remote = wire.clone();
        let made = Box::new(move |_, _| Ok(Box::new(Remote(remote.clone())) as Box<dyn Engine>));
        let governor = governor.with_engines(Arc::clone(&self.filter), made);
        let salted = self.items.fetch_add(1, Ordering::Relaxed);
        // A client that goes away ends its own stream: what happens after is judged for nobody, but the card's streams are ended in
        // order.
        let mut gone = None;
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let seat = Seat { number, salted, slot: 0 };
        governor.govern_one(&mut session, seat, item, |event: Event| -> Result<(), Failure> {
            if gone.is_none() {
                gone = wire.send(&ToClient::Event(event)).err();
            }
            Ok(())
        })?;
        gone.map_or(Ok(()), |error| Err(Failure::Client(error)))
    }
}
