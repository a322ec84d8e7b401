//! Register: load_fault

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// load_fault
///
/// Why the last OPEN returned to LOAD; cleared by the next OPEN.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct LoadFault(u32);

unsafe impl Send for LoadFault {}
unsafe impl Sync for LoadFault {}

impl core::default::Default for LoadFault {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for LoadFault {
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

impl LoadFault {
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

impl core::fmt::Debug for LoadFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LoadFault").field("code", &self.code()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = LoadFault::default();
        assert_eq!(reg.code(), 0);
    }
}
