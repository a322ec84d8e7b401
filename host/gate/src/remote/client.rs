//! The client's side of a connection to a gate.

use super::{ToClient, ToGate, VERSION, Wire};
use crate::engine::{CandidateEngine, EngineError};
use crate::event::StreamEvent;
use crate::source::StreamInput;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// The gate is unusable, or gave up.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error("the gate: {0}; is `portcullis gated` running there?")]
    Connection(#[from] io::Error),
    #[error("the gate refused: {0}")]
    Refused(String),
    #[error("the gate said something that was not expected")]
    Unexpected,
}

/// A connection to a gate.
pub struct GateClient {
    wire: Wire,
    welcome: ToClient,
}

impl GateClient {
    /// Connects. `deadline` is the time limit for each frame from the gate.
    pub fn connect(path: &Path, deadline: Duration) -> Result<Self, RemoteError> {
        let wire = Wire::new(UnixStream::connect(path)?, deadline);
        // A gate that refuses the connection may answer and close before this message is sent. A failed send is
        // therefore an error only if no answer was received.
        let said = wire.send(&ToGate::Hello { version: VERSION });
        match wire.receive().and_then(|answer| if answer.is_none() { said.map(|()| None) } else { Ok(answer) })? {
            Some(welcome @ ToClient::Welcome { version: VERSION, .. }) => Ok(Self { wire, welcome }),
            Some(ToClient::Failed(why)) => Err(RemoteError::Refused(why)),
            _ => Err(RemoteError::Unexpected),
        }
    }

    /// The gate's first message about itself.
    #[must_use]
    pub const fn welcome(&self) -> &ToClient {
        &self.welcome
    }

    /// Governs an item. Events go to `sink`; the engine, if the item needs one, runs here. Errors: [`RemoteError`], or
    /// those of the sink.
    pub fn govern<E: From<RemoteError>>(
        &mut self,
        number: u64,
        item: StreamInput,
        mut engine: Option<Box<dyn CandidateEngine>>,
        mut sink: impl FnMut(StreamEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        let broke = |error: io::Error| E::from(RemoteError::from(error));
        self.wire.send(&ToGate::Govern { number, item }).map_err(broke)?;
        loop {
            match self.wire.receive().map_err(broke)? {
                Some(ToClient::Event(event)) => sink(event)?,
                Some(ToClient::Propose(request)) => {
                    let none = || Err(EngineError::Gone("the client has no engine".into()));
                    let answer = engine.as_mut().map_or_else(none, |e| request.ask(&mut **e));
                    self.wire.send(&ToGate::Proposal(answer)).map_err(broke)?;
                }
                Some(ToClient::Advance(admitted)) => engine.iter_mut().for_each(|e| e.advance(&admitted)),
                Some(ToClient::RollBack(steps)) => engine.iter_mut().for_each(|e| e.roll_back(steps)),
                Some(ToClient::Done) => return Ok(()),
                Some(ToClient::Failed(why)) => return Err(RemoteError::Refused(why).into()),
                Some(ToClient::Welcome { .. }) => return Err(RemoteError::Unexpected.into()),
                None => return Err(broke(io::ErrorKind::UnexpectedEof.into())),
            }
        }
    }
}
