//! Into the submission ring.

use portcullis_core::wire::{Descriptor, Opcode};

use super::{Session, SessionError};
use crate::Card;

/// An entry without an answer.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    pub(super) ticket: u64,
    pub(super) entry: Descriptor,
    /// A GATE that the driver holds its stream for.
    pub(super) holds_stream: bool,
}

fn is_gate(entry: &Descriptor) -> bool {
    entry.opcode == u8::from(Opcode::Gate)
}

impl<C: Card> Session<C> {
    /// Submits `entries` and gives the ticket of the first; the others' follow it. Slots, sequences and CRCs are the caller's; at most one
    /// GATE of a slot is in flight. A card that has enough to do hears of them with the next that come, at the latest from
    /// [`Session::poll`] or [`Session::wait`].
    ///
    /// # Errors
    /// [`SessionError::RingFull`] and [`SessionError::InFlight`], with nothing submitted; or the session's state.
    pub fn submit(&mut self, entries: &[Descriptor]) -> Result<u64, SessionError> {
        for (i, entry) in entries.iter().enumerate().filter(|(_, entry)| is_gate(entry)) {
            let slot = entry.slot.get();
            let earlier = entries.iter().take(i).any(|other| is_gate(other) && other.slot == entry.slot);
            if earlier || self.streams.is_held(slot) {
                self.healthy()?;
                return Err(SessionError::InFlight(slot));
            }
        }
        self.push(entries, true)
    }

    /// [`Session::submit`] without the check of streams, for entries that the card is meant to refuse.
    ///
    /// # Errors
    /// [`SessionError::RingFull`] with nothing submitted, or the session's state.
    pub fn submit_raw(&mut self, entries: &[Descriptor]) -> Result<u64, SessionError> {
        self.push(entries, false)
    }

    fn push(&mut self, entries: &[Descriptor], hold: bool) -> Result<u64, SessionError> {
        self.healthy()?;
        if entries.len() > self.room() {
            return Err(SessionError::RingFull { entries: entries.len(), room: self.room() });
        }
        let credit = self.await_credit(entries.len());
        self.or_lose(credit)?;
        let pushed = self.push_all(entries, hold);
        self.since_heartbeat += entries.len() as u64;
        self.or_lose(pushed)
    }

    fn push_all(&mut self, entries: &[Descriptor], hold: bool) -> Result<u64, SessionError> {
        let rings = self.rings.as_mut().ok_or(SessionError::NotOpen)?;
        let first = rings.submitted;
        for entry in entries {
            let holds_stream = hold && is_gate(entry);
            self.pending.push_back(Pending { ticket: rings.submitted, entry: *entry, holds_stream });
            rings.push(&mut self.card, entry)?;
            if holds_stream {
                self.streams.hold(entry.slot.get());
            }
        }
        rings.ring_submitted(&mut self.card, false)?;
        Ok(first)
    }
}
