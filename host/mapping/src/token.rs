//! The words of a span, with their entries in the language's tables.

use crate::full_stop::is_mark;
use crate::language::{Language, key, kind};
use crate::words::{lower, words};
use std::borrow::Cow;
use std::ops::Range;

pub(crate) struct WordToken<'a> {
    pub(crate) range: Range<usize>,
    /// The word in lower case.
    pub(crate) word: Cow<'a, str>,
    /// The word's [`key`].
    pub(crate) key: u128,
    pub(crate) kinds: u32,
    pub(crate) capital: bool,
    /// Whether a mark separates the word from the previous word.
    pub(crate) breaks: bool,
    /// Whether the word consists of letters and digits only.
    pub(crate) plain: bool,
    /// Index of the number that begins here.
    pub(crate) number: Option<usize>,
}

impl WordToken<'_> {
    pub(crate) const fn is(&self, kinds: u32) -> bool {
        self.kinds & kinds != 0
    }

    /// Whether the word is a content word.
    pub(crate) fn is_content(&self) -> bool {
        (self.word.len() > 2 || self.word.starts_with(|c: char| c.is_numeric()))
            && !self.is(kind::STOP | kind::NEGATION)
    }
}

/// Average length in bytes of a word and the space after it, to estimate the number of words.
const WORD: usize = 6;

/// The words of `span`, in order; their numbers are not set yet.
pub(crate) fn tokens<'a>(span: &'a str, language: &Language) -> Vec<WordToken<'a>> {
    let mut tokens = Vec::with_capacity(span.len() / WORD + 1);
    let mut end = 0;
    for range in words(span) {
        let text = span.get(range.clone()).unwrap_or_default();
        let gap = span.get(end..range.start).unwrap_or_default();
        let breaks = end > 0
            && gap != " "
            && gap.contains(|c: char| !c.is_whitespace() && c != '"' && c != '\'')
            && is_mark(span, gap, range.start, language);
        end = range.end;
        let plain = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let word = if plain { Cow::Borrowed(text) } else { lower(text) };
        let capital = !plain && text.starts_with(char::is_uppercase);
        let key = key(&word);
        let kinds = language.kinds_of(&word, key);
        tokens.push(WordToken { range, word, key, kinds, capital, breaks, plain, number: None });
    }
    tokens
}
