//! `lexicon.txt`: lemmas with the words of their first senses, and irregular forms, sorted by their bytes.
//!
//! A line is a word, then entries after a space each: `v6=purchase+n:buyer,n:buying!sell` is a verb of weight 6 with
//! its synonyms, the words it is derived from or to, and its antonyms; `@` is before what a noun is a kind of;
//! `>v:buy` says that the word is a form of the verb. The weight is the binary logarithm of how often the lemma is
//! in the tagged texts, up to 9.

use super::package;
use super::wordnet::{Pointer, Synset, WordNet};
use anyhow::{Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Derivations are of so many first senses.
const DERIVED_SENSES: usize = 2;
/// Antonyms are of so many first senses.
const OPPOSED_SENSES: usize = 5;
/// A synonym has the sense among so many first ones of its own: "get" is not what "start" means.
const SYNONYM_SENSES: usize = 5;
/// More general nouns are searched up to this many steps: ibuprofen is a non-steroidal, that is a drug against
/// inflammation, that is a medicine.
const STEPS: usize = 3;
/// A part of speech has synonyms and derivations when one in so many uses of the word is of it: "buy" is not "a steal".
const RARE: u64 = 10;

const HEAD: &str = "English words: synonyms, derivations, antonyms, kinds, irregular forms.";

/// A lemma with its part of speech.
type Lemma = (String, char);

pub(super) fn text(wordnet: &WordNet) -> Result<String> {
    let selection = Selection::new(wordnet);
    let mut lines: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for lemma in &selection.lemmas {
        lines.entry(&lemma.0).or_default().insert(selection.entry(lemma));
    }
    for (form, part, lemma) in &wordnet.irregular {
        if is_plain(form) && form != lemma && selection.holds(lemma, *part) {
            lines.entry(form).or_default().insert(format!(">{part}:{lemma}"));
        }
    }
    ensure!(lines.len() > 30_000, "{} words: the files are not WordNet's", lines.len());
    let mut text = head(HEAD, &wordnet.licence);
    for (word, entries) in lines {
        text.push_str(word);
        for entry in entries {
            text.push(' ');
            text.push_str(&entry);
        }
        text.push('\n');
    }
    Ok(text)
}

struct Selection<'w> {
    wordnet: &'w WordNet,
    lemmas: BTreeSet<Lemma>,
}

impl<'w> Selection<'w> {
    /// Words, not phrases, that are written small, and that the tagged texts or a gloss use.
    fn new(wordnet: &'w WordNet) -> Self {
        let used: BTreeSet<&str> =
            wordnet.glosses.iter().flat_map(|g| g.split(|c: char| !c.is_ascii_lowercase() && c != '-')).collect();
        let mut lemmas = BTreeSet::new();
        for ((part, _), synset) in &wordnet.synsets {
            for word in synset.words.iter().filter(|w| is_plain(w)) {
                let lemma = (word.clone(), *part);
                if used.contains(word.as_str()) || wordnet.counts.contains_key(&lemma) {
                    lemmas.insert(lemma);
                }
            }
        }
        Self { wordnet, lemmas }
    }

    fn holds(&self, word: &str, part: char) -> bool {
        self.lemmas.contains(&(word.to_owned(), part))
    }

    /// How often the tagged texts use a lemma.
    fn uses(&self, lemma: &Lemma) -> u64 {
        self.wordnet.counts.get(lemma).map_or(0, |counts| counts.iter().sum())
    }

    /// Whether the word is rarely of this part of speech.
    fn is_rare(&self, lemma: &Lemma) -> bool {
        let all: u64 = "anrv".chars().map(|part| self.uses(&(lemma.0.clone(), part))).sum();
        self.uses(lemma) * RARE < all
    }

    /// The first senses of a lemma, with the place of the lemma among the words of each, from 1.
    fn senses(&self, lemma: &Lemma, first: usize) -> impl Iterator<Item = (u32, &'w Synset, usize)> {
        let (wordnet, (word, part)) = (self.wordnet, lemma.clone());
        let offsets = wordnet.senses.get(lemma).into_iter().flatten().take(first).copied();
        offsets.filter_map(move |offset| {
            let synset = wordnet.synsets.get(&(part, offset))?;
            Some((offset, synset, synset.words.iter().position(|w| *w == word)? + 1))
        })
    }

    /// The word that a pointer leads to.
    fn word(&self, pointer: &Pointer) -> Option<Lemma> {
        let words = &self.wordnet.synsets.get(&pointer.synset)?.words;
        Some((words.get(pointer.to.checked_sub(1)?)?.clone(), pointer.synset.0))
    }

    /// Words that the lemma's first senses point at with one of these symbols.
    fn pointed(&self, lemma: &Lemma, first: usize, symbols: &[&str]) -> BTreeSet<Lemma> {
        let mut found = BTreeSet::new();
        for (_, synset, place) in self.senses(lemma, first) {
            let from = |p: &&Pointer| p.from == place && symbols.contains(&p.symbol.as_str());
            for pointer in synset.pointers.iter().filter(from) {
                found.extend(self.word(pointer));
            }
        }
        found.retain(|other| other.0 != lemma.0 && self.lemmas.contains(other));
        found
    }

    fn synonyms(&self, lemma: &Lemma) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (offset, synset, _) in self.senses(lemma, 1) {
            for word in synset.words.iter().filter(|word| **word != lemma.0) {
                let other = (word.clone(), lemma.1);
                let means = self.senses(&other, SYNONYM_SENSES).any(|(sense, ..)| sense == offset);
                if means && self.lemmas.contains(&other) && !self.is_rare(&other) {
                    found.insert(other.0);
                }
            }
        }
        found
    }

    /// Antonyms, and those of the adjective to which the first sense is similar: "mandatory" is to "obligatory".
    fn opposites(&self, lemma: &Lemma) -> BTreeSet<String> {
        let mut found = self.pointed(lemma, OPPOSED_SENSES, &["!"]);
        for (_, synset, _) in self.senses(lemma, 1) {
            for head in synset.pointers.iter().filter(|p| p.symbol == "&") {
                let cluster = self.wordnet.synsets.get(&head.synset);
                let opposed = cluster.iter().flat_map(|s| &s.pointers).filter(|p| p.symbol == "!");
                found.extend(opposed.filter_map(|p| self.word(p)));
            }
        }
        found.retain(|other| other.0 != lemma.0 && self.lemmas.contains(other));
        found.into_iter().map(|(word, _)| word).collect()
    }

    /// Words for what the first sense of a noun is a kind or an instance of.
    fn kinds(&self, lemma: &Lemma) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut synsets: Vec<&Synset> = self.senses(lemma, 1).map(|(_, synset, _)| synset).collect();
        if lemma.1 != 'n' || self.is_rare(lemma) {
            return found;
        }
        for _ in 0..STEPS {
            let up = synsets.iter().flat_map(|s| &s.pointers).filter(|p| p.symbol.starts_with('@'));
            synsets = up.filter_map(|p| self.wordnet.synsets.get(&p.synset)).collect();
            found.extend(synsets.iter().flat_map(|s| &s.words).filter(|word| self.holds(word, 'n')).cloned());
        }
        found.remove(&lemma.0);
        found
    }

    fn entry(&self, lemma: &Lemma) -> String {
        let weight = (self.uses(lemma) + 1).ilog2().min(9);
        let mut entry = format!("{}{weight}", lemma.1);
        let mut list = |mark: char, words: Vec<String>| {
            if !words.is_empty() {
                entry.push(mark);
                entry.push_str(&words.join(","));
            }
        };
        if !self.is_rare(lemma) {
            list('=', self.synonyms(lemma).into_iter().collect());
            // Derivation, and what a relational adjective or an adverb is made from.
            let derived = self.pointed(lemma, DERIVED_SENSES, &["+", "\\"]);
            list('+', derived.into_iter().map(|(word, part)| format!("{part}:{word}")).collect());
        }
        list('!', self.opposites(lemma).into_iter().collect());
        list('@', self.kinds(lemma).into_iter().collect());
        entry
    }
}

/// The head of a table: what it is, and the licence of what it is made from. No word sorts before its lines.
pub(super) fn head(what: &str, licence: &[String]) -> String {
    let mut text = format!("# {what} Made by `cargo xtask gen` from {}. Do not edit.\n#\n", package::NAME);
    for line in licence {
        let _ = writeln!(text, "{}", format!("# {line}").trim_end());
    }
    text
}

/// Whether a word can be in a table: lower-case ASCII letters, with hyphens inside.
pub(super) fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.split('-').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase()))
}
