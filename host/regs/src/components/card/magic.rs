//! Register: magic

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// magic
///
/// `PCUL`; all ones means that the device is lost.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Magic(u32);

unsafe impl Send for Magic {}
unsafe impl Sync for Magic {}

impl core::default::Default for Magic {
    fn default() -> Self {
        Self(0x4C55_4350)
    }
}

impl peakrdl_rust::reg::Register for Magic {
    type Regwidth = u32;
    type Accesswidth = u32;
    type Access = peakrdl_rust::access::R;
    type ByteEndian = peakrdl_rust::endian::LittleEndian;
    type WordEndian = peakrdl_rust::endian::LittleEndian;

    unsafe fn from_raw(val: Self::Regwidth) -> Self {
        Self(val)
    }

    fn to_raw(self) -> Self::Regwidth {
        self.0
    }
}

impl Magic {
    pub const V_OFFSET: usize = 0;
    pub const V_WIDTH: usize = 32;
    pub const V_MASK: u32 = 0xFFFF_FFFF;

    /// v
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn v(&self) -> u32 {
        let val = (self.0 >> Self::V_OFFSET) & Self::V_MASK;
        val
    }
}

impl core::fmt::Debug for Magic {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Magic").field("v", &self.v()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = Magic::default();
        assert_eq!(reg.v(), 1280656208);
    }
}
