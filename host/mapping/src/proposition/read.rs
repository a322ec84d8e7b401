//! Reads the clauses of a sentence by marks, verbs and prepositions. Unreadable clauses do not make propositions.

use super::grammar::role;
use super::word::{LanguageTables, PropositionWord};
use crate::language::kind;
use portcullis_core::proposition::{Proposition, PropositionPhrase, PropositionSubject, SubjectQuantifier, gender};

/// Greatest number of words of a label.
const LABEL: usize = 4;
/// Greatest number of words of a clause between two marks that are read. Each "and" in it looks for the next verb.
const CLAUSE: usize = 64;
/// Greatest number of propositions of a sentence, and of phrases that apply to all of them.
const PROPOSITIONS: usize = 64;
const SHARED: usize = 8;

/// The result of reading a verb group; `rest` is the index of the first word after the group.
#[derive(Default)]
struct VerbGroup {
    verb: String,
    past: bool,
    negated: bool,
    universal: bool,
    phrases: Vec<PropositionPhrase>,
    rest: usize,
    /// Whether the denial applies only to a part of the following words ("not only", "not all").
    narrow: bool,
}

/// A subject, with the subject's quantity, polarity and preceding phrases.
#[derive(Clone, Default)]
struct PropositionHead {
    subject: PropositionSubject,
    quantity: SubjectQuantifier,
    negated: bool,
    phrases: Vec<PropositionPhrase>,
}

pub(super) struct PropositionReader<'a> {
    pub(super) tables: LanguageTables,
    pub(super) shown: &'a str,
    pub(super) found: Vec<Proposition>,
    /// Phrases that stand apart from the clauses and apply to all clauses of the sentence.
    shared: Vec<PropositionPhrase>,
}

impl<'a> PropositionReader<'a> {
    pub(super) const fn new(tables: LanguageTables, shown: &'a str) -> Self {
        Self { tables, shown, found: Vec::new(), shared: Vec::new() }
    }

    /// Reads all clauses of a sentence.
    pub(super) fn read(&mut self, words: &[PropositionWord]) {
        let mut rest = words;
        let month = |w: &PropositionWord| w.capital && w.is(kind::MONTH);
        let hedged = |w: &PropositionWord| w.plays(role::UNASSERTED) || (w.is(kind::HEDGE) && !w.plays(role::BOUND));
        if words.iter().any(|w| hedged(w) && !month(w)) {
            return;
        }
        let mut segments: Vec<&[PropositionWord]> = Vec::new();
        while !rest.is_empty() {
            let end = rest.iter().skip(1).position(|w| w.mark != ' ').map_or(rest.len(), |at| at + 1);
            let (segment, after) = rest.split_at(end);
            segments.push(segment);
            rest = after;
        }
        if self.labelled(&segments) {
            return;
        }
        let mut subject: Option<PropositionHead> = None;
        let mut first = true;
        for segment in segments {
            let segment = self.shortened(segment.get(..CLAUSE).unwrap_or(segment));
            let label = |w: &PropositionWord| w.plays(role::LABEL) && !w.plays(role::ARTICLE);
            if segment.is_empty() || (first && segment.len() == 1 && segment.iter().all(label)) {
                continue;
            }
            self.segment(segment, first, &mut subject);
            self.shared.truncate(SHARED);
            first = false;
            if self.found.len() >= PROPOSITIONS {
                break;
            }
        }
        let shared = std::mem::take(&mut self.shared);
        for proposition in &mut self.found {
            proposition.phrases.extend(shared.iter().cloned());
            proposition.phrases.sort();
        }
        self.made();
    }

    /// Reads a line with a label, such as `Capacity: 40 seats`.
    fn labelled(&mut self, segments: &[&[PropositionWord]]) -> bool {
        let Some(([label], values)) = segments.split_at_checked(1) else { return false };
        let first = values.first().and_then(|v| v.first());
        let labels = label.len() <= LABEL
            && first.is_some_and(|w| w.mark == ':')
            && self.verb_at(label, 1).is_none()
            && !label.first().is_none_or(|w| w.plays(role::LABEL) || w.is(kind::REVISION | kind::STEP));
        let says = |w: &PropositionWord| w.auxiliary() || (!w.capital && !w.number && w.mostly_verb);
        if labels && !values.iter().copied().flatten().any(says) {
            let head = self.head(label, true);
            let words: Vec<PropositionWord> = values.iter().copied().flatten().take(CLAUSE).cloned().collect();
            let (mut phrases, ..) = self.phrases(&words);
            phrases.extend(head.phrases.clone());
            self.add(&head, VerbGroup { verb: "be".into(), ..VerbGroup::default() }, phrases);
        }
        labels
    }

    /// The segment without its introductory words.
    fn shortened<'w>(&self, mut segment: &'w [PropositionWord]) -> &'w [PropositionWord] {
        let over = kind::CONNECTIVE | kind::CONTINUATION | kind::REVISION | kind::TRANSITION;
        while let Some((first, rest)) = segment.split_first() {
            let moment = first.plays(role::MOMENT);
            let sub = matches!(first.text.as_str(), "because" | "although" | "though" | "whereas" | "yes" | "so");
            if (!first.is(over) || moment) && !sub {
                break;
            }
            segment = rest;
        }
        segment
    }

    fn segment(&mut self, segment: &[PropositionWord], first: bool, subject: &mut Option<PropositionHead>) {
        let Some(word) = segment.first() else { return };
        if word.plays(role::CONDITION) {
            let words = content(segment.get(1..).unwrap_or_default());
            self.shared.push(PropositionPhrase { lead: word.text.clone(), words, ..PropositionPhrase::default() });
            return;
        }
        if word.plays(role::RELATIVE) && !first {
            if let Some(head) = subject.clone()
                && self.starts_predicate(segment.get(1..).unwrap_or_default())
            {
                self.predicate(segment.get(1..).unwrap_or_default(), &head);
            }
            return;
        }
        match self.verb_at(segment, usize::from(first)) {
            Some(0) => {
                if let Some(head) = subject.clone() {
                    self.predicate(segment, &head);
                }
            }
            Some(verb) => {
                let before = segment.iter().take(verb).skip(1).rev();
                let at = verb - before.take_while(|w| w.adverb() || w.plays(role::DENIAL)).count();
                let head = self.head(segment.get(..at).unwrap_or_default(), first);
                if !head.subject.words.is_empty() || head.subject.pronoun || head.negated {
                    self.predicate(segment.get(at..).unwrap_or_default(), &head);
                    *subject = Some(head);
                }
            }
            None if first && self.imperative(segment) => {
                let you = PropositionSubject { words: "you".into(), ..PropositionSubject::default() };
                self.predicate(segment, &PropositionHead { subject: you, ..PropositionHead::default() });
            }
            None if word.leads() => {
                let (phrases, ..) = self.phrases(segment);
                self.shared.extend(phrases.into_iter().filter(|_| first || subject.is_some()));
            }
            None if word.adverb() && segment.len() == 1 => self.shared.extend(adverb(word)),
            None => match subject {
                None => *subject = Some(self.head(segment, first)),
                Some(head) if !first && self.participle(word) => {
                    let head = head.clone();
                    let group = VerbGroup { verb: "be".into(), past: true, ..VerbGroup::default() };
                    let (phrases, ..) = self.phrases(segment);
                    self.add(&head, group, phrases);
                }
                Some(_) => {}
            },
        }
    }

    /// Whether a word is a participle that introduces a clause: "Born in Porto", "finished in 1611".
    fn participle(&self, word: &PropositionWord) -> bool {
        !word.capital && self.tables.roles_of_verb(&word.text) & role::ONCE != 0
    }

    /// Whether a segment is an imperative.
    fn imperative(&self, segment: &[PropositionWord]) -> bool {
        let denied = segment.iter().take(2).map(|w| w.text.as_str()).eq(["do", "not"]);
        let don = segment.first().is_some_and(|w| w.text == "don't");
        let base = |w: &PropositionWord| w.verb == Some(w.text.as_str()) && w.mostly_verb;
        denied || don || segment.first().is_some_and(base)
    }

    fn starts_predicate(&self, words: &[PropositionWord]) -> bool {
        let first = words.iter().find(|w| !w.adverb() && !w.plays(role::DENIAL) || w.auxiliary());
        first.is_some_and(|w| {
            let inflected = w.verb.is_some_and(|v| v != w.text);
            w.auxiliary() || (!w.capital && !w.number && w.mostly_verb && inflected)
        })
    }

    /// The index of a segment's verb; the search begins at index `from`.
    fn verb_at(&self, segment: &[PropositionWord], from: usize) -> Option<usize> {
        let found = self.next_verb(segment, from)?;
        // In "The students who enrolled in May pay", the first verb belongs to the relative clause and is skipped.
        let relative = segment.iter().take(found).skip(1).any(|w| w.plays(role::RELATIVE));
        if relative { self.next_verb(segment, found + 1) } else { Some(found) }
    }

    fn next_verb(&self, segment: &[PropositionWord], from: usize) -> Option<usize> {
        let open = |at: usize| {
            let before = at.checked_sub(1).and_then(|b| segment.get(b));
            before.is_none_or(|b| !b.plays(role::DETERMINER) && !b.leads() && !b.text.ends_with("'s") && b.text != "of")
        };
        let places = || segment.iter().enumerate().skip(from);
        let closed = role::CONDITION | role::DETERMINER | role::RELATIVE | role::NARROW | role::CUT;
        let can = |at: usize, w: &PropositionWord| {
            !w.capital && !w.number && !w.leads() && !w.plays(closed) && open(at) && w.verb.is_some()
        };
        let ends = places().position(|(_, w)| w.plays(role::CONDITION | role::CUT)).map_or(segment.len(), |p| p + from);
        let helper = places().find(|(_, w)| w.auxiliary()).map(|(at, _)| at).filter(|at| *at < ends);
        let inflected = |w: &PropositionWord| w.verb.is_some_and(|v| v != w.text);
        let sure = places().find(|(at, w)| can(*at, w) && !w.auxiliary() && w.mostly_verb && inflected(w));
        let strong = places().find(|(at, w)| can(*at, w) && !w.auxiliary() && w.mostly_verb);
        let strong = sure.or(strong).map(|(at, _)| at).filter(|at| *at < ends);
        match (helper, strong) {
            (Some(helper), Some(strong)) if strong < helper => {
                let parted = segment.get(strong..helper)?.iter().any(|w| w.is(kind::CLAUSE | kind::CONNECTIVE));
                Some(if parted { strong } else { helper })
            }
            (Some(helper), _) => Some(helper),
            (None, Some(strong)) => Some(strong),
            (None, None) => {
                let after_number = |at: usize| segment.get(at - 1).is_some_and(|w| w.number);
                let weak = |at: usize, w: &PropositionWord| {
                    at > 0 && at < ends && can(at, w) && inflected(w) && !after_number(at)
                };
                places().find(|(at, w)| weak(*at, w)).map(|(at, _)| at)
            }
        }
    }

    /// Reads the words before a verb: the subject, and the phrases before it.
    fn head(&self, mut words: &[PropositionWord], first: bool) -> PropositionHead {
        let mut head = PropositionHead::default();
        loop {
            let Some(word) = words.first() else { return head };
            if word.leads() && words.len() > 2 {
                let start = fronted(words);
                let (phrases, ..) = self.phrases(words.get(..start).unwrap_or_default());
                head.phrases.extend(phrases);
                words = words.get(start..).unwrap_or_default();
            } else if word.adverb() || (word.text.ends_with("ly") && words.len() > 1 && !word.plays(role::DETERMINER)) {
                head.phrases.extend(adverb(word));
                words = words.get(1..).unwrap_or_default();
            } else {
                break;
            }
        }
        while let Some(word) = words.last().filter(|w| w.adverb()) {
            head.phrases.extend(adverb(word));
            words = words.get(..words.len() - 1).unwrap_or_default();
        }
        let counted = words.first().is_some_and(|w| w.number) && words.len() > 1;
        if let Some(word) = words.first() {
            let drop = if word.plays(role::NONE) {
                (head.negated, head.quantity) = (true, SubjectQuantifier::All);
                true
            } else if word.plays(role::ALL) {
                head.quantity = SubjectQuantifier::All;
                true
            } else if word.plays(role::SOME) || counted {
                head.quantity = SubjectQuantifier::Some;
                true
            } else {
                false
            };
            words = words.get(usize::from(drop)..).unwrap_or_default();
            if drop && words.first().is_some_and(|w| w.text == "of" || w.text == "1") {
                words = words.get(1..).unwrap_or_default();
            }
        }
        head.subject = self.subject(words, first);
        head
    }

    fn subject(&self, words: &[PropositionWord], first: bool) -> PropositionSubject {
        let genders = [
            (role::MASCULINE, gender::MASCULINE),
            (role::FEMININE, gender::FEMININE),
            (role::NEUTER, gender::NEUTER),
            (role::PLURAL, gender::PLURAL),
        ];
        if let [word] = words {
            if let Some((_, bit)) = genders.iter().find(|(role, _)| word.plays(*role)) {
                return PropositionSubject { pronoun: true, genders: *bit, ..PropositionSubject::default() };
            }
            if word.plays(role::OTHER) {
                return PropositionSubject { words: word.text.clone(), ..PropositionSubject::default() };
            }
        }
        let pointing = |w: &&PropositionWord| !w.plays(role::ARTICLE) && !w.is(kind::POINTING);
        let kept: Vec<&PropositionWord> = words.iter().filter(pointing).collect();
        let known = |w: &PropositionWord| self.tables.noun(&w.text).is_some();
        let name = match kept.as_slice() {
            [] => false,
            [one] => one.capital && words.len() == 1 && !(first && known(one)),
            all => all.iter().all(|w| w.capital) && words.len() == all.len(),
        };
        let written = |w: &&PropositionWord| {
            let noun = if w.capital && name { None } else { self.tables.noun(&w.text) };
            noun.filter(|_| !w.auxiliary() && w.text.len() > 2).map_or_else(|| w.text.clone(), str::to_owned)
        };
        let head = kept.iter().take_while(|w| !w.leads() && w.text != "of").last();
        let person =
            |w: &str| w == "person" || self.tables.lexicon.lemmas(w).is_kind_of(&self.tables.lexicon.lemmas("person"));
        let genders = if name {
            gender::MASCULINE | gender::FEMININE | gender::NEUTER
        } else if words.iter().any(|w| w.text == "and")
            || head.is_some_and(|w| w.text.ends_with('s') && self.tables.noun(&w.text).is_some_and(|n| n != w.text))
        {
            gender::PLURAL
        } else if head.is_some_and(|w| person(&w.text) || w.capital) {
            gender::MASCULINE | gender::FEMININE | if head.is_some_and(|w| w.capital) { gender::NEUTER } else { 0 }
        } else {
            gender::NEUTER
        };
        let words = kept.iter().map(written).collect::<Vec<_>>().join(" ");
        PropositionSubject { words, name, genders, ..PropositionSubject::default() }
    }

    /// Reads a predicate that begins with a verb, and the predicates coordinated with it.
    fn predicate(&mut self, words: &[PropositionWord], head: &PropositionHead) {
        let group = self.verb_group(words);
        let rest = words.get(group.rest..).unwrap_or_default();
        let (mut phrases, denies, next) = self.phrases(rest);
        let because = rest.iter().any(|w| w.text == "because");
        let narrow = group.narrow || (group.negated && because);
        if group.verb.is_empty() {
            return;
        }
        phrases.extend(group.phrases.iter().chain(&head.phrases).cloned());
        if !narrow {
            let negated = group.negated != (denies || head.negated);
            let universal = group.universal || denies || head.negated;
            self.add(head, VerbGroup { negated, universal, ..group }, phrases);
        }
        if let Some(next) = next.and_then(|at| rest.get(at..)).filter(|next| !next.is_empty()) {
            if self.starts_predicate(next) {
                self.predicate(next, head);
            } else if let Some(at) = self.verb_at(next, 1) {
                let head = self.head(next.get(..at).unwrap_or_default(), false);
                if !head.subject.words.is_empty() || head.subject.pronoun {
                    self.predicate(next.get(at..).unwrap_or_default(), &head);
                }
            }
        }
    }

    fn verb_group(&self, words: &[PropositionWord]) -> VerbGroup {
        let mut group = VerbGroup::default();
        let mut modal = None;
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let next = words.iter().skip(at + 1).find(|w| !w.adverb() && !w.plays(role::DENIAL));
            let verb_next = next.is_some_and(|w| w.auxiliary() || w.verb.is_some() && !w.capital);
            let denies = word.plays(role::DENIAL);
            group.past |= word.plays(role::PAST);
            if denies {
                group.negated = true;
                group.universal |= word.text == "never";
                group.narrow |= words.get(at + 1).is_some_and(|w| w.plays(role::NARROW));
            }
            if word.text == "no" && words.get(at + 1).is_some_and(|w| w.text == "longer") {
                group.negated = true;
                group.phrases.push(PropositionPhrase {
                    lead: "adv".into(),
                    words: vec!["now".into()],
                    ..PropositionPhrase::default()
                });
                at += 1;
            } else if word.plays(role::MODAL) {
                modal = Some(match word.text.as_str() {
                    "can't" | "cannot" => "can",
                    "shouldn't" => "should",
                    "mustn't" => "must",
                    "won't" => "will",
                    other => other,
                });
            } else if word.plays(role::HAVE) && group.verb.is_empty() {
                if next.is_some_and(|w| w.text == "to") {
                    modal = Some("must");
                    at += 1;
                } else if !verb_next {
                    group.verb = "have".into();
                }
            } else if word.plays(role::DO) && group.verb.is_empty() && verb_next {
            } else if word.plays(role::BE) && group.verb.is_empty() {
                group.verb = "be".into();
            } else if denies {
            } else if word.adverb() || (word.text.ends_with("ly") && group.verb.is_empty()) {
                group.phrases.extend(adverb(word));
                group.universal |= word.plays(role::ALWAYS);
            } else if group.verb.is_empty() {
                let Some(verb) = word.verb else { break };
                group.past |= verb != word.text && !word.text.ends_with('s') && !word.text.ends_with("ing");
                group.verb = verb.to_owned();
                at += 1;
                break;
            } else {
                break;
            }
            at += 1;
        }
        if let Some(modal) = modal.filter(|m| *m != "will" && !group.verb.is_empty()) {
            group.verb = format!("{modal} {}", group.verb);
        }
        group.rest = at;
        group
    }

    /// The phrases of a clause, whether one of them denies, and where a coordinated predicate begins.
    fn phrases(&self, words: &[PropositionWord]) -> (Vec<PropositionPhrase>, bool, Option<usize>) {
        let mut done: Vec<PropositionPhrase> = Vec::new();
        let mut phrase = PropositionPhrase { name: true, ..PropositionPhrase::default() };
        let mut denies = false;
        let mut next = None;
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let after = |n: usize| words.get(at + n);
            let number = |n: usize| after(n).is_some_and(|w| w.number);
            if word.plays(role::CONDITION) {
                let rest = content(words.get(at + 1..).unwrap_or_default());
                done.push(PropositionPhrase { lead: word.text.clone(), words: rest, ..PropositionPhrase::default() });
                break;
            }
            let relative = word.plays(role::RELATIVE) && at > 0;
            let joined = matches!(word.text.as_str(), "and" | "or" | "but");
            if joined {
                let rest = words.get(at + 1..).unwrap_or_default();
                if self.starts_predicate(rest) || self.verb_at(rest, 1).is_some() {
                    next = Some(at + 1);
                    break;
                }
            } else if relative || word.plays(role::CUT) {
                break;
            } else if let Some(skip) = bounded(words, at) {
                phrase.bound = true;
                at += skip;
                continue;
            } else if word.text == "at" && after(1).is_some_and(|w| w.text == "once") {
                at += 1;
            } else if word.leads() && !(word.text == "to" && number(1) && phrase.words.iter().any(|w| is_digits(w))) {
                push(&mut done, &mut phrase);
                phrase = PropositionPhrase { lead: word.text.clone(), name: true, ..PropositionPhrase::default() };
            } else if word.plays(role::NONE) {
                denies = true;
            } else if word.plays(role::OFTEN | role::MOMENT) {
                done.extend(adverb(word));
            } else if !word.plays(role::ALWAYS | role::ARTICLE)
                && !word.is(kind::REVISION)
                && !matches!(word.text.as_str(), "any" | "anybody" | "anyone" | "anything" | "very")
            {
                phrase.name &= word.capital && !word.number;
                phrase.words.push(word.text.clone());
            }
            at += 1;
        }
        push(&mut done, &mut phrase);
        (done, denies, next)
    }

    fn add(&mut self, head: &PropositionHead, group: VerbGroup, phrases: Vec<PropositionPhrase>) {
        self.found.push(Proposition {
            subject: head.subject.clone(),
            quantity: head.quantity,
            verb: group.verb,
            past: group.past,
            negated: group.negated,
            universal: group.universal,
            phrases,
            shown: self.shown.to_owned(),
        });
    }

    /// Adds passive forms: "Petra Holm founded the observatory" also gives "the observatory is founded by Petra Holm".
    fn made(&mut self) {
        let passive = |p: &Proposition| {
            let makes = self.tables.grammar.roles(&p.verb) & role::MAKE != 0 && p.past && !p.negated;
            let object = p.phrases.iter().find(|f| f.lead.is_empty())?;
            let by = PropositionPhrase {
                lead: "by".into(),
                words: vec![p.subject.words.clone()],
                name: p.subject.name,
                bound: false,
            };
            let verb = PropositionPhrase { words: vec![p.verb.clone()], ..PropositionPhrase::default() };
            let subject = PropositionSubject {
                words: object.words.join(" "),
                name: object.name,
                ..PropositionSubject::default()
            };
            let rest = p.phrases.iter().filter(|f| !f.lead.is_empty()).cloned();
            let phrases = [verb, by].into_iter().chain(rest).collect();
            makes.then(|| Proposition { subject, verb: "be".into(), phrases, ..p.clone() })
        };
        let more: Vec<Proposition> = self.found.iter().filter_map(passive).collect();
        self.found.extend(more);
    }
}

fn is_digits(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

fn push(done: &mut Vec<PropositionPhrase>, phrase: &mut PropositionPhrase) {
    let mut phrase = std::mem::take(phrase);
    phrase.name &= !phrase.words.is_empty();
    if !phrase.words.is_empty() {
        done.push(phrase);
    }
}

/// An adverb of frequency or time as a phrase. "Always" does not count.
fn adverb(word: &PropositionWord) -> Option<PropositionPhrase> {
    let qualifies = word.plays(role::OFTEN | role::MOMENT);
    qualifies.then(|| PropositionPhrase {
        lead: "adv".into(),
        words: vec![word.text.clone()],
        ..PropositionPhrase::default()
    })
}

fn content(words: &[PropositionWord]) -> Vec<String> {
    words.iter().filter(|w| !w.plays(role::ARTICLE)).map(|w| w.text.clone()).collect()
}

/// The number of words of the expression at `at`, such as "more than"; `None` unless a number follows the expression.
fn bounded(words: &[PropositionWord], at: usize) -> Option<usize> {
    let number = |n: usize| words.get(at + n).is_some_and(|w| w.number);
    let word = words.get(at)?;
    let next = words.get(at + 1);
    if word.text == "at" && next.is_some_and(|w| matches!(w.text.as_str(), "least" | "most")) && number(2) {
        return Some(2);
    }
    if !word.plays(role::BOUND) {
        return None;
    }
    if number(1) {
        return Some(1);
    }
    (next.is_some_and(|w| matches!(w.text.as_str(), "than" | "to")) && number(2)).then_some(2)
}

/// The start of the subject after a fronted phrase: the first determiner or pronoun, or else the last word.
fn fronted(words: &[PropositionWord]) -> usize {
    let starts = |(at, w): &(usize, &PropositionWord)| {
        let led = at.checked_sub(1).and_then(|b| words.get(b)).is_some_and(|b| b.leads() || b.text == "of");
        let own = role::DETERMINER | role::MASCULINE | role::FEMININE | role::NEUTER | role::PLURAL | role::OTHER;
        *at > 1 && !led && (w.plays(own | role::ALL | role::NONE | role::SOME) || w.text == "there")
    };
    let determiner = words.iter().enumerate().find(starts).map(|(at, _)| at);
    let numbered = || words.get(1).is_some_and(|w| w.number).then_some(2);
    determiner.or_else(numbered).unwrap_or(words.len() - 1)
}
