//! Word lists of a language for reading propositions.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Lists that a word can be on, as bits.
pub(crate) mod role {
    pub(crate) const UNASSERTED: u64 = 1 << 0;
    pub(crate) const BOUND: u64 = 1 << 1;
    pub(crate) const HAVE: u64 = 1 << 2;
    pub(crate) const DO: u64 = 1 << 3;
    pub(crate) const BE: u64 = 1 << 4;
    pub(crate) const MODAL: u64 = 1 << 5;
    pub(crate) const PAST: u64 = 1 << 6;
    pub(crate) const DENIAL: u64 = 1 << 7;
    pub(crate) const ALWAYS: u64 = 1 << 8;
    pub(crate) const OFTEN: u64 = 1 << 9;
    pub(crate) const MOMENT: u64 = 1 << 10;
    pub(crate) const NARROW: u64 = 1 << 11;
    pub(crate) const ALL: u64 = 1 << 12;
    pub(crate) const NONE: u64 = 1 << 13;
    pub(crate) const SOME: u64 = 1 << 14;
    pub(crate) const ARTICLE: u64 = 1 << 15;
    pub(crate) const DETERMINER: u64 = 1 << 16;
    pub(crate) const CONDITION: u64 = 1 << 17;
    pub(crate) const RELATIVE: u64 = 1 << 18;
    pub(crate) const CUT: u64 = 1 << 19;
    pub(crate) const MASCULINE: u64 = 1 << 20;
    pub(crate) const FEMININE: u64 = 1 << 21;
    pub(crate) const NEUTER: u64 = 1 << 22;
    pub(crate) const PLURAL: u64 = 1 << 23;
    pub(crate) const OTHER: u64 = 1 << 24;
    pub(crate) const LABEL: u64 = 1 << 25;
    pub(crate) const ONCE: u64 = 1 << 26;
    pub(crate) const MAKE: u64 = 1 << 27;
    pub(crate) const TIMED: u64 = 1 << 28;
    pub(crate) const PLACED: u64 = 1 << 29;
    pub(crate) const SEAT: u64 = 1 << 30;
    pub(crate) const WEEKDAY: u64 = 1 << 31;
    pub(crate) const REGION: u64 = 1 << 32;
    pub(crate) const DEICTIC: u64 = 1 << 33;
    pub(crate) const GENERAL: u64 = 1 << 34;
}

/// The content of a grammar file.
#[derive(Deserialize)]
struct GrammarLists {
    opposites: Vec<String>,
    #[serde(flatten)]
    lists: BTreeMap<String, Vec<String>>,
}

/// Names of the lists in a grammar file, in the order of their bits.
const NAMES: &[&str] = &[
    "unasserted",
    "bound",
    "have",
    "do",
    "be",
    "modal",
    "past",
    "denial",
    "always",
    "often",
    "moment",
    "narrow",
    "all",
    "none",
    "some",
    "article",
    "determiner",
    "condition",
    "relative",
    "cut",
    "masculine",
    "feminine",
    "neuter",
    "plural",
    "other",
    "labels",
    "once",
    "make",
    "timed",
    "placed",
    "seat",
    "weekdays",
    "regions",
    "deictic",
    "general",
];

/// The lists of one language.
pub(crate) struct Grammar {
    words: BTreeMap<String, u64>,
    opposites: BTreeSet<(String, String)>,
}

static ENGLISH: LazyLock<Option<Grammar>> =
    LazyLock::new(|| Some(Grammar::new(toml::from_str(include_str!("../../languages/en/grammar.toml")).ok()?)));

impl Grammar {
    /// The grammar of a language, if there is one.
    pub(crate) fn of(language: &str) -> Option<&'static Self> {
        if language == "en" { ENGLISH.as_ref() } else { None }
    }

    fn new(file: GrammarLists) -> Self {
        let mut words: BTreeMap<String, u64> = BTreeMap::new();
        for (bit, name) in NAMES.iter().enumerate() {
            for word in file.lists.get(*name).into_iter().flatten() {
                *words.entry(word.clone()).or_default() |= 1 << bit;
            }
        }
        let pairs = file.opposites.iter().filter_map(|pair| pair.split_once('/'));
        let opposites = pairs.flat_map(|(a, b)| [(a.into(), b.into()), (b.into(), a.into())]).collect();
        Self { words, opposites }
    }

    /// The lists that contain a word, as bits.
    pub(crate) fn roles(&self, word: &str) -> u64 {
        self.words.get(word).copied().unwrap_or(0)
    }

    /// Whether two words are listed as opposites.
    pub(super) fn are_opposites(&self, a: &str, b: &str) -> bool {
        self.opposites.contains(&(a.to_owned(), b.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_a_bit() {
        let file: GrammarLists = toml::from_str(include_str!("../../languages/en/grammar.toml")).unwrap();
        let mut names: Vec<&str> = NAMES.to_vec();
        names.sort_unstable();
        assert_eq!(file.lists.keys().map(String::as_str).collect::<Vec<_>>(), names);
        assert_eq!(NAMES.iter().position(|n| *n == "regions"), Some(role::REGION.trailing_zeros() as usize));
    }
}
