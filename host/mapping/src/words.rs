//! Words: maximal runs of letters and digits, with an apostrophe or hyphen inside.
//!
//! ASCII bytes are classified by a table, other characters by `char::is_alphanumeric`, so the common case costs one
//! look-up per byte.

use std::ops::Range;

/// For each byte value, whether the byte belongs to an ASCII word.
#[expect(clippy::indexing_slicing, reason = "worked out by the compiler, which stops at an index out of range")]
const WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};

/// Whether a byte is part of an ASCII word.
pub(crate) fn is_word_byte(byte: u8) -> bool {
    WORD.get(usize::from(byte)).copied().unwrap_or(false)
}

/// Byte ranges of the words of `text`, in order.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = loop {
            at = find(bytes, at, |byte| is_word_byte(byte) || !byte.is_ascii())?;
            if starts_word(text, at) {
                break at;
            }
            at += bytes.get(at).copied().map_or(1, width);
        };
        loop {
            at = find(bytes, at, |byte| !is_word_byte(byte)).unwrap_or(bytes.len());
            match bytes.get(at) {
                Some(b'\'' | b'-') if starts_word(text, at + 1) => at += 1,
                Some(byte) if !byte.is_ascii() && starts_word(text, at) => at += width(*byte),
                _ => return Some(start..at),
            }
        }
    })
}

/// The first index at or after `at` whose byte satisfies `is_one`; `None` if there is none.
pub(crate) fn find(bytes: &[u8], at: usize, is_one: impl Fn(u8) -> bool) -> Option<usize> {
    Some(at + bytes.get(at..)?.iter().position(|byte| is_one(*byte))?)
}

/// Length of the character that begins with `lead` (RFC 3629).
const fn width(lead: u8) -> usize {
    match lead {
        0..=0xbf => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    }
}

fn starts_word(text: &str, at: usize) -> bool {
    match text.as_bytes().get(at) {
        Some(b) if b.is_ascii() => is_word_byte(*b),
        _ => text.get(at..).and_then(|t| t.chars().next()).is_some_and(char::is_alphanumeric),
    }
}

/// Whether `at` is a word boundary, that is, not between two letters or digits.
pub(crate) fn is_boundary(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|t| t.chars().next_back());
    let after = text.get(at..).and_then(|t| t.chars().next());
    !(before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric))
}

/// A word in lower case; borrowed if it has no upper-case letter.
pub(crate) fn lower(word: &str) -> std::borrow::Cow<'_, str> {
    if word.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) { word.into() } else { word.to_lowercase().into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_mixed_text() {
        let text = "It's a well-known façade—naïve? ok' -x";
        let got: Vec<_> = words(text).map(|r| &text[r]).collect();
        assert_eq!(got, ["It's", "a", "well-known", "façade", "naïve", "ok", "x"]);
        assert!(is_boundary("ab c", 2) && !is_boundary("ab", 1) && is_boundary("é", 0) && !is_boundary("éa", 2));
    }
}
