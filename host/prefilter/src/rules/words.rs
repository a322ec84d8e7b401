//! The places where a literal may begin: the start of a word, and every sign and non-ASCII character.

use crate::blocks::{BLOCK, Bits, blocks, mask};

/// Whether a byte belongs to a word; `in_word` is whether the previous byte does. A continuation byte (UTF-8) belongs
/// to the word if its character does. Leading bytes of alphabets that put spaces between words belong to a word;
/// leading bytes of punctuation, symbols and East Asian scripts do not.
const fn continues_word(byte: u8, in_word: bool) -> bool {
    if is_continuation(byte) { in_word } else { byte.is_ascii_alphanumeric() || is_letter_lead(byte) }
}

const fn is_continuation(byte: u8) -> bool {
    matches!(byte, 0x80..=0xbf)
}

const fn is_letter_lead(byte: u8) -> bool {
    matches!(byte, 0xc3..=0xe1)
}

/// Whether a word that ends at `end` is complete.
pub(super) fn ends_word(bytes: &[u8], end: usize) -> bool {
    bytes.get(end).is_none_or(|next| !continues_word(*next, false))
}

/// Every place where a literal may begin, in order.
pub(super) fn begins(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let mut in_word = false;
    blocks(bytes).flat_map(move |(at, block)| {
        let bits = begins_of(&block, &mut in_word);
        Bits(bits).map(move |bit| at + bit)
    })
}

#[inline]
fn begins_of(block: &[u8; BLOCK], in_word: &mut bool) -> u64 {
    let alphanumeric = mask(block, |b| b.is_ascii_alphanumeric());
    let blank = mask(block, |b| matches!(b, b' ' | b'\n' | b'\r' | b'\t'));
    let (mut word, mut continuation) = (alphanumeric, 0);
    if mask(block, |b| b >= 0x80) != 0 {
        word |= mask(block, is_letter_lead);
        continuation = mask(block, is_continuation);
        // In a run of continuation bytes after a letter, the carry of the sum clears all bits of the run.
        let after_letter = (word << 1 | u64::from(*in_word)) & continuation;
        word |= continuation & !continuation.wrapping_add(after_letter);
    }
    let before = word << 1 | u64::from(*in_word);
    *in_word = word >> (BLOCK - 1) != 0;
    (alphanumeric & !before) | !(alphanumeric | blank | continuation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The results of `begins`, computed byte by byte.
    fn plain(bytes: &[u8]) -> Vec<usize> {
        let mut in_word = false;
        let mut all = Vec::new();
        for (at, byte) in bytes.iter().enumerate() {
            let begins = match byte {
                b' ' | b'\n' | b'\r' | b'\t' | 0x80..=0xbf => false,
                b if b.is_ascii_alphanumeric() => !in_word,
                _ => true,
            };
            if begins {
                all.push(at);
            }
            in_word = continues_word(*byte, in_word);
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn begins_are_those_of_a_plain_walk(bytes in prop::collection::vec(any::<u8>(), 0..300), text in "[a-c é日т ]{0,120}") {
            prop_assert_eq!(begins(&bytes).collect::<Vec<_>>(), plain(&bytes));
            prop_assert_eq!(begins(text.as_bytes()).collect::<Vec<_>>(), plain(text.as_bytes()));
        }
    }
}
