//! Streams: which slots are open, where each stands, one entry at a time.

use portcullis_core::mutation::{Mutation, Place};
use portcullis_core::wire::{Descriptor, Opcode, lane_of};
use zerocopy::little_endian::{U16, U32};

use super::{Session, SessionError};
use crate::{Card, Completed, Outcome};

/// A stream of one session. Only [`Session::end`] ends it; a handle that is dropped leaves the slot open until CLOSE.
#[derive(Debug, PartialEq, Eq)]
pub struct Stream {
    slot: u16,
    /// Which opening of the slot; tells a handle that outlived its stream.
    opening: u64,
    epoch: u32,
}

impl Stream {
    /// Stream slot.
    #[must_use]
    pub const fn slot(&self) -> u16 {
        self.slot
    }
}

/// The driver's view of a slot, moved by the card's answers only.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    open: bool,
    /// Sequence of the next accepted entry.
    next: u32,
    /// A GATE is in flight.
    held: bool,
    /// A typed call opened it.
    opening: u64,
}

#[derive(Debug)]
pub(super) struct Streams {
    slots: Vec<Slot>,
    openings: u64,
    /// Lanes of the card, at least 1.
    lanes: u8,
}

impl Streams {
    pub(super) fn new(max_streams: u32, lanes: u8) -> Self {
        // Slots are 16 bits.
        let slots = usize::try_from(max_streams).unwrap_or(usize::MAX).min(1 << 16);
        Self { slots: vec![Slot::default(); slots], openings: 0, lanes }
    }

    fn slot(&mut self, slot: u16) -> Option<&mut Slot> {
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

    /// Follows the card: an accepted entry moves its slot, anything else moves nothing.
    pub(super) fn answered(&mut self, entry: &Descriptor, outcome: &Outcome, held: bool) {
        let Some(slot) = self.slot(entry.slot.get()) else { return };
        if held {
            slot.held = false;
        }
        if outcome.fault().is_none() {
            slot.open = entry.opcode != u8::from(Opcode::End);
            slot.next = entry.sequence.get().wrapping_add(1);
        }
    }

    /// The lowest free slot of the lane whose turn it is, or of any where that lane has none: streams that are opened one after another
    /// go to all lanes.
    fn free(&self) -> Option<u16> {
        let mut free = (0..=u16::MAX).zip(&self.slots).filter(|(_, s)| !s.open).map(|(slot, _)| slot);
        let turn = lane_of((self.openings & 0xffff) as u16, self.lanes);
        free.clone().find(|&slot| lane_of(slot, self.lanes) == turn).or_else(|| free.next())
    }
}

impl<C: Card> Session<C> {
    /// Where the next entry of `stream` stands. The span commitment is made over it.
    ///
    /// # Errors
    /// [`SessionError::NoStream`], [`SessionError::StreamSpent`].
    pub fn place(&self, stream: &Stream) -> Result<Place, SessionError> {
        let sequence = self.next_sequence(stream)?;
        if sequence == u32::MAX {
            return Err(SessionError::StreamSpent(stream.slot));
        }
        Ok(Place { slot: stream.slot, sequence })
    }

    fn next_sequence(&self, stream: &Stream) -> Result<u32, SessionError> {
        let slot = self.streams.slots.get(usize::from(stream.slot));
        match slot {
            Some(s) if s.open && s.opening == stream.opening && self.epoch == stream.epoch => Ok(s.next),
            _ => Err(SessionError::NoStream(stream.slot)),
        }
    }

    /// Submits one entry and waits for its answer. Answers to others that come first are kept for [`Session::poll`].
    ///
    /// # Errors
    /// As [`Session::submit`] and [`Session::wait`].
    pub fn call(&mut self, entry: Descriptor) -> Result<Completed, SessionError> {
        let mut others = Vec::new();
        while self.room_for(entry.slot.get()) == 0 {
            others.extend(self.wait()?);
        }
        let ticket = self.submit(&[entry])?;
        loop {
            let mut mine = None;
            for completed in self.wait()? {
                if completed.ticket == ticket {
                    mine = Some(completed);
                } else {
                    others.push(completed);
                }
            }
            if let Some(completed) = mine {
                // Oldest first, and before anything that comes later.
                self.ready.extend(others);
                return Ok(completed);
            }
        }
    }

    /// Opens a stream on the lowest free slot of a lane, of each lane in turn. `context` is the digest of the stream's context document.
    ///
    /// # Errors
    /// [`SessionError::NoFreeSlot`], [`SessionError::Refused`] when the card refused it, or as [`Session::call`].
    pub fn begin(&mut self, context: [u8; 32]) -> Result<(Stream, Completed), SessionError> {
        self.healthy()?;
        let slot = self.streams.free().ok_or(SessionError::NoFreeSlot(self.info.max_streams))?;
        let completed = self.call(Descriptor::entry(Opcode::Begin, Place { slot, sequence: 0 }, context).sealed())?;
        match completed.outcome {
            Outcome::Accepted => {}
            Outcome::Fault(fault) => {
                // A sticky fault if there is one, else this entry's own.
                self.healthy()?;
                return Err(SessionError::Refused(fault));
            }
            Outcome::Judged(_) => return Err(SessionError::NoStream(slot)),
        }
        self.streams.openings += 1;
        let opening = self.streams.openings;
        if let Some(s) = self.streams.slot(slot) {
            s.opening = opening;
        }
        Ok((Stream { slot, opening, epoch: self.epoch }, completed))
    }

    /// Judges `mutation` as the next entry of `stream`. `commitment` is the span commitment over [`Session::place`].
    ///
    /// # Errors
    /// As [`Session::place`] and [`Session::call`]. An entry that the card refused is an [`Outcome::Fault`], not an error.
    pub fn gate(
        &mut self,
        stream: &Stream,
        mutation: &Mutation,
        commitment: [u8; 32],
    ) -> Result<Completed, SessionError> {
        let place = self.place(stream)?;
        self.call(mutation.descriptor(place, commitment))
    }

    /// Judges a descriptor as the next entry of `stream`: its slot, sequence and CRC are filled in.
    ///
    /// # Errors
    /// As [`Session::gate`].
    pub fn gate_descriptor(&mut self, stream: &Stream, descriptor: Descriptor) -> Result<Completed, SessionError> {
        let place = self.place(stream)?;
        let placed = Descriptor { slot: U16::new(place.slot), sequence: U32::new(place.sequence), ..descriptor };
        self.call(placed.sealed())
    }

    /// Has a digest recorded as the next entry of `stream`.
    ///
    /// # Errors
    /// As [`Session::gate`].
    pub fn note(&mut self, stream: &Stream, digest: [u8; 32]) -> Result<Completed, SessionError> {
        let place = self.place(stream)?;
        self.call(Descriptor::entry(Opcode::Note, place, digest).sealed())
    }

    /// Ends `stream` and frees its slot. `trailing` covers trailing inert bytes.
    ///
    /// # Errors
    /// [`SessionError::NoStream`], or as [`Session::call`]. When the card refused it, the slot stays open.
    pub fn end(&mut self, stream: Stream, trailing: [u8; 32]) -> Result<Completed, SessionError> {
        let place = Place { slot: stream.slot, sequence: self.next_sequence(&stream)? };
        self.call(Descriptor::entry(Opcode::End, place, trailing).sealed())
    }
}
