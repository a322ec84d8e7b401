//! Log-probabilities, quantised to basis points before anything uses them. Integers throughout.

use crate::error::LogProbsError;
use portcullis_core::fixed::BasisPoints;

/// The uncertainty of a candidate: one minus the geometric mean of its tokens' probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct LogProbs {
    uncertainty: BasisPoints,
}

/// Decimal places that are kept of a log-probability; further ones are cut off.
const PLACES: usize = 9;
/// ln 2 and 1 in units of 10^-9.
const LN2: i128 = 693_147_181;
const ONE: i128 = 1_000_000_000;

impl LogProbs {
    /// Reads natural logarithms as decimal text (JSON numbers, exponent included). None at all is an error: say nothing instead.
    ///
    /// # Errors
    /// [`LogProbsError`] for text that is no number, or a number over 0.
    pub fn parse<S: AsRef<str>>(texts: &[S]) -> Result<Self, LogProbsError> {
        let mut sum = 0i128;
        for text in texts {
            let text = text.as_ref();
            sum += parse(text).filter(|n| *n <= 0).ok_or_else(|| LogProbsError(text.to_owned()))?;
        }
        let count = i128::try_from(texts.len()).ok().filter(|n| *n > 0).ok_or_else(|| LogProbsError("[]".into()))?;
        let probability = exp(sum / count);
        let points = u16::try_from((ONE - probability) * 10_000 / ONE).unwrap_or(10_000);
        Ok(Self { uncertainty: BasisPoints::try_from(points).unwrap_or(BasisPoints::ONE) })
    }

    /// Uncertainty in basis points, rounded down.
    #[must_use]
    pub const fn uncertainty(self) -> BasisPoints {
        self.uncertainty
    }
}

/// A decimal number in units of 10^-9, at least -10^18; `None` when it is none.
fn parse(text: &str) -> Option<i128> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((m, e)) => (m, e.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (sign, digits) = mantissa.strip_prefix('-').map_or((1, mantissa), |d| (-1, d));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) || digits.len() > 40 {
        return None;
    }
    let value: i128 = format!("{whole}{fraction}").parse().ok()?;
    let shift = exponent.checked_add(i32::try_from(PLACES).ok()? - i32::try_from(fraction.len()).ok()?)?;
    let scaled = if shift >= 0 {
        value.checked_mul(10i128.checked_pow(u32::try_from(shift).ok()?)?)?
    } else {
        10i128.checked_pow(shift.unsigned_abs()).map_or(0, |d| value / d)
    };
    Some(sign * scaled.min(ONE * ONE))
}

/// e^x for x <= 0, both in units of 10^-9: powers of two, then the series of e^-f for f below ln 2.
fn exp(x: i128) -> i128 {
    let x = -x;
    let (halvings, f) = (x / LN2, x % LN2);
    if halvings > 60 {
        return 0;
    }
    let (mut term, mut sum) = (ONE, ONE);
    for n in 1..=12 {
        term = -term * f / (ONE * n);
        sum += term;
    }
    sum >> halvings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uncertainty(texts: &[&str]) -> Result<u16, LogProbsError> {
        LogProbs::parse(texts).map(|l| l.uncertainty().get())
    }

    #[test]
    fn known_values() {
        assert_eq!(uncertainty(&["0"]), Ok(0));
        assert_eq!(uncertainty(&["-0.105360515657"]), Ok(1000), "one minus 0.9");
        assert_eq!(uncertainty(&["-0.6931471805"]), Ok(4999), "just under one half, rounded down");
        assert_eq!(uncertainty(&["-1e0", "-3"]), Ok(8646), "1 - e^-2");
        assert_eq!(uncertainty(&["-1e-30"]), Ok(0));
        assert_eq!(uncertainty(&["-9999"]), Ok(10_000));
    }

    #[test]
    fn what_is_no_log_probability_is_refused() {
        // An exponent at the edge of its type once wrapped in a release build, and read as certainty.
        for bad in ["-1e2147483647", "0.1", "NaN", "-inf", "", "-", "1e400", "--1", "-.5"] {
            assert!(uncertainty(&[bad]).is_err(), "{bad}");
        }
        assert!(uncertainty(&[]).is_err());
    }
}
