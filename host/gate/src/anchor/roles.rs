//! Roles: who does what to whom. Checks that words have the same roles in a sentence as in a fact.

use portcullis_mapping::{ClauseArgument, VerbClause};
use std::collections::{BTreeMap, BTreeSet};

/// If more clauses of an entity's facts than this have a verb, the verb is not compared. This bounds the work per
/// sentence.
const MOST: usize = 256;
/// Key of the entity itself, under any of its names. A stem is never empty, so the key is unique.
const ENTITY: &str = "";
/// The role of the words before the verb, or after "by" in the passive.
const SUBJECT: &str = "subject";

/// Result of comparing a clause's roles with the facts that have the same verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// At least one fact gives the words the same roles.
    Agrees,
    /// No fact agrees. The value is the number of the first compared fact.
    Differs(usize),
}

/// The clauses of one entity's facts.
#[derive(Default)]
pub(super) struct Roles {
    /// The clauses, each with the number of its fact.
    clauses: Vec<(usize, Arguments)>,
    /// Places in `clauses` by the lemmas of the verbs.
    by_verb: BTreeMap<&'static str, Vec<usize>>,
}

struct Arguments {
    /// The role of each word: [`SUBJECT`], its preposition, or "" for an object; `None` if the word has several roles.
    roles: BTreeMap<String, Option<String>>,
    /// Whether a subject is a name, or the entity itself.
    named: bool,
    transitive: bool,
}

impl Arguments {
    fn of(clause: &VerbClause, names: &BTreeSet<String>) -> Self {
        let mut arguments = Self { roles: BTreeMap::new(), named: false, transitive: clause.transitive };
        for subject in &clause.subjects {
            let key = key(subject, names);
            arguments.named |= subject.name || key == ENTITY;
            arguments.add(key, SUBJECT);
        }
        for other in &clause.others {
            arguments.add(key(other, names), other.preposition.as_deref().unwrap_or_default());
        }
        arguments
    }

    fn add(&mut self, key: &str, role: &str) {
        let known = self.roles.entry(key.to_owned()).or_insert_with(|| Some(role.to_owned()));
        if known.as_deref() != Some(role) {
            *known = None;
        }
    }

    fn subjects(&self) -> impl Iterator<Item = &String> {
        self.roles.iter().filter(|(_, role)| role.as_deref() == Some(SUBJECT)).map(|(key, _)| key)
    }

    /// Whether the word has exactly one role in this clause, and this role is not that of the subject.
    fn is_other(&self, key: &str) -> bool {
        self.roles.get(key).is_some_and(|role| role.as_deref().is_some_and(|role| role != SUBJECT))
    }

    fn is_subject(&self, key: &str) -> bool {
        self.roles.get(key).is_some_and(|role| role.as_deref() == Some(SUBJECT))
    }

    /// Whether two clauses contradict each other: a word is the subject of only one clause and has another role in the
    /// other clause, their named subjects differ, or two words have exchanged roles.
    fn conflicts(&self, fact: &Self) -> bool {
        let (said, known) = (self.subjects().next().is_some(), fact.subjects().next().is_some());
        let both = said && known;
        // A moved subject counts only if both verbs are transitive: "The mill closed in 1987" and "they closed the
        // mill" are about the same event.
        let moved = both
            && self.transitive
            && fact.transitive
            && (self.subjects().any(|key| fact.is_other(key)) || fact.subjects().any(|key| self.is_other(key)));
        let certain = |side: &Self| side.roles.get(ENTITY) != Some(&None);
        let other = both
            && certain(self)
            && certain(fact)
            && self.named
            && fact.named
            && !self.subjects().any(|key| fact.is_subject(key));
        moved || other || self.exchanged(fact)
    }

    /// Whether two words have exchanged roles: "from Porto to Lisbon", "from Lisbon to Porto".
    fn exchanged(&self, fact: &Self) -> bool {
        let changes: BTreeSet<(&str, &str)> = self
            .roles
            .iter()
            .filter_map(|(key, role)| Some((role.as_deref()?, fact.roles.get(key)?.as_deref()?)))
            .filter(|(here, there)| here != there)
            .collect();
        changes.iter().any(|(here, there)| changes.contains(&(there, here)))
    }
}

fn key<'a>(argument: &'a ClauseArgument, names: &BTreeSet<String>) -> &'a str {
    if names.contains(&argument.stem) { ENTITY } else { &argument.stem }
}

impl Roles {
    /// Adds the clauses of fact number `fact`, of an entity with these names.
    pub(super) fn add(&mut self, fact: usize, clauses: &[VerbClause], names: &BTreeSet<String>) {
        for clause in clauses {
            let at = self.clauses.len();
            self.clauses.push((fact, Arguments::of(clause, names)));
            for lemma in &clause.lemmas {
                self.by_verb.entry(lemma).or_default().push(at);
            }
        }
    }

    /// Compares the roles in a clause with those in the facts that have its verb; `None` if no fact has the verb.
    pub(super) fn agree(&self, clause: &VerbClause, names: &BTreeSet<String>) -> Option<Agreement> {
        let of = |verbs: &[&'static str]| -> BTreeSet<usize> {
            verbs.iter().filter_map(|verb| self.by_verb.get(verb)).flatten().copied().collect()
        };
        // Synonyms are less certain, so they are used only if no fact has the verb itself.
        let found = Some(of(&clause.lemmas)).filter(|found| !found.is_empty()).unwrap_or_else(|| of(&clause.also));
        if found.len() > MOST {
            return None;
        }
        let said = Arguments::of(clause, names);
        let mut facts = found.iter().filter_map(|at| self.clauses.get(*at));
        let (first, _) = facts.clone().next()?;
        let agrees = facts.any(|(_, fact)| !said.conflicts(fact));
        Some(if agrees { Agreement::Agrees } else { Agreement::Differs(*first) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_mapping::TextMapper;

    /// Whether the facts agree with the first verb of a sentence.
    fn agree(facts: &[&str], sentence: &str) -> Option<bool> {
        let manifest = r#"{"package":{"name":"p","version":"1.0.0","description":""},
            "enumerations":{"domain":["any"],"audience":["any"],"temporal":["any"],"register":["any"]}}"#;
        let mapper = TextMapper::new(&serde_json::from_str(manifest).unwrap(), &BTreeMap::new()).unwrap();
        let names: BTreeSet<String> = mapper.checkable("Ana Silva").into_iter().map(|c| c.stem).collect();
        let mut roles = Roles::default();
        facts.iter().enumerate().for_each(|(at, fact)| roles.add(at, &mapper.clauses(fact), &names));
        let agreement = roles.agree(mapper.clauses(sentence).first().unwrap(), &names);
        agreement.map(|agreement| agreement == Agreement::Agrees)
    }

    #[test]
    fn another_subject_is_a_contradiction() {
        let facts = ["Ana Silva sold the mill to Bo Lind."];
        assert_eq!(agree(&facts, "Silva sold the mill."), Some(true));
        assert_eq!(agree(&facts, "The mill was sold by her."), Some(true));
        assert_eq!(agree(&facts, "Bo Lind sold the mill to Ana Silva."), Some(false));
        assert_eq!(agree(&facts, "The mill was sold by Bo Lind."), Some(false));
        // No fact has the verb of this sentence.
        assert_eq!(agree(&facts, "Bo Lind painted the mill."), None);
    }

    #[test]
    fn a_word_that_was_no_subject_is_none() {
        assert_eq!(agree(&["The council gave Ana Silva a key."], "Ana Silva gave the council a key."), Some(false));
        assert_eq!(agree(&["The council gave Ana Silva a key."], "She was given a key by the council."), Some(true));
    }

    #[test]
    fn what_happens_to_a_thing_is_no_other_event_than_doing_it() {
        assert_eq!(agree(&["Ana Silva closed the mill in 1987."], "The mill closed in 1987."), Some(true));
    }

    #[test]
    fn two_words_do_not_change_their_prepositions() {
        assert_eq!(agree(&["She sailed from Porto to Lisbon."], "She sailed from Lisbon to Porto."), Some(false));
        assert_eq!(agree(&["She sailed from Porto to Lisbon."], "She sailed to Lisbon."), Some(true));
    }

    #[test]
    fn one_fact_that_agrees_is_enough() {
        let facts = ["Ana Silva won a prize.", "Bo Lind won the race."];
        assert_eq!(agree(&facts, "Bo Lind won the race."), Some(true));
    }
}
