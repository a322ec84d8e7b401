//! Payment card numbers inside longer runs of digits.
//!
//! A whole run of digits, with at most one space or dash between two digits, only needs a valid check digit. A part of
//! a run must also meet these conditions: it lies between borders of groups or starts a run without separators, a
//! network issues numbers with its prefix and length, and its groups have a printed form. Without these conditions,
//! three quarters of harmless 16-digit numbers would be refused.

use crate::networks;
use std::ops::Range;

/// Smallest and largest number of digits of a card number (ISO/IEC 7812-1).
const SHORTEST: usize = 12;
const LONGEST: usize = 19;

/// The digits of a match, in groups.
struct Run {
    digits: Vec<u8>,
    /// Place of each digit in the text.
    at: Vec<usize>,
    /// Index of each group's first digit; the last element is the number of digits.
    groups: Vec<usize>,
    /// For each element of `groups`: whether a digit precedes that place, directly or with one space or dash between.
    joined: Vec<bool>,
}

/// The first card number in a match. `Err` gives the place from which the search must continue.
pub(crate) fn number(
    text: &str,
    found: &Range<usize>,
    apart: impl Fn(&Range<usize>) -> bool,
) -> Result<Range<usize>, usize> {
    let run = Run::of(text, found, apart);
    let last = run.groups.len().saturating_sub(1);
    for first in 0..last {
        let window = (first + 1..=last).rev().find(|end| run.is_number(first, *end));
        let glued = || run.glued(first);
        let digits = window.map(|end| run.span(first, end)).or_else(glued);
        if let Some(Range { start, end }) = digits {
            let place = |i: usize| run.at.get(i).copied().unwrap_or(found.end);
            return Ok(place(start)..place(end.saturating_sub(1)) + 1);
        }
    }
    // The search continues at the first group whose number may extend beyond the match.
    let all = run.digits.len();
    let open = run.groups.iter().skip(1).find(|group| all.saturating_sub(**group) < LONGEST);
    Err(open.and_then(|digit| run.at.get(*digit)).copied().unwrap_or(found.end))
}

impl Run {
    fn of(text: &str, found: &Range<usize>, apart: impl Fn(&Range<usize>) -> bool) -> Self {
        let bytes = text.as_bytes();
        let digit = |at: usize| bytes.get(at).filter(|b| b.is_ascii_digit());
        let simple = |at: usize| matches!(bytes.get(at), Some(b' ' | b'-'));
        // Whether the digit at `at` follows another digit, directly or after one space or dash.
        let joined = |at: usize| {
            let one = |at: usize| at.checked_sub(1);
            let before = one(at);
            before.is_some_and(|b| {
                digit(b).is_some() || simple(b) && !apart(&(b..at)) && one(b).is_some_and(|b| digit(b).is_some())
            })
        };
        let mut run = Self { digits: Vec::new(), at: Vec::new(), groups: Vec::new(), joined: Vec::new() };
        for at in found.clone() {
            let Some(value) = digit(at) else { continue };
            if run.at.last().is_none_or(|before| before + 1 != at) {
                run.groups.push(run.digits.len());
                run.joined.push(joined(at));
            }
            run.digits.push(value - b'0');
            run.at.push(at);
        }
        run.groups.push(run.digits.len());
        let next = if simple(found.end) { found.end + 1 } else { found.end };
        run.joined.push(digit(next).is_some() && !apart(&(found.end..next)));
        run
    }

    fn span(&self, first: usize, end: usize) -> Range<usize> {
        self.groups.get(first).copied().unwrap_or(0)..self.groups.get(end).copied().unwrap_or(0)
    }

    fn is_number(&self, first: usize, end: usize) -> bool {
        let digits = self.digits.get(self.span(first, end)).unwrap_or_default();
        if !(SHORTEST..=LONGEST).contains(&digits.len()) || !luhn(digits) {
            return false;
        }
        let joined = |group: usize| self.joined.get(group).copied().unwrap_or(false);
        let whole = !joined(first) && !joined(end) && (first + 1..end).all(joined);
        whole || (self.is_regular(first, end) && networks::has_number(digits))
    }

    /// Whether the groups have a printed form: equal sizes, the last may be shorter; or sizes 4, 6 and 4 or 5.
    fn is_regular(&self, first: usize, end: usize) -> bool {
        let sizes: Vec<usize> = (first..end).map(|group| self.span(group, group + 1).len()).collect();
        match sizes.as_slice() {
            [4, 6, 4 | 5] => true,
            [head @ .., last] => {
                head.iter().all(|size| head.first() == Some(size)) && head.first().is_none_or(|h| last <= h)
            }
            [] => false,
        }
    }

    /// A card number at the start of a group that has more digits.
    fn glued(&self, group: usize) -> Option<Range<usize>> {
        let range = self.span(group, group + 1);
        let digits = self.digits.get(range.clone()).filter(|d| d.len() > SHORTEST)?;
        let lengths = (SHORTEST..=LONGEST.min(digits.len())).rev();
        let starts = |length: &usize| digits.get(..*length).is_some_and(|d| luhn(d) && networks::has_number(d));
        lengths.into_iter().find(starts).map(|length| range.start..range.start + length)
    }
}

/// Whether the check digit is valid (ISO/IEC 7812-1, annex B) and the digits are not all equal.
fn luhn(digits: &[u8]) -> bool {
    let doubled = |d: u8| if d > 4 { 2 * d - 9 } else { 2 * d };
    let value = |(i, d): (usize, &u8)| u32::from(if i % 2 == 0 { *d } else { doubled(*d) });
    let sum: u32 = digits.iter().rev().enumerate().map(value).sum();
    sum.is_multiple_of(10) && digits.iter().any(|d| Some(d) != digits.first())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<&str> {
        let start = text.find(|c: char| c.is_ascii_digit())?;
        let end = text.rfind(|c: char| c.is_ascii_digit())? + 1;
        number(text, &(start..end), |_| false).ok().and_then(|range| text.get(range))
    }

    #[test]
    fn whole_runs_need_the_check_digit_alone() {
        for whole in ["4111 1111 1111 1111", "4111111111111111", "79927398713 01 8", "1234 5678 9012 0000 001"] {
            let digits: Vec<u8> = whole.bytes().filter(u8::is_ascii_digit).map(|b| b - b'0').collect();
            assert_eq!(found(whole).is_some(), luhn(&digits), "{whole}");
        }
        assert_eq!(found("4111 1111 1111 1112"), None);
        assert_eq!(found("0000 0000 0000 0000"), None);
    }

    #[test]
    fn a_number_inside_a_longer_run() {
        let card = "4111 1111 1111 1111";
        for text in [
            "4111 1111 1111 1111 123",
            "4111 1111 1111 1111 12/27",
            "4111 1111 1111 1111-737",
            "9999 4111 1111 1111 1111 9999",
            "20240501 4111 1111 1111 1111 20 27",
        ] {
            assert_eq!(found(text), Some(card), "{text}");
        }
        assert_eq!(found("4111111111111111123"), Some("4111111111111111"), "glued, from its start");
        assert_eq!(found("4111.1111.1111.1111"), Some("4111.1111.1111.1111"));
        assert_eq!(found("3782 822463 10005 1234"), Some("3782 822463 10005"));
        assert_eq!(found("4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 7 3 7"), Some("4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"));
    }

    #[test]
    fn what_is_no_number_inside_a_longer_run() {
        for text in ["94111111111111111 1", "1111 1111 1111 4111 7", "411 11111 111 11111 55", "41.111,111 1111;1111"] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn a_long_run_is_looked_at_again_where_a_number_may_go_on() {
        let text = "12 34 56 78 90 12 34 56 78 90 12 34";
        let again = number(text, &(0..text.len()), |_| false).unwrap_err();
        assert!(text.get(again..).is_some_and(|rest| rest.bytes().filter(u8::is_ascii_digit).count() < LONGEST));
    }
}
