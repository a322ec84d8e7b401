//! The memory that a text lane reads: its tables, and one text window per stream slot, in blocks of 2 MiB.

use portcullis_core::commitment::HEAD_BYTES;

use super::error::SessionError;
use super::info::CardInfo;
use super::rings::split;
use crate::card::{CardTransport, DmaBuffer};
use crate::limits::{TEXT_STRIDE_MAX, TEXT_STRIDE_MIN};
use crate::registers::{self, TEXT_BLOCKS_WINDOW};
use crate::tables::TextTables;

/// Size of a block of text windows, in bytes.
const BLOCK: u64 = 2 << 20;

/// The memory of a session's text lane.
#[derive(Debug)]
pub(super) struct TextWindows {
    tables: DmaBuffer,
    blocks: Vec<DmaBuffer>,
    stride_log2: u8,
}

impl TextWindows {
    /// Allocates a window for each slot of the card, and writes the tables into memory. Before the call, the card must
    /// be quiescent.
    pub(super) fn allocate<C: CardTransport>(
        card: &mut C,
        info: &CardInfo,
        text: &TextTables<'_>,
        stride_log2: u8,
    ) -> Result<Self, SessionError> {
        let limits = info.text.ok_or(SessionError::Missing("text lane"))?;
        let (min, max) = (TEXT_STRIDE_MIN, TEXT_STRIDE_MAX);
        if !(min..=max).contains(&stride_log2) {
            return Err(SessionError::RingSize { ring: "text window", log2: stride_log2, min, max });
        }
        if text.encoded.is_empty() {
            return Err(SessionError::NoTextTables);
        }
        let needed = (u64::from(info.max_streams) << stride_log2).div_ceil(BLOCK);
        if needed > limits.blocks.into() {
            return Err(SessionError::TextWindows { slots: info.max_streams, stride_log2, blocks: limits.blocks });
        }
        // The card reads whole beats of 64 bytes.
        let tables = card.allocate(text.encoded.len().next_multiple_of(64))?;
        card.dma_write(&tables, 0, text.encoded)?;
        let blocks = (0..needed).map(|_| card.allocate(BLOCK as usize)).collect::<Result<_, _>>()?;
        Ok(Self { tables, blocks, stride_log2 })
    }

    /// Frees the memory. The caller must have quiesced the card.
    pub(super) fn release<C: CardTransport>(self, card: &mut C) -> Result<(), SessionError> {
        card.release(self.tables)?;
        Ok(self.blocks.into_iter().try_for_each(|block| card.release(block))?)
    }

    /// Writes the addresses of tables and blocks to the card, and reads back every word of the blocks' addresses.
    pub(super) fn configure<C: CardTransport>(&self, card: &mut C) -> Result<(), SessionError> {
        let (low, high) = split(self.tables.address());
        let stride = self.stride_log2;
        registers::with(card, |r| {
            r.text_tables_lo().try_write(|w| w.set_v(low))?;
            r.text_tables_hi().try_write(|w| w.set_v(high))?;
            r.text_stride().try_write(|w| w.set_log2(stride))
        })?;
        let words = self.blocks.iter().flat_map(|block| <[u32; 2]>::from(split(block.address())));
        for (number, (written, address)) in words.zip((TEXT_BLOCKS_WINDOW..).step_by(4)).enumerate() {
            card.write32(address, written)?;
            let found = card.read32(address)?;
            if found != written {
                return Err(SessionError::ReadBack { window: "text blocks", word: number, written, found });
            }
        }
        Ok(())
    }

    /// Writes the bytes under a commitment into the window of `slot`. The slot must not have an entry in flight.
    pub(super) fn present<C: CardTransport>(&self, card: &mut C, slot: u16, bytes: &[u8]) -> Result<(), SessionError> {
        let stride = 1u64 << self.stride_log2;
        if bytes.len() as u64 > stride {
            let texts = |length: usize| length.saturating_sub(HEAD_BYTES);
            return Err(SessionError::TextTooLong { bytes: texts(bytes.len()), room: texts(stride as usize) });
        }
        let place = u64::from(slot) * stride;
        let block = usize::try_from(place / BLOCK).ok().and_then(|block| self.blocks.get(block));
        let block = block.ok_or(SessionError::NoStream(slot))?;
        Ok(card.dma_write(block, (place % BLOCK) as usize, bytes)?)
    }
}
