//! Conflicts between propositions. Two propositions about one subject, in one respect and under equal qualifiers,
//! conflict if one denies the other, if they are opposites, or if they give two values for something that has only one.

use super::grammar::role;
use super::word::LanguageTables;
use crate::language::kind;
use portcullis_core::proposition::{Proposition, PropositionPhrase, PropositionSubject, SubjectQuantifier};

/// The way in which two propositions conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropositionConflict {
    /// One denies the other, or asserts the opposite.
    Negation,
    /// The two give different values for a thing that has only one.
    Value,
}

pub(super) fn conflict(tables: &LanguageTables, a: &Proposition, b: &Proposition) -> Option<PropositionConflict> {
    let nobody = |p: &Proposition| p.subject.words.is_empty() && p.negated && p.universal;
    if !called_the_same(&a.subject, &b.subject) && !nobody(a) && !nobody(b) {
        return None;
    }
    if a.negated != b.negated {
        let (said, denied) = if a.negated { (b, a) } else { (a, b) };
        return denies(tables, said, denied).then_some(PropositionConflict::Negation);
    }
    if a.negated || a.quantity == SubjectQuantifier::Some || b.quantity == SubjectQuantifier::Some {
        return None;
    }
    if a.verb == b.verb && a.phrases == b.phrases {
        return None;
    }
    let pair = Pair::of(tables, a, b);
    if pair.opposite() {
        return Some(PropositionConflict::Negation);
    }
    (pair.two_values() || pair.happened_twice() || pair.free_and_priced()).then_some(PropositionConflict::Value)
}

pub(super) fn same(tables: &LanguageTables, a: &Proposition, b: &Proposition) -> bool {
    if a.verb != b.verb || a.negated != b.negated || !called_the_same(&a.subject, &b.subject) {
        return false;
    }
    let pair = Pair::of(tables, a, b);
    pair.a_only.is_empty() && pair.b_only.is_empty()
}

/// Whether a revising proposition gives another value than an earlier proposition for the same thing.
pub(super) fn replaces(tables: &LanguageTables, earlier: &Proposition, later: &Proposition) -> bool {
    let same = earlier.verb == later.verb && earlier.negated == later.negated;
    let another = || Pair::of(tables, earlier, later).difference().is_some_and(|(a, b)| a.lead == b.lead);
    let value = same && called_the_same(&earlier.subject, &later.subject) && another();
    value || conflict(tables, earlier, later).is_some()
}

/// Whether two subjects count as the same: they have equal words, or both are names and one is the end of the other,
/// such as a surname. Subjects without words never count as the same.
fn called_the_same(a: &PropositionSubject, b: &PropositionSubject) -> bool {
    let part = |long: &PropositionSubject, short: &PropositionSubject| {
        long.name && short.name && long.words.strip_suffix(&short.words).is_some_and(|rest| rest.ends_with(' '))
    };
    !a.words.is_empty() && (a.words == b.words || part(a, b) || part(b, a))
}

/// Whether `denied` denies `said`: `said` must have every condition of `denied`, and no other condition of time, place
/// or person.
fn denies(tables: &LanguageTables, said: &Proposition, denied: &Proposition) -> bool {
    let quantities = match (said.quantity, denied.quantity) {
        (SubjectQuantifier::Some, SubjectQuantifier::All) | (SubjectQuantifier::All, SubjectQuantifier::Some) => true,
        (SubjectQuantifier::Some, _) | (_, SubjectQuantifier::Some) => false,
        _ => true,
    };
    let tense = said.past == denied.past || (denied.universal && said.universal);
    let says_something = !denied.phrases.is_empty() || !denied.verb.ends_with("be");
    if !quantities || !tense || said.verb != denied.verb || !says_something {
        return false;
    }
    let holds = |phrase: &PropositionPhrase| {
        let within = |f: &&PropositionPhrase| f.lead == phrase.lead && phrase.words.iter().all(|w| f.words.contains(w));
        said.phrases.iter().position(|f| within(&f))
    };
    let Some(matched) = denied.phrases.iter().map(holds).collect::<Option<Vec<usize>>>() else { return false };
    let bounded = denied.phrases.iter().any(|p| p.bound);
    let more = said.phrases.iter().enumerate().filter(|(at, _)| !matched.contains(at)).map(|(_, p)| p);
    let open = |p: &PropositionPhrase| {
        matches!(p.lead.as_str(), "" | "by")
            || (denied.universal && tables.grammar.roles(&p.lead) & role::CONDITION == 0)
    };
    !bounded && more.into_iter().all(|p| open(p) && p.lead != "adv")
}

/// A pair of propositions; for each one, the phrases that only it contains.
struct Pair<'a> {
    tables: &'a LanguageTables,
    a: &'a Proposition,
    b: &'a Proposition,
    a_only: Vec<&'a PropositionPhrase>,
    b_only: Vec<&'a PropositionPhrase>,
}

impl<'a> Pair<'a> {
    fn of(tables: &'a LanguageTables, a: &'a Proposition, b: &'a Proposition) -> Self {
        let only = |these: &'a Proposition, those: &Proposition| -> Vec<&'a PropositionPhrase> {
            let held = |p: &&PropositionPhrase| those.phrases.iter().any(|q| q.lead == p.lead && q.words == p.words);
            these.phrases.iter().filter(|p| !held(p)).collect()
        };
        Self { tables, a, b, a_only: only(a, b), b_only: only(b, a) }
    }

    /// The two phrases in which the propositions differ; `None` unless each has exactly one phrase that the other
    /// lacks.
    fn difference(&self) -> Option<(&'a PropositionPhrase, &'a PropositionPhrase)> {
        match (self.a_only.as_slice(), self.b_only.as_slice()) {
            ([a], [b]) => Some((a, b)),
            _ => None,
        }
    }

    fn verb_plays(&self, roles: u64) -> bool {
        self.tables.grammar.roles(self.a.verb.rsplit(' ').next().unwrap_or_default()) & roles != 0
    }

    /// Whether the propositions have opposite verbs with equal phrases, or equal verbs with opposite predicates.
    fn opposite(&self) -> bool {
        if self.a.past != self.b.past {
            return false;
        }
        if self.a.verb != self.b.verb {
            let by = |p: &&&PropositionPhrase| p.lead != "by";
            let rest = self.a_only.iter().chain(&self.b_only).filter(by).count();
            return rest == 0 && self.tables.are_opposites(&self.a.verb, &self.b.verb);
        }
        let Some((a, b)) = self.difference() else { return false };
        if a.lead != b.lead {
            return a.words == b.words && self.tables.grammar.are_opposites(&a.lead, &b.lead);
        }
        let Some((one, other)) = one_word(a, b) else { return false };
        matches!(a.lead.as_str(), "" | "at") && self.tables.are_opposites(one, other)
    }

    /// Whether the propositions give two values for something that has only one: a number, a position in a row, a time,
    /// the holder of an office, the value of a label.
    fn two_values(&self) -> bool {
        let elsewhere = self.a.subject.is_bare() && self.a.subject.within != self.b.subject.within;
        if self.a.verb != self.b.verb || self.a.subject.words == "you" || elsewhere {
            return false;
        }
        let Some((a, b)) = self.difference() else { return self.labelled() };
        if a.lead != b.lead || a.bound || b.bound || self.a.past != self.b.past {
            return false;
        }
        let is = self.a.verb == "be";
        match a.lead.as_str() {
            "" if is && a.name && b.name => !includes(a, b) && self.one_holder(),
            "" | "from" => self.two_numbers(a, b) || (is && self.two_ordinals(a, b)),
            "at" | "until" | "till" => self.verb_plays(role::TIMED) && self.two_times(a, b),
            "on" => {
                (self.verb_plays(role::TIMED) && dates_differ(self.tables, a, b)) || (is && self.two_ordinals(a, b))
            }
            "in" if is => self.two_places(a, b) && self.seat(),
            "into" => self.two_places(a, b) && self.verb_plays(role::PLACED),
            _ => false,
        }
    }

    /// Whether the propositions give two values for a label.
    fn labelled(&self) -> bool {
        let label = |p: &Proposition| p.shown.contains(':') && p.verb == "be" && !p.past;
        let digits = |phrases: &[&PropositionPhrase]| phrases.iter().all(|p| p.words.iter().any(|w| is_number(w)));
        label(self.a)
            && label(self.b)
            && self.a_only.len() == self.b_only.len()
            && !self.a_only.is_empty()
            && digits(&self.a_only)
            && digits(&self.b_only)
    }

    /// Whether both propositions name the one holder of a role by a definite phrase, such as "the captain".
    fn one_holder(&self) -> bool {
        let shown = |p: &Proposition| p.shown.to_lowercase();
        let definite = |p: &Proposition| shown(p).contains("the ") || shown(p).contains("'s ");
        !self.a.subject.name && self.a.subject.words != "there" && definite(self.a) && definite(self.b)
    }

    fn seat(&self) -> bool {
        let words = || self.a.subject.words.split(' ');
        words().any(|w| self.tables.grammar.roles(w) & role::SEAT != 0)
    }

    fn two_numbers(&self, a: &PropositionPhrase, b: &PropositionPhrase) -> bool {
        let rest = |p: &PropositionPhrase| p.words.iter().filter(|w| !is_number(w)).cloned().collect::<Vec<_>>();
        let numbers = |p: &PropositionPhrase| p.words.iter().filter(|w| is_number(w)).cloned().collect::<Vec<_>>();
        let (one, other) = (numbers(a), numbers(b));
        // "Painted boat 2": the number is the name of a thing, and one can paint two.
        let labels = |p: &PropositionPhrase| p.words.len() > 1 && p.words.last().is_some_and(|w| is_number(w));
        if self.a.verb != "be" && a.lead.is_empty() && labels(a) && labels(b) {
            return false;
        }
        !one.is_empty() && !other.is_empty() && one != other && rest(a) == rest(b)
    }

    fn two_ordinals(&self, a: &PropositionPhrase, b: &PropositionPhrase) -> bool {
        let ordinal = |w: &str| self.tables.language.kinds(w) & kind::ORDINAL != 0;
        one_word(a, b).is_some_and(|(a, b)| ordinal(a) && ordinal(b))
    }

    fn two_times(&self, a: &PropositionPhrase, b: &PropositionPhrase) -> bool {
        self.two_numbers(a, b) && !a.words.iter().any(|w| self.month(w)) || dates_differ(self.tables, a, b)
    }

    fn month(&self, word: &str) -> bool {
        self.tables.language.kinds(word) & kind::MONTH != 0
    }

    /// Whether the phrases name two places, neither of which can contain the other.
    fn two_places(&self, a: &PropositionPhrase, b: &PropositionPhrase) -> bool {
        let region = |p: &PropositionPhrase| p.words.iter().any(|w| self.tables.grammar.roles(w) & role::REGION != 0);
        a.name
            && b.name
            && !includes(a, b)
            && region(a) == region(b)
            && !a.words.iter().any(|w| self.month(w))
            && !b.words.iter().any(|w| self.month(w))
    }

    /// Whether the propositions give two dates, two places or two makers for an event that happens once.
    fn happened_twice(&self) -> bool {
        let (Some((verb, object)), Some((other, same))) = (self.event(self.a), self.event(self.b)) else {
            return false;
        };
        if verb != other || object != same || !self.a.past || !self.b.past || self.conditions_differ() {
            return false;
        }
        self.a_only.iter().any(|a| {
            self.b_only.iter().any(|b| {
                let bound = a.bound || b.bound;
                let date = || self.dated(a) && self.dated(b) && dates_differ(self.tables, a, b);
                let placed = |p: &PropositionPhrase| matches!(p.lead.as_str(), "in" | "at");
                let place = || placed(a) && placed(b) && self.two_places(a, b) && !self.same_place();
                let maker = || a.lead == "by" && b.lead == "by" && a.name && b.name && !includes(a, b);
                !bound && (date() || place() || maker())
            })
        })
    }

    fn dated(&self, p: &PropositionPhrase) -> bool {
        let date = |w: &String| is_number(w) || self.month(w) || self.tables.grammar.roles(w) & role::WEEKDAY != 0;
        matches!(p.lead.as_str(), "in" | "on") && p.words.iter().any(date)
    }

    /// Whether the propositions have a place in common. Then another place that one of them gives may contain that
    /// place.
    fn same_place(&self) -> bool {
        let place = |p: &&PropositionPhrase| matches!(p.lead.as_str(), "in" | "at") && p.name;
        self.a.phrases.iter().filter(place).any(|p| self.b.phrases.contains(p))
    }

    fn conditions_differ(&self) -> bool {
        let condition =
            |p: &&PropositionPhrase| self.tables.grammar.roles(&p.lead) & role::CONDITION != 0 || p.lead == "adv";
        self.a_only.iter().chain(&self.b_only).any(condition)
    }

    /// An event that happens once, and its object: "was founded", "opened".
    fn event(&self, p: &Proposition) -> Option<(String, Vec<String>)> {
        let words = p.phrases.iter().filter(|f| f.lead.is_empty()).flat_map(|f| f.words.iter().cloned());
        let mut words: Vec<String> = words.collect();
        let verb =
            if p.verb == "be" { if words.is_empty() { return None } else { words.remove(0) } } else { p.verb.clone() };
        let once = self.tables.roles_of_verb(&verb) & role::ONCE != 0;
        let listed = self.tables.grammar.roles(&verb) & role::ONCE != 0;
        let lemma = if listed { Some(verb.as_str()) } else { self.tables.verb(&verb) };
        lemma.filter(|_| once).map(|lemma| (lemma.to_owned(), words))
    }

    /// Whether one proposition calls a thing free and the other gives its price: "is free", "costs 40 dollars".
    fn free_and_priced(&self) -> bool {
        let free = |p: &Proposition| {
            p.verb == "be"
                && p.phrases.len() == 1
                && p.phrases.iter().any(|f| {
                    matches!(f.words.first(), Some(w) if w == "free")
                        && (f.words.len() == 1 || f.words.iter().any(|w| w == "charge"))
                })
        };
        let priced = |p: &Proposition| {
            p.verb == "cost"
                && p.phrases.len() == 1
                && p.phrases.iter().flat_map(|f| &f.words).any(|w| is_number(w) && w != "0")
        };
        (free(self.a) && priced(self.b)) || (priced(self.a) && free(self.b))
    }
}

/// The two words in which the phrases differ; `None` unless each has exactly one word that the other lacks.
fn one_word<'a>(a: &'a PropositionPhrase, b: &'a PropositionPhrase) -> Option<(&'a str, &'a str)> {
    let mut differing = a.words.iter().zip(&b.words).filter(|(a, b)| a != b);
    let (one, other) = differing.next().filter(|_| a.words.len() == b.words.len())?;
    differing.next().is_none().then_some((one, other))
}

/// Whether one of two phrases contains all words of the other.
fn includes(a: &PropositionPhrase, b: &PropositionPhrase) -> bool {
    let within = |a: &PropositionPhrase, b: &PropositionPhrase| a.words.iter().all(|w| b.words.contains(w));
    within(a, b) || within(b, a)
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether two dates differ in a part that both give: year, month, day, or day of the week.
fn dates_differ(tables: &LanguageTables, a: &PropositionPhrase, b: &PropositionPhrase) -> bool {
    let parts = |p: &PropositionPhrase| {
        let mut parts: [Option<String>; 4] = Default::default();
        for word in &p.words {
            let number: Option<u32> = word.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok();
            let at = match number {
                _ if tables.language.kinds(word) & kind::MONTH != 0 => 1,
                _ if tables.grammar.roles(word) & role::WEEKDAY != 0 => 3,
                Some(1000..=2999) => 0,
                Some(1..=31) => 2,
                _ => continue,
            };
            let decade = at == 0 && word.ends_with("0s");
            let value =
                if decade { None } else { Some(number.filter(|_| at != 1).map_or(word.clone(), |n| n.to_string())) };
            parts.iter_mut().skip(at).take(1).for_each(|part| part.clone_from(&value));
        }
        parts
    };
    let pairs = parts(a).into_iter().zip(parts(b));
    pairs.into_iter().any(|(a, b)| a.is_some() && b.is_some() && a != b)
}
