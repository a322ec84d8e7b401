//! Cue tables: the words that tell a span's category, certainty and register. English; `docs/mapping.md` shows the same lists.

use aho_corasick::AhoCorasick;
use portcullis_core::wire::Category;
use std::sync::LazyLock;

/// Words of each kind, in lower case.
pub(crate) struct Cues {
    /// Marks of denial.
    pub(crate) negation: &'static [&'static str],
    /// Restrictions and hedges.
    pub(crate) qualification: &'static [&'static str],
    /// Marks of added detail.
    pub(crate) elaboration: &'static [&'static str],
    /// Words that begin a move to another topic; they count at the start of a span only.
    pub(crate) transition: &'static [&'static str],
    /// Words that lower the certainty claimed.
    pub(crate) hedges: &'static [&'static str],
    /// Words that raise it.
    pub(crate) boosters: &'static [&'static str],
    /// Words of casual register.
    pub(crate) casual: &'static [&'static str],
    /// Words that carry no content.
    pub(crate) stop: &'static [&'static str],
}

/// English. Every list is sorted, for binary search.
pub(crate) const ENGLISH: Cues = Cues {
    negation: &[
        "aren't",
        "can't",
        "cannot",
        "couldn't",
        "didn't",
        "doesn't",
        "don't",
        "hasn't",
        "haven't",
        "isn't",
        "neither",
        "never",
        "no",
        "nobody",
        "none",
        "nor",
        "not",
        "nothing",
        "nowhere",
        "shouldn't",
        "wasn't",
        "weren't",
        "without",
        "won't",
        "wouldn't",
    ],
    qualification: &[
        "although",
        "approximately",
        "could",
        "except",
        "generally",
        "however",
        "if",
        "likely",
        "may",
        "maybe",
        "might",
        "only",
        "partly",
        "perhaps",
        "possibly",
        "probably",
        "roughly",
        "sometimes",
        "though",
        "unless",
        "usually",
    ],
    elaboration: &[
        "additionally",
        "also",
        "e.g",
        "furthermore",
        "i.e",
        "including",
        "moreover",
        "namely",
        "particularly",
        "specifically",
        "such",
    ],
    transition: &["anyway", "finally", "meanwhile", "next", "now", "regarding", "separately", "turning"],
    hedges: &[
        "apparently",
        "approximately",
        "could",
        "likely",
        "may",
        "maybe",
        "might",
        "perhaps",
        "possible",
        "possibly",
        "probably",
        "roughly",
        "seem",
        "seems",
        "sometimes",
        "suggest",
        "suggests",
        "unclear",
    ],
    boosters: &[
        "absolutely",
        "always",
        "certain",
        "certainly",
        "clearly",
        "definitely",
        "guarantee",
        "guaranteed",
        "must",
        "never",
        "obviously",
        "proven",
        "undoubtedly",
        "without-doubt",
    ],
    casual: &[
        "awesome", "cool", "dude", "gonna", "gotta", "guys", "hey", "kinda", "lol", "nope", "ok", "okay", "stuff",
        "super", "wanna", "yeah", "yep",
    ],
    stop: &[
        "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "before", "but",
        "by", "can", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "him", "his", "how", "i",
        "if", "in", "into", "is", "it", "it's", "its", "me", "my", "no", "not", "of", "on", "or", "our", "out", "over",
        "she", "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
        "those", "to", "too", "up", "us", "was", "we", "were", "what", "when", "where", "which", "while", "who",
        "will", "with", "would", "you", "your",
    ],
};

/// Citation marks: text that points at a source outside. Compared without case.
const CITATIONS: &[&str] = &["doi:10.", "doi.org/10.", "pmid:", "pmid ", "arxiv:", " et al.", " et al,"];

/// Certainty of a plain statement, in basis points.
const PLAIN: i32 = 7000;
/// What a hedge takes and a booster adds.
const HEDGE: i32 = 2000;
const BOOST: i32 = 1500;

/// What a word is, one bit a list.
mod kind {
    pub(super) const NEGATION: u8 = 1 << 0;
    pub(super) const QUALIFICATION: u8 = 1 << 1;
    pub(super) const ELABORATION: u8 = 1 << 2;
    pub(super) const TRANSITION: u8 = 1 << 3;
    pub(super) const HEDGE: u8 = 1 << 4;
    pub(super) const BOOSTER: u8 = 1 << 5;
    pub(super) const CASUAL: u8 = 1 << 6;
    pub(super) const STOP: u8 = 1 << 7;
}

/// The lists joined: the words that begin with each letter, sorted, with the lists that each stands on.
static TABLE: LazyLock<[Vec<(&'static str, u8)>; 26]> = LazyLock::new(|| {
    let c = &ENGLISH;
    let lists = [c.negation, c.qualification, c.elaboration, c.transition, c.hedges, c.boosters, c.casual, c.stop];
    let mut table: [Vec<(&'static str, u8)>; 26] = Default::default();
    for (bit, list) in lists.into_iter().enumerate() {
        for word in list {
            let Some(bucket) = letter(word).and_then(|l| table.get_mut(l)) else { continue };
            match bucket.iter_mut().find(|(w, _)| w == word) {
                Some((_, kinds)) => *kinds |= 1 << bit,
                None => bucket.push((word, 1 << bit)),
            }
        }
    }
    table.iter_mut().for_each(|bucket| bucket.sort_unstable());
    table
});

/// Place of the first letter in the alphabet; `None` for another first character.
fn letter(word: &str) -> Option<usize> {
    word.as_bytes().first().and_then(|b| b.checked_sub(b'a')).map(usize::from)
}

/// The lists that a word in lower case stands on.
fn kinds(word: &str) -> u8 {
    let Some(bucket) = letter(word).and_then(|l| TABLE.get(l)) else { return 0 };
    bucket.binary_search_by(|(w, _)| (*w).cmp(word)).ok().and_then(|at| bucket.get(at)).map_or(0, |(_, kinds)| *kinds)
}

/// What the cues of a span say, gathered word by word.
#[derive(Default)]
pub(crate) struct Reading {
    words: u32,
    hedges: i32,
    boosters: i32,
    casual: usize,
    negated: bool,
    qualified: bool,
    elaborated: bool,
    transition: bool,
}

impl Reading {
    /// Takes the next word, in lower case; says whether it carries content.
    pub(crate) fn word(&mut self, word: &str) -> bool {
        let kinds = kinds(word);
        let is = |kind: u8| kinds & kind != 0;
        self.transition |= self.words == 0 && is(kind::TRANSITION);
        self.words += 1;
        self.negated |= is(kind::NEGATION);
        self.qualified |= is(kind::QUALIFICATION);
        self.elaborated |= is(kind::ELABORATION);
        self.hedges += i32::from(is(kind::HEDGE));
        self.boosters += i32::from(is(kind::BOOSTER));
        self.casual += usize::from(is(kind::CASUAL) || (word.contains('\'') && !word.ends_with("'s")));
        word.len() > 2 && !is(kind::STOP)
    }

    /// The category: the first of reference, transition, negation, qualification, elaboration that has a cue, else assertion.
    pub(crate) fn category(&self, span: &str) -> Category {
        if cites(span) {
            Category::Reference
        } else if self.transition {
            Category::Transition
        } else if self.negated {
            Category::Negation
        } else if self.qualified {
            Category::Qualification
        } else if self.elaborated {
            Category::Elaboration
        } else {
            Category::Assertion
        }
    }

    /// Claimed certainty in basis points.
    pub(crate) fn certainty(&self) -> u16 {
        let value =
            PLAIN.saturating_sub(HEDGE.saturating_mul(self.hedges)).saturating_add(BOOST.saturating_mul(self.boosters));
        u16::try_from(value.clamp(0, 10_000)).unwrap_or(0)
    }

    /// Casual words and contractions of all words.
    pub(crate) fn casual(&self) -> (usize, usize) {
        (self.casual, self.words as usize)
    }
}

static CITES: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(CITATIONS).ok());

/// Whether a span points at a source outside. Without the automaton every span would: the refusing side.
fn cites(span: &str) -> bool {
    CITES.as_ref().is_none_or(|marks| marks.is_match(span))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{lower, words};

    fn read(text: &str) -> Reading {
        let mut reading = Reading::default();
        words(text).for_each(|w| {
            reading.word(&lower(&text[w]));
        });
        reading
    }

    #[test]
    fn lists_are_sorted() {
        let c = &ENGLISH;
        for list in [c.negation, c.qualification, c.elaboration, c.transition, c.hedges, c.boosters, c.casual, c.stop] {
            assert!(list.windows(2).all(|w| w[0] < w[1]), "{list:?}");
        }
    }

    #[test]
    fn categories() {
        for (text, category) in [
            ("Paris is a city", Category::Assertion),
            ("It may rain", Category::Qualification),
            ("It is not so", Category::Negation),
            ("Such as apples", Category::Elaboration),
            ("Now the other matter", Category::Transition),
            ("Shown by Smith et al. in 2019", Category::Reference),
            ("See doi:10.1000/1", Category::Reference),
        ] {
            assert_eq!(read(text).category(text), category, "{text}");
        }
        assert_eq!(read("it certainly is").certainty(), 8500);
        assert_eq!(read("perhaps it may").certainty(), 3000);
    }
}
