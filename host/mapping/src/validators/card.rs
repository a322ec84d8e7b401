//! Payment card numbers, alone and inside longer runs of digits.
//!
//! A card number has a valid check digit, and a network issues numbers with its prefix and length. A whole run of
//! digits, with at most one space or dash between two digits, needs no more. A part of a run must also meet these
//! conditions: it lies between borders of groups or starts a run without separators, its groups have a printed form,
//! and its network's range is narrow. Without these conditions, three quarters of harmless 16-digit numbers would be
//! refused.
//!
//! These digits are never a card number: the fraction of a decimal, digits of a hexadecimal word, such as a digest or a
//! UUID, and digits of a date or time.

use super::{Apart, MatchValidator, hexadecimal, moment};
use crate::networks;
use std::ops::Range;

/// Smallest and largest number of digits of a card number (ISO/IEC 7812-1).
const SHORTEST: usize = 12;
const LONGEST: usize = 19;
/// Smallest number of digits after a point that are a fraction.
const FRACTION: usize = 7;

/// The digits of a match, in groups.
struct DigitGroups<'t> {
    text: &'t [u8],
    digits: Vec<u8>,
    /// Place of each digit in the text.
    at: Vec<usize>,
    /// Index of each group's first digit; the last element is the number of digits.
    groups: Vec<usize>,
    /// For each element of `groups`: whether a digit precedes that place, directly or with one space or dash between.
    joined: Vec<bool>,
    /// Whether the last group has more digits in the text than in the match.
    cut: bool,
}

pub(crate) struct CardValidator;

impl MatchValidator for CardValidator {
    fn accept(&self, text: &str, found: &Range<usize>, apart: Apart<'_>) -> Result<Range<usize>, usize> {
        number(text, found, apart)
    }

    fn crosses_borders(&self) -> bool {
        true
    }

    fn finds_its_end(&self) -> bool {
        true
    }
}

/// The first card number in a match. `Err` gives the place from which the search must continue.
fn number(text: &str, found: &Range<usize>, apart: Apart<'_>) -> Result<Range<usize>, usize> {
    let run = DigitGroups::of(text, found, apart);
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

impl<'t> DigitGroups<'t> {
    fn of(text: &'t str, found: &Range<usize>, apart: impl Fn(&Range<usize>) -> bool) -> Self {
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
        let mut run = Self {
            text: bytes,
            digits: Vec::new(),
            at: Vec::new(),
            groups: Vec::new(),
            joined: Vec::new(),
            cut: digit(found.end).is_some(),
        };
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
        let cut = self.cut && end + 1 == self.groups.len();
        if cut || !(SHORTEST..=LONGEST).contains(&digits.len()) || !luhn(digits) {
            return false;
        }
        let joined = |group: usize| self.joined.get(group).copied().unwrap_or(false);
        let whole = !joined(first) && !joined(end) && (first + 1..end).all(joined);
        let of_network = |whole| networks::has_number(digits, whole);
        let counts = (whole && of_network(true)) || (self.is_regular(first, end) && of_network(false));
        let other = || self.is_fraction(first) || (first..end).any(|group| self.is_hexadecimal(group));
        counts && !other() && !self.has_moment(first, end)
    }

    /// Whether dates and times leave too few digits for a card number.
    fn has_moment(&self, first: usize, end: usize) -> bool {
        let digits = self.span(first, end).len();
        let place = self.place(first).start..self.place(end.saturating_sub(1)).end;
        let outside = moment::digits_outside(self.text, &place);
        outside < digits && outside < SHORTEST
    }

    /// The place of a group in the text.
    fn place(&self, group: usize) -> Range<usize> {
        let digits = self.span(group, group + 1);
        let at = |digit: usize| self.at.get(digit).copied().unwrap_or(0);
        at(digits.start)..at(digits.end.saturating_sub(1)) + 1
    }

    /// Whether the group is the fraction of a decimal: seven digits or more that directly follow a digit and a point.
    /// Fewer digits may be the first group of a card number after the number of an item.
    fn is_fraction(&self, group: usize) -> bool {
        let before = self.text.get(..self.place(group).start).unwrap_or_default();
        self.span(group, group + 1).len() >= FRACTION && matches!(before, [.., b'0'..=b'9', b'.'])
    }

    /// Whether the group is in a hexadecimal word or a UUID.
    fn is_hexadecimal(&self, group: usize) -> bool {
        hexadecimal::holds(self.text, &self.place(group))
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
        let digits = self.digits.get(range.clone()).filter(|d| d.len() > SHORTEST && !self.is_fraction(group))?;
        let mut lengths = (SHORTEST..=LONGEST.min(digits.len())).rev();
        let starts = |length: &usize| digits.get(..*length).is_some_and(|d| luhn(d) && networks::has_number(d, false));
        let length = lengths.find(starts).filter(|_| !self.is_hexadecimal(group))?;
        Some(range.start..range.start + length)
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
        number(text, &(start..end), &|_| false).ok().and_then(|range| text.get(range))
    }

    /// Test numbers that networks and payment services publish.
    const CARDS: &[&str] = &[
        "4111111111111111",
        "4012888888881881",
        "4222222222222",
        "4035501000000008",
        "5555555555554444",
        "5105105105105100",
        "2223003122003222",
        "2720992593319364",
        "378282246310005",
        "371449635398431",
        "30569309025904",
        "38520000023237",
        "36006666333344",
        "6011111111111117",
        "6445644564456445",
        "3530111333300000",
        "3566002020360505",
        "6200000000000005",
        "6205500000000000004",
        "6771798021000008",
        "6759649826438453",
        "5000550000000029",
        "6703444444444449",
        "5019555544445555",
        "2201382000000013",
        "5066991111111118",
        "6062828888666688",
        "6362970000457013",
        "135410014004955",
        "9792030394440796",
    ];

    #[test]
    fn whole_runs_need_check_digit_and_network() {
        for number in CARDS {
            assert_eq!(found(number), Some(*number));
            // In the usual groups, and with any other groups: it is a whole run.
            let grouped = |sizes: &[usize], mark: &str| {
                let mut rest = *number;
                let mut groups = Vec::new();
                for size in sizes.iter().copied().cycle().take(19) {
                    let (group, left) = rest.split_at(size.min(rest.len()));
                    groups.extend((!group.is_empty()).then_some(group));
                    rest = left;
                }
                groups.join(mark)
            };
            for sizes in [&[4][..], &[4, 6, 5], &[1], &[6, 13], &[3, 5, 2]] {
                for mark in [" ", "-"] {
                    let text = grouped(sizes, mark);
                    assert_eq!(found(&text), Some(text.as_str()));
                }
            }
        }
        for harmless in [
            "4111 1111 1111 1112",
            "0000 0000 0000 0000",
            "1234 5678 9012 0000 001",
            "79927398713 01 8",
            // Times in milliseconds and nanoseconds, and as digits of a date.
            "1764321158008",
            "1764321158000000001",
            "20261128093238",
            // ISBN-13, IMEI, and number of an order.
            "9783161484100",
            "490154203237518",
            "35-209900-176148-1",
            "7992739871300005",
        ] {
            assert_eq!(found(harmless), None, "{harmless}");
        }
    }

    #[test]
    fn the_fraction_of_a_decimal_is_not_a_number() {
        for decimal in [
            "0.4111111111111111",
            "-12.41111111111111112",
            "x=0.5555555555554444e3",
            "1.2.4111111111111111",
            "[0.411111111111111, 1.5]",
            "0.41111111 11111111",
        ] {
            assert_eq!(found(decimal), None, "{decimal}");
        }
        for other in ["4111.1111.1111.1111", "0.4111 1111 1111 1111", "x.4111111111111111", "4111111111111111.0"] {
            assert!(found(other).is_some(), "{other}");
        }
    }

    #[test]
    fn digits_of_a_hexadecimal_word_are_not_a_number() {
        for hex in [
            "9f8e4111111111111111ab00",
            "d41d8cd98f00b204e9800998ecf8427e4111111111111111c0ffee0000000000",
            "0x52908400098527886e0f70304111111111111111",
            "id=6759649826438453abcdef01;",
            "550e8400-e29b-41d4-a716-675964982640",
            "req-6759a964-9826-4384-a530-500055000006",
            "urn:uuid:f81d4fae-7dec-41d0-a765-500055000006",
            "AAAAAAAA-4111-1111-1111-111111111111",
        ] {
            assert_eq!(found(hex), None, "{hex}");
        }
        for other in [
            "ab4111111111111111cd",
            "card4111111111111111x",
            "zz9f8e4111111111111111ab00",
            "24111111-4111-1111-1111-111111111111 4111 1111 1111 1111",
            "550e8400-e29b-41d4-a716-446655440000 4111 1111 1111 1111",
            "550e8400-e29b-41d4-a716-446655440000a 6759649826438453",
        ] {
            assert!(found(other).is_some(), "{other}");
        }
    }

    #[test]
    fn a_date_behind_a_number_is_not_part_of_it() {
        assert_eq!(found("302097 2028-12-04"), None);
        assert_eq!(found("30209720281204"), Some("30209720281204"));
        assert_eq!(found("4111 1111 1111 1111 2028-12-04"), Some("4111 1111 1111 1111"));
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
        let again = number(text, &(0..text.len()), &|_| false).unwrap_err();
        assert!(text.get(again..).is_some_and(|rest| rest.bytes().filter(u8::is_ascii_digit).count() < LONGEST));
    }
}
