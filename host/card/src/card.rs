//! The trait that every transport implements.

use auto_impl::auto_impl;

use crate::error::CardError;

/// A card: registers, memory that host and card share, and bounded waits.
///
/// A transport only moves bytes and reports the failures of doing so. The driver above it interprets the bytes.
#[auto_impl(&mut, Box)]
pub trait CardTransport: Send {
    /// One line that identifies the card in reports.
    fn describe(&self) -> String;

    /// Reads the register at byte address `address`, a multiple of 4 below 1 MiB. Errors: those of the transport. A
    /// transport never returns a made-up value.
    fn read32(&mut self, address: u32) -> Result<u32, CardError>;

    /// Writes the register at byte address `address`. Before the card sees the new value, it sees everything that
    /// [`CardTransport::dma_write`] wrote earlier.
    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError>;

    /// Allocates `bytes` zeroed bytes that the card can access, aligned to at least 4 KiB. Errors: no memory.
    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, CardError>;

    /// Frees a buffer; the card loses access to it. The caller must have quiesced the card. Errors:
    /// [`CardError::UnknownBuffer`].
    fn release(&mut self, buffer: DmaBuffer) -> Result<(), CardError>;

    /// Copies bytes that the card may have written. Each aligned word is read in one access, in ascending order.
    /// Errors: [`CardError::UnknownBuffer`], [`CardError::OutsideBuffer`].
    fn dma_read(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError>;

    /// Writes bytes that the card may read. Errors: [`CardError::UnknownBuffer`], [`CardError::OutsideBuffer`].
    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, from: &[u8]) -> Result<(), CardError>;

    /// Lets the card work for at most one quantum. Returns early when the watched byte has the expected value; without
    /// a watch it waits a short time. A return does not prove any progress: the caller must check again.
    fn wait(&mut self, watch: Option<&WatchedByte<'_>>) -> Result<(), CardError>;

    /// Describes one quantum of [`CardTransport::wait`] for messages.
    fn quantum(&self) -> &'static str;

    /// Quanta without progress after which the card counts as failed; they take longer than the card's own watchdog.
    fn patience(&self) -> u32;

    /// Clocks since the card was created, if the transport counts them.
    fn clocks(&self) -> Option<u64> {
        None
    }
}

/// Memory that the card can access. Only the card that allocated it can read or write its bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct DmaBuffer {
    address: u64,
    len: usize,
}

impl DmaBuffer {
    /// Makes the handle of a buffer at device address `address`; for transports.
    #[must_use]
    pub const fn new(address: u64, len: usize) -> Self {
        Self { address, len }
    }

    /// Device address of the first byte; it identifies the buffer.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A byte in a buffer and its expected value.
#[derive(Debug, Clone, Copy)]
pub struct WatchedByte<'a> {
    pub buffer: &'a DmaBuffer,
    pub offset: usize,
    pub value: u8,
}
