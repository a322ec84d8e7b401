//! The facts of one entity, and which of them a sentence says.
//!
//! A word counts only within its fact. If one fact of a person has "1992" and another "London", a sentence that joins
//! the two is not true because of that. So a fact counts for a sentence when the sentence has enough of its words.

use super::roles::{Agreement, Roles};
use portcullis_core::fixed::BasisPoints;
use portcullis_mapping::{Checkable, Clause, Mapper};
use std::collections::{BTreeMap, BTreeSet};

/// Share of a fact's words that a sentence must have to say it, in basis points: two fifths, for a fact has words of
/// its own ("is located", "is called").
const OF_SENTENCE: u16 = 4_000;
/// The same for a part of a split sentence: two thirds, because the part that was cut off may have had the other words
/// of the fact.
const OF_PART: u16 = 6_600;
/// A word that is in more facts of one entity than this does not distinguish them; it counts as a part of the name.
/// This bounds the work for a word.
const COMMON: usize = 256;
/// Relations whose values must be in a fact with the same relation.
const DATED: &[&str] = &["born", "died", "founded", "married"];

/// A word of a sentence with other words that say the same.
pub(super) struct Word<'a> {
    pub(super) of: &'a Checkable,
    /// Their stems; none for a number or a name.
    pub(super) also: Vec<String>,
}

impl Word<'_> {
    fn forms(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.of.stem.as_str()).chain(self.also.iter().map(String::as_str))
    }
}

/// A stem as a fact holds it: what is denied is another word.
fn said_as(stem: &str, negated: bool) -> String {
    if negated { format!("not {stem}") } else { stem.to_owned() }
}

#[derive(Default)]
pub(super) struct KnownWords {
    pub(super) id: String,
    /// Stems of its names, and of words that occur in too many of its facts.
    names: BTreeSet<String>,
    facts: Vec<Words>,
    /// Words of facts, each with its fact and its number there, by their stems.
    holding: BTreeMap<String, Vec<(usize, usize)>>,
    /// The same by the stems of more general words.
    general: BTreeMap<String, Vec<(usize, usize)>>,
    /// Stems of all words of its facts.
    stems: BTreeSet<String>,
    relations: BTreeSet<String>,
    roles: Roles,
}

/// A fact and its words.
struct Words {
    /// The fact as the store has it, for the reasons of a refusal.
    text: Box<str>,
    /// How many of its stems are not names.
    count: usize,
    relations: BTreeSet<String>,
}

impl KnownWords {
    pub(super) fn name(&mut self, name: &str, mapper: &Mapper) {
        self.names.extend(mapper.checkable(name).into_iter().map(|c| c.stem));
    }

    /// Adds a fact. Names come before, or the facts count their words as words of theirs.
    pub(super) fn fact(&mut self, text: &str, mapper: &Mapper) {
        let words = mapper.checkable(text);
        let relations: BTreeSet<String> = words.iter().filter_map(|w| w.relation.clone()).collect();
        self.relations.extend(relations.iter().cloned());
        let fact = self.facts.len();
        self.stems.extend(words.iter().map(|w| w.stem.clone()));
        let mut stems: Vec<String> = Vec::new();
        for word in words.iter().filter(|w| !self.names.contains(&w.stem)) {
            let stem = said_as(&word.stem, word.negated);
            if stems.contains(&stem) {
                continue;
            }
            let shown = text.get(word.range.clone()).filter(|_| !word.value).unwrap_or_default();
            let general = mapper.generalisations(shown);
            let general = general.iter().map(|stem| said_as(stem, word.negated)).filter(|other| *other != stem);
            self.holding.entry(stem.clone()).or_default().push((fact, stems.len()));
            for key in general {
                self.general.entry(key).or_default().push((fact, stems.len()));
            }
            stems.push(stem);
        }
        self.facts.push(Words { text: text.into(), count: stems.len(), relations });
        self.roles.add(fact, &mapper.clauses(text), &self.names);
    }

    /// After the last fact: takes the words that are too common out of the facts. A general word that is too common
    /// supports nothing.
    pub(super) fn complete(&mut self) {
        self.general.retain(|_, words| words.len() <= COMMON);
        let common: Vec<String> =
            self.holding.iter().filter(|(_, words)| words.len() > COMMON).map(|(stem, _)| stem.clone()).collect();
        let mut dropped: BTreeSet<(usize, usize)> = BTreeSet::new();
        for stem in common {
            dropped.extend(self.holding.remove(&stem).unwrap_or_default());
            self.names.insert(stem);
        }
        for (fact, _) in dropped {
            if let Some(words) = self.facts.get_mut(fact) {
                words.count -= 1;
            }
        }
    }

    fn words_of(&self, key: &str) -> impl Iterator<Item = &(usize, usize)> {
        [&self.holding, &self.general].into_iter().filter_map(|words| words.get(key)).flatten()
    }

    /// The facts that a sentence states, in order; `part` if the caller asks about a part of it. Only a fact that
    /// denies something supports its denial.
    pub(super) fn said(&self, sentence: &[Word<'_>], part: bool) -> BTreeSet<usize> {
        let share = if part { OF_PART } else { OF_SENTENCE };
        let forms = sentence.iter().flat_map(|word| word.forms().map(|stem| said_as(stem, word.of.negated)));
        let mut found: BTreeSet<(usize, usize)> = BTreeSet::new();
        forms.for_each(|key| found.extend(self.words_of(&key)));
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        found.into_iter().for_each(|(fact, _)| *counts.entry(fact).or_default() += 1);
        let said_of = |(fact, count): &(usize, usize)| {
            self.facts.get(*fact).is_some_and(|f| BasisPoints::ratio(*count, f.count).get() >= share)
        };
        counts.into_iter().filter(said_of).map(|(fact, _)| fact).collect()
    }

    /// Whether one of the facts `said` supports a word, or a name does. A number of a known relation must be in a
    /// fact of it.
    pub(super) fn supports(&self, word: &Word<'_>, said: &BTreeSet<usize>) -> bool {
        let relation = word.of.relation.as_deref().filter(|r| word.of.number && DATED.contains(r));
        let wanted = relation.filter(|r| self.relations.contains(*r));
        let is_said = |(fact, _): &(usize, usize)| {
            said.contains(fact) && wanted.is_none_or(|r| self.facts.get(*fact).is_some_and(|f| f.relations.contains(r)))
        };
        self.names.contains(&word.of.stem)
            || word.forms().any(|stem| self.words_of(&said_as(stem, word.of.negated)).any(is_said))
    }

    /// Compares a clause's roles with those facts that have its verb. Empty if one of them fits; otherwise the first
    /// that does not fit. `None` if no fact has the verb.
    pub(super) fn agrees(&self, clause: &Clause) -> Option<Result<(), &str>> {
        self.roles.agree(clause, &self.names).map(|agreement| match agreement {
            Agreement::Agrees => Ok(()),
            Agreement::Differs(fact) => Err(self.facts.get(fact).map_or("", |fact| &fact.text)),
        })
    }

    /// Whether a word is only a part of a name.
    pub(super) fn names(&self, word: &Checkable) -> bool {
        self.names.contains(&word.stem)
    }

    /// Whether a name or any fact has a word.
    pub(super) fn mentions(&self, word: &Checkable) -> bool {
        self.names.contains(&word.stem) || self.stems.contains(&word.stem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn mapper() -> Mapper {
        let manifest = r#"{"package":{"name":"p","version":"1.0.0","description":""},
            "enumerations":{"domain":["any"],"audience":["any"],"temporal":["any"],"register":["any"]}}"#;
        Mapper::new(&serde_json::from_str(manifest).unwrap(), &BTreeMap::new()).unwrap()
    }

    fn known(mapper: &Mapper, facts: &[&str]) -> KnownWords {
        let mut known = KnownWords::default();
        known.name("Ana Silva", mapper);
        facts.iter().for_each(|f| known.fact(f, mapper));
        known.complete();
        known
    }

    fn missing(mapper: &Mapper, known: &KnownWords, sentence: &str, part: bool) -> Vec<String> {
        let words = mapper.checkable(sentence);
        let words: Vec<Word<'_>> = words.iter().map(|of| Word { of, also: Vec::new() }).collect();
        let said = known.said(&words, part);
        words.iter().filter(|w| !known.supports(w, &said)).map(|w| w.of.stem.clone()).collect()
    }

    const FACTS: &[&str] = &[
        "Ana Silva was born in Porto on 3 May 1950.",
        "Ana Silva sailed twelve ships to Lisbon in 1970.",
        "Ana Silva died in 1990.",
    ];

    #[test]
    fn a_word_counts_only_where_its_fact_is_said() {
        let mapper = mapper();
        let known = known(&mapper, FACTS);
        assert!(missing(&mapper, &known, "Silva was born in Porto in May 1950.", false).is_empty());
        assert!(missing(&mapper, &known, "She sailed 12 ships in 1970.", false).is_empty());
        // Both words are known of her, but no fact says this of 1950.
        assert_eq!(missing(&mapper, &known, "She sailed twelve ships in 1950.", false), ["1950"]);
        // Two of five words of a fact are enough for a sentence and too few for a part of one.
        assert!(missing(&mapper, &known, "To Lisbon in 1970", false).is_empty());
        assert_eq!(missing(&mapper, &known, "To Lisbon in 1970", true), ["lisbon", "1970"]);
    }

    #[test]
    fn a_number_of_a_relation_stands_in_a_fact_of_it() {
        let mapper = mapper();
        let known = known(&mapper, FACTS);
        assert_eq!(missing(&mapper, &known, "She was born in Porto in May 1990.", false), ["1990"]);
        assert!(missing(&mapper, &known, "She died in 1990.", false).is_empty());
    }

    #[test]
    fn a_word_of_very_many_facts_tells_none_apart() {
        let mapper = mapper();
        let many: Vec<String> = (0..=COMMON).map(|n| format!("Ana Silva painted harbour{n}x in Porto.")).collect();
        let known = known(&mapper, &many.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(missing(&mapper, &known, "She painted harbour7x in Porto.", false).is_empty());
        assert_eq!(missing(&mapper, &known, "She painted Lisbon in Porto.", false), ["lisbon"]);
    }

    #[test]
    fn a_general_word_of_very_many_facts_supports_nothing() {
        let mapper = mapper();
        let many: Vec<String> = (0..=COMMON).map(|n| format!("Ana Silva fed puppies in harbour{n}x.")).collect();
        let known = known(&mapper, &many.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(!known.names.contains("dog") && !known.general.contains_key("dog"));
    }
}
