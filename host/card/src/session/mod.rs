//! The ring driver: one session of one card, from reset to close.
//!
//! [`Session::open`] brings the card up. Entries are submitted in batches ([`Session::submit`]) and come back as
//! [`Completed`] ([`Session::poll`], [`Session::wait`]); [`Session::begin`], [`Session::gate`], [`Session::note`]
//! and [`Session::end`] do one entry of one stream at a time and may be mixed with batches.
//!
//! A card has 1, 2, 4 or 8 lanes, and a session is the whole card. The slot of a stream says its lane: slot modulo lanes. Each lane has
//! rings and a log of its own; answers and records come in order in each lane, between lanes there is no order.
//!
//! Every wait is bounded in the card's own quanta and names what it awaited. Closing or dropping a session takes its memory back only once
//! the card is quiet. A card that needs its hardware reset never gets quiet: it keeps the memory until it is dropped itself, which first
//! takes its right to use the bus away.

mod bring_up;
mod check;
mod checkpoints;
mod collect;
mod config;
mod error;
mod finish;
mod heartbeats;
mod lane;
mod rings;
mod sink;
mod streams;
mod submit;
mod tables;

use std::collections::VecDeque;

use portcullis_core::wire::{Fault, Record, lane_of};

use crate::{Card, CardInfo, Completed};
use checkpoints::Checkpoints;
use lane::Lane;
use streams::Streams;

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
    /// The nonce that was presented and is not recorded yet in every lane.
    presented: Option<u64>,
    /// The last tick that the card has shown, in a record or in its register.
    tick: u64,
    /// Whether the sink gives nonces, so that it is worth waiting for one.
    witnessed: bool,
    /// A checkpoint was asked for so that the outside gives a nonce; until the next heartbeat.
    asked: bool,
    checkpoints: Option<Checkpoints>,
    /// By number; none once their memory is given back.
    lanes: Vec<Lane>,
    /// Entries submitted.
    submitted: u64,
    /// Answers that a blocking call met while it waited for its own.
    ready: VecDeque<Completed>,
    /// Answers that were not given out before the card was lost, for [`Session::abandon`].
    abandoned: Vec<Completed>,
    streams: Streams,
    sink: Box<dyn RecordSink>,
    health: Health,
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

    /// The OPEN record of lane 0. Every lane has one; [`RecordSink`] gets them all.
    pub fn opening(&self) -> Option<&Record> {
        self.lanes.first()?.opening.as_ref()
    }

    /// Digest of the tables as the card read them back; `None` where it hashes none.
    pub fn policy_digest(&self) -> Option<[u8; 32]> {
        self.info.digest.then_some(self.policy_digest)
    }

    /// The ALARM record of a sticky fault, of the first lane that has one, once it was met and if the card could write one.
    pub fn alarm(&self) -> Option<&Record> {
        self.lanes.iter().find_map(|lane| lane.alarm.as_ref())
    }

    /// Lane 0's submission ring's place in card memory, for tests that corrupt entries after they were submitted.
    pub fn submission_ring(&self) -> Option<&crate::DmaBuffer> {
        self.lanes.first().map(|lane| &lane.rings.submissions)
    }

    /// Lane 0's completion ring's place in card memory, for tests that plant entries.
    pub fn completion_ring(&self) -> Option<&crate::DmaBuffer> {
        self.lanes.first().map(|lane| &lane.rings.completions)
    }

    /// Lane 0's log ring's place in card memory, for tests that read it past the driver.
    pub fn log_ring(&self) -> Option<&crate::DmaBuffer> {
        self.lanes.first().map(|lane| &lane.rings.log)
    }

    /// Entries without an answer.
    pub fn in_flight(&self) -> usize {
        self.lanes.iter().map(|lane| lane.pending.len()).sum()
    }

    /// Entries that can be submitted now, whichever their slots: the room of the fullest lane.
    pub fn room(&self) -> usize {
        self.lanes.iter().map(Lane::room).min().unwrap_or_default()
    }

    /// Entries of `slot`, or of other slots of its lane, that can be submitted now.
    pub fn room_for(&self, slot: u16) -> usize {
        let lane = lane_of(slot, self.info.lanes).and_then(|lane| self.lanes.get(usize::from(lane)));
        lane.map_or(0, Lane::room)
    }

    /// `Ok` while the card's word counts.
    fn healthy(&self) -> Result<(), SessionError> {
        match &self.health {
            Health::Good if !self.lanes.is_empty() => Ok(()),
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
            .field("lanes", &self.lanes.len())
            .field("pending", &self.in_flight())
            .field("health", &self.health)
            .finish_non_exhaustive()
    }
}

impl<C: Card> Drop for Session<C> {
    fn drop(&mut self) {
        // A card that does not become quiet keeps its memory until the card itself is dropped.
        let lanes = std::mem::take(&mut self.lanes);
        if !lanes.is_empty() && reset(&mut self.card).is_ok() {
            let _ = self.release(lanes);
        }
    }
}
