//! Register: checkpoint_flush

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// checkpoint_flush
///
/// A write asks for a checkpoint now.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct CheckpointFlush(u32);

unsafe impl Send for CheckpointFlush {}
unsafe impl Sync for CheckpointFlush {}

impl core::default::Default for CheckpointFlush {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for CheckpointFlush {
    type Regwidth = u32;
    type Accesswidth = u32;
    type Access = peakrdl_rust::access::W;
    type ByteEndian = peakrdl_rust::endian::LittleEndian;
    type WordEndian = peakrdl_rust::endian::LittleEndian;

    unsafe fn from_raw(val: Self::Regwidth) -> Self {
        Self(val)
    }

    fn to_raw(self) -> Self::Regwidth {
        self.0
    }
}

impl CheckpointFlush {
    pub const V_OFFSET: usize = 0;
    pub const V_WIDTH: usize = 1;
    pub const V_MASK: u32 = 0x1;

    /// v
    #[inline(always)]
    pub fn set_v(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::V_MASK << Self::V_OFFSET)) | ((val & Self::V_MASK) << Self::V_OFFSET);
    }
}

impl core::fmt::Debug for CheckpointFlush {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CheckpointFlush").finish()
    }
}
