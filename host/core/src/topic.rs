//! The topic of a stream.

use crate::fixed::BasisPoints;
use serde::{Deserialize, Serialize};

/// The distance of the last sentences from the earlier text, and counts of pronouns for persons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicState {
    /// Mean of the distances; older distances count less.
    pub mean: BasisPoints,
    /// Number of the pronouns "he" so far.
    pub masculine: u32,
    /// Number of the pronouns "she" so far.
    pub feminine: u32,
}

impl TopicState {
    /// Number of both pronouns so far.
    #[must_use]
    pub const fn persons(self) -> u32 {
        self.masculine.saturating_add(self.feminine)
    }
}
