//! Register: rows

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// rows
///
/// Rows of the two banks.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Rows(u32);

unsafe impl Send for Rows {}
unsafe impl Sync for Rows {}

impl core::default::Default for Rows {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for Rows {
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

impl Rows {
    pub const POLICY_OFFSET: usize = 0;
    pub const POLICY_WIDTH: usize = 16;
    pub const POLICY_MASK: u32 = 0xFFFF;

    /// policy
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn policy(&self) -> u16 {
        let val = (self.0 >> Self::POLICY_OFFSET) & Self::POLICY_MASK;
        val as u16
    }

    pub const ENTROPY_OFFSET: usize = 16;
    pub const ENTROPY_WIDTH: usize = 16;
    pub const ENTROPY_MASK: u32 = 0xFFFF;

    /// entropy
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn entropy(&self) -> u16 {
        let val = (self.0 >> Self::ENTROPY_OFFSET) & Self::ENTROPY_MASK;
        val as u16
    }
}

impl core::fmt::Debug for Rows {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Rows").field("policy", &self.policy()).field("entropy", &self.entropy()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = Rows::default();
        assert_eq!(reg.policy(), 0);
        assert_eq!(reg.entropy(), 0);
    }
}
