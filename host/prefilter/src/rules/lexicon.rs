//! Finds cues: the places where literals of the families occur.
//!
//! The automaton starts at each place where a literal may begin, and stops at the first byte that does not continue a
//! literal. So the work per place is bounded by the longest literal. Input bytes are compared unchanged. Before each
//! start, two bitmaps show whether a literal, in any spelling, can begin with the bytes there; this excludes most
//! words. So a compact automaton is fast enough; an automaton with a full row of transitions for each state would take
//! 150 MB.

use super::file::{Cue, Families};
use super::words::{begins, ends_word};
use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};
use std::collections::BTreeMap;

/// Greatest length of a literal in bytes; it bounds the work per place.
const LITERAL_MAX: usize = 64;
/// Largest number of spaces in a literal that also match a line end.
const BLANKS_MAX: usize = 4;
/// Number of first bytes of a literal for which the states have a full row of transitions.
const DENSE: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FamilyHit {
    pub(super) family: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Debug)]
struct Literal {
    families: Vec<usize>,
    length: usize,
    /// Whether the literal must end at the end of a word.
    whole: bool,
    exact: Option<Vec<u8>>,
}

#[derive(Debug)]
pub(super) struct FamilyLexicon {
    automaton: Option<NFA>,
    literals: Vec<Literal>,
    beginnings: Beginnings,
}

impl FamilyLexicon {
    pub(super) fn new(cues: &[Cue], families: &Families) -> Result<Self, String> {
        let mut by_bytes: BTreeMap<(Vec<u8>, bool, bool), Vec<usize>> = BTreeMap::new();
        for cue in cues {
            let Some(family) = families.get(&cue.name) else { continue };
            for written in &cue.any {
                let (text, stem) = written.strip_suffix('*').map_or((written.as_str(), false), |t| (t, true));
                if text.len() < 2 || text.len() > LITERAL_MAX {
                    return Err(format!("`{written}` in `{}` is not of 2 to {LITERAL_MAX} bytes", cue.name));
                }
                if text.starts_with(|c: char| c.is_ascii_whitespace()) {
                    return Err(format!("`{written}` in `{}` begins with a blank", cue.name));
                }
                let whole = !stem && text.bytes().next_back().is_some_and(|b| b.is_ascii_alphanumeric());
                for alternative in alternatives(text) {
                    let of = by_bytes.entry((alternative, whole, cue.exact)).or_default();
                    if !of.contains(family) {
                        of.push(*family);
                    }
                }
            }
        }
        let mut beginnings = Beginnings::default();
        by_bytes.keys().for_each(|(bytes, ..)| beginnings.add(bytes));
        let automaton = (!by_bytes.is_empty()).then(|| {
            let mut builder = NFA::builder();
            builder.match_kind(MatchKind::Standard).prefilter(false).dense_depth(DENSE);
            builder.ascii_case_insensitive(true).build(by_bytes.keys().map(|(bytes, ..)| bytes))
        });
        let automaton = automaton.transpose().map_err(|e| e.to_string())?;
        let literal = |((bytes, whole, exact), families): ((Vec<u8>, bool, bool), Vec<usize>)| Literal {
            families,
            length: bytes.len(),
            whole,
            exact: exact.then_some(bytes),
        };
        Ok(Self { automaton, literals: by_bytes.into_iter().map(literal).collect(), beginnings })
    }

    /// Reports every hit, in order of start and end. Returns the number of steps, and whether `steps_max` was enough.
    pub(super) fn scan(&self, bytes: &[u8], steps_max: u64, mut hit: impl FnMut(FamilyHit, &mut u64)) -> (u64, bool) {
        let mut steps = 0;
        let Some(automaton) = &self.automaton else { return (steps, true) };
        let Ok(root) = automaton.start_state(Anchored::Yes) else { return (steps, true) };
        for start in begins(bytes) {
            if self.beginnings.may_begin(bytes, start) {
                self.walk(automaton, root, bytes, start, &mut steps, &mut hit);
                if steps > steps_max {
                    return (steps, false);
                }
            }
        }
        (steps, true)
    }

    fn walk(
        &self,
        automaton: &NFA,
        root: StateID,
        bytes: &[u8],
        start: usize,
        steps: &mut u64,
        hit: &mut impl FnMut(FamilyHit, &mut u64),
    ) {
        let mut state = root;
        for (length, byte) in (1..).zip(bytes.get(start..).unwrap_or_default()) {
            state = automaton.next_state(Anchored::Yes, state, *byte);
            *steps += 1;
            if !automaton.is_special(state) {
                continue;
            }
            if automaton.is_dead(state) {
                return;
            }
            if !automaton.is_match(state) {
                continue;
            }
            let end = start + length;
            for nth in 0..automaton.match_len(state) {
                let Some(literal) = self.literals.get(automaton.match_pattern(state, nth).as_usize()) else { continue };
                let exact = literal.exact.as_deref().is_none_or(|e| bytes.get(start..end) == Some(e));
                // A state also reports literals that end here but began after `at`.
                if literal.length == length && exact && (!literal.whole || ends_word(bytes, end)) {
                    for family in &literal.families {
                        *steps += 1;
                        hit(FamilyHit { family: *family, start, end }, steps);
                    }
                }
            }
        }
    }
}

const PLACES: usize = 1 << 15;
const LOOK: usize = 3;

/// Bitmaps over the first three bytes of literals and over the next three bytes, in both cases of ASCII letters. No
/// literal begins with bytes that are not in the bitmaps.
#[derive(Debug)]
struct Beginnings {
    first: Vec<u64>,
    second: Vec<u64>,
    /// The first three bytes of literals that are too short for the second bitmap.
    short: Vec<u64>,
}

impl Default for Beginnings {
    fn default() -> Self {
        let none = || vec![0; PLACES / 64];
        Self { first: none(), second: none(), short: none() }
    }
}

impl Beginnings {
    fn add(&mut self, literal: &[u8]) {
        let short = literal.len() < 2 * LOOK;
        set(if short { &mut self.short } else { &mut self.first }, literal);
        if let Some(more) = literal.get(LOOK..).filter(|_| !short) {
            set(&mut self.second, more);
        }
    }

    #[inline]
    fn may_begin(&self, bytes: &[u8], start: usize) -> bool {
        let rest = bytes.get(start..).unwrap_or_default();
        let [a, b, c, d, e, f] = rest.first_chunk::<6>().copied().unwrap_or_else(|| {
            // The padding bytes do not occur in any literal.
            let mut padded = [0; 6];
            padded.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            padded
        });
        let first = place([a, b, c]);
        is_set(&self.short, first) || (is_set(&self.first, first) && is_set(&self.second, place([d, e, f])))
    }
}

/// The place of three bytes in a bitmap; other triples may have the same place.
#[inline]
fn place(bytes: [u8; LOOK]) -> usize {
    let [a, b, c] = bytes.map(u32::from);
    ((a | b << 8 | c << 16).wrapping_mul(0x9e37_79b1) >> 17) as usize
}

#[inline]
fn is_set(map: &[u64], place: usize) -> bool {
    map.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 != 0)
}

/// Marks the first three bytes of a literal in both cases. After a literal of two bytes, every third byte is possible.
fn set(map: &mut [u64], literal: &[u8]) {
    let cases = |at: usize| match literal.get(at) {
        Some(b) => vec![b.to_ascii_lowercase(), b.to_ascii_uppercase()],
        None => (0..=255).collect(),
    };
    for a in cases(0) {
        for b in cases(1) {
            for c in cases(2) {
                let place = place([a, b, c]);
                if let Some(word) = map.get_mut(place / 64) {
                    *word |= 1 << (place % 64);
                }
            }
        }
    }
}

/// Every spelling of a literal.
fn alternatives(text: &str) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut blanks = 0;
    for byte in text.bytes() {
        let spellings: &[&[u8]] = match byte {
            b' ' if blanks < BLANKS_MAX => {
                blanks += 1;
                &[b" ", b"\n"]
            }
            b'\'' => &[b"'", "\u{2019}".as_bytes()],
            _ => &[&[byte]],
        };
        all = all.iter().flat_map(|a| spellings.iter().map(move |s| [a.as_slice(), s].concat())).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WORDS: [&str; 9] = ["no", "never*", "don't", "the user's", "'s city", "[user", "é*", "前の", "q:"];

    fn lexicon() -> FamilyLexicon {
        let cue = |(n, word): (usize, &&str)| Cue { name: n.to_string(), any: vec![(*word).to_owned()], exact: false };
        let families = (0..WORDS.len()).map(|n| (n.to_string(), n)).collect();
        FamilyLexicon::new(&WORDS.iter().enumerate().map(cue).collect::<Vec<_>>(), &families).unwrap()
    }

    /// Compares every literal at every place.
    fn plain(bytes: &[u8]) -> Vec<FamilyHit> {
        let starts: Vec<usize> = begins(bytes).collect();
        let mut hits = Vec::new();
        for start in starts {
            for (family, word) in WORDS.iter().enumerate() {
                let (text, stem) = word.strip_suffix('*').map_or((*word, false), |t| (t, true));
                for spelling in alternatives(text) {
                    let end = start + spelling.len();
                    let is = bytes.get(start..end).is_some_and(|b| b.eq_ignore_ascii_case(&spelling));
                    let whole = stem || !text.ends_with(|c: char| c.is_ascii_alphanumeric()) || ends_word(bytes, end);
                    if is && whole {
                        hits.push(FamilyHit { family, start, end });
                    }
                }
            }
        }
        hits.sort_by_key(|h| (h.start, h.end, h.family));
        hits
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn hits_are_those_of_a_plain_search(pieces in prop::collection::vec(0usize..14, 0..30)) {
            let piece = |n: usize| WORDS.get(n).map_or_else(|| [" ", "\n", "x", "\u{2019}", "NO"][n - 9], |w| w.trim_end_matches('*'));
            let text: String = pieces.into_iter().map(piece).collect();
            let mut hits = Vec::new();
            lexicon().scan(text.as_bytes(), u64::MAX, |hit, _| hits.push(hit));
            hits.sort_by_key(|h| (h.start, h.end, h.family));
            prop_assert_eq!(hits, plain(text.as_bytes()), "{}", text);
        }
    }
}
