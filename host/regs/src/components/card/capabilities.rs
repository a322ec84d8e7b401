//! Register: capabilities

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// capabilities
///
/// What this card has. A part that is not present reads 0 here and its registers read 0.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Capabilities(u32);

unsafe impl Send for Capabilities {}
unsafe impl Sync for Capabilities {}

impl core::default::Default for Capabilities {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for Capabilities {
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

impl Capabilities {
    pub const LANES_OFFSET: usize = 0;
    pub const LANES_WIDTH: usize = 8;
    pub const LANES_MASK: u32 = 0xFF;

    /// lanes
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn lanes(&self) -> u8 {
        let val = (self.0 >> Self::LANES_OFFSET) & Self::LANES_MASK;
        val as u8
    }

    pub const ROWS_PER_CLOCK_OFFSET: usize = 8;
    pub const ROWS_PER_CLOCK_WIDTH: usize = 8;
    pub const ROWS_PER_CLOCK_MASK: u32 = 0xFF;

    /// rows_per_clock
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn rows_per_clock(&self) -> u8 {
        let val = (self.0 >> Self::ROWS_PER_CLOCK_OFFSET) & Self::ROWS_PER_CLOCK_MASK;
        val as u8
    }

    pub const DIGEST_OFFSET: usize = 16;
    pub const DIGEST_WIDTH: usize = 1;
    pub const DIGEST_MASK: u32 = 0x1;

    /// digest
    ///
    /// Tables are hashed in the card.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn digest(&self) -> bool {
        let val = (self.0 >> Self::DIGEST_OFFSET) & Self::DIGEST_MASK;
        val != 0
    }

    pub const SIGNER_OFFSET: usize = 17;
    pub const SIGNER_WIDTH: usize = 1;
    pub const SIGNER_MASK: u32 = 0x1;

    /// signer
    ///
    /// Records are hashed and checkpoints signed in the card.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn signer(&self) -> bool {
        let val = (self.0 >> Self::SIGNER_OFFSET) & Self::SIGNER_MASK;
        val != 0
    }

    pub const HEARTBEAT_OFFSET: usize = 18;
    pub const HEARTBEAT_WIDTH: usize = 1;
    pub const HEARTBEAT_MASK: u32 = 0x1;

    /// heartbeat
    ///
    /// Heartbeats are checked in the card.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn heartbeat(&self) -> bool {
        let val = (self.0 >> Self::HEARTBEAT_OFFSET) & Self::HEARTBEAT_MASK;
        val != 0
    }

    pub const TEXT_OFFSET: usize = 19;
    pub const TEXT_WIDTH: usize = 1;
    pub const TEXT_MASK: u32 = 0x1;

    /// text
    ///
    /// The card has a text lane: it reads and scans the texts of entries.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn text(&self) -> bool {
        let val = (self.0 >> Self::TEXT_OFFSET) & Self::TEXT_MASK;
        val != 0
    }

    pub const SUPPLEMENT_OFFSET: usize = 20;
    pub const SUPPLEMENT_WIDTH: usize = 1;
    pub const SUPPLEMENT_MASK: u32 = 0x1;

    /// supplement
    ///
    /// Reserved, zero. Entries can have a supplement.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn supplement(&self) -> bool {
        let val = (self.0 >> Self::SUPPLEMENT_OFFSET) & Self::SUPPLEMENT_MASK;
        val != 0
    }
}

impl core::fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Capabilities")
            .field("lanes", &self.lanes())
            .field("rows_per_clock", &self.rows_per_clock())
            .field("digest", &self.digest())
            .field("signer", &self.signer())
            .field("heartbeat", &self.heartbeat())
            .field("text", &self.text())
            .field("supplement", &self.supplement())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = Capabilities::default();
        assert_eq!(reg.lanes(), 0);
        assert_eq!(reg.rows_per_clock(), 0);
        assert_eq!(reg.digest(), false);
        assert_eq!(reg.signer(), false);
        assert_eq!(reg.heartbeat(), false);
        assert_eq!(reg.text(), false);
        assert_eq!(reg.supplement(), false);
    }
}
