//! Submits entries: each goes into the submission ring of its slot's lane.

use portcullis_core::wire::{Descriptor, Opcode, lane_of};

use super::CardSession;
use crate::card::CardTransport;
use crate::driver::error::SessionError;
use crate::driver::lane::{LaneDriver, UnansweredEntry};

fn is_gate(entry: &Descriptor) -> bool {
    entry.opcode == u8::from(Opcode::Gate)
}

impl<C: CardTransport> CardSession<C> {
    /// Submits `entries`, each to the lane of its slot. Returns the ticket of the first entry; the tickets of the
    /// others follow. The caller sets slots, sequences and CRCs; at most one GATE per slot may be in flight. If the
    /// card is busy, the doorbell is rung with the next batch, at the latest at [`CardSession::poll`] or
    /// [`CardSession::wait`]. Errors, with nothing submitted: [`SessionError::RingFull`], [`SessionError::InFlight`],
    /// the session's state.
    pub fn submit(&mut self, entries: &[Descriptor]) -> Result<u64, SessionError> {
        for (i, entry) in entries.iter().enumerate().filter(|(_, entry)| is_gate(entry)) {
            let slot = entry.slot.get();
            let earlier = entries.iter().take(i).any(|other| is_gate(other) && other.slot == entry.slot);
            if earlier || self.streams.is_held(slot) {
                self.healthy()?;
                return Err(SessionError::InFlight(slot));
            }
        }
        self.push(entries, None, true)
    }

    /// As [`CardSession::submit`] but without the check for GATEs in flight, for entries that the card is meant to
    /// refuse. Errors: [`SessionError::RingFull`], and then nothing is submitted; errors if the session is not healthy.
    #[cfg(feature = "test-hooks")]
    pub fn submit_raw(&mut self, entries: &[Descriptor]) -> Result<u64, SessionError> {
        self.push(entries, None, false)
    }

    /// As [`CardSession::submit_raw`], but to `lane`, even for slots of other lanes; the lane refuses entries for such
    /// slots. Errors: as [`CardSession::submit_raw`]; [`SessionError::NoLane`].
    #[cfg(feature = "test-hooks")]
    pub fn submit_raw_to(&mut self, lane: u8, entries: &[Descriptor]) -> Result<u64, SessionError> {
        self.submit_to_lane(lane, entries)
    }

    /// Submits to `lane` whatever the entries' slots are.
    pub(crate) fn submit_to_lane(&mut self, lane: u8, entries: &[Descriptor]) -> Result<u64, SessionError> {
        self.healthy()?;
        if usize::from(lane) >= self.lanes.len() {
            return Err(SessionError::NoLane(lane));
        }
        self.push(entries, Some(lane), false)
    }

    fn push(&mut self, entries: &[Descriptor], to: Option<u8>, hold: bool) -> Result<u64, SessionError> {
        self.healthy()?;
        let lanes = self.info.lanes;
        // The number of entries for a lane.
        let share = |lane: &LaneDriver| {
            entries.iter().filter(|entry| Some(lane.number) == to.or(lane_of(entry.slot.get(), lanes))).count()
        };
        for lane in &self.lanes {
            let (entries, room) = (share(lane), lane.room());
            if entries > room {
                return Err(SessionError::RingFull { entries, room });
            }
        }
        let credit = self.await_credit(share);
        self.or_mark_lost(credit)?;
        for lane in &mut self.lanes {
            lane.heartbeat.entries += share(lane) as u64;
        }
        let pushed = self.push_all(entries, to, hold);
        self.or_mark_lost(pushed)
    }

    fn push_all(&mut self, entries: &[Descriptor], to: Option<u8>, hold: bool) -> Result<u64, SessionError> {
        let first = self.submitted;
        for entry in entries {
            let at = to.or(lane_of(entry.slot.get(), self.info.lanes)).ok_or(SessionError::NotOpen)?;
            let lane = self.lanes.get_mut(usize::from(at)).ok_or(SessionError::NotOpen)?;
            let holds_stream = hold && is_gate(entry);
            let (ticket, index) = (self.submitted, lane.rings.submitted);
            lane.pending.push_back(UnansweredEntry { ticket, index, entry: *entry, holds_stream });
            self.submitted += 1;
            lane.rings.push(&mut self.card, entry)?;
            if holds_stream {
                self.streams.hold(entry.slot.get());
            }
        }
        self.lanes.iter_mut().try_for_each(|lane| lane.rings.ring_submitted(&mut self.card, false))?;
        Ok(first)
    }
}
