//! Telephone numbers.

use super::{Apart, MatchValidator, digits, hexadecimal, moment, whole};
use std::ops::Range;

pub(crate) struct PhoneValidator;

impl MatchValidator for PhoneValidator {
    fn accept(&self, text: &str, found: &Range<usize>, _: Apart<'_>) -> Result<Range<usize>, usize> {
        let matched = text.get(found.clone()).unwrap_or_default();
        let number = || phone(matched) && (stands_out(matched) || is_whole_run(text, found));
        let other = || is_moment(text, found) || is_hexadecimal(text, found);
        whole(found, number() && !other())
    }
}

/// Smallest number of digits of a telephone number.
const SHORTEST: usize = 7;

/// 7 to 15 digits (ITU-T E.164 section 6), but not one repeated digit, years, a round number, or numbers that count up.
fn phone(text: &str) -> bool {
    let body = text.split(['x', 'X']).next().unwrap_or(text);
    let groups: Vec<&str> = body.split(|c: char| !c.is_ascii_digit()).filter(|g| !g.is_empty()).collect();
    let count = digits(body).count();
    let year = |group: &&str| group.len() == 4 && group.starts_with(['1', '2']);
    let round = groups.len() > 1 && groups.iter().skip(1).all(|g| g.len() == 3) && groups.last() == Some(&"000");
    // A number with the trunk prefix 0 has at least nine digits, and a number with an international prefix at least
    // eleven.
    let shortest = match body.trim_start_matches('(') {
        b if b.starts_with("00") => 11,
        b if b.starts_with('0') => 9,
        _ => SHORTEST,
    };
    let counts = (shortest..=15).contains(&count) && !repeated(body) && !groups.iter().all(year);
    counts && !round && !counts_up(&groups)
}

/// Whether there are at least four groups, each one more than the group before: `01 02 03 04 05`.
fn counts_up(groups: &[&str]) -> bool {
    let numbers: Vec<u64> = groups.iter().filter_map(|group| group.parse().ok()).collect();
    let mut pairs = numbers.iter().zip(numbers.iter().skip(1));
    numbers.len() > 3 && pairs.all(|(number, next)| number + 1 == *next)
}

/// Whether the digits of a match are those of dates and times, but for too few that belong to neither.
fn is_moment(text: &str, found: &Range<usize>) -> bool {
    let all = text.get(found.clone()).map_or(0, |matched| digits(matched).count());
    let outside = moment::digits_outside(text.as_bytes(), found);
    outside < all && outside < SHORTEST
}

/// Whether the match begins or ends within a hexadecimal word or a UUID.
fn is_hexadecimal(text: &str, found: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let within = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit) && hexadecimal::holds(bytes, &(at..at + 1));
    within(found.start) || found.end.checked_sub(1).is_some_and(within)
}

/// Whether a number has the form of a telephone number: a country code, an area code in brackets, or the North American
/// form.
fn stands_out(text: &str) -> bool {
    let body = text.split(['x', 'X']).next().unwrap_or(text);
    let sizes: Vec<usize> = body.split(|c: char| !c.is_ascii_digit()).map(str::len).filter(|size| *size > 0).collect();
    body.starts_with(['+', '(']) || matches!(sizes.as_slice(), [3, 3, 4] | [1 | 3, 3, 3, 4] | [6, 4])
}

/// Whether no other digit is next to a match, with at most one mark between them.
fn is_whole_run(text: &str, found: &Range<usize>) -> bool {
    let byte = |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at)).copied();
    let digit = |at: Option<usize>| byte(at).is_some_and(|b| b.is_ascii_digit());
    let mark = |at: Option<usize>| byte(at).is_some_and(|b| matches!(b, b' ' | b'-' | b'.' | b'/'));
    let (before, end) = (found.start.checked_sub(1), found.end);
    let joined_before = digit(before) || mark(before) && digit(found.start.checked_sub(2));
    let joined_behind = digit(Some(end)) || mark(Some(end)) && digit(Some(end + 1));
    !joined_before && !joined_behind
}

fn repeated(text: &str) -> bool {
    let mut all = digits(text);
    let first = all.next();
    all.all(|d| Some(d) == first)
}
