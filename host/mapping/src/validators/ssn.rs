//! Social security numbers of the United States.

use super::{Apart, MatchValidator, digits, whole};
use std::ops::Range;

pub(crate) struct SsnValidator;

impl MatchValidator for SsnValidator {
    fn accept(&self, text: &str, found: &Range<usize>, _: Apart<'_>) -> Result<Range<usize>, usize> {
        whole(found, ssn(text.get(found.clone()).unwrap_or_default()))
    }

    fn crosses_borders(&self) -> bool {
        true
    }
}

/// Whether the area is not 000, 666 or 9xx, the group not 00, and the serial not 0000 (SSA, POMS RM 10201.035).
fn ssn(text: &str) -> bool {
    let number: u32 = digits(text).fold(0, |n, d| n.saturating_mul(10).saturating_add(d));
    let (area, group, serial) = (number / 1_000_000, number / 10_000 % 100, number % 10_000);
    digits(text).count() == 9 && !matches!(area, 0 | 666 | 900..) && group != 0 && serial != 0
}
