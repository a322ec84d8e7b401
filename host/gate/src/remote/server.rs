//! Serves one connection of a gate. All connections share one session loop, which judges their streams.

use super::clients::ClientPlace;
use super::{ToClient, ToGate, VERSION, Wire};
use crate::engine::{EngineError, EngineMove, EngineProposal};
use crate::event::{StreamEvent, StreamEventKind};
use crate::governor::StreamGovernor;
use crate::session_loop::{SessionHandle, StreamMessage};
use crate::source::StreamInput;
use portcullis_card::SessionError;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error(transparent)]
    Card(#[from] SessionError),
    #[error("{0}")]
    Journal(JournalError),
    #[error("connections cannot be accepted: {0}")]
    Accept(io::Error),
    #[error("no thread for the session: {0}")]
    Thread(io::Error),
    /// The session's thread panicked, which is a defect of this program.
    #[error("the session's thread panicked")]
    Panicked,
}

/// Why an event could not be stored.
pub type JournalError = Box<dyn std::error::Error + Send + Sync>;

/// Stores every event before the client receives it. Events of one lane arrive in the order of that lane's log. Streams
/// have the gate's own numbers, each used once.
pub type Journal<'j> = Box<dyn FnMut(&StreamEvent) -> Result<(), JournalError> + Send + 'j>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    /// The client closed the connection after this number of items.
    Closed(u64),
    /// The gate refused the connection or gave it up, for this reason.
    Refused(String),
}

enum GateConnectionError {
    Client(io::Error),
    Gate(String),
}

/// One connection, and the data that it shares with the others.
pub(super) struct GateConnection<'c> {
    pub(super) wire: Arc<Wire>,
    pub(super) session: SessionHandle,
    pub(super) governor: &'c Arc<StreamGovernor>,
    pub(super) stopping: &'c AtomicBool,
    /// Number of the connection, among which the process shares its workers.
    pub(super) owner: u64,
}

impl GateConnection<'_> {
    /// Serves the connection until the client closes it.
    pub(super) fn serve(&self, place: &ClientPlace<'_>, welcome: &ToClient) -> ConnectionEnd {
        let refused = |why: String| {
            let _ = self.wire.send(&ToClient::Failed(why.clone()));
            ConnectionEnd::Refused(why)
        };
        match self.wire.receive_hello() {
            Ok(Some(ToGate::Hello { version: VERSION })) => {}
            Ok(Some(ToGate::Hello { version })) => {
                return refused(format!("version {version} is not spoken here, {VERSION} is"));
            }
            Ok(_) => return refused("the client did not say hello".into()),
            Err(error) => return refused(error.to_string()),
        }
        place.greeted();
        if let Err(error) = self.wire.send(welcome) {
            return ConnectionEnd::Refused(error.to_string());
        }
        let mut items = 0;
        loop {
            let (number, item) = match self.wire.receive() {
                Ok(Some(ToGate::Govern { number, item })) => (number, item),
                Ok(None) if self.is_stopping() => return refused("the gate is being stopped".into()),
                Ok(None) => return ConnectionEnd::Closed(items),
                Ok(Some(_)) => return refused("an item was expected".into()),
                Err(error) => return refused(error.to_string()),
            };
            items += 1;
            match self.govern(number, item) {
                Ok(()) => {}
                Err(GateConnectionError::Client(error)) => return ConnectionEnd::Refused(error.to_string()),
                Err(GateConnectionError::Gate(error)) => return refused(format!("the gate failed: {error}")),
            }
            if let Err(error) = self.wire.send(&ToClient::Done) {
                return ConnectionEnd::Refused(error.to_string());
            }
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Governs an item. If the client disconnects, its stream ends. A whole text is still judged completely, and its
    /// events are stored but not sent.
    fn govern(&self, number: u64, item: StreamInput) -> Result<(), GateConnectionError> {
        let stream = self
            .session
            .open(self.governor.request(item).owned(self.owner))
            .map_err(|closed| GateConnectionError::Gate(closed.0))?;
        let mut moves = Vec::new();
        while let Some(message) = stream.receive() {
            match message {
                StreamMessage::Event(event) => {
                    if let Err(error) = self.wire.send(&ToClient::Event(renumbered(event, number))) {
                        stream.abort("the client has closed");
                        return Err(GateConnectionError::Client(error));
                    }
                }
                StreamMessage::Move(EngineMove::Advance(admitted)) => moves.push(ToClient::Advance(admitted)),
                StreamMessage::Move(EngineMove::RollBack(steps)) => moves.push(ToClient::RollBack(steps)),
                StreamMessage::Propose(request) => {
                    stream.answer(self.ask(std::mem::take(&mut moves), ToClient::Propose(request)));
                }
            }
        }
        match stream.end() {
            Some(Err(closed)) => Err(GateConnectionError::Gate(closed.0)),
            _ => Ok(()),
        }
    }

    fn ask(&self, moves: Vec<ToClient>, ask: ToClient) -> Result<EngineProposal, EngineError> {
        if self.is_stopping() {
            return Err(EngineError::Gone("the gate is being stopped".into()));
        }
        let mut messages = moves.into_iter().chain([ask]);
        messages.try_for_each(|message| self.wire.send(&message)).map_err(|e| EngineError::Gone(e.to_string()))?;
        match self.wire.receive() {
            Ok(Some(ToGate::Proposal(answer))) => answer,
            Ok(Some(_)) => Err(EngineError::Answer("the client did not answer with a proposal".into())),
            Ok(None) => Err(EngineError::Gone("the client has closed".into())),
            Err(error) => Err(EngineError::Gone(error.to_string())),
        }
    }
}

/// The event with the number that the client chose for its item.
fn renumbered(mut event: StreamEvent, number: u64) -> StreamEvent {
    event.stream = number;
    if let StreamEventKind::Determined(judged) = &mut event.what {
        judged.determination.stream = number;
    }
    event
}
