//! Register: policy_digest

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// policy_digest
///
/// Digest of the tables as OPEN read them back last, right or not; what CLOSE finds is compared with it. 0 while capability `digest` is 0.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct RoR_desc_f7f7e3ea(u32);

unsafe impl Send for RoR_desc_f7f7e3ea {}
unsafe impl Sync for RoR_desc_f7f7e3ea {}

impl core::default::Default for RoR_desc_f7f7e3ea {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for RoR_desc_f7f7e3ea {
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

impl RoR_desc_f7f7e3ea {
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

impl core::fmt::Debug for RoR_desc_f7f7e3ea {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RoR_desc_f7f7e3ea").field("v", &self.v()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = RoR_desc_f7f7e3ea::default();
        assert_eq!(reg.v(), 0);
    }
}
