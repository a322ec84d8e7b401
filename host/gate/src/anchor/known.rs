//! The facts of one entity, and the choice of the facts that a sentence states.
//!
//! A sentence states a fact if it contains a large enough share of the fact's words. All words of a statement must come
//! from the same facts: if a person has one fact with "1992" and another with "London", the two facts do not support a
//! sentence that combines "1992" and "London".

use super::roles::{Agreement, Roles};
use portcullis_core::fixed::BasisPoints;
use portcullis_mapping::{CheckableWord, TextMapper, VerbClause};
use std::collections::{BTreeMap, BTreeSet};

/// Smallest share of a fact's words with which a sentence states the fact, in basis points. It is only two fifths,
/// because facts contain words such as "is located" and "is called".
const OF_SENTENCE: u16 = 4_000;
/// The share for a part of a divided span, in basis points. It is two thirds, because the other words of the fact may
/// stand in the rest of the sentence.
const OF_PART: u16 = 6_600;
/// A word that occurs in more facts of an entity than this does not distinguish them, so it is treated as a word of the
/// entity's name. This bounds the work per word.
const COMMON: usize = 256;
/// Relations with a date. A number in such a relation must occur in a fact with the same relation.
const DATED: &[&str] = &["born", "died", "founded", "married"];

/// A word of a sentence, and other words with the same meaning.
pub(super) struct QueryWord<'a> {
    pub(super) of: &'a CheckableWord,
    /// The stems of the other words; empty for a number or a name.
    pub(super) also: Vec<String>,
}

impl QueryWord<'_> {
    fn forms(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.of.stem.as_str()).chain(self.also.iter().map(String::as_str))
    }
}

/// The key of a word in the indexes: its stem, with "not" before it if the word is denied.
fn said_as(stem: &str, negated: bool) -> String {
    if negated { format!("not {stem}") } else { stem.to_owned() }
}

#[derive(Default)]
pub(super) struct KnownWords {
    pub(super) id: String,
    /// Stems of the entity's names, and of words that occur in too many facts.
    names: BTreeSet<String>,
    facts: Vec<FactWords>,
    /// For each key, the places of its words: the number of the fact, and the number of the word in the fact.
    holding: BTreeMap<String, Vec<(usize, usize)>>,
    /// As `holding`, for more general words: a fact with "dog" also supports "animal".
    general: BTreeMap<String, Vec<(usize, usize)>>,
    /// Stems of all words of the facts.
    stems: BTreeSet<String>,
    relations: BTreeSet<String>,
    roles: Roles,
}

/// A fact and its words.
struct FactWords {
    /// The fact's text in the store, quoted in the reasons of refusals.
    text: Box<str>,
    /// Number of different words of the fact, without names.
    count: usize,
    relations: BTreeSet<String>,
}

impl KnownWords {
    pub(super) fn name(&mut self, name: &str, mapper: &TextMapper) {
        self.names.extend(mapper.checkable(name).into_iter().map(|c| c.stem));
    }

    /// Adds a fact. All names must be added before, because names do not count as words of a fact.
    pub(super) fn fact(&mut self, text: &str, mapper: &TextMapper) {
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
        self.facts.push(FactWords { text: text.into(), count: stems.len(), relations });
        self.roles.add(fact, &mapper.clauses(text), &self.names);
    }

    /// Must be called after the last fact is added. From then on, words that are too common do not count as words of
    /// their facts, and a general word that is too common supports nothing.
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

    /// The facts that a sentence states, in order. `part` is whether the words are a part of a divided span. A denied
    /// word counts only for facts that deny it.
    pub(super) fn said(&self, sentence: &[QueryWord<'_>], part: bool) -> BTreeSet<usize> {
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

    /// Whether a name of the entity or one of the facts `said` supports a word. A number in one of the relations
    /// [`DATED`] needs a fact with the same relation.
    pub(super) fn supports(&self, word: &QueryWord<'_>, said: &BTreeSet<usize>) -> bool {
        let relation = word.of.relation.as_deref().filter(|r| word.of.number && DATED.contains(r));
        let wanted = relation.filter(|r| self.relations.contains(*r));
        let is_said = |(fact, _): &(usize, usize)| {
            said.contains(fact) && wanted.is_none_or(|r| self.facts.get(*fact).is_some_and(|f| f.relations.contains(r)))
        };
        self.names.contains(&word.of.stem)
            || word.forms().any(|stem| self.words_of(&said_as(stem, word.of.negated)).any(is_said))
    }

    /// Compares the roles in a clause with those in the facts that have its verb. `Ok` if a fact agrees; `Err` with the
    /// first fact if none agrees; `None` if no fact has the verb.
    pub(super) fn agrees(&self, clause: &VerbClause) -> Option<Result<(), &str>> {
        self.roles.agree(clause, &self.names).map(|agreement| match agreement {
            Agreement::Agrees => Ok(()),
            Agreement::Differs(fact) => Err(self.facts.get(fact).map_or("", |fact| &fact.text)),
        })
    }

    /// Whether the word is part of the entity's name.
    pub(super) fn names(&self, word: &CheckableWord) -> bool {
        self.names.contains(&word.stem)
    }

    /// Whether a word is in a name or a fact.
    pub(super) fn mentions(&self, word: &CheckableWord) -> bool {
        self.names.contains(&word.stem) || self.stems.contains(&word.stem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn mapper() -> TextMapper {
        let manifest = r#"{"package":{"name":"p","version":"1.0.0","description":""},
            "enumerations":{"domain":["any"],"audience":["any"],"temporal":["any"],"register":["any"]}}"#;
        TextMapper::new(&serde_json::from_str(manifest).unwrap(), &BTreeMap::new()).unwrap()
    }

    fn known(mapper: &TextMapper, facts: &[&str]) -> KnownWords {
        let mut known = KnownWords::default();
        known.name("Ana Silva", mapper);
        facts.iter().for_each(|f| known.fact(f, mapper));
        known.complete();
        known
    }

    fn missing(mapper: &TextMapper, known: &KnownWords, sentence: &str, part: bool) -> Vec<String> {
        let words = mapper.checkable(sentence);
        let words: Vec<QueryWord<'_>> = words.iter().map(|of| QueryWord { of, also: Vec::new() }).collect();
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
        // "twelve ships" and "1950" both occur in the facts, but in different facts.
        assert_eq!(missing(&mapper, &known, "She sailed twelve ships in 1950.", false), ["1950"]);
        // Two of five words of a fact are enough for a sentence but not for a part of a sentence.
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
