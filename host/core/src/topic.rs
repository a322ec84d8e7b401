//! What a stream speaks of.

use crate::fixed::BasisPoints;
use serde::{Deserialize, Serialize};

/// How far the last sentences lie from what was said before, and which person they speak of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    /// Decayed mean of the distances.
    pub mean: BasisPoints,
    /// Pronouns "he" so far.
    pub masculine: u32,
    /// Pronouns "she" so far.
    pub feminine: u32,
}

impl Topic {
    /// Pronouns of persons so far.
    #[must_use]
    pub const fn persons(self) -> u32 {
        self.masculine.saturating_add(self.feminine)
    }
}
