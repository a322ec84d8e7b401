//! Finds cues: where the literals of the families stand.
//!
//! The automaton is walked from each place where a literal may begin and dies at the first byte that continues none, so that the work
//! is at most the longest literal for each place. Input bytes are compared as they are.

use super::file::{Cue, Families};
use aho_corasick::automaton::Automaton;
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, MatchKind, StartKind};
use std::collections::BTreeMap;

/// Longest literal in bytes: bounds the work for each place.
const LITERAL_MAX: usize = 64;
/// Blanks of a literal for which both alternatives are made.
const BLANKS_MAX: usize = 4;

/// A family's literal in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) family: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Debug)]
struct Literal {
    families: Vec<usize>,
    length: usize,
    /// Its end is the end of a word.
    whole: bool,
    /// The bytes, where their case counts.
    exact: Option<Vec<u8>>,
}

#[derive(Debug)]
pub(super) struct Lexicon {
    automaton: Option<DFA>,
    /// By number of the automaton's pattern.
    literals: Vec<Literal>,
    /// What each byte may begin.
    begins: [Begins; 256],
    /// Pairs of bytes that begin a literal, a bit each.
    pairs: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    Nothing,
    /// A literal, at the start of a word.
    Word,
    /// A literal, anywhere: signs, and characters of scripts that set no blanks.
    Anywhere,
}

impl Lexicon {
    pub(super) fn new(cues: &[Cue], families: &Families) -> Result<Self, String> {
        let mut by_bytes: BTreeMap<(Vec<u8>, bool, bool), Vec<usize>> = BTreeMap::new();
        for cue in cues {
            let Some(family) = families.get(&cue.name) else { continue };
            for written in &cue.any {
                let (text, stem) = written.strip_suffix('*').map_or((written.as_str(), false), |t| (t, true));
                if text.len() < 2 || text.len() > LITERAL_MAX {
                    return Err(format!("`{written}` in `{}` is not of 2 to {LITERAL_MAX} bytes", cue.name));
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
        let mut begins = [Begins::Nothing; 256];
        let mut pairs = vec![0u64; 1024];
        for (bytes, ..) in by_bytes.keys() {
            let (Some(first), Some(second)) = (bytes.first(), bytes.get(1)) else { continue };
            let cases = |b: &u8| [b.to_ascii_lowercase(), b.to_ascii_uppercase()];
            for (first, second) in cases(first).into_iter().flat_map(|f| cases(second).map(|s| (f, s))) {
                if let Some(begins) = begins.get_mut(usize::from(first)) {
                    *begins = if first.is_ascii_alphanumeric() { Begins::Word } else { Begins::Anywhere };
                }
                let (word, bit) = pair(first, second);
                if let Some(word) = pairs.get_mut(word) {
                    *word |= bit;
                }
            }
        }
        let automaton = (!by_bytes.is_empty()).then(|| {
            let mut builder = DFA::builder();
            builder.match_kind(MatchKind::Standard).start_kind(StartKind::Anchored).prefilter(false);
            builder.ascii_case_insensitive(true).build(by_bytes.keys().map(|(bytes, ..)| bytes))
        });
        let automaton = automaton.transpose().map_err(|e| e.to_string())?;
        let literal = |((bytes, whole, exact), families): ((Vec<u8>, bool, bool), Vec<usize>)| Literal {
            families,
            length: bytes.len(),
            whole,
            exact: exact.then_some(bytes),
        };
        Ok(Self { automaton, literals: by_bytes.into_iter().map(literal).collect(), begins, pairs })
    }

    /// Tells every hit, in order of its start, then its end. Gives the steps taken, and whether they sufficed.
    pub(super) fn scan(&self, bytes: &[u8], steps_max: u64, mut hit: impl FnMut(Hit, &mut u64)) -> (u64, bool) {
        let mut steps = 0;
        let Some(automaton) = &self.automaton else { return (steps, true) };
        let Ok(root) = automaton.start_state(Anchored::Yes) else { return (steps, true) };
        let mut in_word = false;
        for (start, [byte, next]) in bytes.windows(2).filter_map(|w| w.first_chunk::<2>()).enumerate() {
            let begins = match self.begins.get(usize::from(*byte)) {
                Some(Begins::Word) => !in_word,
                Some(Begins::Anywhere) => true,
                Some(Begins::Nothing) | None => false,
            };
            if begins && self.begins_pair(*byte, *next) {
                self.walk(automaton, root, bytes, start, &mut steps, &mut hit);
                if steps > steps_max {
                    return (steps, false);
                }
            }
            in_word = continues_word(*byte, in_word);
        }
        (steps, true)
    }

    fn begins_pair(&self, first: u8, second: u8) -> bool {
        let (word, bit) = pair(first, second);
        self.pairs.get(word).is_some_and(|w| w & bit != 0)
    }

    fn walk(
        &self,
        automaton: &DFA,
        root: aho_corasick::automaton::StateID,
        bytes: &[u8],
        start: usize,
        steps: &mut u64,
        hit: &mut impl FnMut(Hit, &mut u64),
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
                // A state also knows the literals that end here and begin later.
                if literal.length == length && exact && (!literal.whole || ends_word(bytes, end)) {
                    for family in &literal.families {
                        *steps += 1;
                        hit(Hit { family: *family, start, end }, steps);
                    }
                }
            }
        }
    }
}

const fn pair(first: u8, second: u8) -> (usize, u64) {
    let number = (first as usize) << 8 | second as usize;
    (number >> 6, 1 << (number & 63))
}

/// Whether a byte belongs to a word. A continuation byte belongs to what its character does; of the leading ones, those of alphabets
/// with words between blanks do, punctuation, symbols and the scripts of East Asia do not.
const fn continues_word(byte: u8, in_word: bool) -> bool {
    match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | 0xc3..=0xdf | 0xe0 | 0xe1 => true,
        0x80..=0xbf => in_word,
        _ => false,
    }
}

fn ends_word(bytes: &[u8], end: usize) -> bool {
    bytes.get(end).is_none_or(|next| !continues_word(*next, false))
}

/// Every spelling of a literal that the automaton takes.
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
