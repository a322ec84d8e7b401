//! The trust slope: semantic distance accumulated over admitted transitions, in integers.

use crate::fixed::BasisPoints;
use crate::manifest::TrustSlope;
use crate::mutation::SpanMutation;
use serde::{Deserialize, Serialize};

/// The highest threshold that a slope has reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftLevel {
    #[default]
    None,
    /// Drift warning: it is reported, and the descriptor carries its level.
    Warning,
    /// Drift correction: content is compared with the intent alone; rules on `correction` become stricter.
    Correction,
    /// Drift halt: the stream ends with the text admitted so far.
    Halt,
}

impl DriftLevel {
    /// The correction level in the descriptor: 0 for none, 1 for a warning, 2 for a correction, 3 for a halt.
    #[must_use]
    pub const fn level(self) -> u8 {
        self as u8
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Warning => "warning",
            Self::Correction => "correction",
            Self::Halt => "halt",
        }
    }
}

impl TrustSlope {
    /// Distance of one transition: the weighted mean of its three distances, rounded down.
    #[must_use]
    pub fn distance(&self, mutation: &SpanMutation) -> BasisPoints {
        let distances = [mutation.content_deviation, mutation.certainty_divergence, mutation.register_divergence];
        let total: u64 = self.weights.iter().map(|w| u64::from(*w)).sum();
        let sum: u64 = self.weights.iter().zip(distances).map(|(w, d)| u64::from(*w) * u64::from(d.get())).sum();
        let mean = sum.checked_div(total).and_then(|m| u16::try_from(m).ok()).unwrap_or(0);
        BasisPoints::try_from(mean).unwrap_or(BasisPoints::ONE)
    }

    /// The slope over the distances of a lineage, the oldest first. It uses the last `window` distances. Each step
    /// keeps the share `decay` of the sum (rounded down) and adds the next distance. The result saturates.
    #[must_use]
    pub fn slope(&self, distances: impl DoubleEndedIterator<Item = BasisPoints>) -> u16 {
        let decay = u64::from(self.decay);
        // The newest distances are taken from the end; the sum starts with the oldest of them.
        let recent: Vec<u64> = distances.rev().take(usize::from(self.window)).map(|d| u64::from(d.get())).collect();
        let slope = recent.into_iter().rev().fold(0u64, |s, d| s * decay / u64::from(BasisPoints::ONE.get()) + d);
        u16::try_from(slope).unwrap_or(u16::MAX)
    }

    /// The highest threshold that a slope has reached. A threshold of 65535 is never reached.
    #[must_use]
    pub const fn drift(&self, slope: u16) -> DriftLevel {
        const fn over(slope: u16, threshold: u16) -> bool {
            threshold < u16::MAX && slope >= threshold
        }
        if over(slope, self.halt) {
            DriftLevel::Halt
        } else if over(slope, self.correction) {
            DriftLevel::Correction
        } else if over(slope, self.warning) {
            DriftLevel::Warning
        } else {
            DriftLevel::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[u16]) -> Vec<BasisPoints> {
        values.iter().map(|v| BasisPoints::try_from(*v).unwrap()).collect()
    }

    #[test]
    fn distances_accumulate_decay_and_leave_the_window() {
        let slope = TrustSlope { window: 3, decay: 5_000, ..TrustSlope::default() };
        let of = |values: &[u16]| slope.slope(points(values).into_iter());
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[1000]), 1000);
        assert_eq!(of(&[1000, 1000]), 1500);
        assert_eq!(of(&[1, 0]), 0, "rounded down at each step");
        assert_eq!(of(&[9999, 1000, 1000, 1000]), 1750, "the oldest has left the window");
        let saturating = TrustSlope { window: 100, decay: 10_000, ..TrustSlope::default() };
        assert_eq!(saturating.slope(points(&[10_000; 7]).into_iter()), u16::MAX);
    }

    #[test]
    fn thresholds_are_reached_not_passed_and_the_highest_value_never() {
        let slope = TrustSlope { warning: 10, correction: 20, halt: 30, ..TrustSlope::default() };
        let levels: Vec<u8> = [9, 10, 19, 20, 29, 30].iter().map(|s| slope.drift(*s).level()).collect();
        assert_eq!(levels, [0, 1, 1, 2, 2, 3]);
        assert_eq!(TrustSlope::default().drift(u16::MAX), DriftLevel::None);
    }
}
