//! The words of a text that can be compared with facts: numbers, names, and content words by their stems.

use crate::language::{Language, kind};
use crate::lexicon::{LanguageLexicon, PartOfSpeech};
use crate::words::{lower, words};
use std::ops::Range;

/// A word that can be compared with facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckableWord {
    /// The word's bytes in the text.
    pub range: Range<usize>,
    /// The form for comparison: lower case, without its ending.
    pub stem: String,
    /// Whether the word is a number or a name. A capital letter at the start of the text does not make a name.
    pub value: bool,
    /// Whether the word is a number, in digits or as a word.
    pub number: bool,
    /// Whether a denial ("not", "never") precedes the word in its clause.
    pub negated: bool,
    /// The relation ("born") of the word: the last relation that this word or an earlier word of its clause names.
    pub relation: Option<String>,
}

/// The checkable words of a text, in order.
pub(crate) fn checkable(text: &str, language: &Language) -> Vec<CheckableWord> {
    let mut found = Vec::new();
    let mut relation: Option<String> = None;
    let (mut negated, mut end) = (false, 0);
    for (at, range) in words(text).enumerate() {
        let gap = text.get(end..range.start).unwrap_or_default();
        end = range.end;
        let shown = text.get(range.clone()).unwrap_or_default();
        let capital = shown.starts_with(char::is_uppercase) && at > 0;
        let kinds = language.kinds(&lower(shown));
        if kinds & kind::RELATION != 0 {
            relation = language.relation(&lower(shown)).map(str::to_owned);
        } else if kinds & kind::CLAUSE != 0 {
            // Words after "and" or "who" do not belong to the relation.
            relation = None;
        }
        negated &= kinds & kind::CLAUSE == 0 && !gap.contains([',', ';', ':', '.', '(', ')']);
        negated |= kinds & kind::NEGATION != 0;
        if kinds & kind::LIGHT != 0 && !capital {
            continue;
        }
        // "1936-2010" is two numbers, and "Franco-Swiss" counts as two words.
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
            found.push(CheckableWord {
                range,
                stem,
                value: number || capital,
                number,
                negated,
                relation: relation.clone(),
            });
        }
    }
    found
}

/// Stems of the synonyms and derivations of a word, without its own stem.
pub(crate) fn alternatives(word: &str, language: &Language, lexicon: LanguageLexicon) -> Vec<String> {
    let lemmas = lexicon.lemmas(&lower(word));
    let words = lemmas.iter().flat_map(|lemma| {
        let derived = lemma.derived().map(|(_, word)| word);
        std::iter::once(lemma.word).chain(lemma.synonyms()).chain(derived)
    });
    let mut stems: Vec<String> = words.map(|word| language.stem(word).to_owned()).collect();
    stems.sort_unstable();
    stems.dedup();
    stems
}

/// Stems of a word's lemmas and of their more general nouns; the word implies all of these.
pub(crate) fn generalisations(word: &str, language: &Language, lexicon: LanguageLexicon) -> Vec<String> {
    let lemmas = lexicon.lemmas(&lower(word));
    let words = lemmas.iter().flat_map(|lemma| std::iter::once(lemma.word).chain(lemma.kinds()));
    let mut stems: Vec<String> = words.map(|word| language.stem(word).to_owned()).collect();
    stems.sort_unstable();
    stems.dedup();
    stems
}

/// The places of verbs, pronouns and similar words in a sentence; the closed-world check uses them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentenceFrame {
    /// Places of the verbs, in order.
    pub verbs: Vec<usize>,
    /// Ends of the prepositions in the text.
    pub prepositions: Vec<usize>,
    /// Places of the pronouns.
    pub pronouns: Vec<usize>,
    /// Denials ("not", "never").
    pub denials: Vec<Range<usize>>,
    /// Whether the last word needs a continuation: a preposition or a conjunction.
    pub open: bool,
}

/// The frame of a sentence.
pub(crate) fn frame(text: &str, language: &Language, lexicon: Option<LanguageLexicon>) -> SentenceFrame {
    let mut frame = SentenceFrame::default();
    for range in words(text) {
        let shown = text.get(range.clone()).unwrap_or_default();
        let word = lower(shown);
        let kinds = language.kinds(&word);
        // A capitalised word does not count as a verb, because it may be a name ("Kick", "Don").
        if !shown.starts_with(char::is_uppercase) && is_verb(&word, kinds, lexicon) {
            frame.verbs.push(range.start);
        }
        if kinds & kind::PREPOSITION != 0 {
            frame.prepositions.push(range.end);
        }
        if kinds & kind::PRONOUN != 0 {
            frame.pronouns.push(range.start);
        }
        if kinds & kind::NEGATION != 0 {
            frame.denials.push(range.clone());
        }
        frame.open = kinds & (kind::PREPOSITION | kind::CLAUSE | kind::CONNECTIVE) != 0;
    }
    frame
}

/// Whether a word can be a predicate: a copula, a word that names a relation, or a word that is mostly used as a verb.
pub(crate) fn is_verb(word: &str, kinds: u32, lexicon: Option<LanguageLexicon>) -> bool {
    let listed = kinds & (kind::COPULA | kind::RELATION) != 0;
    let verb = || {
        let lemmas = lexicon?.lemmas(word);
        lemmas.iter().next().map(|lemma| lemma.part == PartOfSpeech::Verb)
    };
    listed || (kinds & kind::PREPOSITION == 0 && verb().unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_names_and_content_without_endings() {
        let found = checkable("She was born in Porto (1936-2010), acting widely.", Language::of("en").unwrap());
        let show = |c: &CheckableWord| format!("{}{}", c.stem, if c.value { "!" } else { "" });
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
