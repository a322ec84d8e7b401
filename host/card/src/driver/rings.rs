//! The three rings of a lane in host memory, and the doorbells.

use portcullis_core::wire::{Completion, Descriptor, LOG_STRIDE, Record};
use zerocopy::IntoBytes;

use super::error::SessionError;
use crate::card::{CardTransport, DmaBuffer, WatchedByte};
use crate::error::CardError;
use crate::registers;

/// Entries that one doorbell announces while the card is busy.
const BATCH: u64 = 32;

/// The state of the ring position where the next completion is due.
///
/// A bus may deliver the 64 bytes of a write in parts and in any order. The phase shows that the write has begun; the
/// CRC shows that it is complete.
#[derive(Debug)]
pub(super) enum NextCompletion {
    /// The position is empty or holds a completion of the previous lap.
    None,
    /// A part has arrived. Either the rest follows, or the completion is damaged.
    Partial,
    Whole(Completion),
}

/// Rings with their counters. The counters start at OPEN and never wrap; ring positions and doorbell values are their
/// low bits.
#[derive(Debug)]
pub(super) struct Rings {
    lane: u8,
    pub(super) submissions: DmaBuffer,
    pub(super) completions: DmaBuffer,
    pub(super) log: DmaBuffer,
    ring_log2: u8,
    log_log2: u8,
    pub(super) submitted: u64,
    pub(super) completed: u64,
    pub(super) logged: u64,
    rung_submitted: u64,
    rung_completed: u64,
    rung_logged: u64,
}

impl Rings {
    /// Allocates zeroed rings. The caller must have quiesced the card.
    pub(super) fn allocate<C: CardTransport>(
        card: &mut C,
        lane: u8,
        ring_log2: u8,
        log_log2: u8,
    ) -> Result<Self, SessionError> {
        Ok(Self {
            lane,
            submissions: card.allocate(Descriptor::BYTES << ring_log2)?,
            completions: card.allocate(Completion::BYTES << ring_log2)?,
            log: card.allocate(LOG_STRIDE << log_log2)?,
            ring_log2,
            log_log2,
            submitted: 0,
            completed: 0,
            logged: 0,
            rung_submitted: 0,
            rung_completed: 0,
            rung_logged: 0,
        })
    }

    /// Frees the memory. The caller must have quiesced the card.
    pub(super) fn release<C: CardTransport>(self, card: &mut C) -> Result<(), CardError> {
        card.release(self.submissions)?;
        card.release(self.completions)?;
        card.release(self.log)
    }

    pub(super) const fn size(&self) -> usize {
        1 << self.ring_log2
    }

    /// Writes the rings' addresses and sizes to the card; every word is read back.
    pub(super) fn configure<C: CardTransport>(&self, card: &mut C) -> Result<(), SessionError> {
        let (sq, cq, log) =
            (split(self.submissions.address()), split(self.completions.address()), split(self.log.address()));
        let (ring_log2, log_log2) = (self.ring_log2, self.log_log2);
        let found = registers::with_lane(card, self.lane, |lane| {
            lane.sq_lo().try_write(|w| w.set_v(sq.0))?;
            lane.sq_hi().try_write(|w| w.set_v(sq.1))?;
            lane.sq_size().try_write(|w| w.set_log2(ring_log2))?;
            lane.cq_lo().try_write(|w| w.set_v(cq.0))?;
            lane.cq_hi().try_write(|w| w.set_v(cq.1))?;
            lane.log_lo().try_write(|w| w.set_v(log.0))?;
            lane.log_hi().try_write(|w| w.set_v(log.1))?;
            lane.log_size().try_write(|w| w.set_log2(log_log2))?;
            Ok([
                ("sq_lo", sq.0, lane.sq_lo().try_read()?.v()),
                ("sq_hi", sq.1, lane.sq_hi().try_read()?.v()),
                ("sq_size", ring_log2.into(), lane.sq_size().try_read()?.log2().into()),
                ("cq_lo", cq.0, lane.cq_lo().try_read()?.v()),
                ("cq_hi", cq.1, lane.cq_hi().try_read()?.v()),
                ("log_lo", log.0, lane.log_lo().try_read()?.v()),
                ("log_hi", log.1, lane.log_hi().try_read()?.v()),
                ("log_size", log_log2.into(), lane.log_size().try_read()?.log2().into()),
            ])
        })?;
        match found.into_iter().find(|(_, written, found)| written != found) {
            Some((window, written, found)) => Err(SessionError::ReadBack { window, word: 0, written, found }),
            None => Ok(()),
        }
    }

    fn ring_offset(&self, index: u64, bytes: usize) -> usize {
        // The result fits, because it is below the ring's size in bytes, which is a usize.
        (index & ((1 << self.ring_log2) - 1)) as usize * bytes
    }

    /// Writes an entry at the tail; it does not ring the doorbell.
    pub(super) fn push<C: CardTransport>(&mut self, card: &mut C, entry: &Descriptor) -> Result<(), CardError> {
        let offset = self.ring_offset(self.submitted, Descriptor::BYTES);
        card.dma_write(&self.submissions, offset, entry.as_bytes())?;
        self.submitted += 1;
        Ok(())
    }

    /// Announces the submitted entries: at once if `now` or if the card has less than a batch left to do, otherwise
    /// when a batch is complete. So a busy card does not run out of work, and few doorbell writes are needed.
    pub(super) fn ring_submitted<C: CardTransport>(&mut self, card: &mut C, now: bool) -> Result<(), CardError> {
        let unannounced = self.submitted - self.rung_submitted;
        let at_work = self.rung_submitted - self.completed;
        if unannounced == 0 || !(now || unannounced >= BATCH || at_work < BATCH) {
            return Ok(());
        }
        let tail = (self.submitted & 0xffff) as u32;
        registers::with_lane(card, self.lane, |lane| lane.sq_tail().try_write(|w| w.set_v(tail)))?;
        self.rung_submitted = self.submitted;
        Ok(())
    }

    /// Announces the consumed records and completions: at once if `now`, otherwise after a quarter of a ring.
    pub(super) fn ring_consumed<C: CardTransport>(&mut self, card: &mut C, now: bool) -> Result<(), CardError> {
        let due = |consumed: u64, rung: u64, log2: u8| {
            let unannounced = consumed - rung;
            unannounced > 0 && (now || unannounced >= 1 << (log2 - 2))
        };
        if due(self.logged, self.rung_logged, self.log_log2) {
            let head = (self.logged & 0xffff_ffff) as u32;
            registers::with_lane(card, self.lane, |lane| lane.log_head().try_write(|w| w.set_v(head)))?;
            self.rung_logged = self.logged;
        }
        if due(self.completed, self.rung_completed, self.ring_log2) {
            let head = (self.completed & 0xffff) as u32;
            registers::with_lane(card, self.lane, |lane| lane.cq_head().try_write(|w| w.set_v(head)))?;
            self.rung_completed = self.completed;
        }
        Ok(())
    }

    const fn phase(&self) -> u8 {
        1 ^ (self.completed >> self.ring_log2 & 1) as u8
    }

    /// Reads the ring position of the next completion, and returns its state.
    pub(super) fn next_completion<C: CardTransport>(&self, card: &C) -> Result<NextCompletion, CardError> {
        let offset = self.ring_offset(self.completed, Completion::BYTES);
        let mut completion = Completion::ZERO;
        card.dma_read(&self.completions, offset, completion.as_mut_bytes())?;
        Ok(if completion.phase & 1 != self.phase() {
            NextCompletion::None
        } else if completion.crc.get() != completion.computed_crc() {
            NextCompletion::Partial
        } else {
            NextCompletion::Whole(completion)
        })
    }

    /// The address and value to watch for the next completion.
    pub(super) fn watch(&self) -> WatchedByte<'_> {
        let offset = self.ring_offset(self.completed, Completion::BYTES) + core::mem::offset_of!(Completion, phase);
        WatchedByte { buffer: &self.completions, offset, value: self.phase() }
    }

    /// Reads the next record. The card must have announced it.
    pub(super) fn next_record<C: CardTransport>(&self, card: &C) -> Result<Record, CardError> {
        let slot = self.logged & ((1 << self.log_log2) - 1);
        let mut record = Record::ZERO;
        card.dma_read(&self.log, slot as usize * LOG_STRIDE, record.as_mut_bytes())?;
        Ok(record)
    }

    pub(super) const fn log_size(&self) -> u64 {
        1 << self.log_log2
    }

    /// Records that were written but not consumed, according to the card's register.
    pub(super) fn unread_records<C: CardTransport>(&self, card: &mut C) -> Result<u32, CardError> {
        let tail = registers::with_lane(card, self.lane, |lane| lane.log_tail().try_read())?;
        Ok(tail.v().wrapping_sub((self.logged & 0xffff_ffff) as u32))
    }
}

pub(super) const fn split(address: u64) -> (u32, u32) {
    ((address & 0xffff_ffff) as u32, (address >> 32) as u32)
}
