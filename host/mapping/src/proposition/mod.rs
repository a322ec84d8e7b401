//! Propositions: reads the assertions of a sentence by marks, verbs and prepositions, and finds conflicts between them.
//!
//! The reading is shallow and deterministic. Questions, reports, doubts, quotations and fiction do not assert anything.

mod conflict;
mod grammar;
mod introduced;
mod pointing;
mod read;
mod word;

use crate::cues::cue;
use crate::language::Language;
use crate::lexicon::LanguageLexicon;
use crate::reading::asks;
use crate::words::{without_addresses, words};
pub use conflict::PropositionConflict;
pub(crate) use grammar::{Grammar, role};
pub use introduced::IntroducedWords;
use portcullis_core::proposition::Proposition;
use read::PropositionReader;
use word::LanguageTables;

/// Greatest number of words of a heading that begins with a question word.
const HEADING: usize = 5;

/// The proposition reader of a language with a grammar and word tables.
#[derive(Clone, Copy)]
pub(crate) struct Propositions(LanguageTables);

impl Propositions {
    /// The reader of a language (ISO 639-1); `None` if the language lacks a table.
    pub(crate) fn of(code: &str) -> Option<Self> {
        let (language, lexicon, grammar) = (Language::of(code)?, LanguageLexicon::of(code)?, Grammar::of(code)?);
        Some(Self(LanguageTables { language, lexicon, grammar }))
    }

    /// The assertions of a span, read after the earlier part of its sentence; pronouns are not resolved.
    pub(crate) fn read(&self, before: &str, span: &str) -> Vec<Proposition> {
        let mut found = self.sentence(&[before, span].concat(), span);
        if !before.is_empty() {
            let earlier = self.sentence(before, span);
            found.retain(|p| !earlier.contains(p));
        }
        found
    }

    fn sentence(&self, span: &str, shown: &str) -> Vec<Proposition> {
        let quotes = span.contains(['"', '\u{201c}', '\u{201e}', '\u{ab}']);
        if asks(span) || quotes || self.is_heading(span) {
            return Vec::new();
        }
        let words = self.0.words(&without_addresses(span).replace('\u{2019}', "'"));
        let mut reader = PropositionReader::new(self.0, shown.trim());
        reader.read(&words);
        reader.found
    }

    /// Whether a span of a few words begins with a question word and ends without a mark: "What did not go well".
    fn is_heading(&self, span: &str) -> bool {
        let Some(cues) = self.0.language.polarity.as_ref().filter(|_| words(span).count() <= HEADING) else {
            return false;
        };
        let first = words(span).next().map_or(0..0, |word| word);
        let asks = || cues.words(span.get(first).unwrap_or_default(), |_, _| true);
        span.trim_end().ends_with(char::is_alphanumeric) && asks().iter().any(|word| word.is(cue::WHICH | cue::HOW))
    }

    /// The reason why two propositions cannot both hold; `None` if they can.
    pub(crate) fn conflict(&self, earlier: &Proposition, later: &Proposition) -> Option<PropositionConflict> {
        conflict::conflict(&self.0, earlier, later)
    }

    /// The nouns that a sentence treats as known.
    pub(crate) fn pointing(&self, span: &str, said: bool) -> Vec<Vec<String>> {
        pointing::pointing(&self.0, &self.0.words(&span.replace('\u{2019}', "'")), said)
    }

    /// Adds a word of the stream.
    pub(crate) fn introduce(&self, introduced: &mut IntroducedWords, word: &str) {
        introduced.add(self.0.lexicon, word);
    }

    /// Whether the words of the stream introduce a noun.
    pub(crate) fn is_introduced(&self, introduced: &IntroducedWords, noun: &str) -> bool {
        introduced.introduces(self.0.lexicon, noun)
    }

    /// Whether a revising proposition replaces an earlier proposition.
    pub(crate) fn replaces(&self, earlier: &Proposition, later: &Proposition) -> bool {
        conflict::replaces(&self.0, earlier, later)
    }

    /// Whether two propositions make the same assertion.
    pub(crate) fn same(&self, a: &Proposition, b: &Proposition) -> bool {
        conflict::same(&self.0, a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::proposition::{PropositionSubject, mention};

    /// The conflict of the last sentence with the earlier ones.
    fn conflict(sentences: &[&str]) -> Option<PropositionConflict> {
        let reader = Propositions::of("en").unwrap();
        let mut subjects: Vec<PropositionSubject> = Vec::new();
        let mut held: Vec<Proposition> = Vec::new();
        let mut found = None;
        for sentence in sentences {
            let mut new = reader.read("", sentence);
            new.retain_mut(|p| {
                let subject = p.subject.resolved(&subjects);
                subject.is_some_and(|subject| {
                    mention(&mut subjects, &subject);
                    p.subject = subject;
                    true
                })
            });
            found = new.iter().find_map(|p| held.iter().find_map(|h| reader.conflict(h, p)));
            held.extend(new);
        }
        found
    }

    #[test]
    fn two_values_of_what_has_one() {
        for sentences in [
            ["Ana Silva was born in 1950.", "She was born in 1960."],
            ["Option A costs 200 euros.", "Option A costs 350 euros."],
            ["The treaty was signed in Vienna.", "The treaty was signed in Prague."],
            ["The tower, which was built in 1420, leans.", "The tower was built in 1520."],
            ["Petra Holm founded the choir.", "The choir was founded by Jonas Weil."],
            ["Capacity: 40 seats", "Capacity: 60 seats"],
        ] {
            assert_eq!(conflict(&sentences), Some(PropositionConflict::Value), "{sentences:?}");
        }
    }

    #[test]
    fn denials_and_opposites() {
        for sentences in [
            ["The lift works.", "The lift doesn't work."],
            ["The board approved the plan.", "The board rejected the plan."],
            ["The left valve is open.", "The left valve is closed."],
            ["No one survived the wreck.", "Two sailors survived the wreck."],
            ["Clara Boyd has no children.", "She has two children."],
        ] {
            assert_eq!(conflict(&sentences), Some(PropositionConflict::Negation), "{sentences:?}");
        }
    }

    #[test]
    fn qualifiers_containment_and_reports_do_not_conflict() {
        for sentences in [
            ["Option A costs 200 euros.", "Option B costs 350 euros."],
            ["A ticket costs 12 euros for adults.", "A ticket costs 6 euros for students."],
            ["He was born in Paris.", "He was born in France."],
            ["The strike began in 1973.", "The strike began on 4 March 1973."],
            ["More than 5 people came.", "More than 7 people came."],
            ["Is aspirin safe?", "Aspirin is not safe."],
            ["Critics say that the dam is small.", "The dam is not small."],
            ["The shop is open.", "The shop is not closed."],
            ["Ilse Roth speaks Danish.", "She speaks Polish."],
            ["What went well", "What did not go well"],
            ["See [1](https://a.example/pull/1)", "See [2](https://a.example/pull/2)"],
            ["The team won.", "The team did not win because of luck."],
        ] {
            assert_eq!(conflict(&sentences), None, "{sentences:?}");
        }
    }

    #[test]
    fn what_is_pointed_at() {
        let reader = Propositions::of("en").unwrap();
        let of = |span: &str| reader.pointing(span, true).concat().join(" ");
        assert_eq!([of("This trial proved it."), of("These findings changed farming.")], ["trial", "findings"]);
        assert_eq!(
            [of("This means that it rains."), of("This week it rains."), of("These problems last.")],
            ["", "", ""]
        );
        let introduces = |said: &[&str], noun| {
            let mut introduced = IntroducedWords::default();
            said.iter().for_each(|word| reader.introduce(&mut introduced, word));
            reader.is_introduced(&introduced, noun)
        };
        assert!(introduces(&["clover", "decided"], "decision") && !introduces(&["clover"], "decision"));
        assert!(!introduces(&["xqzv"], "xqzv"), "a word without a lemma is compared by the caller");
    }
}
