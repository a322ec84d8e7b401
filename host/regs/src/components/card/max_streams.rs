//! Register: max_streams

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// max_streams
///
/// Stream slots. Slot s belongs to lane s modulo lanes; another lane refuses it.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct MaxStreams(u32);

unsafe impl Send for MaxStreams {}
unsafe impl Sync for MaxStreams {}

impl core::default::Default for MaxStreams {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for MaxStreams {
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

impl MaxStreams {
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

impl core::fmt::Debug for MaxStreams {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("MaxStreams").field("v", &self.v()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = MaxStreams::default();
        assert_eq!(reg.v(), 0);
    }
}
