//! Limits of all cards: numbers of lanes, sizes of rings and text windows.

/// Numbers of lanes that a card can have.
pub const LANES: [u8; 4] = [1, 2, 4, 8];
/// Smallest log2 of submission ring entries; rings consist of whole pages.
pub const RING_LOG2_MIN: u8 = 5;
/// Smallest log2 of log ring entries.
pub const LOG_LOG2_MIN: u8 = 4;
/// Largest log2 of checkpoint ring entries.
pub const CHECKPOINT_LOG2_MAX: u8 = 8;
/// log2 of the size in bytes of the smallest and of the largest text window.
pub const TEXT_STRIDE_MIN: u8 = 11;
pub const TEXT_STRIDE_MAX: u8 = 17;
