//! Register: text_limits

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// text_limits
///
/// Text lane: engines, log2 of an engine's states, its byte classes, blocks of text windows. 0 while capability `text` is 0.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct TextLimits(u32);

unsafe impl Send for TextLimits {}
unsafe impl Sync for TextLimits {}

impl core::default::Default for TextLimits {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for TextLimits {
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

impl TextLimits {
    pub const ENGINES_OFFSET: usize = 0;
    pub const ENGINES_WIDTH: usize = 8;
    pub const ENGINES_MASK: u32 = 0xFF;

    /// engines
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn engines(&self) -> u8 {
        let val = (self.0 >> Self::ENGINES_OFFSET) & Self::ENGINES_MASK;
        val as u8
    }

    pub const STATES_LOG2_OFFSET: usize = 8;
    pub const STATES_LOG2_WIDTH: usize = 8;
    pub const STATES_LOG2_MASK: u32 = 0xFF;

    /// states_log2
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn states_log2(&self) -> u8 {
        let val = (self.0 >> Self::STATES_LOG2_OFFSET) & Self::STATES_LOG2_MASK;
        val as u8
    }

    pub const BYTE_CLASSES_OFFSET: usize = 16;
    pub const BYTE_CLASSES_WIDTH: usize = 8;
    pub const BYTE_CLASSES_MASK: u32 = 0xFF;

    /// byte_classes
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn byte_classes(&self) -> u8 {
        let val = (self.0 >> Self::BYTE_CLASSES_OFFSET) & Self::BYTE_CLASSES_MASK;
        val as u8
    }

    pub const BLOCKS_OFFSET: usize = 24;
    pub const BLOCKS_WIDTH: usize = 8;
    pub const BLOCKS_MASK: u32 = 0xFF;

    /// blocks
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn blocks(&self) -> u8 {
        let val = (self.0 >> Self::BLOCKS_OFFSET) & Self::BLOCKS_MASK;
        val as u8
    }
}

impl core::fmt::Debug for TextLimits {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TextLimits")
            .field("engines", &self.engines())
            .field("states_log2", &self.states_log2())
            .field("byte_classes", &self.byte_classes())
            .field("blocks", &self.blocks())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = TextLimits::default();
        assert_eq!(reg.engines(), 0);
        assert_eq!(reg.states_log2(), 0);
        assert_eq!(reg.byte_classes(), 0);
        assert_eq!(reg.blocks(), 0);
    }
}
