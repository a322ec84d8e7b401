//! Digits that belong to a hexadecimal word, such as a digest, or to a UUID.

use std::ops::Range;

/// A hexadecimal word has at least this many digits, as identifiers of databases and digests have.
const WORD: usize = 24;
/// Number of bytes on either side of a group that are read to decide whether it is in a hexadecimal word.
const REACH: usize = 128;
/// Lengths of the groups of a UUID (RFC 9562, section 4), and the number of all its bytes.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];
const UUID_BYTES: usize = 36;

/// Whether a group of digits is in a hexadecimal word: at least 24 hexadecimal digits, or a UUID, with a letter among
/// them and without letters or digits beside them.
pub(super) fn holds(text: &[u8], group: &Range<usize>) -> bool {
    let (before, after) = text.split_at_checked(group.start).unwrap_or_default();
    let after = after.get(group.len()..).unwrap_or_default();
    let hex = |byte: &&u8| byte.is_ascii_hexdigit();
    let left = before.iter().rev().take(REACH).take_while(hex).count();
    let right = after.iter().take(REACH).take_while(hex).count();
    let word = group.start - left..group.end + right;
    let long = word.len() >= WORD && is_word(text, &word);
    let first = group.end.saturating_sub(UUID_BYTES);
    long || (first..=group.start).any(|at| is_uuid(text, at) && is_word(text, &(at..at + UUID_BYTES)))
}

/// Whether the range has a letter, and neither a letter nor a digit beside it. `0x` may stand before it.
fn is_word(text: &[u8], word: &Range<usize>) -> bool {
    let (before, rest) = text.split_at_checked(word.start).unwrap_or_default();
    let (word, after) = rest.split_at_checked(word.len()).unwrap_or_default();
    let alone = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
    let marked = matches!(before, [b'0', b'x' | b'X'] | [.., b'0', b'x' | b'X']);
    word.iter().any(u8::is_ascii_alphabetic) && (marked || alone(before.last())) && alone(after.first())
}

/// Whether the bytes from `at` on have the form of a UUID.
fn is_uuid(text: &[u8], at: usize) -> bool {
    let Some(bytes) = text.get(at..at + UUID_BYTES) else { return false };
    let mut groups = bytes.split(|byte| *byte == b'-');
    let alike = |size: &usize| groups.next().is_some_and(|g| g.len() == *size && g.iter().all(u8::is_ascii_hexdigit));
    UUID.iter().all(alike)
}
