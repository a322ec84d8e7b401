//! Cue tables: the words that tell a span's category, certainty and register. English; `docs/mapping.md` shows the same lists.

use portcullis_core::wire::Category;

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

pub(crate) fn listed(list: &[&str], word: &str) -> bool {
    list.binary_search(&word).is_ok()
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
    /// Takes the next word, in lower case.
    pub(crate) fn word(&mut self, word: &str) {
        let cues = &ENGLISH;
        self.transition |= self.words == 0 && listed(cues.transition, word);
        self.words += 1;
        self.negated |= listed(cues.negation, word);
        self.qualified |= listed(cues.qualification, word);
        self.elaborated |= listed(cues.elaboration, word);
        self.hedges += i32::from(listed(cues.hedges, word));
        self.boosters += i32::from(listed(cues.boosters, word));
        self.casual += usize::from(listed(cues.casual, word) || (word.contains('\'') && !word.ends_with("'s")));
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

fn cites(span: &str) -> bool {
    // Each mark holds one of these bytes, which most spans do not.
    if !span.bytes().any(|b| matches!(b, b':' | b'/') || b.eq_ignore_ascii_case(&b'm') || b.eq_ignore_ascii_case(&b'l'))
    {
        return false;
    }
    CITATIONS.iter().any(|mark| span.as_bytes().windows(mark.len()).any(|w| w.eq_ignore_ascii_case(mark.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{lower, words};

    fn read(text: &str) -> Reading {
        let mut reading = Reading::default();
        words(text).for_each(|w| reading.word(&lower(&text[w])));
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
