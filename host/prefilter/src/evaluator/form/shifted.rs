//! Text with exchanged letters: its tokens look like words, but contain letter pairs that do not occur in any language.
//!
//! Nothing is decoded: only neighbouring letters are counted.

use super::{FormToken, token::trim};
use crate::rules::{FormMeasure, Measurements};

/// For each first letter, a mask of the letters that usually follow it, with `a` in the lowest bit. A pair counts as
/// usual if it makes up at least 1 in 2,000 pairs of a language in Latin script. The pairs were counted in words of
/// ASCII letters in the messages of free programs. The filter covers each of these languages or a related one (Czech,
/// Danish, Dutch, English, Filipino, Finnish, French, German, Indonesian, Italian, Norwegian, Polish, Portuguese,
/// Romanian, Spanish, Swedish, Tagalog, Turkish, Vietnamese).
const PAIRS: [u32; 26] = [
    0x37f_ffff, 0x11e_4b13, 0x31a_4f9d, 0x33e_ed5d, 0x3ff_ffff, 0x01e_4b31, 0x11e_ffdb, 0x13a_6f19, 0x3ff_ffff,
    0x23c_6d19, 0x11e_6f9d, 0x33c_fddb, 0x216_fdd3, 0x37f_7fff, 0x3fe_ffff, 0x31e_e9bd, 0x010_0000, 0x37f_ffff,
    0x37f_fff5, 0x37e_7dff, 0x3fe_ffff, 0x316_6d19, 0x116_6199, 0x118_c111, 0x15e_ffff, 0x35c_7d1f,
];
/// Length of the shortest word that is checked.
const WORD_MIN: usize = 3;
/// Length of the longest word. A longer token does not count as a word.
const WORD_MAX: usize = 24;
/// Largest number of odd pairs that are counted in one word.
const ODD_MAX: usize = 3;
/// Weight of an odd pair; a word without odd pairs subtracts one from the sum.
const ODD: usize = 2;

#[derive(Default)]
pub(super) struct Shifted {
    count: usize,
    from: usize,
}

impl Shifted {
    pub(super) fn take(&mut self, token: &FormToken<'_>, measured: &mut Measurements) {
        let word = trim(token.bytes);
        let word = word.strip_suffix(b".").or_else(|| word.strip_suffix(b"!")).unwrap_or(word);
        let odd = if is_word(word) {
            word.windows(2).filter(|pair| !is_usual(pair)).count().min(ODD_MAX)
        } else if is_half_shifted(word) {
            ODD_MAX - 1
        } else {
            return;
        };
        if odd == 0 {
            self.count = self.count.saturating_sub(1);
            return;
        }
        if self.count == 0 {
            self.from = token.start;
        }
        self.count += ODD * odd;
        measured.note(FormMeasure::OddPairs, self.count, self.from, token.end());
    }
}

/// Whether a token is a word: letters in lower case, except perhaps the first letter.
fn is_word(word: &[u8]) -> bool {
    (WORD_MIN..=WORD_MAX).contains(&word.len())
        && word.first().is_some_and(u8::is_ascii_alphabetic)
        && word.iter().skip(1).all(u8::is_ascii_lowercase)
}

fn is_usual(pair: &[u8]) -> bool {
    let [first, second] = pair else { return true };
    let place = |letter: &u8| letter.to_ascii_lowercase().wrapping_sub(b'a');
    PAIRS.get(usize::from(place(first))).is_none_or(|row| row >> (place(second) & 31) & 1 != 0)
}

/// Whether a token could be a lower-case word whose letters were shifted by half of the printable ASCII characters: all
/// its characters are from `2` to `K`, and it has both punctuation and letters.
fn is_half_shifted(word: &[u8]) -> bool {
    (WORD_MIN..=WORD_MAX).contains(&word.len())
        && word.iter().all(|b| matches!(b, b'2'..=b'K'))
        && word.iter().any(|b| matches!(b, b':'..=b'@'))
        && word.iter().any(|b| matches!(b, b'A'..=b'K'))
}
