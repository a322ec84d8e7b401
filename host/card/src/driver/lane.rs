//! The driver's state of one lane.

use std::collections::VecDeque;

use portcullis_core::wire::{Descriptor, Record};

use super::config::SessionConfig;
use super::error::{LossCause, SessionError};
use super::rings::Rings;
use crate::card::CardTransport;

/// One queue set and its log, for the stream slots with `slot % lanes == lane`.
#[derive(Debug)]
pub(super) struct LaneDriver {
    pub(super) number: u8,
    pub(super) rings: Rings,
    /// Entries without an answer, oldest first.
    pub(super) pending: VecDeque<UnansweredEntry>,
    pub(super) heartbeat: HeartbeatState,
    pub(super) opening: Option<Record>,
    pub(super) alarm: Option<Record>,
    pub(super) closing: Option<Record>,
}

/// An entry without an answer.
#[derive(Debug, Clone)]
pub(super) struct UnansweredEntry {
    pub(super) ticket: u64,
    /// Number of entries that were submitted to the lane before this entry.
    pub(super) index: u64,
    pub(super) entry: Descriptor,
    /// Whether the entry is a GATE for which the driver blocks its stream.
    pub(super) holds_stream: bool,
}

/// The heartbeats in a lane's log.
#[derive(Debug, Default)]
pub(super) struct HeartbeatState {
    /// Nonce of the last recorded heartbeat.
    pub(super) nonce: u64,
    /// Whether the record of the presented heartbeat is still to come.
    pub(super) awaited: bool,
    /// Entries submitted since the last heartbeat's record, including entries in flight when the record was written.
    pub(super) entries: u64,
    /// Tick of the last heartbeat's record, or of OPEN before the first: the start of the card's time limit.
    pub(super) tick: u64,
}

impl LaneDriver {
    /// Allocates a lane with zeroed rings. The caller must have quiesced the card.
    pub(super) fn allocate<C: CardTransport>(
        card: &mut C,
        number: u8,
        config: &SessionConfig,
    ) -> Result<Self, SessionError> {
        Ok(Self {
            number,
            rings: Rings::allocate(card, number, config.ring_log2, config.log_log2)?,
            pending: VecDeque::new(),
            heartbeat: HeartbeatState::default(),
            opening: None,
            alarm: None,
            closing: None,
        })
    }

    pub(super) fn room(&self) -> usize {
        self.rings.size().saturating_sub(self.pending.len())
    }

    /// Whether every submitted entry has its answer.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Ticket of the oldest entry without an answer.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.pending.front().map(|pending| pending.ticket)
    }

    /// The cause of the session's loss: record `index` of this lane.
    pub(super) fn lost(&self, index: u64, what: &'static str) -> LossCause {
        LossCause::Record { lane: self.number, index, what }
    }
}
