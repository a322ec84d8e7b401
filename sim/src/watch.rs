//! Conditions that end a run of the clock.

use crate::{DmaRegion, SimError};

/// A condition on one aligned little-endian value in host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchedWord {
    /// Device address of the aligned 8-byte word that contains the value.
    pub(crate) address: u64,
    pub(crate) mask: u64,
    pub(crate) value: u64,
    /// True to wait for the value, false to wait for any other value.
    pub(crate) equal: bool,
}

impl WatchedWord {
    fn new(region: &DmaRegion, offset: usize, width: usize, value: u64, equal: bool) -> Result<Self, SimError> {
        region.check(offset, width)?;
        if !offset.is_multiple_of(width) {
            return Err(SimError::Unaligned { offset, width });
        }
        let shift = (offset % 8) * 8;
        let mask = (u64::MAX >> (64 - width * 8)) << shift;
        Ok(Self { address: region.address() + (offset - offset % 8) as u64, mask, value: value << shift, equal })
    }

    /// A condition that is true when the byte at `offset` is `value`. Errors: [`SimError::OutsideRegion`].
    pub fn u8_becomes(region: &DmaRegion, offset: usize, value: u8) -> Result<Self, SimError> {
        Self::new(region, offset, 1, u64::from(value), true)
    }

    /// A condition that is true when the 16-bit value at `offset` (even) is `value`. Errors:
    /// [`SimError::OutsideRegion`], [`SimError::Unaligned`].
    pub fn u16_becomes(region: &DmaRegion, offset: usize, value: u16) -> Result<Self, SimError> {
        Self::new(region, offset, 2, u64::from(value), true)
    }

    /// A condition that is true when the 16-bit value at `offset` (even) is not `value`. Errors:
    /// [`SimError::OutsideRegion`], [`SimError::Unaligned`].
    pub fn u16_leaves(region: &DmaRegion, offset: usize, value: u16) -> Result<Self, SimError> {
        Self::new(region, offset, 2, u64::from(value), false)
    }
}
