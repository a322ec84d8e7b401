//! The co-resident gate: a governor in a separate process, reached over a UNIX socket. The engine runs at the client;
//! card, policy and state belong to the gate.
//!
//! A frame is its length (u32, little-endian, at most [`FRAME_MAX`]) and JSON. The client sends [`ToGate::Hello`] with
//! its version, and the gate answers [`ToClient::Welcome`]. Then the client sends items, one after the other; the gate
//! answers each with its events and [`ToClient::Done`].

mod client;
mod clients;
mod listen;
mod server;
mod socket;

pub use client::{GateClient, RemoteError};
pub use listen::{GateServer, ServiceTerms};
pub use server::{GateError, Journal, JournalError};
pub use socket::{BindError, GateSocket};

use crate::engine::{EngineError, EngineProposal, ProposalRequest};
use crate::event::StreamEvent;
use crate::source::StreamInput;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

pub const VERSION: u32 = 1;
/// Longest frame, in bytes.
pub const FRAME_MAX: u32 = 64 << 20;
/// Longest frame from a client without a hello, in bytes.
const HELLO_MAX: u32 = 4096;

/// The messages of a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToGate {
    /// First message: the client's protocol version.
    Hello {
        version: u32,
    },
    Govern {
        number: u64,
        item: StreamInput,
    },
    /// The engine's answer to [`ToClient::Propose`].
    Proposal(Result<EngineProposal, EngineError>),
}

/// The messages of the gate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToClient {
    Welcome {
        version: u32,
        policy: String,
        /// SHA-256 of the package, hexadecimal.
        package_digest: String,
        /// SHA-256 of the package's table image, hexadecimal.
        image_digest: String,
        thresholds: [u16; 3],
        card: String,
    },
    Event(StreamEvent),
    /// Requests a candidate from the client's engine.
    Propose(ProposalRequest),
    Advance(String),
    RollBack(usize),
    Done,
    /// The item or the connection cannot be served.
    Failed(String),
}

/// Writes one frame. Errors: those of the stream; the message is too long.
pub fn send(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let payload = serde_json::to_vec(message)?;
    let length = u32::try_from(payload.len()).ok().filter(|l| *l <= FRAME_MAX);
    let length = length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a message is over 64 MiB"))?;
    stream.write_all(&[&length.to_le_bytes(), payload.as_slice()].concat())?;
    stream.flush()
}

/// Reads one frame; `None` if the other side closed the connection between frames. Errors: those of the stream; a frame
/// that is too long, incomplete, or not a message.
pub fn receive<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<Option<T>> {
    receive_most(stream, FRAME_MAX)
}

/// Reads one frame of at most `most` bytes.
fn receive_most<T: DeserializeOwned>(stream: &mut impl Read, most: u32) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match stream.read(&mut length)? {
        0 => return Ok(None),
        n => stream.read_exact(length.get_mut(n..).unwrap_or_default())?,
    }
    let length = u32::from_le_bytes(length);
    if length > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes; at most {most}")));
    }
    // The buffer grows with the received data, so a large length alone does not reserve memory.
    let mut payload = Vec::new();
    stream.take(length.into()).read_to_end(&mut payload)?;
    if payload.len() != length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(serde_json::from_slice(&payload)?))
}

/// A connection with a time limit for each frame, from the frame's first byte to its last. A client cannot extend the
/// limit by sending single bytes.
pub(crate) struct Wire {
    stream: UnixStream,
    frame: Duration,
}

impl Wire {
    pub(crate) const fn new(stream: UnixStream, frame: Duration) -> Self {
        Self { stream, frame }
    }

    pub(crate) fn send(&self, message: &impl Serialize) -> io::Result<()> {
        send(&mut self.until(Instant::now() + self.frame), message)
    }

    pub(crate) fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<T>> {
        receive(&mut self.until(Instant::now() + self.frame))
    }

    /// Reads a frame from a client that is not identified yet.
    pub(crate) fn receive_hello<T: DeserializeOwned>(&self) -> io::Result<Option<T>> {
        receive_most(&mut self.until(Instant::now() + self.frame), HELLO_MAX)
    }

    /// Closes the connection or one direction of it, and wakes threads that wait for it.
    pub(crate) fn hang_up(&self, how: Shutdown) {
        let _ = self.stream.shutdown(how);
    }

    pub(crate) const fn stream(&self) -> &UnixStream {
        &self.stream
    }

    const fn until(&self, ends: Instant) -> DeadlineUnixStream<'_> {
        DeadlineUnixStream { stream: &self.stream, ends }
    }
}

/// Reads and writes with a common deadline.
struct DeadlineUnixStream<'w> {
    stream: &'w UnixStream,
    ends: Instant,
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the other side took too long")
}

/// Turns a socket's time-out into [`late`].
fn as_late(error: io::Error) -> io::Error {
    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) { late() } else { error }
}

impl DeadlineUnixStream<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.ends.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        left.map(Some).ok_or_else(late)
    }
}

impl Read for DeadlineUnixStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer).map_err(as_late)
    }
}

impl Write for DeadlineUnixStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes).map_err(as_late)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests;
