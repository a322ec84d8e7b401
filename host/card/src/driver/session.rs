//! One session of one card, from open to close: its state, and queries about it.

mod check;
mod checkpoints;
mod close;
mod collect;
mod heartbeats;
mod open;
mod streams;
mod submit;
mod texts;

use std::collections::VecDeque;

use portcullis_core::wire::{Fault, Record, lane_of};

use super::checkpoint_ring::CheckpointRing;
use super::command::reset;
use super::config::HeartbeatLimits;
use super::error::{LossCause, SessionError};
use super::info::CardInfo;
use super::lane::LaneDriver;
use super::outcome::CompletedEntry;
use super::sink::RecordSink;
use super::stream_table::StreamTable;
use super::text::TextWindows;
use crate::card::CardTransport;
#[cfg(feature = "test-hooks")]
use crate::card::DmaBuffer;

/// Whether the card is still trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CardHealth {
    Good,
    /// The card has a sticky fault. Answers from before the fault stay valid.
    Faulted(Fault),
    /// The card is no longer trusted.
    Lost(LossCause),
}

/// A session on a card.
///
/// `C` is the card: an owned `Box<dyn CardTransport>`, or `&mut` a card that outlives the session.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use portcullis_policy::context::ContextConverter;
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies/pii");
/// # let package = portcullis_policy::PolicyPackage::load(std::path::Path::new(folder))?;
/// # let image = package.compile()?.image;
/// # let entry = ContextConverter::new(package.vocabulary()).neutral();
/// use portcullis_card::{CardChoice, CardSession, SessionConfig};
/// use portcullis_core::wire::{Descriptor, Fault};
///
/// let card = CardChoice::Model.open()?;
/// let mut session = CardSession::open(card, &image, SessionConfig::default())?;
/// let (stream, _begun) = session.begin([0; 32])?;
///
/// // The policy permits `entry`. The card refuses it with a wrong checksum, and the session continues.
/// let completed = session.call(Descriptor { crc: 0.into(), ..entry })?;
/// assert_eq!(completed.outcome.fault(), Some(Fault::Crc));
/// assert!(session.gate_descriptor(&stream, entry)?.outcome.is_admit());
/// # Ok(())
/// # }
/// ```
pub struct CardSession<C: CardTransport = Box<dyn CardTransport>> {
    card: C,
    info: CardInfo,
    epoch: u32,
    ticket_digest: [u8; 32],
    /// Rows of the image's two banks; the rows in a verdict must be below these numbers.
    rows: (u16, u16),
    /// SHA-256 of the tables, zero if the card does not hash them; session records and checkpoints repeat it.
    policy_digest: [u8; 32],
    /// Package digest from the image header; session records repeat it.
    package_digest: [u8; 32],
    heartbeat: HeartbeatLimits,
    /// The presented nonce, until every lane has recorded it.
    presented: Option<u64>,
    /// The largest tick seen so far in a record or in the tick register.
    tick: u64,
    /// Whether the sink gives nonces. Only then can waiting for a nonce help.
    witnessed: bool,
    /// Whether a checkpoint was requested in order to get a nonce. The next heartbeat clears it.
    checkpoint_requested: bool,
    checkpoints: Option<CheckpointRing>,
    /// The text lane's memory, if the image uses the lane.
    texts: Option<TextWindows>,
    /// The requested checkpoint that has not come yet.
    settling: Option<RequestedCheckpoint>,
    /// The lanes by number; empty after their memory was freed.
    lanes: Vec<LaneDriver>,
    submitted: u64,
    /// Answers to other entries, collected by a blocking call that waited for the answer to its own entry.
    ready: VecDeque<CompletedEntry>,
    /// Answers that were not returned before the card was lost, for [`CardSession::abandon`].
    abandoned: Vec<CompletedEntry>,
    streams: StreamTable,
    sink: Box<dyn RecordSink>,
    health: CardHealth,
}

struct RequestedCheckpoint {
    /// Number of records of each lane that the checkpoint must cover.
    sizes: Vec<u64>,
    /// Quanta waited so far.
    waits: u64,
}

impl<C: CardTransport> CardSession<C> {
    pub fn card(&self) -> &C {
        &self.card
    }

    /// The card, for statistics and for tests that disturb it. Registers and rings belong to the session.
    #[cfg(feature = "test-hooks")]
    pub fn card_mut(&mut self) -> &mut C {
        &mut self.card
    }

    /// The card's identity and capabilities.
    pub const fn info(&self) -> &CardInfo {
        &self.info
    }

    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The OPEN record of lane 0. Every lane has one; [`RecordSink`] receives all of them.
    pub fn opening(&self) -> Option<&Record> {
        self.lanes.first()?.opening.as_ref()
    }

    /// Digest that the card computed over its tables; `None` if it does not hash them.
    pub fn policy_digest(&self) -> Option<[u8; 32]> {
        self.info.digest.then_some(self.policy_digest)
    }

    /// The ALARM record of a sticky fault, from the first lane whose ALARM was collected.
    pub fn alarm(&self) -> Option<&Record> {
        self.lanes.iter().find_map(|lane| lane.alarm.as_ref())
    }

    /// Buffer of lane 0's completion ring, for tests that write entries into it.
    #[cfg(feature = "test-hooks")]
    pub fn completion_ring(&self) -> Option<&DmaBuffer> {
        self.lanes.first().map(|lane| &lane.rings.completions)
    }

    /// Buffer of lane 0's log ring, for tests that read it without the driver.
    #[cfg(feature = "test-hooks")]
    pub fn log_ring(&self) -> Option<&DmaBuffer> {
        self.lanes.first().map(|lane| &lane.rings.log)
    }

    /// Entries without an answer.
    pub fn in_flight(&self) -> usize {
        self.lanes.iter().map(|lane| lane.pending.len()).sum()
    }

    /// Number of entries that can be submitted now, whatever their slots are: the free entries of the fullest lane.
    pub fn room(&self) -> usize {
        self.lanes.iter().map(LaneDriver::room).min().unwrap_or_default()
    }

    /// Number of entries that can be submitted now for `slot`, or for other slots of its lane.
    pub fn room_for(&self, slot: u16) -> usize {
        let lane = lane_of(slot, self.info.lanes).and_then(|lane| self.lanes.get(usize::from(lane)));
        lane.map_or(0, LaneDriver::room)
    }

    /// `Ok` while the card is trusted and the session is open.
    fn healthy(&self) -> Result<(), SessionError> {
        match &self.health {
            CardHealth::Good if !self.lanes.is_empty() => Ok(()),
            CardHealth::Good => Err(SessionError::NotOpen),
            CardHealth::Faulted(fault) => Err(SessionError::Faulted(*fault)),
            CardHealth::Lost(lost) => Err(SessionError::Lost(lost.clone())),
        }
    }

    /// Stops trusting the card. Answers that were not returned yet move to `abandoned`.
    fn mark_lost(&mut self, lost: LossCause) -> SessionError {
        self.abandoned.extend(self.ready.drain(..));
        self.health = CardHealth::Lost(lost.clone());
        SessionError::Lost(lost)
    }

    /// Returns `result`; an error in the middle of an operation marks the card as lost.
    fn or_mark_lost<T>(&mut self, result: Result<T, SessionError>) -> Result<T, SessionError> {
        result.map_err(|error| match error {
            SessionError::Lost(lost) => self.mark_lost(lost),
            SessionError::Faulted(fault) => SessionError::Faulted(fault),
            other => self.mark_lost(LossCause::Broken(other.to_string())),
        })
    }
}

impl<C: CardTransport> std::fmt::Debug for CardSession<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("epoch", &self.epoch)
            .field("lanes", &self.lanes.len())
            .field("pending", &self.in_flight())
            .field("health", &self.health)
            .finish_non_exhaustive()
    }
}

impl<C: CardTransport> Drop for CardSession<C> {
    fn drop(&mut self) {
        // A card that does not become quiet keeps the session's memory until the card is dropped.
        let lanes = std::mem::take(&mut self.lanes);
        if !lanes.is_empty() && reset(&mut self.card).is_ok() {
            let _ = self.release(lanes);
        }
    }
}
