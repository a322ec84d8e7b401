//! Labels of a match: phrases directly before it, or in round brackets directly behind it.
//!
//! Between label and match may stand at most four marks and spaces. A phrase that ends with a colon needs a colon or an
//! equals sign there: with `office:`, "Office: 5 1234" has a label, "office 5 1234" has none. `[words]` stands for one
//! to three words, `[name]` for one to three words of which the first begins with a capital: `call the [words] at` is
//! in "Call the shop at 5 1234", `call [name]:` in "Call Jane Roe: 5 1234".

use crate::error::MappingError;
use crate::{pattern, phrase, words};
use aho_corasick::{AhoCorasick, Match};
use portcullis_core::manifest::ClassPattern;
use std::ops::Range;

/// Largest number of phrases that one entry may stand for.
const ALTERNATIVES: usize = 256;
/// Largest number of words for which a slot stands.
const SLOT: usize = 3;
/// Longest label, in bytes.
const REACH: usize = 64;
/// Largest number of characters between a label and a match.
const GAP: usize = 4;
/// Characters that may stand between a label and a match.
const MARKS: [char; 15] = [' ', ':', '!', '=', '#', '.', '-', '(', '"', '\'', '`', '*', '_', '\t', '\u{FF1A}'];

/// The labels of a pattern.
pub(crate) struct Labels {
    phrases: AhoCorasick,
    /// For each phrase, whether it needs a colon.
    colon: Vec<bool>,
    /// The phrases with other words in them.
    open: Vec<OpenLabel>,
}

/// A label with a slot.
struct OpenLabel {
    first: Vec<String>,
    /// At most one word.
    last: Vec<String>,
    /// Whether the slot is `[name]`.
    name: bool,
    colon: bool,
}

impl OpenLabel {
    /// `None` for a phrase without a slot.
    fn new(phrase: &str, colon: bool) -> Option<Self> {
        let name = phrase.contains("[name]");
        let (first, last) = phrase.split_once(if name { "[name]" } else { "[words]" })?;
        let words = |part: &str| part.split_whitespace().map(str::to_owned).collect();
        Some(Self { first: words(first), last: words(last), name, colon })
    }

    /// Whether the label is at the end of words, which are given from the last to the first.
    fn ends(&self, words: &[&str]) -> bool {
        let alike = |part: &[&str], own: &[String]| {
            part.len() == own.len()
                && part.iter().zip(own.iter().rev()).all(|(word, own)| word.eq_ignore_ascii_case(own))
        };
        let Some((last, rest)) = words.split_at_checked(self.last.len()) else { return false };
        let before = |slot: &usize| {
            let (inside, before) = rest.split_at_checked(*slot).unwrap_or_default();
            let named = inside.last().is_some_and(|word| word.starts_with(char::is_uppercase));
            (named || !self.name) && before.get(..self.first.len()).is_some_and(|first| alike(first, &self.first))
        };
        alike(last, &self.last) && (1..=SLOT).any(|slot| before(&slot))
    }
}

impl Labels {
    /// The labels of a pattern of a class; `None` if it has none.
    pub(crate) fn of(class: &str, pattern: &ClassPattern) -> Result<Option<Self>, MappingError> {
        Self::new(&pattern.label).map_err(|problem| pattern::bad(class, &pattern.regex, problem, None))
    }

    fn new(entries: &[String]) -> Result<Option<Self>, String> {
        let (mut phrases, mut colon, mut open) = (Vec::new(), Vec::new(), Vec::new());
        for entry in entries {
            let words = entry.trim_end_matches(':');
            let wrong = || {
                format!(
                    "label `{entry}`: it begins with a word, has at most {ALTERNATIVES} forms, and in each at most one of \
                     `[words]` and `[name]`"
                )
            };
            let needs_colon = words.len() < entry.len();
            let all = phrase::alternatives(words, ALTERNATIVES).filter(|all| all.iter().all(|phrase| is_label(phrase)));
            let (spaced, whole): (Vec<_>, Vec<_>) =
                all.ok_or_else(wrong)?.into_iter().partition(|phrase| phrase.contains('['));
            open.extend(spaced.iter().filter_map(|phrase| OpenLabel::new(phrase, needs_colon)));
            let forms = words::names(&whole);
            colon.extend(forms.iter().map(|_| needs_colon));
            phrases.extend(forms);
        }
        if entries.is_empty() {
            return Ok(None);
        }
        let built = AhoCorasick::builder().ascii_case_insensitive(true).build(phrases);
        let phrases = built.map_err(|e| e.to_string())?;
        Ok(Some(Self { phrases, colon, open }))
    }

    /// Whether the match has a label.
    pub(crate) fn name(&self, text: &str, range: &Range<usize>) -> bool {
        self.are_before(text, range.start) || self.are_behind(text, range.end)
    }

    fn are_before(&self, text: &str, start: usize) -> bool {
        let from = text.ceil_char_boundary(start.saturating_sub(REACH));
        let window = text.get(from..start).unwrap_or_default();
        self.phrases.find_overlapping_iter(window).any(|label| {
            let gap = window.get(label.end()..).unwrap_or_default();
            let needs_colon = self.colon.get(label.pattern().as_usize()).copied().unwrap_or(false);
            let marks = gap.chars().all(|c| MARKS.contains(&c)) && gap.chars().count() <= GAP;
            marks && (!needs_colon || has_colon(gap)) && is_word(text, from, &label)
        }) || self.is_open(window)
    }

    /// Whether the text ends with a label that has a slot, with no mark between its words.
    fn is_open(&self, before: &str) -> bool {
        let tail = before.trim_end_matches(MARKS);
        let gap = before.get(tail.len()..).unwrap_or_default();
        let words = tail.rsplit(' ').take_while(|word| !word.is_empty() && word.chars().all(is_part));
        let words: Vec<&str> = words.collect();
        self.open.iter().any(|open| (!open.colon || has_colon(gap)) && open.ends(&words))
    }

    fn are_behind(&self, text: &str, end: usize) -> bool {
        let rest = text.get(end..).unwrap_or_default();
        let Some(inside) = rest.strip_prefix(' ').unwrap_or(rest).strip_prefix('(') else { return false };
        let inside = inside.get(..inside.floor_char_boundary(REACH)).unwrap_or_default();
        let closes = |label: Match| inside.get(label.end()..).is_some_and(|rest| rest.starts_with(')'));
        self.phrases.find_overlapping_iter(inside).any(|label| label.start() == 0 && closes(label))
    }
}

/// Whether a phrase begins with a word, and has no bracket but that of one slot.
fn is_label(phrase: &str) -> bool {
    let slots = phrase.matches("[words]").count() + phrase.matches("[name]").count();
    slots <= 1 && phrase.matches('[').count() == slots && phrase.starts_with(char::is_alphanumeric)
}

fn has_colon(gap: &str) -> bool {
    gap.contains([':', '=', '\u{FF1A}'])
}

/// Whether a character can be in a word between the words of a label.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '\'' | '’' | '-')
}

/// Whether a phrase stands at the borders of words.
fn is_word(text: &str, from: usize, label: &Match) -> bool {
    [label.start(), label.end()].iter().all(|at| words::is_label_border(text, from + at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_label() {
        for entry in ["", ":", "[words] at", "call [words] at [name]", "call [person]"] {
            assert!(Labels::new(&[entry.to_owned()]).is_err(), "{entry}");
        }
    }

    #[test]
    fn a_label_is_directly_before_or_in_brackets_behind() {
        let entries = [
            "call (me|us|) (at|on|)",
            "call (the|my) [words] at",
            "call [name] at",
            "call [name]:",
            "office:",
            "cell",
            "手机",
        ];
        let labels = Labels::new(&entries.map(str::to_owned)).unwrap().unwrap();
        let named = |text: &str| {
            let start = text.find(|c: char| c.is_ascii_digit()).unwrap();
            let end = text.rfind(|c: char| c.is_ascii_digit()).unwrap() + 1;
            labels.name(text, &(start..end))
        };
        for text in
            ["Call 555 1234", "call me at 555 1234", "Office: 555 1234", "\"office\": \"555 1234\"", "callUs: 5551234"]
        {
            assert!(named(text), "{text}");
        }
        for text in [
            "Call the shop at 555 1234",
            "call Jane Roe's shop at: 555 1234",
            "Call Jane: 555 1234",
            "Call Ana at 5551234",
        ] {
            assert!(named(text), "{text}");
        }
        for text in ["555 1234 (cell)", "555 1234 (Office)", "我的手机13812345678", "call_me_at=5551234"] {
            assert!(named(text), "{text}");
        }
        for text in [
            "The call gave 5551234",
            "Call. Be there at 555 1234",
            "The call returned at 5551234",
            "call it a long day at 555 1234",
            "office 555 1234",
            "recall 555 1234",
            "cell B 555 1234",
            "555 1234 cells",
        ] {
            assert!(!named(text), "{text}");
        }
    }
}
