//! Register: command

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// command
///
/// A write is a command.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Command(u32);

unsafe impl Send for Command {}
unsafe impl Sync for Command {}

impl core::default::Default for Command {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for Command {
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

impl Command {
    pub const V_OFFSET: usize = 0;
    pub const V_WIDTH: usize = 8;
    pub const V_MASK: u32 = 0xFF;

    /// v
    ///
    /// 1 LOAD, 2 OPEN, 3 CLOSE, 4 RESET.
    #[inline(always)]
    pub fn set_v(&mut self, val: u8) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::V_MASK << Self::V_OFFSET)) | ((val & Self::V_MASK) << Self::V_OFFSET);
    }
}

impl core::fmt::Debug for Command {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Command").finish()
    }
}
