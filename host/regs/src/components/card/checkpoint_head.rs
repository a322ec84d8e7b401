//! Register: checkpoint_head

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// checkpoint_head
///
/// Doorbell: checkpoints consumed in this session, modulo 2^32. A due checkpoint waits while this ring is full. It also waits while the log ring of a lane is full, because records that wait for room are not in the log yet. OPEN sets the card's pointer to 0, whatever this register holds.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct CheckpointHead(u32);

unsafe impl Send for CheckpointHead {}
unsafe impl Sync for CheckpointHead {}

impl core::default::Default for CheckpointHead {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for CheckpointHead {
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

impl CheckpointHead {
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

impl core::fmt::Debug for CheckpointHead {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CheckpointHead").field("v", &self.v()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = CheckpointHead::default();
        assert_eq!(reg.v(), 0);
    }
}
