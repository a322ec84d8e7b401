//! The co-resident gate: the same governor in a process of its own, over a UNIX socket. The engine stays with the client; the card,
//! the policy and the state stay with the gate.
//!
//! A frame is its length (u32, little-endian, at most [`FRAME_MAX`]) and JSON. The client says [`ToGate::Hello`] with its version, the
//! gate answers [`ToClient::Welcome`]; then the client sends items one after the other, and each is answered by its events and
//! [`ToClient::Done`].

mod client;
mod server;

pub use client::{Client, RemoteError};
pub use server::{Served, serve};

use crate::engine::{EngineError, Proposal};
use crate::event::Event;
use crate::source::Item;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// Version of the protocol.
pub const VERSION: u32 = 1;
/// Longest frame, in bytes.
pub const FRAME_MAX: u32 = 64 << 20;

/// What a client says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToGate {
    /// First: the version that it speaks.
    Hello {
        /// [`VERSION`].
        version: u32,
    },
    /// Govern an item under this number.
    Govern {
        /// Number of the stream.
        number: u64,
        /// The item.
        item: Item,
    },
    /// The engine's answer to [`ToClient::Propose`].
    Proposal(Result<Proposal, EngineError>),
}

/// What the gate says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToClient {
    /// The policy in force.
    Welcome {
        /// [`VERSION`].
        version: u32,
        /// Name and version of the package.
        policy: String,
        /// SHA-256 of the package, hexadecimal.
        package_digest: String,
        /// SHA-256 of its table image, hexadecimal.
        image_digest: String,
        /// Thresholds of the trust slope.
        thresholds: [u16; 3],
        /// Kind of card.
        card: String,
    },
    /// Something happened.
    Event(Event),
    /// The client's engine is asked for a candidate.
    Propose {
        /// The task.
        intent: String,
        /// Verified facts.
        facts: Vec<String>,
        /// The end of the admitted text.
        admitted: String,
        /// Candidates asked for at this place before.
        attempt: u32,
    },
    /// The client's engine goes forward.
    Advance(String),
    /// The client's engine goes back.
    RollBack(usize),
    /// The item is done.
    Done,
    /// The item, or the connection, cannot be served.
    Failed(String),
}

/// Writes one frame.
///
/// # Errors
/// The stream's, or the message is too long.
pub fn send(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let payload = serde_json::to_vec(message)?;
    let length = u32::try_from(payload.len()).ok().filter(|l| *l <= FRAME_MAX);
    let length = length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a message is over 64 MiB"))?;
    stream.write_all(&[&length.to_le_bytes(), payload.as_slice()].concat())?;
    stream.flush()
}

/// Reads one frame; `None` when the other side has closed between two.
///
/// # Errors
/// The stream's, a frame that is too long or cut short, or no message.
pub fn receive<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match stream.read(&mut length)? {
        0 => return Ok(None),
        n => stream.read_exact(length.get_mut(n..).unwrap_or_default())?,
    }
    let length = u32::from_le_bytes(length);
    if length > FRAME_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a frame of {length} bytes; at most {FRAME_MAX}"),
        ));
    }
    // Read as it comes, so that a length alone claims no memory.
    let mut payload = Vec::new();
    stream.take(length.into()).read_to_end(&mut payload)?;
    if payload.len() != length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(serde_json::from_slice(&payload)?))
}
