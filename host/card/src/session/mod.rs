//! The ring driver: one session of one card, from reset to close.
//!
//! [`Session::open`] brings the card up. Entries are submitted in batches ([`Session::submit`]) and come back as
//! [`Completed`] in order ([`Session::poll`], [`Session::wait`]); [`Session::begin`], [`Session::gate`], [`Session::note`]
//! and [`Session::end`] do one entry of one stream at a time and may be mixed with batches.
//!
//! Every wait is bounded in the card's own quanta and names what it awaited. Dropping a session resets the card and takes
//! its memory back only once the card is quiet.

mod bring_up;
mod check;
mod checkpoints;
mod collect;
mod config;
mod error;
mod finish;
mod heartbeats;
mod rings;
mod sink;
mod streams;
mod submit;
mod tables;

use std::collections::VecDeque;

use portcullis_core::wire::{Fault, Record};

use crate::{Card, CardInfo, Completed};
use checkpoints::Checkpoints;
use rings::Rings;
use streams::Streams;
use submit::Pending;

pub use bring_up::{await_public_key, load_only, reset};
pub use checkpoints::{CHECKPOINT_INTERVAL, CHECKPOINT_LOG2_MAX, CheckpointConfig, Signed};
pub use config::{HeartbeatLimits, LOG_LOG2_MIN, RING_LOG2_MIN, SessionConfig};
pub use error::{Lost, SessionError, WaitError};
pub use finish::Closed;
pub use sink::{RecordSink, SinkError};
pub use streams::Stream;
pub use tables::Tables;

/// Whether the card's word still counts.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Health {
    Good,
    /// Sticky fault in the card. What was answered before it stands.
    Faulted(Fault),
    /// Nothing stands any more.
    Lost(Lost),
}

/// A session on a card.
///
/// `C` is the card: an owned `Box<dyn Card>`, or `&mut` a card that outlives the session.
pub struct Session<C: Card = Box<dyn Card>> {
    card: C,
    info: CardInfo,
    epoch: u32,
    ticket_digest: [u8; 32],
    /// Rows of the image's two banks; what a verdict names lies below them.
    rows: (u16, u16),
    /// SHA-256 of the tables, zero where the card hashes none; session records and checkpoints repeat it.
    policy_digest: [u8; 32],
    /// Package digest of the image header, as session records repeat it.
    package_digest: [u8; 32],
    heartbeat: HeartbeatLimits,
    /// Nonce of the last heartbeat.
    heartbeat_nonce: u64,
    /// The nonce that was presented and is not recorded yet.
    presented: Option<u64>,
    /// Entries submitted since the last heartbeat's record; what was in flight then counts once more.
    since_heartbeat: u64,
    /// Tick of the record of OPEN, or of the last heartbeat: what the card counts the limit of time from.
    heartbeat_tick: u64,
    /// The last tick that the card has shown, in a record or in its register.
    tick: u64,
    /// Whether the sink gives nonces, so that it is worth waiting for one.
    witnessed: bool,
    /// A checkpoint was asked for so that the outside gives a nonce; until the next heartbeat.
    asked: bool,
    checkpoints: Option<Checkpoints>,
    /// `None` once given back.
    rings: Option<Rings>,
    /// Entries without an answer, oldest first.
    pending: VecDeque<Pending>,
    /// Answers that a blocking call met while it waited for its own.
    ready: VecDeque<Completed>,
    /// Answers that were not given out before the card was lost, for [`Session::abandon`].
    abandoned: Vec<Completed>,
    streams: Streams,
    sink: Box<dyn RecordSink>,
    health: Health,
    opening: Option<Record>,
    alarm: Option<Record>,
    /// The CLOSE record.
    closing: Option<Record>,
}

impl<C: Card> Session<C> {
    /// The card.
    pub fn card(&self) -> &C {
        &self.card
    }

    /// The card, for tests that disturb it and for statistics. Registers and rings belong to the session.
    pub fn card_mut(&mut self) -> &mut C {
        &mut self.card
    }

    /// What the card said about itself.
    pub const fn info(&self) -> &CardInfo {
        &self.info
    }

    /// The session's epoch.
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The OPEN record.
    pub const fn opening(&self) -> Option<&Record> {
        self.opening.as_ref()
    }

    /// Digest of the tables as the card read them back; `None` where it hashes none.
    pub fn policy_digest(&self) -> Option<[u8; 32]> {
        self.info.digest.then_some(self.policy_digest)
    }

    /// The ALARM record of a sticky fault, once it was met and if the card could write one.
    pub const fn alarm(&self) -> Option<&Record> {
        self.alarm.as_ref()
    }

    /// The submission ring's place in card memory, for tests that corrupt entries after they were submitted.
    pub fn submission_ring(&self) -> Option<&crate::DmaBuffer> {
        self.rings.as_ref().map(|rings| &rings.submissions)
    }

    /// The completion ring's place in card memory, for tests that plant entries.
    pub fn completion_ring(&self) -> Option<&crate::DmaBuffer> {
        self.rings.as_ref().map(|rings| &rings.completions)
    }

    /// The log ring's place in card memory, for tests that read it past the driver.
    pub fn log_ring(&self) -> Option<&crate::DmaBuffer> {
        self.rings.as_ref().map(|rings| &rings.log)
    }

    /// Entries without an answer.
    pub fn in_flight(&self) -> usize {
        self.pending.len()
    }

    /// Entries that can be submitted now.
    pub fn room(&self) -> usize {
        self.rings.as_ref().map_or(0, |rings| rings.size().saturating_sub(self.pending.len()))
    }

    /// `Ok` while the card's word counts.
    fn healthy(&self) -> Result<(), SessionError> {
        match &self.health {
            Health::Good if self.rings.is_some() => Ok(()),
            Health::Good => Err(SessionError::NotOpen),
            Health::Faulted(fault) => Err(SessionError::Faulted(*fault)),
            Health::Lost(lost) => Err(SessionError::Lost(lost.clone())),
        }
    }

    /// From now on nothing that the card says counts, and nothing that is waiting is given out.
    fn lose(&mut self, lost: Lost) -> SessionError {
        self.abandoned.extend(self.ready.drain(..));
        self.health = Health::Lost(lost.clone());
        SessionError::Lost(lost)
    }

    /// Passes a result on; an error in the middle of work loses the card.
    fn or_lose<T>(&mut self, result: Result<T, SessionError>) -> Result<T, SessionError> {
        result.map_err(|error| match error {
            SessionError::Lost(lost) => self.lose(lost),
            SessionError::Faulted(fault) => SessionError::Faulted(fault),
            other => self.lose(Lost::Broken(other.to_string())),
        })
    }
}

impl<C: Card> std::fmt::Debug for Session<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("epoch", &self.epoch)
            .field("pending", &self.pending.len())
            .field("health", &self.health)
            .finish_non_exhaustive()
    }
}

impl<C: Card> Drop for Session<C> {
    fn drop(&mut self) {
        // A card that does not become quiet keeps its memory until the card itself is dropped.
        if let Some(rings) = self.rings.take()
            && reset(&mut self.card).is_ok()
        {
            let _ = self.release(rings);
        }
    }
}
