//! Phrases of several words, whatever joins the words, and phrases by the stems of their words.
//!
//! Between two words of a phrase may stand up to three spaces, dashes, slashes, underscores, quotation marks and round brackets: "attorney
//! client privilege" is "attorney-client privilege". A class with `inflect` is found in any form of its words that has the same stem
//! (Snowball).

use crate::words::is_boundary;
use portcullis_core::class::ClassId;
use rust_stemmers::{Algorithm, Stemmer};
use std::borrow::Cow;
use std::ops::Range;

/// Most characters between two words.
const GAP: usize = 3;

struct Phrase {
    /// Its words in lower case, or their stems.
    words: Vec<String>,
    class: ClassId,
    stems: bool,
}

/// Phrases by their first word.
pub(crate) struct Phrases {
    /// Sorted by the first word.
    exact: Vec<Phrase>,
    inflected: Vec<Phrase>,
    /// Phrases that are found as they are written alone: of one word, or with marks of their own.
    single: Vec<Phrase>,
    /// The first byte of some phrase, in either case, and the first two, in lower case.
    first: [bool; 256],
    begins: Vec<bool>,
    stemmer: Option<Stemmer>,
}

impl Phrases {
    /// Phrases with their classes, and whether other forms of their words count.
    pub(crate) fn new(phrases: &[(String, ClassId, bool)], language: &str) -> Self {
        let stemmer = stemmer(language);
        let (mut exact, mut inflected, mut single) = (Vec::new(), Vec::new(), Vec::new());
        let (mut firsts, mut begins) = ([false; 256], vec![false; 1 << 16]);
        for (text, class, inflect) in phrases {
            let found: Vec<&str> = words(text, 0).map_while(|range| text.get(range)).collect();
            let stems = *inflect && stemmer.is_some();
            let Some(first) = found.first() else { continue };
            // What a phrase says with marks of its own is found as it is written.
            if !joins_only(text) || (found.len() < 2 && !stems) {
                let words = found.iter().map(|word| form(word, None)).collect();
                single.push(Phrase { words, class: *class, stems: false });
                continue;
            }
            if let Some(begin) = begins.get_mut(begin(first)) {
                *begin = true;
            }
            let byte = first.bytes().next().unwrap_or(0);
            for byte in [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()] {
                if let Some(first) = firsts.get_mut(usize::from(byte)) {
                    *first = true;
                }
            }
            let words = found.iter().map(|word| form(word, stemmer.as_ref().filter(|_| stems))).collect();
            (if stems { &mut inflected } else { &mut exact }).push(Phrase { words, class: *class, stems });
        }
        for list in [&mut exact, &mut inflected] {
            list.sort_by(|a, b| (&a.words, a.class).cmp(&(&b.words, b.class)));
        }
        Self { exact, inflected, single, first: firsts, begins, stemmer }
    }

    /// Every phrase of a text.
    pub(crate) fn find(&self, text: &str, mut hit: impl FnMut(Range<usize>, ClassId)) {
        if self.exact.is_empty() && self.inflected.is_empty() {
            return;
        }
        let bytes = text.as_bytes();
        let mut before = b' ';
        for (at, byte) in bytes.iter().enumerate() {
            let last = std::mem::replace(&mut before, *byte);
            if last.is_ascii_alphanumeric() || !self.first.get(usize::from(*byte)).copied().unwrap_or(true) {
                continue;
            }
            // A word of one letter has no second byte.
            let next = bytes.get(at + 1).copied().filter(|b| b.is_ascii_alphanumeric() || !b.is_ascii()).unwrap_or(0);
            if !self.begins.get(pair(*byte, next)).copied().unwrap_or(false) || !is_boundary(text, at) {
                continue;
            }
            let Some(first) = words(text, at).next().filter(|word| word.start == at) else { continue };
            let word = text.get(first.clone()).unwrap_or_default();
            for (list, stemmer) in [(&self.exact, None), (&self.inflected, self.stemmer.as_ref())] {
                if list.is_empty() {
                    continue;
                }
                let shown = form(word, stemmer);
                let from = list.partition_point(|p| p.words.first() < Some(&shown));
                for phrase in list.iter().skip(from).take_while(|p| p.words.first() == Some(&shown)) {
                    if let Some(end) = self.ends(text, first.end, phrase) {
                        hit(first.start..end, phrase.class);
                    }
                }
            }
        }
    }

    /// Where the longest end of `text`, from `from` on, begins that is the beginning of a phrase.
    pub(crate) fn unfinished(&self, text: &str, from: usize) -> Option<usize> {
        let all: Vec<Range<usize>> = words(text, ceil(text, from)).collect();
        (0..all.len()).find_map(|at| {
            let rest = all.get(at..)?;
            let begins =
                self.exact.iter().chain(&self.inflected).chain(&self.single).any(|p| self.begins_with(text, rest, p));
            begins.then(|| rest.first().map(|word| word.start)).flatten()
        })
    }

    /// Whether these words, which end the text, are the beginning of a phrase.
    fn begins_with(&self, text: &str, rest: &[Range<usize>], phrase: &Phrase) -> bool {
        let stemmer = self.stemmer.as_ref().filter(|_| phrase.stems);
        let shown = |word: &Range<usize>| text.get(word.clone()).unwrap_or_default();
        let Some((last, before)) = rest.split_last().filter(|_| rest.len() <= phrase.words.len()) else { return false };
        let whole = before.iter().zip(&phrase.words).all(|(word, of)| form(shown(word), stemmer) == *of);
        let joined = rest.windows(2).all(|pair| match pair {
            [a, b] => text.get(a.end..b.start).is_some_and(joins),
            _ => true,
        });
        let tail = text.get(last.end..).unwrap_or_default();
        let Some(next) = phrase.words.get(before.len()).filter(|_| whole && joined) else { return false };
        let word = crate::words::lower(shown(last));
        if tail.is_empty() {
            // A form of the word has its stem, or one that ends otherwise.
            let stem = next.char_indices().next_back().map_or(0, |(at, _)| at);
            let stem = next.get(..stem).unwrap_or_default();
            next.starts_with(&*word) || (phrase.stems && word.starts_with(stem))
        } else {
            joins(tail) && rest.len() < phrase.words.len() && form(shown(last), stemmer) == *next
        }
    }

    /// Where a phrase ends whose first word ends at `at`.
    fn ends(&self, text: &str, mut at: usize, phrase: &Phrase) -> Option<usize> {
        let stemmer = self.stemmer.as_ref().filter(|_| phrase.stems);
        for word in phrase.words.iter().skip(1) {
            let next = words(text, at).next()?;
            let gap = text.get(at..next.start)?;
            let shown = text.get(next.clone())?;
            // "Attorney's privilege": the ending of the genitive is no word.
            if stemmer.is_some() && matches!(gap, "'" | "\u{2019}") && matches!(shown, "s" | "S") {
                at = next.end;
                let next = words(text, at).next()?;
                let joined = joins(text.get(at..next.start)?) && form(text.get(next.clone())?, stemmer) == *word;
                at = joined.then_some(next.end)?;
                continue;
            }
            if !joins(gap) || form(shown, stemmer) != *word {
                return None;
            }
            at = next.end;
        }
        Some(at)
    }
}

/// Whether a language has stems.
pub(crate) fn has_stems(language: &str) -> bool {
    stemmer(language).is_some()
}

fn stemmer(language: &str) -> Option<Stemmer> {
    let algorithm = match language {
        "en" => Algorithm::English,
        "de" => Algorithm::German,
        _ => return None,
    };
    Some(Stemmer::create(algorithm))
}

fn form(word: &str, stemmer: Option<&Stemmer>) -> String {
    let lower: Cow<'_, str> = crate::words::lower(word);
    stemmer.map_or_else(|| lower.to_string(), |stemmer| stemmer.stem(&lower).into_owned())
}

/// The first two bytes in lower case: no stem changes them.
fn begin(word: &str) -> usize {
    let byte = |at: usize| word.as_bytes().get(at).copied().unwrap_or(0);
    pair(byte(0), byte(1))
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(first.to_ascii_lowercase()) << 8 | usize::from(second.to_ascii_lowercase())
}

fn joins(gap: &str) -> bool {
    let joins = |c: char| {
        matches!(c, ' ' | '-' | '/' | '_' | '"' | '(' | ')' | '\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}')
    };
    !gap.is_empty() && gap.chars().nth(GAP).is_none() && gap.chars().all(joins)
}

fn joins_only(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-'))
}

/// The character boundary at `at` or the next one.
fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len())
}

/// Runs of letters and digits from `at` on.
fn words(text: &str, mut at: usize) -> impl Iterator<Item = Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric();
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let start = at + rest.find(is_word)?;
        let rest = text.get(start..)?;
        at = start + rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        Some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(phrase: &str, inflect: bool, text: &str) -> bool {
        let phrases = Phrases::new(&[(phrase.to_owned(), ClassId::try_from(0).unwrap(), inflect)], "en");
        let mut any = false;
        phrases.find(text, |_, _| any = true);
        any
    }

    #[test]
    fn what_joins_the_words_of_a_phrase() {
        for text in [
            "Attorney-client privilege",
            "attorney client privilege",
            "attorney - client/privilege",
            "attorney \"client\" privilege",
        ] {
            assert!(found("attorney-client privilege", false, text), "{text}");
        }
        for text in [
            "attorney, client privilege",
            "attorney client privileges",
            "attorney\nclient privilege",
            "a-client privilege",
        ] {
            assert!(!found("attorney-client privilege", false, text), "{text}");
        }
    }

    #[test]
    fn forms_of_the_words() {
        for text in ["guarantees returns", "guaranteed return", "Guaranteeing returns"] {
            assert!(found("guaranteed returns", true, text), "{text}");
            assert!(!found("guaranteed returns", false, text), "{text}");
        }
        assert!(found("privilege", true, "privileges") && !found("privilege", true, "private"));
        assert!(!found("guaranteed returns", true, "The store guarantees. Returns are free."));
    }
}
