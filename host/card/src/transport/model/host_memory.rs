//! Host memory behind the model's bus.

use std::collections::BTreeMap;

use crate::card::DmaBuffer;
use crate::error::CardError;

/// Device address of the first buffer: above 4 GiB, like the simulated card's.
const FIRST_ADDRESS: u64 = 0x35_0000_0000;
const PAGE: u64 = 4096;

#[derive(Debug, Default)]
pub(super) struct HostMemory {
    /// The buffers by device address.
    buffers: BTreeMap<u64, Vec<u8>>,
    /// Bytes allocated so far, in whole pages, with one guard page after each buffer.
    used: u64,
}

impl HostMemory {
    pub(super) fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, CardError> {
        let mut memory = Vec::new();
        if bytes == 0 || memory.try_reserve_exact(bytes).is_err() {
            return Err(CardError::Allocate(bytes));
        }
        memory.resize(bytes, 0);
        let address = FIRST_ADDRESS + self.used;
        self.used += (bytes as u64).next_multiple_of(PAGE) + PAGE;
        self.buffers.insert(address, memory);
        Ok(DmaBuffer::new(address, bytes))
    }

    pub(super) fn release(&mut self, buffer: &DmaBuffer) -> Result<(), CardError> {
        match self.buffers.remove(&buffer.address()) {
            Some(_) => Ok(()),
            None => Err(CardError::UnknownBuffer(buffer.address())),
        }
    }

    pub(super) fn read_buffer(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError> {
        let memory = self.buffers.get(&buffer.address()).ok_or(CardError::UnknownBuffer(buffer.address()))?;
        let outside = CardError::OutsideBuffer { offset, bytes: into.len(), len: memory.len() };
        let bytes = offset.checked_add(into.len()).and_then(|end| memory.get(offset..end)).ok_or(outside)?;
        into.copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn write_buffer(&mut self, buffer: &DmaBuffer, offset: usize, from: &[u8]) -> Result<(), CardError> {
        let memory = self.buffers.get_mut(&buffer.address()).ok_or(CardError::UnknownBuffer(buffer.address()))?;
        let outside = CardError::OutsideBuffer { offset, bytes: from.len(), len: memory.len() };
        let end = offset.checked_add(from.len());
        let bytes = end.and_then(|end| memory.get_mut(offset..end)).ok_or(outside)?;
        bytes.copy_from_slice(from);
        Ok(())
    }

    /// A read by the card; `None` is an error response.
    pub(super) fn read<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let (start, memory) = self.buffers.range(..=address).next_back()?;
        let offset = usize::try_from(address - start).ok()?;
        memory.get(offset..)?.first_chunk().copied()
    }

    /// Reads `length` bytes for the card; `None` is an error response.
    pub(super) fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        let (start, memory) = self.buffers.range(..=address).next_back()?;
        let offset = usize::try_from(address - start).ok()?;
        memory.get(offset..)?.get(..length)
    }

    /// A write by the card; `None` is an error response.
    pub(super) fn write(&mut self, address: u64, bytes: &[u8]) -> Option<()> {
        let (start, memory) = self.buffers.range_mut(..=address).next_back()?;
        let offset = usize::try_from(address - start).ok()?;
        memory.get_mut(offset..)?.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(())
    }
}
