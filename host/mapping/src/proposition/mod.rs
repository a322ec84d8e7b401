//! Propositions: what a sentence asserts, read by marks, verbs and prepositions, and when two of them cannot both hold.
//!
//! Shallow and deterministic. What is asked, reported, doubted, quoted or imagined asserts nothing.

mod conflict;
mod grammar;
mod read;
mod word;

use crate::language::Language;
use crate::lexicon::Lexicon;
use crate::reading::asks;
pub use conflict::Conflict;
pub(crate) use grammar::{Grammar, role};
use portcullis_core::proposition::Proposition;
use read::Reader;
use word::Tables;

/// The propositions of a language that has a grammar and word tables.
#[derive(Clone, Copy)]
pub(crate) struct Propositions(Tables);

impl Propositions {
    /// The tables of a language (ISO 639-1), where it has some.
    pub(crate) fn of(code: &str) -> Option<Self> {
        let (language, lexicon, grammar) = (Language::of(code)?, Lexicon::of(code)?, Grammar::of(code)?);
        Some(Self(Tables { language, lexicon, grammar }))
    }

    /// What a span asserts, behind what stands before it in its sentence; pronouns are not resolved.
    pub(crate) fn read(&self, before: &str, span: &str) -> Vec<Proposition> {
        let mut found = self.sentence(&[before, span].concat(), span);
        if !before.is_empty() {
            let earlier = self.sentence(before, span);
            found.retain(|p| !earlier.contains(p));
        }
        found
    }

    fn sentence(&self, span: &str, shown: &str) -> Vec<Proposition> {
        if asks(span) || span.contains(['"', '\u{201c}', '\u{201e}', '\u{ab}']) {
            return Vec::new();
        }
        let words = self.0.words(&span.replace('\u{2019}', "'"));
        let mut reader = Reader::new(self.0, shown.trim());
        reader.read(&words);
        reader.found
    }

    /// Why two propositions cannot both hold.
    pub(crate) fn conflict(&self, earlier: &Proposition, later: &Proposition) -> Option<Conflict> {
        conflict::conflict(&self.0, earlier, later)
    }

    /// Whether a proposition that revises replaces an earlier one.
    pub(crate) fn replaces(&self, earlier: &Proposition, later: &Proposition) -> bool {
        conflict::replaces(&self.0, earlier, later)
    }

    /// Whether two propositions say the same.
    pub(crate) fn same(&self, a: &Proposition, b: &Proposition) -> bool {
        conflict::same(&self.0, a, b)
    }
}
