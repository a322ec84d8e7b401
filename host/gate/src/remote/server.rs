//! The gate's side: who may connect, and how one connection is served.

use super::{ToClient, ToGate, VERSION, receive, send};
use crate::engine::{Engine, EngineError, Proposal, View};
use crate::event::Event;
use crate::governor::Governor;
use crate::source::Item;
use portcullis_card::{Card, Session, SessionError};
use portcullis_core::state::ProfileError;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
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
struct Remote(UnixStream);

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
        send(&mut self.0, &message).map_err(|e| EngineError::Gone(e.to_string()))?;
        match receive(&mut self.0) {
            Ok(Some(ToGate::Proposal(answer))) => answer,
            Ok(Some(_)) => Err(EngineError::Answer("the client did not answer with a proposal".into())),
            Ok(None) => Err(EngineError::Gone("the client has closed".into())),
            Err(error) => Err(EngineError::Gone(error.to_string())),
        }
    }

    // A client that is gone is noticed at the next proposal.
    fn advance(&mut self, admitted: &str) {
        let _ = send(&mut self.0, &ToClient::Advance(admitted.to_owned()));
    }

    fn roll_back(&mut self, steps: usize) {
        let _ = send(&mut self.0, &ToClient::RollBack(steps));
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

/// Serves one connection until the client closes it. `deadline` bounds every wait for the client; the session is held for one item at
/// a time, so that clients take turns. `make` makes the governor with the client's engine, which it is given for each stream.
pub fn serve<'g, C: Card>(
    mut stream: UnixStream,
    allowed: &[u32],
    deadline: Duration,
    welcome: &ToClient,
    session: &Mutex<Session<C>>,
    make: impl Fn() -> Result<Governor<'g>, ProfileError>,
) -> Served {
    let refused = |stream: &mut UnixStream, why: String| {
        let _ = send(stream, &ToClient::Failed(why.clone()));
        Served::Refused(why)
    };
    match rustix::net::sockopt::socket_peercred(&stream) {
        Ok(peer) if allowed.contains(&peer.uid.as_raw()) => {}
        Ok(peer) => return refused(&mut stream, format!("user {} may not use this gate", peer.uid.as_raw())),
        Err(error) => return refused(&mut stream, format!("the peer's credentials cannot be read: {error}")),
    }
    let bounded = stream.set_read_timeout(Some(deadline)).and_then(|()| stream.set_write_timeout(Some(deadline)));
    if let Err(error) = bounded {
        return refused(&mut stream, error.to_string());
    }
    match receive(&mut stream) {
        Ok(Some(ToGate::Hello { version: VERSION })) => {}
        Ok(Some(ToGate::Hello { version })) => {
            return refused(&mut stream, format!("version {version} is not spoken here, {VERSION} is"));
        }
        Ok(_) => return refused(&mut stream, "the client did not say hello".into()),
        Err(error) => return refused(&mut stream, error.to_string()),
    }
    if let Err(error) = send(&mut stream, welcome) {
        return Served::Refused(error.to_string());
    }
    let mut items = 0;
    loop {
        let (number, item) = match receive(&mut stream) {
            Ok(Some(ToGate::Govern { number, item })) => (number, item),
            Ok(None) => return Served::Closed(items),
            Ok(Some(_)) => return refused(&mut stream, "an item was expected".into()),
            Err(error) => return refused(&mut stream, error.to_string()),
        };
        items += 1;
        match govern(&mut stream, number, item, session, &make) {
            Ok(()) => {}
            Err(Failure::Client(error)) => return Served::Refused(error.to_string()),
            Err(Failure::Card(error)) => return refused(&mut stream, format!("the card failed: {error}")),
        }
        if let Err(error) = send(&mut stream, &ToClient::Done) {
            return Served::Refused(error.to_string());
        }
    }
}

fn govern<'g, C: Card>(
    stream: &mut UnixStream,
    number: u64,
    item: Item,
    session: &Mutex<Session<C>>,
    make: &impl Fn() -> Result<Governor<'g>, ProfileError>,
) -> Result<(), Failure> {
    let engine = stream.try_clone().map_err(Failure::Client)?;
    let engines = move |_| {
        let clone = engine.try_clone().map_err(|e| EngineError::Gone(e.to_string()))?;
        Ok(Box::new(Remote(clone)) as Box<dyn Engine>)
    };
    let governor = make().map_err(|e| Failure::Client(io::Error::other(e)))?.with_engines(Box::new(engines));
    // A client that goes away ends its own stream: what happens after is judged for nobody, but the card's streams are ended in order.
    let mut gone = None;
    let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
    governor.govern_from(&mut session, number, [item], |event: Event| -> Result<(), Failure> {
        if gone.is_none() {
            gone = send(stream, &ToClient::Event(event)).err();
        }
        Ok(())
    })?;
    gone.map_or(Ok(()), |error| Err(Failure::Client(error)))
}
