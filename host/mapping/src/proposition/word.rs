//! The words of a sentence, with their entries in the grammar and in the word tables.

use super::grammar::{Grammar, role};
use crate::language::{Language, kind};
use crate::lexicon::{LanguageLexicon, LexiconLemma, PartOfSpeech};
use crate::words::words;

/// A word in lower case; a number in digits.
#[derive(Clone, Debug)]
pub(super) struct PropositionWord {
    pub(super) text: String,
    pub(super) capital: bool,
    pub(super) kinds: u32,
    pub(super) roles: u64,
    /// The mark between the previous word and this word; a space if there is none.
    pub(super) mark: char,
    pub(super) number: bool,
    /// The verb lemma of the word, if it has one; whether the most common lemma of the word is a verb.
    pub(super) verb: Option<&'static str>,
    pub(super) mostly_verb: bool,
}

/// The tables of a language that the reader uses.
#[derive(Clone, Copy)]
pub(super) struct LanguageTables {
    pub(super) language: &'static Language,
    pub(super) lexicon: LanguageLexicon,
    pub(super) grammar: &'static Grammar,
}

impl PropositionWord {
    pub(super) const fn plays(&self, roles: u64) -> bool {
        self.roles & roles != 0
    }

    pub(super) const fn is(&self, kinds: u32) -> bool {
        self.kinds & kinds != 0
    }

    /// Whether the word introduces a phrase. "Of" does not, because it continues the words before it.
    pub(super) fn leads(&self) -> bool {
        (self.is(kind::PREPOSITION) || self.text == "than") && self.text != "of"
    }

    /// Whether the word is an auxiliary or a form of "be".
    pub(super) const fn auxiliary(&self) -> bool {
        self.plays(role::BE | role::HAVE | role::DO | role::MODAL)
    }

    pub(super) fn adverb(&self) -> bool {
        self.plays(role::ALWAYS | role::OFTEN | role::MOMENT) || matches!(self.text.as_str(), "also" | "ever")
    }
}

/// The mark in the gap between two words; a space if no mark separates them.
fn mark(gap: &str) -> char {
    if gap.contains(" - ") {
        return '-';
    }
    gap.chars().find(|c| matches!(c, ',' | ';' | ':' | '(' | ')' | '\u{2013}' | '\u{2014}' | '|')).unwrap_or(' ')
}

impl LanguageTables {
    pub(super) fn words(&self, span: &str) -> Vec<PropositionWord> {
        let mut found: Vec<PropositionWord> = Vec::new();
        let mut end = 0;
        let digit = |text: &str, at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        for range in words(span) {
            let gap = span.get(end..range.start).unwrap_or_default();
            let shown = span.get(range.clone()).unwrap_or_default();
            let joined = end > 0 && digit(span, end - 1) && digit(span, range.start);
            end = range.end;
            if let Some(last) = found.last_mut().filter(|_| joined && matches!(gap, "," | "." | ":")) {
                last.text.push_str(gap.trim_matches(','));
                last.text.push_str(shown);
                continue;
            }
            let mut word = self.word(shown, if found.is_empty() { ' ' } else { mark(gap) });
            // The "A" of "Option A" is not an article.
            word.roles = if !found.is_empty() && shown == "A" { 0 } else { word.roles };
            found.push(word);
        }
        found
    }

    fn word(&self, shown: &str, mark: char) -> PropositionWord {
        let mut text = shown.to_lowercase();
        let kinds = self.language.kinds(&text);
        let roles = self.grammar.roles(&text);
        let valued = kinds & (kind::NUMBER | kind::MULTIPLIER) != 0;
        if let Some(value) = self.language.value(&text).filter(|_| valued) {
            text = value.to_string();
        }
        let number = valued || text.starts_with(|c: char| c.is_ascii_digit());
        let lemmas = self.lexicon.lemmas(&text);
        let is_verb = |lemma: &LexiconLemma| lemma.part == PartOfSpeech::Verb;
        let verb = lemmas.iter().find(|lemma| is_verb(lemma)).map(|lemma| lemma.word);
        let mostly_verb = lemmas.iter().next().is_some_and(is_verb);
        PropositionWord {
            text,
            capital: shown.starts_with(char::is_uppercase),
            kinds,
            roles,
            mark,
            number,
            verb,
            mostly_verb,
        }
    }

    /// The verb lemma of a word, if it has one.
    pub(super) fn verb(&self, word: &str) -> Option<&'static str> {
        self.lexicon.lemmas(word).iter().find(|l| l.part == PartOfSpeech::Verb).map(|l| l.word)
    }

    /// Whether the most common lemma of a word is a verb.
    pub(super) fn mostly_verb(&self, word: &str) -> bool {
        self.lexicon.lemmas(word).iter().next().is_some_and(|l| l.part == PartOfSpeech::Verb)
    }

    /// The noun lemma of a word, if it has one.
    pub(super) fn noun(&self, word: &str) -> Option<&'static str> {
        self.lexicon.lemmas(word).iter().find(|l| l.part == PartOfSpeech::Noun).map(|l| l.word)
    }

    /// The lists that contain a word or its verb lemma, as bits.
    pub(super) fn roles_of_verb(&self, word: &str) -> u64 {
        self.grammar.roles(word) | self.verb(word).map_or(0, |verb| self.grammar.roles(verb))
    }

    /// Whether two words are opposites: by the word tables, by a list, or by a negative prefix.
    pub(super) fn are_opposites(&self, a: &str, b: &str) -> bool {
        const PREFIXES: [&str; 7] = ["un", "in", "im", "ir", "il", "non", "dis"];
        let forms = |word: &str| {
            let lemmas = self.lexicon.lemmas(word);
            let mut all: Vec<String> = lemmas.iter().map(|l| l.word.to_owned()).collect();
            all.push(word.to_owned());
            all
        };
        let prefixed = |a: &str, b: &str| PREFIXES.iter().any(|p| a.strip_prefix(p) == Some(b)) && self.known(a);
        let listed = || forms(a).iter().any(|a| forms(b).iter().any(|b| self.grammar.are_opposites(a, b)));
        a != b && (self.lexicon.are_antonyms(a, b) || prefixed(a, b) || prefixed(b, a) || listed())
    }

    fn known(&self, word: &str) -> bool {
        self.lexicon.lemmas(word).iter().next().is_some()
    }
}
