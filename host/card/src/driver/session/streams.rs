//! Calls that submit one entry of one stream and wait for its answer.

use portcullis_core::mutation::{SlotSequence, SpanMutation};
use portcullis_core::wire::{Descriptor, Opcode};
use zerocopy::little_endian::{U16, U32};

use super::CardSession;
use crate::card::CardTransport;
use crate::driver::error::SessionError;
use crate::driver::outcome::{CompletedEntry, EntryOutcome};
use crate::driver::stream_table::CardStreamHandle;

impl<C: CardTransport> CardSession<C> {
    /// The slot and sequence of the next entry of `stream`; the salt of its span commitment depends on them. Errors:
    /// [`SessionError::NoStream`], [`SessionError::StreamSpent`].
    pub fn place(&self, stream: &CardStreamHandle) -> Result<SlotSequence, SessionError> {
        let sequence = self.next_sequence(stream)?;
        if sequence == u32::MAX {
            return Err(SessionError::StreamSpent(stream.slot));
        }
        Ok(SlotSequence { slot: stream.slot, sequence })
    }

    fn next_sequence(&self, stream: &CardStreamHandle) -> Result<u32, SessionError> {
        let slot = self.streams.slots.get(usize::from(stream.slot));
        match slot {
            Some(s) if s.open && s.opening == stream.opening && self.epoch == stream.epoch => Ok(s.next),
            _ => Err(SessionError::NoStream(stream.slot)),
        }
    }

    /// Submits one entry and waits for its answer. Answers to other entries that arrive first are kept for
    /// [`CardSession::poll`]. Errors: as [`CardSession::submit`] and [`CardSession::wait`].
    pub fn call(&mut self, entry: Descriptor) -> Result<CompletedEntry, SessionError> {
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
                // These answers come before any answer that arrives later, so `ready` stays in order.
                self.ready.extend(others);
                return Ok(completed);
            }
        }
    }

    /// Opens a stream on a free slot. Streams go to the lanes in turn, and to the lowest free slot of the lane.
    /// `context` is the digest of the stream's context document. Errors: [`SessionError::NoFreeSlot`],
    /// [`SessionError::Refused`] when the card refuses the entry, or as [`CardSession::call`].
    pub fn begin(&mut self, context: [u8; 32]) -> Result<(CardStreamHandle, CompletedEntry), SessionError> {
        self.healthy()?;
        let slot = self.streams.free().ok_or(SessionError::NoFreeSlot(self.info.max_streams))?;
        let completed =
            self.call(Descriptor::entry(Opcode::Begin, SlotSequence { slot, sequence: 0 }, context).sealed())?;
        match completed.outcome {
            EntryOutcome::Accepted => {}
            EntryOutcome::Fault(fault) => {
                // A sticky fault takes precedence over the entry's own fault.
                self.healthy()?;
                return Err(SessionError::Refused(fault));
            }
            EntryOutcome::Judged(_) => return Err(SessionError::NoStream(slot)),
        }
        self.streams.openings += 1;
        let opening = self.streams.openings;
        if let Some(s) = self.streams.slot(slot) {
            s.opening = opening;
        }
        Ok((CardStreamHandle { slot, opening, epoch: self.epoch }, completed))
    }

    /// Judges `mutation` as the next entry of `stream`. `commitment` is the span commitment for [`CardSession::place`].
    /// Errors: as [`CardSession::place`] and [`CardSession::call`]. An entry that the card refuses is an
    /// [`EntryOutcome::Fault`], not an error.
    pub fn gate(
        &mut self,
        stream: &CardStreamHandle,
        mutation: &SpanMutation,
        commitment: [u8; 32],
    ) -> Result<CompletedEntry, SessionError> {
        let place = self.place(stream)?;
        self.call(mutation.descriptor(place, commitment))
    }

    /// Judges a descriptor as the next entry of `stream`; this function sets its slot, sequence and CRC. Errors: as
    /// [`CardSession::gate`].
    pub fn gate_descriptor(
        &mut self,
        stream: &CardStreamHandle,
        descriptor: Descriptor,
    ) -> Result<CompletedEntry, SessionError> {
        let place = self.place(stream)?;
        let placed = Descriptor { slot: U16::new(place.slot), sequence: U32::new(place.sequence), ..descriptor };
        self.call(placed.sealed())
    }

    /// Records a digest as the next entry of `stream`. Errors: as [`CardSession::gate`].
    pub fn note(&mut self, stream: &CardStreamHandle, digest: [u8; 32]) -> Result<CompletedEntry, SessionError> {
        let place = self.place(stream)?;
        self.call(Descriptor::entry(Opcode::Note, place, digest).sealed())
    }

    /// Ends `stream` and frees its slot. `trailing` is the commitment to the trailing inert bytes. Errors:
    /// [`SessionError::NoStream`], or as [`CardSession::call`]. If the card refuses the entry, the slot stays open.
    pub fn end(&mut self, stream: CardStreamHandle, trailing: [u8; 32]) -> Result<CompletedEntry, SessionError> {
        let place = SlotSequence { slot: stream.slot, sequence: self.next_sequence(&stream)? };
        self.call(Descriptor::entry(Opcode::End, place, trailing).sealed())
    }
}
