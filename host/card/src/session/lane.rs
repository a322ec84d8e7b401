//! What the driver keeps of one lane.

use std::collections::VecDeque;

use portcullis_core::wire::Record;

use super::rings::Rings;
use super::submit::Pending;
use super::{Lost, SessionConfig, SessionError};
use crate::Card;

/// One queue set and its log. Stream slots whose number is the lane's, modulo the card's lanes, belong to it.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) number: u8,
    pub(super) rings: Rings,
    /// Entries without an answer, oldest first.
    pub(super) pending: VecDeque<Pending>,
    pub(super) beats: Beats,
    pub(super) opening: Option<Record>,
    pub(super) alarm: Option<Record>,
    /// The CLOSE record.
    pub(super) closing: Option<Record>,
}

/// Heartbeats as a lane has recorded them.
#[derive(Debug, Default)]
pub(super) struct Beats {
    /// Nonce of the last one.
    pub(super) nonce: u64,
    /// The one that was presented is not recorded yet.
    pub(super) awaited: bool,
    /// Entries submitted since the last one's record; what was in flight then counts once more.
    pub(super) entries: u64,
    /// Tick of the record of OPEN, or of the last one: what the card counts the limit of time from.
    pub(super) tick: u64,
}

impl Lane {
    /// A lane with zeroed rings. The caller has quiesced the card.
    pub(super) fn allocate<C: Card>(card: &mut C, number: u8, config: &SessionConfig) -> Result<Self, SessionError> {
        Ok(Self {
            number,
            rings: Rings::allocate(card, number, config.ring_log2, config.log_log2)?,
            pending: VecDeque::new(),
            beats: Beats::default(),
            opening: None,
            alarm: None,
            closing: None,
        })
    }

    /// Entries that can be submitted now.
    pub(super) fn room(&self) -> usize {
        self.rings.size().saturating_sub(self.pending.len())
    }

    /// Nothing waits for an answer.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Ticket of the oldest entry without an answer.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.pending.front().map(|pending| pending.ticket)
    }

    /// The session is lost for a record of this lane.
    pub(super) fn lost(&self, index: u64, what: &'static str) -> Lost {
        Lost::Record { lane: self.number, index, what }
    }
}
