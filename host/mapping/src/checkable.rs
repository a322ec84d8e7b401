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
    /// Whether it is a number, in digits or as a word.
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
        let capital = shown.starts_with(char::is_uppercase) && at > 0;
        let kinds = language.kinds(&lower(shown));
        if kinds & kind::RELATION != 0 {
            relation = language.relation(&lower(shown)).map(str::to_owned);
        } else if kinds & kind::CLAUSE != 0 {
            // What stands after "and" or "who" is no longer said of the birth.
            relation = None;
        }
        if kinds & kind::LIGHT != 0 && !capital {
            continue;
        }
        // The two ends of "1936-2010" are two numbers, and who is "Franco-Swiss" is both.
        let mut start = range.start;
        for part in shown.split('-') {
            let range = start..start + part.len();
            start = range.end + 1;
            let word = lower(part);
            let kinds = language.kinds(&word);
            let empty = kinds & (kind::STOP | kind::PREPOSITION | kind::COPULA) != 0;
            let digits = language.digits(&word);
            let number = digits.is_some() || part.contains(char::is_numeric);
            if part.is_empty() || (!number && (empty || (part.len() <= 2 && !capital))) {
                continue;
            }
            let stem = digits.unwrap_or_else(|| language.stem(&word).to_owned());
            found.push(Checkable { range, stem, value: number || capital, number, relation: relation.clone() });
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

    #[test]
    fn numbers_are_compared_as_digits_and_compounds_by_their_parts() {
        let stems = |text: &str| -> Vec<(String, bool)> {
            checkable(text, Language::of("en").unwrap()).into_iter().map(|c| (c.stem, c.value)).collect()
        };
        assert_eq!(stems("the 3rd of twelve"), [("3".into(), true), ("12".into(), true)]);
        assert_eq!(stems("a Franco-Swiss"), [("franco".into(), true), ("swis".into(), true)]);
        assert_eq!(stems("a well-known 20km"), [("20km".into(), true)]);
    }

    #[test]
    fn a_relation_ends_at_its_clause() {
        let found = checkable("She was born in 1936 and moved in 1950.", Language::of("en").unwrap());
        let of = |stem: &str| found.iter().find(|c| c.stem == stem).unwrap().relation.as_deref();
        assert_eq!((of("1936"), of("1950")), (Some("born"), None));
    }
}
