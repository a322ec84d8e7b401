//! The numbers and the slot of a stream.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamNumbers {
    /// Number in its events.
    pub number: u64,
    /// Number from which the stream's salts are made; it must never be used twice under one key.
    pub salted: u64,
    /// Slot of the card.
    pub slot: u16,
}
