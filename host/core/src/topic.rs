//! What a stream speaks of.

use crate::fixed::BasisPoints;
use serde::{Deserialize, Serialize};

/// The distance of the last sentences from the earlier text, and the person that they are about.
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
