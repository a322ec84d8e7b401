//! The abbreviations of a language: words with a full stop that need not end a sentence.

use crate::lexicon::LanguageLexicon;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The content of `[abbreviations]` in a language's file. An entry with a capital letter matches only as it is written,
/// other entries in any case; parts are joined by full stops without spaces: `z.b` for `z. B.`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AbbreviationLists {
    /// A word follows: `Dr.`, `e.g.`.
    words: Vec<String>,
    /// A number, a letter or a Roman numeral follows: `No.`, `Fig.`.
    numbers: Vec<String>,
    /// A number stands before: `in.`, `hrs.`.
    units: Vec<String>,
    /// The sentence may end here: `Inc.`, `a.m.`.
    either: Vec<String>,
    /// Auxiliary verbs. The word before one may be the subject of a new sentence: `at Beta Inc. Bonn is`.
    auxiliaries: Vec<String>,
    /// Whether figures with a full stop are ordinal numbers: `3. Mai`.
    ordinals: bool,
}

/// What must stand beside an abbreviation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbbreviationUse {
    Word,
    Number,
    Unit,
    Either,
}

/// The abbreviations of a language.
pub(crate) struct Abbreviations {
    uses: BTreeMap<String, AbbreviationUse>,
    pub(crate) auxiliaries: Vec<String>,
    pub(crate) ordinals: bool,
    pub(crate) lexicon: Option<LanguageLexicon>,
}

impl Abbreviations {
    pub(crate) fn new(lists: AbbreviationLists, language: &str) -> Self {
        let all = [
            (AbbreviationUse::Either, lists.either),
            (AbbreviationUse::Unit, lists.units),
            (AbbreviationUse::Number, lists.numbers),
            (AbbreviationUse::Word, lists.words),
        ];
        let uses = all.into_iter().flat_map(|(of, list)| list.into_iter().map(move |word| (word, of)));
        Self {
            uses: uses.collect(),
            auxiliaries: lists.auxiliaries,
            ordinals: lists.ordinals,
            lexicon: LanguageLexicon::of(language),
        }
    }

    /// How an abbreviation is used; `None` for another word.
    pub(crate) fn use_of(&self, word: &str) -> Option<AbbreviationUse> {
        self.uses.get(word).or_else(|| self.uses.get(&word.to_lowercase())).copied()
    }
}
