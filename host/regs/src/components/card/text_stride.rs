//! Register: text_stride

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// text_stride
///
/// log2 of the bytes of a slot's text window, 11 to 17. The window of slot s starts at byte s * 2^log2 of the blocks.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct TextStride(u32);

unsafe impl Send for TextStride {}
unsafe impl Sync for TextStride {}

impl core::default::Default for TextStride {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for TextStride {
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

impl TextStride {
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

impl core::fmt::Debug for TextStride {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TextStride").field("log2", &self.log2()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = TextStride::default();
        assert_eq!(reg.log2(), 0);
    }
}
