//! A share with its Wilson interval, computed in integers.

use serde::Serialize;

/// Shares are given in millionths.
const MILLION: u128 = 1_000_000;
/// z² for 95 %, 1.959964², in millionths.
const Z2: u128 = 3_841_459;

/// A share of a total, with its 95 % Wilson score interval (Wilson 1927) in millionths, rounded outwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WilsonShare {
    pub of: u64,
    pub all: u64,
    pub share_ppm: u64,
    /// Lower end of the interval.
    pub low_ppm: u64,
    /// Upper end.
    pub high_ppm: u64,
}

impl WilsonShare {
    /// The share of `of` in `all`; `of` must not be greater than `all`.
    #[must_use]
    pub fn new(of: u64, all: u64) -> Self {
        let (k, n) = (u128::from(of.min(all)), u128::from(all));
        if n == 0 {
            return Self { of, all, share_ppm: 0, low_ppm: 0, high_ppm: 1_000_000 };
        }
        // The ends of the interval are (2k + z² ± z·sqrt(z² + 4k(n−k)/n)) / (2(n + z²)). Numerator and denominator are
        // multiplied by n, so that only the root is inexact.
        let whole = 2 * (n * MILLION + Z2);
        let middle = 2 * k * MILLION + Z2;
        // z·sqrt(…) in millionths is sqrt(z²·(z² + 4k(n−k)/n)) with both factors in millionths.
        let root = (Z2 * (Z2 + 4 * k * (n - k) * MILLION / n)).isqrt();
        let ppm = |value: u128| u64::try_from(value.min(MILLION)).unwrap_or(1_000_000);
        Self {
            of,
            all,
            share_ppm: ppm(k * MILLION / n),
            low_ppm: ppm(middle.saturating_sub(root + 1) * MILLION / whole),
            high_ppm: ppm(((middle + root + 1) * MILLION).div_ceil(whole)),
        }
    }
}

/// A share in percent, rounded to the nearest tenth: `12.3`.
fn percent(ppm: u64) -> String {
    let tenths = (ppm + 500) / 1000;
    format!("{}.{}", tenths / 10, tenths % 10)
}

impl std::fmt::Display for WilsonShare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (low, high) = (percent(self.low_ppm), percent(self.high_ppm));
        write!(f, "{}/{} = {} % [{low}, {high}]", self.of, self.all, percent(self.share_ppm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_intervals() {
        // A program with floating-point numbers computed the expected values.
        for (of, all, low, high) in [
            (0, 375, 0, 10_140),
            (6, 50, 56_176, 238_048),
            (50, 100, 403_832, 596_168),
            (333, 333, 988_596, 1_000_000),
            (1, 1, 206_549, 1_000_000),
        ] {
            let share = WilsonShare::new(of, all);
            assert!(share.low_ppm.abs_diff(low) <= 10 && share.high_ppm.abs_diff(high) <= 10, "{share:?}");
        }
        assert_eq!(WilsonShare::new(0, 0).high_ppm, 1_000_000);
    }
}
