//! Register: checkpoint_size

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// checkpoint_size
///
/// log2 of the entries of the checkpoint ring (32 KiB each: checkpoint, signature, a beat for each lane's head), 1 to 8; 0 while capability `signer` is 0.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct CheckpointSize(u32);

unsafe impl Send for CheckpointSize {}
unsafe impl Sync for CheckpointSize {}

impl core::default::Default for CheckpointSize {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for CheckpointSize {
    type Regwidth = u32;
    type Accesswidth = u32;
    type Access = peakrdl_rust::access::RW;
    type ByteEndian = peakrdl_rust::endian::LittleEndian;
    type WordEndian = peakrdl_rust::endian::LittleEndian;

    unsafe fn from_raw(val: Self::Regwidth) -> Self {
        Self(val)
    }

    fn to_raw(self) -> Self::Regwidth {
        self.0
    }
}

impl CheckpointSize {
    pub const LOG2_OFFSET: usize = 0;
    pub const LOG2_WIDTH: usize = 8;
    pub const LOG2_MASK: u32 = 0xFF;

    /// log2
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn log2(&self) -> u8 {
        let val = (self.0 >> Self::LOG2_OFFSET) & Self::LOG2_MASK;
        val as u8
    }

    /// log2
    #[inline(always)]
    pub fn set_log2(&mut self, val: u8) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::LOG2_MASK << Self::LOG2_OFFSET)) | ((val & Self::LOG2_MASK) << Self::LOG2_OFFSET);
    }
}

impl core::fmt::Debug for CheckpointSize {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CheckpointSize").field("log2", &self.log2()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = CheckpointSize::default();
        assert_eq!(reg.log2(), 0);
    }
}
