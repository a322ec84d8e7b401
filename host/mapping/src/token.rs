//! The words of a span, with what the language's tables say of each.

use crate::language::{Language, kind};
use crate::number::Number;
use crate::words::{lower, words};
use std::borrow::Cow;
use std::ops::Range;

/// A word with what is known of it.
pub(crate) struct Token<'a> {
    pub(crate) range: Range<usize>,
    pub(crate) word: Cow<'a, str>,
    pub(crate) kinds: u32,
    pub(crate) capital: bool,
    /// Whether a mark stands between it and the word before.
    pub(crate) breaks: bool,
    /// The number that begins here.
    pub(crate) number: Option<usize>,
}

impl Token<'_> {
    pub(crate) const fn is(&self, kinds: u32) -> bool {
        self.kinds & kinds != 0
    }

    /// Whether it carries content.
    pub(crate) fn is_content(&self) -> bool {
        (self.word.len() > 2 || self.word.starts_with(|c: char| c.is_numeric()))
            && !self.is(kind::STOP | kind::NEGATION)
    }
}

/// The words of `span`, in order.
pub(crate) fn tokens<'a>(span: &'a str, language: &Language, numbers: &[Number]) -> Vec<Token<'a>> {
    let mut end = 0;
    let mut next_number = numbers.iter().enumerate().peekable();
    words(span)
        .map(|range| {
            let text = span.get(range.clone()).unwrap_or_default();
            let word = lower(text);
            let gap = span.get(end..range.start).unwrap_or_default();
            let breaks = end > 0 && gap.contains(|c: char| !c.is_whitespace() && c != '"' && c != '\'');
            end = range.end;
            let number = next_number.next_if(|(_, n)| n.range.start <= range.start).map(|(at, _)| at);
            let kinds = language.kinds(&word);
            let capital = text.starts_with(char::is_uppercase);
            Token { range, word, kinds, capital, breaks, number }
        })
        .collect()
}
