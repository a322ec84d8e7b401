//! Clauses: the verbs of a text, each with its subject and the other words near it.
//!
//! The reading uses only word lists and word order, so it is sometimes wrong. Callers therefore only compare whether
//! two texts give the same words different roles; a clause that is missing in one text counts as agreement.

use crate::checkable::is_verb;
use crate::language::{Language, kind};
use crate::lexicon::{LanguageLexicon, PartOfSpeech};
use crate::words::{lower, words};
use std::ops::Range;

/// A verb with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerbClause {
    /// The verb's bytes in the text.
    pub verb: Range<usize>,
    /// Possible lemmas of the verb.
    pub lemmas: Vec<&'static str>,
    /// Synonyms of the verb.
    pub also: Vec<&'static str>,
    /// The words of the verb's subject: those before the verb or, in the passive, after "by".
    pub subjects: Vec<ClauseArgument>,
    /// The other words of the clause.
    pub others: Vec<ClauseArgument>,
    /// Whether the clause has an object or names an agent: "she closed the mill", not "the mill closed".
    pub transitive: bool,
}

/// A word of a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClauseArgument {
    /// The word's bytes in the text.
    pub range: Range<usize>,
    /// The word in lower case without its ending; empty for a pronoun that means a single person or thing.
    pub stem: String,
    /// Whether the word is a name. A capital letter at the start of the text does not make a name.
    pub name: bool,
    /// The preposition before the word, in lower case.
    pub preposition: Option<String>,
}

/// The clauses of a text, in order of their verbs; empty for a language without word tables.
pub(crate) fn clauses(text: &str, language: &Language, lexicon: Option<LanguageLexicon>) -> Vec<VerbClause> {
    let Some(lexicon) = lexicon else { return Vec::new() };
    let mut reader = ClauseReader::new(language, lexicon);
    let words: Vec<Range<usize>> = words(text).collect();
    let mut end = 0;
    for (at, range) in words.iter().enumerate() {
        reader.gap(text.get(end..range.start).unwrap_or_default());
        end = range.end;
        let next = words.get(at + 1).and_then(|next| text.get(next.clone())).unwrap_or_default();
        reader.word(text, range.clone(), at > 0, next);
    }
    reader.end();
    reader.clauses
}

struct ClauseReader<'a> {
    language: &'a Language,
    lexicon: LanguageLexicon,
    clauses: Vec<VerbClause>,
    /// Whether more words can still belong to the last clause.
    inside: bool,
    /// Whether the last clause is in the passive; then: whether an auxiliary was read whose main verb is still missing.
    passive: bool,
    auxiliary: bool,
    /// Whether a comma or conjunction follows the last clause's verb.
    parted: bool,
    /// Whether the next word must be a noun: after a determiner, a possessive, or a preposition.
    nominal: bool,
    /// The subject of the last verb; a later verb without its own subject takes it.
    before: Vec<ClauseArgument>,
    /// Words that do not belong to a verb yet.
    open: Vec<ClauseArgument>,
    preposition: Option<String>,
    /// Whether the last word was a verb; whether a word already follows the current preposition.
    behind_verb: bool,
    filled: bool,
}

impl<'a> ClauseReader<'a> {
    fn new(language: &'a Language, lexicon: LanguageLexicon) -> Self {
        Self {
            language,
            lexicon,
            clauses: Vec::new(),
            inside: false,
            passive: false,
            auxiliary: false,
            parted: false,
            nominal: false,
            before: Vec::new(),
            open: Vec::new(),
            preposition: None,
            behind_verb: false,
            filled: false,
        }
    }

    /// Reads the characters between two words.
    fn gap(&mut self, gap: &str) {
        if gap.contains(['.', ';', ':', '!', '?', '(', ')']) {
            self.end();
        } else if gap.contains(',') {
            self.preposition = None;
            self.part();
        }
    }

    /// Handles a comma or conjunction: the words after it may have their own verb. A conjunction keeps the current
    /// preposition: "of Melk and Arda".
    fn part(&mut self) {
        self.nominal = false;
        if self.inside {
            if self.parted && !self.open.is_empty() {
                // In a list, or after a noun with an apposition, word order does not show the subject of the next verb.
                self.before.clear();
            }
            self.flush();
            self.parted = true;
        }
    }

    /// Handles "who" or "which": word order does not show which earlier noun is meant, so the subject is dropped.
    fn relate(&mut self) {
        self.part();
        (self.parted, self.preposition) = (true, None);
        self.open.clear();
        self.before.clear();
    }

    fn end(&mut self) {
        self.flush();
        (self.inside, self.auxiliary, self.parted, self.preposition) = (false, false, false, None);
        self.before.clear();
    }

    /// Adds the words that have no verb yet to the last clause, if that clause is still open.
    fn flush(&mut self) {
        let open = std::mem::take(&mut self.open);
        if let Some(clause) = self.clauses.last_mut().filter(|_| self.inside) {
            clause.others.extend(open);
        }
    }

    fn word(&mut self, text: &str, range: Range<usize>, later: bool, next: &str) {
        let shown = text.get(range.clone()).unwrap_or_default();
        let word = lower(shown);
        let kinds = self.language.kinds(&word);
        let capital = later && shown.starts_with(char::is_uppercase);
        let behind_verb = std::mem::take(&mut self.behind_verb);
        let nominal = std::mem::take(&mut self.nominal);
        if kinds & kind::RELATIVE != 0 {
            self.relate();
        } else if kinds & kind::CLAUSE != 0 {
            self.part();
        } else if kinds & kind::COPULA != 0 {
            self.auxiliary = true;
        } else if kinds & kind::PREPOSITION != 0 {
            self.lead(&word, behind_verb);
        } else if kinds & (kind::DEFINITE | kind::POINTING | kind::INDEFINITE) != 0 {
            self.noun_begins();
        } else if kinds & kind::PRONOUN != 0 {
            self.pronoun(&word, range, next);
        } else if kinds & (kind::LIGHT | kind::NEGATION | kind::STOP) != 0 && !capital {
        } else if !nominal && !shown.starts_with(char::is_uppercase) && is_verb(&word, kinds, Some(self.lexicon)) {
            self.verb(&word, range);
        } else if !word.ends_with("'s") {
            let digits = self.language.digits(&word);
            let number = digits.is_some() || shown.contains(char::is_numeric);
            let stem = digits.unwrap_or_else(|| self.language.stem(&word).to_owned());
            let year = number && shown.len() == 4;
            self.argument(ClauseArgument { range, stem, name: capital && !number, preposition: None });
            if year {
                self.preposition = None;
            }
        }
    }

    /// Handles a determiner, which starts a new noun phrase. A preposition that already has a word ends.
    fn noun_begins(&mut self) {
        if self.filled {
            self.preposition = None;
        }
        self.auxiliary = false;
        self.nominal = true;
    }

    fn lead(&mut self, preposition: &str, behind_verb: bool) {
        // "The maps drawn by Vale" is a passive without an auxiliary.
        if preposition == "by" && behind_verb && !self.passive {
            self.passive = true;
            if let Some(clause) = self.clauses.last_mut() {
                clause.others.append(&mut clause.subjects);
            }
        }
        self.nominal = preposition != "to";
        self.preposition = Some(preposition.to_owned());
        self.filled = false;
        self.auxiliary = false;
    }

    /// Handles a pronoun. A possessive ("her silver key", "their house") starts a noun and is not an argument.
    fn pronoun(&mut self, word: &str, range: Range<usize>, next: &str) {
        let next = self.language.kinds(&lower(next));
        let alone = next & (kind::DEFINITE | kind::INDEFINITE | kind::PREPOSITION | kind::CLAUSE | kind::STOP) != 0;
        let kinds = self.language.kinds(word);
        let own = !self.inside || self.parted;
        let named = |a: &ClauseArgument| a.name && a.preposition.is_none();
        if own && self.clauses.last().is_some_and(|clause| clause.others.iter().any(named)) {
            // "She married Jack Bean; he died": "he" could also mean another person.
            self.before.clear();
            return;
        }
        let subject = kinds & kind::NOMINATIVE != 0 && own;
        if subject {
            self.preposition = None;
        }
        if !own && self.preposition.is_none() && (kinds & kind::NOMINATIVE != 0 || alone) {
            self.act();
        }
        if kinds & kind::NOMINATIVE != 0 && !own {
            // "She founded it": "it" is the object, and is not recorded.
            return;
        }
        if subject || (kinds & kind::ACCUSATIVE != 0 && alone) {
            self.argument(ClauseArgument { range, stem: String::new(), name: false, preposition: None });
        } else {
            self.noun_begins();
        }
    }

    /// Marks the last clause as having an object, or an agent after "by".
    fn act(&mut self) {
        if let Some(clause) = self.clauses.last_mut().filter(|_| self.inside && !self.parted) {
            clause.transitive = true;
        }
    }

    fn argument(&mut self, mut argument: ClauseArgument) {
        self.auxiliary = false;
        self.filled = true;
        if self.passive && self.inside && self.preposition.as_deref() == Some("by") {
            self.act();
            if let Some(clause) = self.clauses.last_mut() {
                clause.subjects.push(argument);
            }
            return;
        }
        if self.preposition.is_none() && !self.passive {
            self.act();
        }
        argument.preposition.clone_from(&self.preposition);
        self.open.push(argument);
    }

    fn verb(&mut self, word: &str, range: Range<usize>) {
        // After a conjunction, all words since then belong to the next verb: "he lived in Porto and Ana won".
        let own = |a: &ClauseArgument| a.preposition.is_none() || (self.parted && a.preposition == self.preposition);
        let (own, led): (Vec<_>, Vec<_>) = std::mem::take(&mut self.open).into_iter().partition(own);
        let has_own = !own.is_empty() && (!self.inside || self.parted);
        // "Hoping to win": "win" may have another subject than the clause.
        let unfinished = self.preposition.as_deref() == Some("to") || (word.ends_with("ing") && !self.auxiliary);
        if has_own {
            self.before = own;
        } else if let Some(clause) = self.clauses.last_mut().filter(|_| self.inside) {
            clause.others.extend(own);
        }
        let lemmas = self.lexicon.lemmas(word);
        let verbs = || lemmas.iter().filter(|lemma| lemma.part == PartOfSpeech::Verb);
        self.passive = self.auxiliary && !word.ends_with("ing");
        let (subjects, mut others) = if unfinished {
            (Vec::new(), Vec::new())
        } else if self.passive {
            (Vec::new(), self.before.clone())
        } else {
            (self.before.clone(), Vec::new())
        };
        others.extend(led);
        self.clauses.push(VerbClause {
            verb: range,
            lemmas: verbs().map(|lemma| lemma.word).collect(),
            also: verbs().flat_map(|lemma| lemma.synonyms()).collect(),
            subjects,
            others,
            transitive: false,
        });
        (self.inside, self.parted, self.auxiliary, self.preposition) = (true, false, false, None);
        self.behind_verb = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes each verb with its subjects, and each other word after its preposition.
    fn read(text: &str) -> Vec<String> {
        let show = |a: &ClauseArgument| {
            let shown = text.get(a.range.clone()).unwrap_or_default();
            a.preposition.as_ref().map_or_else(|| shown.to_owned(), |p| format!("{p}:{shown}"))
        };
        let words = |list: &[ClauseArgument]| list.iter().map(show).collect::<Vec<_>>().join(" ");
        clauses(text, Language::of("en").unwrap(), LanguageLexicon::of("en"))
            .iter()
            .map(|c| {
                let verb = text.get(c.verb.clone()).unwrap_or_default();
                format!("{} | {verb} | {}", words(&c.subjects), words(&c.others))
            })
            .collect()
    }

    #[test]
    fn who_stands_before_the_verb_or_behind_by_does_it() {
        assert_eq!(read("Ana Silva sold the mill to Bo Lind."), ["Ana Silva | sold | mill to:Bo to:Lind"]);
        assert_eq!(read("The mill was sold to Bo Lind by Ana Silva."), ["Ana Silva | sold | mill to:Bo to:Lind"]);
        assert_eq!(read("The maps drawn by Bo Lind."), ["Bo Lind | drawn | maps"]);
        assert_eq!(read("In 1899 the council gave her a key."), ["council | gave | in:1899 her key"]);
    }

    #[test]
    fn a_conjunction_keeps_the_subject_or_brings_one() {
        assert_eq!(read("She visited Porto and bought a mill."), ["She | visited | Porto", "She | bought | mill"]);
        assert_eq!(read("Ana sold the mill, and Bo bought a ship."), ["Ana | sold | mill", "Bo | bought | ship"]);
        assert_eq!(read("The towns of Arda and Melk buy water."), ["towns | buy | of:Arda of:Melk water"]);
    }

    #[test]
    fn who_does_it_stays_open_where_order_does_not_tell() {
        for text in ["Ana met Bo, who bought a mill.", "Ana, hoping to win, left.", "Ana married Bo Lind; he died."] {
            let found = read(text);
            assert!(found.iter().any(|clause| clause.starts_with(" | ")), "{found:?}");
        }
    }

    #[test]
    fn a_noun_that_could_be_a_verb_is_none_behind_a_determiner() {
        assert_eq!(read("Ana climbed it with the guide Bo."), ["Ana | climbed | with:guide with:Bo"]);
    }

    #[test]
    fn a_language_without_word_tables_has_no_clauses() {
        assert!(clauses("Ana verkaufte die Mühle.", Language::of("de").unwrap(), LanguageLexicon::of("de")).is_empty());
    }
}
