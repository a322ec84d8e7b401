//! Log-probabilities, quantised to basis points. All arithmetic is on integers.

use crate::error::LogProbsError;
use portcullis_core::fixed::BasisPoints;
use std::ops::Range;

/// The uncertainty of a candidate: one minus the geometric mean of its tokens' probabilities.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LogProbs {
    uncertainty: BasisPoints,
    /// The end of each token in the candidate, with its logarithm in units of 10^-9; empty if the ends are not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tokens: Vec<(usize, i64)>,
}

/// Number of decimal places of a log-probability that are kept; further places are cut off.
const PLACES: usize = 9;
/// ln 2 and 1 in units of 10^-9.
const LN2: i128 = 693_147_181;
const ONE: i128 = 1_000_000_000;

impl LogProbs {
    /// Reads natural logarithms in decimal (JSON numbers, with or without exponent). An empty list is an error; callers
    /// must use `None` instead.
    ///
    /// # Errors
    /// [`LogProbsError`] for text that is not a number, or a number above 0.
    pub fn parse<S: AsRef<str>>(texts: &[S]) -> Result<Self, LogProbsError> {
        let read = texts.iter().map(|text| logarithm(text.as_ref())).collect::<Result<Vec<_>, _>>()?;
        let uncertainty = uncertainty(read.into_iter()).ok_or_else(|| LogProbsError("[]".into()))?;
        Ok(Self { uncertainty, tokens: Vec::new() })
    }

    /// As [`Self::parse`], with the byte of the candidate at which each token ends. Then each part of the candidate has
    /// its own uncertainty.
    ///
    /// # Errors
    /// As [`LogProbs::parse`].
    pub fn placed<S: AsRef<str>>(tokens: &[(usize, S)]) -> Result<Self, LogProbsError> {
        let place = |(end, text): &(usize, S)| Ok((*end, logarithm(text.as_ref())?));
        let tokens = tokens.iter().map(place).collect::<Result<Vec<_>, LogProbsError>>()?;
        let all = uncertainty(tokens.iter().map(|(_, logarithm)| *logarithm));
        Ok(Self { uncertainty: all.ok_or_else(|| LogProbsError("[]".into()))?, tokens })
    }

    /// Appends the log-probabilities of the text from byte `at` on. `None` if ends of tokens are missing.
    #[must_use]
    pub fn followed_by(&self, at: usize, next: &Self) -> Option<Self> {
        if self.tokens.is_empty() || next.tokens.is_empty() {
            return None;
        }
        let moved = next.tokens.iter().map(|(end, logarithm)| (end + at, *logarithm));
        let tokens: Vec<(usize, i64)> = self.tokens.iter().copied().chain(moved).collect();
        Some(Self { uncertainty: uncertainty(tokens.iter().map(|(_, logarithm)| *logarithm))?, tokens })
    }

    /// Uncertainty of a part of the candidate in basis points, rounded down. Only tokens that share a byte with the
    /// part are used; if the ends of the tokens are not known, all tokens are used.
    #[must_use]
    pub fn uncertainty(&self, part: &Range<usize>) -> BasisPoints {
        let first = self.tokens.partition_point(|(end, _)| *end <= part.start);
        let mut start = first.checked_sub(1).and_then(|before| self.tokens.get(before)).map_or(0, |(end, _)| *end);
        let shared = self.tokens.iter().skip(first).take_while(|(end, _)| {
            let begins = start;
            start = *end;
            begins < part.end
        });
        uncertainty(shared.map(|(_, logarithm)| *logarithm)).unwrap_or(self.uncertainty)
    }
}

/// One minus the geometric mean of the probabilities; `None` for an empty list.
fn uncertainty(logarithms: impl Iterator<Item = i64>) -> Option<BasisPoints> {
    let (sum, count) = logarithms.fold((0i128, 0i128), |(sum, count), of| (sum + i128::from(of), count + 1));
    let probability = exp(sum.checked_div(count)?);
    let points = u16::try_from((ONE - probability) * 10_000 / ONE).unwrap_or(10_000);
    Some(BasisPoints::try_from(points).unwrap_or(BasisPoints::ONE))
}

fn logarithm(text: &str) -> Result<i64, LogProbsError> {
    let read = parse(text).filter(|n| *n <= 0).and_then(|n| i64::try_from(n).ok());
    read.ok_or_else(|| LogProbsError(text.to_owned()))
}

/// A decimal number in units of 10^-9, at least -10^18; `None` for other text.
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

/// e^x for x <= 0, both in units of 10^-9: a power of two times the series for e^-f, with f below ln 2.
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

    #[test]
    fn a_part_has_the_uncertainty_of_its_own_tokens() {
        let tokens = [(3, "-0.1"), (7, "-3"), (9, "-0.2")];
        let placed = LogProbs::placed(&tokens).unwrap();
        let of = |logarithms: &[&str]| LogProbs::parse(logarithms).unwrap().uncertainty(&(0..1));
        for (part, logarithms) in [
            (0..3, &["-0.1"] as &[&str]),
            (3..7, &["-3"]),
            (2..4, &["-0.1", "-3"]),
            (4..5, &["-3"]),
            (6..8, &["-3", "-0.2"]),
            (0..9, &["-0.1", "-3", "-0.2"]),
            (9..12, &["-0.1", "-3", "-0.2"]),
        ] {
            assert_eq!(placed.uncertainty(&part), of(logarithms), "{part:?}");
        }
    }

    fn uncertainty(texts: &[&str]) -> Result<u16, LogProbsError> {
        LogProbs::parse(texts).map(|l| l.uncertainty(&(0..0)).get())
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
        // A large exponent once overflowed in a release build, and the uncertainty became 0.
        for bad in ["-1e2147483647", "0.1", "NaN", "-inf", "", "-", "1e400", "--1", "-.5"] {
            assert!(uncertainty(&[bad]).is_err(), "{bad}");
        }
        assert!(uncertainty(&[]).is_err());
    }
}
