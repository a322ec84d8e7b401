//! A table of words: text with one line per word, and an index of the lines.

use std::fmt;

/// First byte of lines that are comments.
const COMMENT: u8 = b'#';

/// A text with a line `WORD REST` for each word. The first line is a comment.
pub(super) struct LexiconTable {
    text: &'static str,
    /// Hash table with linear probing: the offset in `text` of each word's line, 0 for a free place. Its length is a
    /// power of two and at least twice the number of words.
    places: Box<[u32]>,
}

impl LexiconTable {
    /// Indexes a text of less than 4 GiB.
    pub(super) fn new(text: &'static str) -> Self {
        let words = text.lines().filter(|line| is_word(line.as_bytes())).count();
        let mut places = vec![0; (2 * words).next_power_of_two()].into_boxed_slice();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let word = line.split(' ').next().unwrap_or_default();
            if let Some(place) = u32::try_from(start).ok().filter(|_| is_word(line.as_bytes())) {
                let free = probes(places.len(), word, "").find(|at| places.get(*at) == Some(&0));
                free.and_then(|at| places.get_mut(at)).into_iter().for_each(|free| *free = place);
            }
            start += line.len();
        }
        Self { text, places }
    }

    /// The line of the word `stem` + `ending`: the word, and the rest of the line.
    pub(super) fn line(&self, stem: &str, ending: &str) -> Option<(&'static str, &'static str)> {
        for at in probes(self.places.len(), stem, ending) {
            let start = self.places.get(at).filter(|start| **start != 0)?;
            let from = self.text.get(usize::try_from(*start).ok()?..)?;
            let rest = from.strip_prefix(stem).and_then(|rest| rest.strip_prefix(ending));
            if let Some(rest) = rest.and_then(|rest| rest.strip_prefix(' ')) {
                let word = from.get(..stem.len() + ending.len())?;
                return (!word.contains([' ', '\n'])).then(|| (word, rest.split('\n').next().unwrap_or_default()));
            }
        }
        None
    }

    #[cfg(test)]
    pub(super) const fn text(&self) -> &'static str {
        self.text
    }
}

impl fmt::Debug for LexiconTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("bytes", &self.text.len()).finish_non_exhaustive()
    }
}

fn is_word(line: &[u8]) -> bool {
    line.first().is_some_and(|first| *first != COMMENT)
}

/// The places of a word in an index of `length` places, in the order of the search (hash FNV-1a, 64 bits).
fn probes(length: usize, stem: &str, ending: &str) -> impl Iterator<Item = usize> + use<> {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = stem.bytes().chain(ending.bytes()).fold(0xcbf2_9ce4_8422_2325, step);
    // The high bits depend on all bytes.
    let first = (hash >> 32) as usize;
    (0..length).map(move |n| first.wrapping_add(n) & (length - 1))
}
