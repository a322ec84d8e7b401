//! Numbers of list items: `2.`, `(b)`, `iv)`, `Step 4:`, `Second,`. No cut separates a number from its item, so that
//! both are released or refused together.

use crate::language::{Language, kind};
use crate::words::{lower, words};
use std::ops::Range;

/// Greatest length in bytes of a number with the marks around it.
pub(crate) const REACH: usize = 64;
/// Largest number of digits of an item number; a year has more.
const DIGITS: usize = 3;

/// The item number at the start of a text: the range from its first mark to the start of the item's text. `None` if a
/// blank line follows the number.
pub(crate) fn number(text: &str, language: &Language) -> Option<Range<usize>> {
    let near = (0..=REACH.min(text.len())).rev().find_map(|end| text.get(..end))?;
    let body = near
        .trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '#' | '>' | '-' | '+' | '\u{2022}'));
    let start = near.len() - body.len();
    let hashed = near.get(..start).is_some_and(|lead| lead.ends_with('#'));
    let behind = written(body, hashed, language)?;
    let gap = behind.find(char::is_alphanumeric)?;
    let breaks = behind.get(..gap)?.matches('\n').count();
    (breaks < 2).then(|| start..near.len() - behind.len() + gap)
}

/// The item's text, which follows the number at the start of a text.
fn written<'t>(text: &'t str, hashed: bool, language: &Language) -> Option<&'t str> {
    let first = text.chars().next()?;
    // Circled numbers and keycap digits.
    if matches!(first, '\u{2460}'..='\u{2473}') {
        return text.get(first.len_utf8()..);
    }
    if first.is_ascii_digit()
        && let Some(rest) = text.get(1..).map(|rest| rest.trim_start_matches('\u{fe0f}'))
        && let Some(rest) = rest.strip_prefix('\u{20e3}')
    {
        return Some(rest);
    }
    let open = text.strip_prefix(['(', '[']);
    let body = open.unwrap_or(text);
    let word = words(body).next().filter(|word| word.start == 0)?;
    let shown = body.get(word.clone())?;
    let rest = body.get(word.end..)?;
    let kinds = language.kinds(&lower(shown));
    if kinds & kind::ORDINAL != 0 {
        return rest.strip_prefix(',');
    }
    if shown.bytes().all(|b| b.is_ascii_digit()) {
        return (shown.len() <= DIGITS).then(|| digits(rest, hashed)).flatten();
    }
    let letter = shown.len() == 1 && shown.bytes().all(|b| b.is_ascii_alphabetic());
    let roman = shown.len() <= 5 && shown.bytes().all(|b| matches!(b, b'i' | b'v' | b'x'));
    if letter || roman {
        return closed(rest).filter(|rest| !rest.starts_with(char::is_alphanumeric));
    }
    // Labelled numbers: "Step 4:", "Question 2:".
    let labelled = rest.strip_prefix(' ')?;
    let count = labelled.bytes().take_while(u8::is_ascii_digit).count();
    let behind = labelled.get(count..)?;
    let marked = if kinds & kind::STEP != 0 { closed(behind) } else { behind.strip_prefix(':') };
    marked.filter(|_| (1..=DIGITS).contains(&count) && shown.chars().all(char::is_alphabetic))
}

/// The text after a number in digits and its closing mark.
fn digits(rest: &str, hashed: bool) -> Option<&str> {
    let spaced = |rest: &&str| rest.starts_with(' ');
    if hashed && spaced(&rest) {
        return Some(rest);
    }
    // "1.2 Dates" is the number of a nested item, not a decimal.
    let mut inner = rest;
    while let Some(next) = inner.strip_prefix('.').filter(|next| next.starts_with(|c: char| c.is_ascii_digit())) {
        inner = next.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    if inner.len() < rest.len() {
        let capital = |rest: &&str| rest.trim_start().starts_with(char::is_uppercase);
        return closed(inner).or(Some(inner).filter(spaced).filter(capital));
    }
    // `10:17` is a time.
    let timed = rest.strip_prefix(':').is_some_and(|inner| inner.starts_with(|c: char| c.is_ascii_digit()));
    closed(rest).filter(|_| !timed)
}

/// The text after the mark that closes a number, without emphasis around the mark.
fn closed(rest: &str) -> Option<&str> {
    let rest = rest.trim_start_matches(['*', '_', '\\']);
    rest.strip_prefix(['.', ')', ']', ':']).map(|rest| rest.trim_start_matches(['*', '_']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_items_and_what_is_none() {
        let of = |text: &str| number(text, Language::of("en").unwrap()).map(|range| text[range].to_owned());
        for (text, expected) in [
            ("2. Dry.", "2. "),
            ("  12) Dry.", "12) "),
            ("**2.** Dry.", "2.** "),
            ("2.\nDry.", "2.\n"),
            ("2.  **Dry.**", "2.  **"),
            ("2\\. Dry.", "2\\. "),
            ("#2 Dry.", "2 "),
            ("(b) dry;", "(b) "),
            ("iv. Dry.", "iv. "),
            ("1.2 Dry.", "1.2 "),
            ("2.Dry.", "2."),
            ("Step 4: dry.", "Step 4: "),
            ("Question 2: dry?", "Question 2: "),
            ("Second, dry it.", "Second, "),
            ("\u{2461} Dry.", "\u{2461} "),
            ("2\u{fe0f}\u{20e3} Dry.", "2\u{fe0f}\u{20e3} "),
        ] {
            assert_eq!(of(text).as_deref(), Some(expected), "{text:?}");
        }
        for text in [
            "2 birds.",
            "2019. Dry.",
            "2.5 mg is it.",
            "2.\n\nDry.",
            "10:17 came.",
            "A dog.",
            "e.g. a dog.",
            "Second it is.",
            "",
            "2.",
        ] {
            assert_eq!(of(text), None, "{text:?}");
        }
    }
}
