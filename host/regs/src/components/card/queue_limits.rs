//! Register: queue_limits

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// queue_limits
///
/// Largest log2 of ring entries, of log entries, and reads in flight.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct QueueLimits(u32);

unsafe impl Send for QueueLimits {}
unsafe impl Sync for QueueLimits {}

impl core::default::Default for QueueLimits {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for QueueLimits {
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

impl QueueLimits {
    pub const RING_LOG2_OFFSET: usize = 0;
    pub const RING_LOG2_WIDTH: usize = 8;
    pub const RING_LOG2_MASK: u32 = 0xFF;

    /// ring_log2
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn ring_log2(&self) -> u8 {
        let val = (self.0 >> Self::RING_LOG2_OFFSET) & Self::RING_LOG2_MASK;
        val as u8
    }

    pub const LOG_LOG2_OFFSET: usize = 8;
    pub const LOG_LOG2_WIDTH: usize = 8;
    pub const LOG_LOG2_MASK: u32 = 0xFF;

    /// log_log2
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn log_log2(&self) -> u8 {
        let val = (self.0 >> Self::LOG_LOG2_OFFSET) & Self::LOG_LOG2_MASK;
        val as u8
    }

    pub const READS_OFFSET: usize = 16;
    pub const READS_WIDTH: usize = 8;
    pub const READS_MASK: u32 = 0xFF;

    /// reads
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn reads(&self) -> u8 {
        let val = (self.0 >> Self::READS_OFFSET) & Self::READS_MASK;
        val as u8
    }

    pub const BUS_LOG2_OFFSET: usize = 24;
    pub const BUS_LOG2_WIDTH: usize = 8;
    pub const BUS_LOG2_MASK: u32 = 0xFF;

    /// bus_log2
    ///
    /// Reserved, zero. log2 of the bytes of a beat of the bus; 0 stands for 64 bytes.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn bus_log2(&self) -> u8 {
        let val = (self.0 >> Self::BUS_LOG2_OFFSET) & Self::BUS_LOG2_MASK;
        val as u8
    }
}

impl core::fmt::Debug for QueueLimits {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("QueueLimits")
            .field("ring_log2", &self.ring_log2())
            .field("log_log2", &self.log_log2())
            .field("reads", &self.reads())
            .field("bus_log2", &self.bus_log2())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = QueueLimits::default();
        assert_eq!(reg.ring_log2(), 0);
        assert_eq!(reg.log_log2(), 0);
        assert_eq!(reg.reads(), 0);
        assert_eq!(reg.bus_log2(), 0);
    }
}
