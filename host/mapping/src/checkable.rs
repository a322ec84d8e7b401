//! Words that a fact can support: numbers, names, and words of content, each without its ending.

use crate::language::{Language, kind};
use crate::words::{lower, words};
use std::ops::Range;

/// A word that says something that can be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkable {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// What is compared: the word in lower case without its ending.
    pub stem: String,
    /// Whether it is a number, or a name: capitalised, and not merely because the text begins with it.
    pub value: bool,
    /// Whether it has a digit.
    pub number: bool,
    /// The relation that is being spoken of here ("born"), from the last word of the relations' table before it.
    pub relation: Option<String>,
}

/// The checkable words of a text, in order.
pub(crate) fn checkable(text: &str, language: &Language) -> Vec<Checkable> {
    let mut found = Vec::new();
    let mut relation: Option<String> = None;
    for (at, range) in words(text).enumerate() {
        let shown = text.get(range.clone()).unwrap_or_default();
        let number = shown.contains(char::is_numeric);
        let capital = shown.starts_with(char::is_uppercase) && at > 0;
        let word = lower(shown);
        let kinds = language.kinds(&word);
        if kinds & kind::RELATION != 0 {
            relation = language.relation(&word).map(str::to_owned);
        }
        let empty = kind::STOP | kind::PREPOSITION | kind::COPULA;
        let silent = kinds & empty != 0 || (kinds & kind::LIGHT != 0 && !capital) || (word.len() <= 2 && !capital);
        if silent && !number {
            continue;
        }
        // The two ends of "1936-2010" are two numbers.
        let mut start = range.start;
        for part in if number { shown.split('-') } else { shown.split('\0') } {
            let range = start..start + part.len();
            start = range.end + 1;
            if !part.is_empty() {
                let stem = language.stem(&lower(part)).to_owned();
                found.push(Checkable { range, stem, value: number || capital, number, relation: relation.clone() });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_names_and_content_without_endings() {
        let found = checkable("She was born in Porto (1936-2010), acting widely.", Language::of("en").unwrap());
        let show = |c: &Checkable| format!("{}{}", c.stem, if c.value { "!" } else { "" });
        assert_eq!(found.iter().map(show).collect::<Vec<_>>(), ["born", "porto!", "1936!", "2010!", "act"]);
        assert!(found.iter().all(|c| c.relation.as_deref() == Some("born")));
        assert_eq!(found[3].range, 28..32);
    }
}
