//! One session of one card, from open to close: its state, and what it answers about itself.

mod check;
mod checkpoints;
mod close;
mod collect;
mod heartbeats;
mod open;
mod streams;
mod submit;

use std::collections::VecDeque;

use portcullis_core::wire::{Fault, Record, lane_of};

use super::checkpoint_ring::CheckpointRing;
use super::command::reset;
use super::config::HeartbeatLimits;
use super::error::{LossCause, SessionError};
use super::info::CardInfo;
use super::lane::LaneDriver;
use super::outcome::Completed;
use super::sink::RecordSink;
use super::stream_table::StreamTable;
use crate::card::Card;
#[cfg(feature = "test-hooks")]
use crate::card::DmaBuffer;

/// Whether the card's word still counts.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Health {
    Good,
    /// Sticky fault in the card. Answers from before it stay valid.
    Faulted(Fault),
    /// Nothing that the card reports counts any more.
    Lost(LossCause),
}

/// A session on a card.
///
/// `C` is the card: an owned `Box<dyn Card>`, or `&mut` a card that outlives the session.
pub struct Session<C: Card = Box<dyn Card>> {
    card: C,
    info: CardInfo,
    epoch: u32,
    ticket_digest: [u8; 32],
    /// Rows of the image's two banks; the rows in a verdict must be below these numbers.
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
    /// Whether the sink gives nonces; only then does it help to wait for one.
    witnessed: bool,
    /// A checkpoint was requested in order to get a nonce. Cleared by the next heartbeat.
    checkpoint_requested: bool,
    checkpoints: Option<CheckpointRing>,
    /// The checkpoint that was asked for and has not come.
    settling: Option<Settling>,
    /// The lanes by number; empty after their memory was given back.
    lanes: Vec<LaneDriver>,
    submitted: u64,
    /// Answers that a blocking call met while it waited for its own.
    ready: VecDeque<Completed>,
    /// Answers that were not given out before the card was lost, for [`Session::abandon`].
    abandoned: Vec<Completed>,
    streams: StreamTable,
    sink: Box<dyn RecordSink>,
    health: Health,
}

struct Settling {
    /// Records of each lane that it has to cover.
    sizes: Vec<u64>,
    /// Quanta for which it was waited.
    waits: u64,
}

impl<C: Card> Session<C> {
    pub fn card(&self) -> &C {
        &self.card
    }

    /// The card, for tests that disturb it and for statistics. Registers and rings belong to the session.
    #[cfg(feature = "test-hooks")]
    pub fn card_mut(&mut self) -> &mut C {
        &mut self.card
    }

    /// What the card said about itself.
    pub const fn info(&self) -> &CardInfo {
        &self.info
    }

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

    /// The ALARM record of a sticky fault, of the first lane that has one, once it was met and if the card could write
    /// one.
    pub fn alarm(&self) -> Option<&Record> {
        self.lanes.iter().find_map(|lane| lane.alarm.as_ref())
    }

    /// Lane 0's completion ring's place in card memory, for tests that plant entries.
    #[cfg(feature = "test-hooks")]
    pub fn completion_ring(&self) -> Option<&DmaBuffer> {
        self.lanes.first().map(|lane| &lane.rings.completions)
    }

    /// Lane 0's log ring's place in card memory, for tests that read it past the driver.
    #[cfg(feature = "test-hooks")]
    pub fn log_ring(&self) -> Option<&DmaBuffer> {
        self.lanes.first().map(|lane| &lane.rings.log)
    }

    /// Entries without an answer.
    pub fn in_flight(&self) -> usize {
        self.lanes.iter().map(|lane| lane.pending.len()).sum()
    }

    /// Number of entries that can be submitted now, whatever their slots are: the room of the fullest lane.
    pub fn room(&self) -> usize {
        self.lanes.iter().map(LaneDriver::room).min().unwrap_or_default()
    }

    /// Entries of `slot`, or of other slots of its lane, that can be submitted now.
    pub fn room_for(&self, slot: u16) -> usize {
        let lane = lane_of(slot, self.info.lanes).and_then(|lane| self.lanes.get(usize::from(lane)));
        lane.map_or(0, LaneDriver::room)
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
    fn mark_lost(&mut self, lost: LossCause) -> SessionError {
        self.abandoned.extend(self.ready.drain(..));
        self.health = Health::Lost(lost.clone());
        SessionError::Lost(lost)
    }

    /// Passes a result on; an error in the middle of work loses the card.
    fn or_mark_lost<T>(&mut self, result: Result<T, SessionError>) -> Result<T, SessionError> {
        result.map_err(|error| match error {
            SessionError::Lost(lost) => self.mark_lost(lost),
            SessionError::Faulted(fault) => SessionError::Faulted(fault),
            other => self.mark_lost(LossCause::Broken(other.to_string())),
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
