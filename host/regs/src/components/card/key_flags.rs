//! Register: key_flags

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// key_flags
///
/// SIM, CLASS_KEY, NO_TRNG.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct KeyFlags(u32);

unsafe impl Send for KeyFlags {}
unsafe impl Sync for KeyFlags {}

impl core::default::Default for KeyFlags {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for KeyFlags {
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

impl KeyFlags {
    pub const V_OFFSET: usize = 0;
    pub const V_WIDTH: usize = 8;
    pub const V_MASK: u32 = 0xFF;

    /// v
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn v(&self) -> u8 {
        let val = (self.0 >> Self::V_OFFSET) & Self::V_MASK;
        val as u8
    }
}

impl core::fmt::Debug for KeyFlags {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("KeyFlags").field("v", &self.v()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = KeyFlags::default();
        assert_eq!(reg.v(), 0);
    }
}
