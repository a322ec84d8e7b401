//! A region of a device, as both ends see it.

/// A region; one of 0 bytes does not exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Region {
    pub size: u64,
    /// Bits of [`crate::message::region_flags`].
    pub flags: u32,
}
