//! Where a stream sits.

/// Where a stream sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Number that its events carry.
    pub number: u64,
    /// Number that its salts are made from: never twice under one key.
    pub salted: u64,
    /// Slot of the card.
    pub slot: u16,
}
