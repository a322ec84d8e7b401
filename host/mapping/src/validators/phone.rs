//! Telephone numbers.

use super::{Apart, MatchValidator, digits, whole};
use std::ops::Range;

pub(crate) struct PhoneValidator;

impl MatchValidator for PhoneValidator {
    fn accept(&self, text: &str, found: &Range<usize>, _: Apart<'_>) -> Result<Range<usize>, usize> {
        let matched = text.get(found.clone()).unwrap_or_default();
        whole(found, phone(matched) && (stands_out(matched) || is_whole_run(text, found)))
    }
}

/// 7 to 15 digits (ITU-T E.164 section 6), but not one repeated digit, a calendar date, years, or a round number.
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
        _ => 7,
    };
    (shortest..=15).contains(&count) && !repeated(body) && !date(body) && !groups.iter().all(year) && !round
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

/// Whether the text is a date: a four-digit year, first or last, and two numbers up to 31, separated by `-`, `/` or
/// `.`.
fn date(text: &str) -> bool {
    let parts: Vec<&str> = text.trim().split(['-', '/', '.']).collect();
    let [a, b, c] = parts.as_slice() else { return false };
    let number = |s: &str| s.parse::<u32>().ok();
    let (Some(x), Some(y), Some(z)) = (number(a), number(b), number(c)) else { return false };
    let day = |n: u32| (1..=31).contains(&n);
    let year = |s: &str, n: u32| s.len() == 4 && (1000..=2999).contains(&n);
    (year(a, x) && day(y) && day(z)) || (year(c, z) && day(x) && day(y))
}

fn repeated(text: &str) -> bool {
    let mut all = digits(text);
    let first = all.next();
    all.all(|d| Some(d) == first)
}
