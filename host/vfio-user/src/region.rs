//! A region of a device, for both sides.

/// A region; size 0 means that it does not exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VfioUserRegion {
    pub size: u64,
    /// Bits of [`crate::message::region_flags`].
    pub flags: u32,
}
