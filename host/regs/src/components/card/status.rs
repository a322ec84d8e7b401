//! Register: status

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// status
///
/// Life state.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Status(u32);

unsafe impl Send for Status {}
unsafe impl Sync for Status {}

impl core::default::Default for Status {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for Status {
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

impl Status {
    pub const LIFE_OFFSET: usize = 0;
    pub const LIFE_WIDTH: usize = 4;
    pub const LIFE_MASK: u32 = 0xF;

    /// life
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn life(&self) -> u8 {
        let val = (self.0 >> Self::LIFE_OFFSET) & Self::LIFE_MASK;
        val as u8
    }

    pub const LOCKED_OFFSET: usize = 4;
    pub const LOCKED_WIDTH: usize = 1;
    pub const LOCKED_MASK: u32 = 0x1;

    /// locked
    ///
    /// Tables cannot be written.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn locked(&self) -> bool {
        let val = (self.0 >> Self::LOCKED_OFFSET) & Self::LOCKED_MASK;
        val != 0
    }

    pub const BUSY_OFFSET: usize = 5;
    pub const BUSY_WIDTH: usize = 1;
    pub const BUSY_MASK: u32 = 0x1;

    /// busy
    ///
    /// Work is in flight.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn busy(&self) -> bool {
        let val = (self.0 >> Self::BUSY_OFFSET) & Self::BUSY_MASK;
        val != 0
    }

    pub const NEEDS_RESET_OFFSET: usize = 6;
    pub const NEEDS_RESET_WIDTH: usize = 1;
    pub const NEEDS_RESET_MASK: u32 = 0x1;

    /// needs_reset
    ///
    /// A request was given up, or an answer fitted no request: the bus may still write to memory of an earlier session. OPEN is refused and RESET does not end. Cleared by the hardware reset alone.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn needs_reset(&self) -> bool {
        let val = (self.0 >> Self::NEEDS_RESET_OFFSET) & Self::NEEDS_RESET_MASK;
        val != 0
    }

    pub const STALE_OFFSET: usize = 7;
    pub const STALE_WIDTH: usize = 1;
    pub const STALE_MASK: u32 = 0x1;

    /// stale
    ///
    /// The bus owes answers from before the last hardware reset. It may still write to memory of that session. Until it has answered, the shell keeps the card off the bus, OPEN is refused and RESET does not end.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn stale(&self) -> bool {
        let val = (self.0 >> Self::STALE_OFFSET) & Self::STALE_MASK;
        val != 0
    }
}

impl core::fmt::Debug for Status {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Status")
            .field("life", &self.life())
            .field("locked", &self.locked())
            .field("busy", &self.busy())
            .field("needs_reset", &self.needs_reset())
            .field("stale", &self.stale())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = Status::default();
        assert_eq!(reg.life(), 0);
        assert_eq!(reg.locked(), false);
        assert_eq!(reg.busy(), false);
        assert_eq!(reg.needs_reset(), false);
        assert_eq!(reg.stale(), false);
    }
}
