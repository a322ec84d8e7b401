//! Register: fault

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// fault
///
/// Sticky fault; cleared by RESET once that ends, and by the hardware reset.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Fault(u32);

unsafe impl Send for Fault {}
unsafe impl Sync for Fault {}

impl core::default::Default for Fault {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for Fault {
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

impl Fault {
    pub const CODE_OFFSET: usize = 0;
    pub const CODE_WIDTH: usize = 16;
    pub const CODE_MASK: u32 = 0xFFFF;

    /// code
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn code(&self) -> u16 {
        let val = (self.0 >> Self::CODE_OFFSET) & Self::CODE_MASK;
        val as u16
    }
}

impl core::fmt::Debug for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Fault").field("code", &self.code()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = Fault::default();
        assert_eq!(reg.code(), 0);
    }
}
