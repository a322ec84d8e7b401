//! What the columns of a row have in common.

/// What a range counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeUnit {
    /// Whole numbers from 0 to the given one.
    Count(i64),
    /// A fraction, from 0 to 10,000 basis points.
    BasisPoints,
    /// A number in the unit of a quantity that the policy declares.
    Quantity,
}

/// A row's conditions on a set, as masks of members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetMasks {
    /// Members that must all be in the set.
    pub all: u128,
    /// Members of which at least one must be in the set; 0 means no condition.
    pub any: u128,
    /// Members that must not be in the set.
    pub none: u128,
}

impl SetMasks {
    /// Whether a set with these members meets the conditions.
    #[must_use]
    pub const fn hold(self, members: u128) -> bool {
        members & self.all == self.all && members & self.none == 0 && (self.any == 0 || members & self.any != 0)
    }
}
