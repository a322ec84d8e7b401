//! The trait that every transport implements.

use auto_impl::auto_impl;

use crate::error::CardError;

/// A card: registers, memory that it reaches, and time.
///
/// A transport is stupid on purpose: it moves bytes and says when it cannot. What the bytes mean is the driver's
/// business.
#[auto_impl(&mut, Box)]
pub trait Card: Send {
    /// One line that names the card for reports.
    fn describe(&self) -> String;

    /// Reads the register at byte address `address`, a multiple of 4 below 1 MiB. Errors: the transport's; a value is
    /// never made up.
    fn read32(&mut self, address: u32) -> Result<u32, CardError>;

    /// Writes the register at byte address `address`. Everything written with [`Card::dma_write`] before is visible to
    /// the card when it sees the register change.
    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError>;

    /// Allocates `bytes` zeroed bytes that the card reaches; at least 4 KiB aligned. Errors: no memory.
    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, CardError>;

    /// Takes a buffer away from the card. The caller has quiesced the card before. Errors:
    /// [`CardError::UnknownBuffer`].
    fn release(&mut self, buffer: DmaBuffer) -> Result<(), CardError>;

    /// Copies bytes that the card may have written. Aligned words are read whole, in ascending order. Errors:
    /// [`CardError::UnknownBuffer`], [`CardError::OutsideBuffer`].
    fn dma_read(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError>;

    /// Writes bytes that the card may read. Errors: [`CardError::UnknownBuffer`], [`CardError::OutsideBuffer`].
    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, from: &[u8]) -> Result<(), CardError>;

    /// Lets the card work for at most one quantum; returns early when the watched byte has its value. Without a watch a
    /// short while passes. That it returns promises nothing: the caller looks again.
    fn wait(&mut self, watch: Option<&Watch<'_>>) -> Result<(), CardError>;

    /// Describes one quantum of [`Card::wait`], for messages.
    fn quantum(&self) -> &'static str;

    /// Quanta without any progress after which the card has failed, its own watchdog included.
    fn patience(&self) -> u32;

    /// Clocks since the card exists, where the transport knows them.
    fn clocks(&self) -> Option<u64> {
        None
    }
}

/// Memory that the card reaches. Only the card that made it knows its bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct DmaBuffer {
    address: u64,
    len: usize,
}

impl DmaBuffer {
    /// For transports: the handle of a buffer that the card reaches at `address`.
    #[must_use]
    pub const fn new(address: u64, len: usize) -> Self {
        Self { address, len }
    }

    /// Device address of the first byte; it identifies the buffer.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds no byte.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A byte in a buffer and the value that is waited for.
#[derive(Debug, Clone, Copy)]
pub struct Watch<'a> {
    pub buffer: &'a DmaBuffer,
    pub offset: usize,
    pub value: u8,
}
