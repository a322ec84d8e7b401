//! Fixed point: fractions are basis points, so no floating-point number influences a verdict.

use crate::wire::BASIS_POINTS_MAX;
use serde::{Deserialize, Serialize};

/// A fraction between 0 and 1 in units of 1/10000.
///
/// ```
/// use portcullis_core::fixed::BasisPoints;
///
/// assert_eq!(BasisPoints::ratio(1, 3).get(), 3333);
/// assert_eq!(BasisPoints::ratio(1, 3).distance(BasisPoints::ONE).get(), 6667);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct BasisPoints(u16);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is over 10000 basis points")]
pub struct BasisPointsError(pub u16);

impl BasisPoints {
    pub const ZERO: Self = Self(0);
    pub const ONE: Self = Self(BASIS_POINTS_MAX);

    /// `part / whole`, rounded down. 0 / 0 gives 0; a `part` above `whole` gives [`Self::ONE`].
    #[must_use]
    pub fn ratio(part: usize, whole: usize) -> Self {
        if whole == 0 {
            return Self::ZERO;
        }
        let scaled = part.min(whole) as u128 * u128::from(BASIS_POINTS_MAX) / whole as u128;
        Self(u16::try_from(scaled).unwrap_or(BASIS_POINTS_MAX))
    }

    /// The distance between two fractions.
    #[must_use]
    pub const fn distance(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// The number of basis points, 0 to 10000.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl TryFrom<u16> for BasisPoints {
    type Error = BasisPointsError;
    fn try_from(value: u16) -> Result<Self, BasisPointsError> {
        if value > BASIS_POINTS_MAX { Err(BasisPointsError(value)) } else { Ok(Self(value)) }
    }
}

impl From<BasisPoints> for u16 {
    fn from(value: BasisPoints) -> Self {
        value.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_stay_in_range() {
        assert_eq!(BasisPoints::ratio(0, 0), BasisPoints::ZERO);
        assert_eq!(BasisPoints::ratio(1, 3).get(), 3333);
        assert_eq!(BasisPoints::ratio(7, 3), BasisPoints::ONE);
        assert_eq!(BasisPoints::ratio(usize::MAX, usize::MAX), BasisPoints::ONE);
        assert!(BasisPoints::try_from(10_001).is_err());
    }
}
