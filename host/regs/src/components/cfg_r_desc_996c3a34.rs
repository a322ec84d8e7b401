//! Register: text_tables_lo

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// text_tables_lo
///
/// Device address of the encoded tables of the text lane, low half; 64-byte aligned. OPEN reads them if the image has a text part.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct CfgR_desc_996c3a34(u32);

unsafe impl Send for CfgR_desc_996c3a34 {}
unsafe impl Sync for CfgR_desc_996c3a34 {}

impl core::default::Default for CfgR_desc_996c3a34 {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for CfgR_desc_996c3a34 {
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

impl CfgR_desc_996c3a34 {
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

    /// v
    #[inline(always)]
    pub fn set_v(&mut self, val: u32) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::V_MASK << Self::V_OFFSET)) | ((val & Self::V_MASK) << Self::V_OFFSET);
    }
}

impl core::fmt::Debug for CfgR_desc_996c3a34 {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CfgR_desc_996c3a34").field("v", &self.v()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = CfgR_desc_996c3a34::default();
        assert_eq!(reg.v(), 0);
    }
}
