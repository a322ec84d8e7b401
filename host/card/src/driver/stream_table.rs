//! The open stream slots and the next sequence of each.

use portcullis_core::wire::{Descriptor, Opcode, lane_of};

use super::outcome::EntryOutcome;

/// A stream of one session. Only [`super::CardSession::end`] ends it; a handle that is dropped leaves the slot open
/// until CLOSE.
#[derive(Debug, PartialEq, Eq)]
pub struct CardStreamHandle {
    pub(super) slot: u16,
    /// Number of BEGINs before this stream; it distinguishes the stream from others that used the slot.
    pub(super) opening: u64,
    pub(super) epoch: u32,
}

impl CardStreamHandle {
    #[must_use]
    pub const fn slot(&self) -> u16 {
        self.slot
    }

    /// A second handle of this stream, for tests of refused ENDs.
    #[cfg(feature = "test-hooks")]
    #[must_use]
    pub const fn again(&self) -> Self {
        Self { slot: self.slot, opening: self.opening, epoch: self.epoch }
    }
}

/// The driver's copy of a slot's state. Only the card's answers change it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StreamSlot {
    pub(super) open: bool,
    pub(super) next: u32,
    held: bool,
    pub(super) opening: u64,
}

#[derive(Debug)]
pub(super) struct StreamTable {
    pub(super) slots: Vec<StreamSlot>,
    pub(super) openings: u64,
    /// Lanes of the card, at least 1.
    lanes: u8,
}

impl StreamTable {
    pub(super) fn new(max_streams: u32, lanes: u8) -> Self {
        // A slot number has 16 bits.
        let slots = usize::try_from(max_streams).unwrap_or(usize::MAX).min(1 << 16);
        Self { slots: vec![StreamSlot::default(); slots], openings: 0, lanes }
    }

    pub(super) fn slot(&mut self, slot: u16) -> Option<&mut StreamSlot> {
        self.slots.get_mut(usize::from(slot))
    }

    pub(super) fn is_held(&self, slot: u16) -> bool {
        self.slots.get(usize::from(slot)).is_some_and(|s| s.held)
    }

    pub(super) fn hold(&mut self, slot: u16) {
        if let Some(s) = self.slot(slot) {
            s.held = true;
        }
    }

    /// Applies an answer: an accepted entry advances its slot, any other answer does not.
    pub(super) fn answered(&mut self, entry: &Descriptor, outcome: &EntryOutcome, held: bool) {
        let Some(slot) = self.slot(entry.slot.get()) else { return };
        if held {
            slot.held = false;
        }
        if outcome.fault().is_none() {
            slot.open = entry.opcode != u8::from(Opcode::End);
            slot.next = entry.sequence.get().wrapping_add(1);
        }
    }

    /// The lowest free slot of the lane whose turn it is, or of any lane if that lane is full. So successive streams
    /// are spread over all lanes. `None` if all slots are open.
    pub(super) fn free(&self) -> Option<u16> {
        let mut free = (0..=u16::MAX).zip(&self.slots).filter(|(_, s)| !s.open).map(|(slot, _)| slot);
        let turn = lane_of((self.openings & 0xffff) as u16, self.lanes);
        free.clone().find(|&slot| lane_of(slot, self.lanes) == turn).or_else(|| free.next())
    }
}
