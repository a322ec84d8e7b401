//! Register: log_size

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// log_size
///
/// log2 of its entries (256 bytes each), at least 4.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct LogSize(u32);

unsafe impl Send for LogSize {}
unsafe impl Sync for LogSize {}

impl core::default::Default for LogSize {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for LogSize {
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

impl LogSize {
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

impl core::fmt::Debug for LogSize {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LogSize").field("log2", &self.log2()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = LogSize::default();
        assert_eq!(reg.log2(), 0);
    }
}
