//! Look-ups in anchor stores: named entities, allowed citations, and the words of a span that facts support.
//!
//! A sentence is supported if each of its checkable words, or a synonym or derivation of it, is in a fact that the
//! sentence states about its subject. A number or name needs the same number or name in the fact. A denied word must be
//! denied in the fact. If a sentence names an entity as its subject, the facts must belong to that entity. A part of a
//! divided span must also be able to stand alone.

use super::citation::allowed;
use super::contents::{AnchorCitation, AnchorContents};
use super::known::{KnownWords, QueryWord};
use super::query::{AnchorQuery, FailedLookup, SpanGrounding};
use aho_corasick::{AhoCorasick, MatchKind};
use portcullis_core::fixed::BasisPoints;
use portcullis_core::mutation::StageFinding;
use portcullis_core::reason::ValidationReason;
use portcullis_core::wire::Anchor;
use portcullis_mapping::{CheckableWord, TextMapper, VerbClause};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A name in a text, and its entities; several entities can share a name.
pub(super) struct Mention {
    pub(super) range: Range<usize>,
    pub(super) entities: Vec<usize>,
}

/// The content of all stores, indexed for look-ups.
pub(super) struct AnchorIndex {
    known: Vec<KnownWords>,
    names: Option<AhoCorasick>,
    /// The entities of each name.
    named: Vec<Vec<usize>>,
    called: BTreeMap<String, Vec<usize>>,
    citations: Vec<AnchorCitation>,
    empty: bool,
}

impl AnchorIndex {
    pub(super) fn new<'a>(stores: impl Iterator<Item = &'a AnchorContents>, mapper: &TextMapper) -> Self {
        let mut by_id: BTreeMap<&str, KnownWords> = BTreeMap::new();
        let mut names: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut list = Vec::new();
        let mut empty = true;
        let mut facts = Vec::new();
        for contents in stores {
            empty = false;
            for entity in &contents.entities {
                let known = by_id.entry(&entity.id).or_default();
                known.id.clone_from(&entity.id);
                for name in std::iter::once(&entity.name).chain(&entity.aliases) {
                    known.name(name, mapper);
                    names.entry(name.to_lowercase()).or_default().insert(&entity.id);
                }
            }
            facts.extend(&contents.facts);
            list.extend(contents.citations.iter().cloned());
        }
        // The names of all entities must be known before the first fact is read: names do not count as words of a fact.
        for fact in facts {
            by_id.entry(&fact.entity).or_default().fact(&fact.text, mapper);
        }
        by_id.values_mut().for_each(KnownWords::complete);
        let places: BTreeMap<&str, usize> = by_id.keys().enumerate().map(|(at, id)| (*id, at)).collect();
        let of = |ids: &BTreeSet<&str>| ids.iter().filter_map(|id| places.get(id).copied()).collect::<Vec<_>>();
        let named = names.values().map(of).collect();
        let called = names.iter().map(|(name, ids)| (name.clone(), of(ids))).collect();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .ascii_case_insensitive(true)
            .build(names.keys())
            .ok();
        Self { known: by_id.into_values().collect(), names: automaton, named, called, citations: list, empty }
    }

    pub(super) fn id(&self, entity: usize) -> Option<&str> {
        self.known.get(entity).map(|k| k.id.as_str())
    }

    fn place(&self, id: &str) -> Option<usize> {
        self.known.binary_search_by(|k| k.id.as_str().cmp(id)).ok()
    }

    pub(super) fn called(&self, name: &str) -> Option<usize> {
        match self.called.get(&name.to_lowercase()).map(Vec::as_slice) {
            Some([one]) => Some(*one),
            _ => None,
        }
    }

    /// The names of entities in a text, in order: at word boundaries, the longest first.
    pub(super) fn mentions(&self, text: &str) -> Vec<Mention> {
        let Some(names) = &self.names else { return Vec::new() };
        let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        names
            .find_iter(text)
            .filter(|m| {
                let before = text.get(..m.start()).and_then(|t| t.chars().next_back());
                let after = text.get(m.end()..).and_then(|t| t.chars().next());
                // A match is a name only if it does not begin with a lower-case letter and is not a part of a longer
                // word.
                !letter(before)
                    && !letter(after)
                    && text.get(m.range()).is_some_and(|t| t.starts_with(|c: char| !c.is_lowercase()))
            })
            .filter_map(|m| {
                let entities = self.named.get(m.pattern().as_usize())?.clone();
                Some(Mention { range: m.range(), entities })
            })
            .collect()
    }

    pub(super) fn resolve(&self, query: &AnchorQuery<'_>) -> SpanGrounding {
        let mut grounding = SpanGrounding {
            anchor: Anchor::None,
            validation: StageFinding::Pass,
            unsupported: Vec::new(),
            subject: None,
            deviation: None,
            evidence: Vec::new(),
        };
        self.cite(query.citations, &mut grounding);
        if self.empty && !query.closed_world {
            return grounding;
        }
        let about = self.name(query, &mut grounding);
        let intent = query.intent.and_then(|id| self.place(id));
        let inside: Vec<&CheckableWord> =
            query.words.iter().filter(|w| w.range.start < query.span.end && query.span.start < w.range.end).collect();
        if let Some(entity) = intent.filter(|_| !inside.is_empty()) {
            let near = |w: &CheckableWord| {
                query.vouched.contains(&w.stem) || self.known.get(entity).is_some_and(|k| k.mentions(w))
            };
            let strange = inside.iter().filter(|w| !near(w)).count();
            grounding.deviation = Some(BasisPoints::ratio(strange, inside.len()));
        }
        if query.closed_world {
            self.close(query, &about, &inside, &mut grounding);
        }
        grounding
    }

    fn cite(&self, citations: Option<&[&str]>, grounding: &mut SpanGrounding) {
        let Some(found) = citations else {
            grounding.anchor = Anchor::Unresolvable;
            return;
        };
        for citation in found {
            if allowed(citation, &self.citations) {
                grounding.anchor = grounding.anchor.max(Anchor::Resolved);
            } else {
                grounding.anchor = Anchor::Unresolvable;
                let condition = "a source that an anchor store allows".to_owned();
                grounding.evidence.push(FailedLookup { field: "citation", value: (*citation).to_owned(), condition });
            }
        }
    }

    /// The entities that the sentence is about: the entities that it names, and the stream's subject unless the
    /// sentence names its own subject. If several entities share a name and the stream's subject is one of them, the
    /// name means that entity.
    fn name(&self, query: &AnchorQuery<'_>, grounding: &mut SpanGrounding) -> Vec<usize> {
        let subject = query.subject.and_then(|id| self.place(id));
        let mut about = Vec::new();
        let mut owner = None;
        for (number, mention) in self.mentions(query.sentence).into_iter().enumerate() {
            let inside = mention.range.start < query.span.end && query.span.start < mention.range.end;
            let entity = match mention.entities.as_slice() {
                [one] => Some(*one),
                several => subject.filter(|s| several.contains(s)),
            };
            if number == 0 && is_subject(query, &mention.range) {
                owner = Some(entity);
            }
            match entity {
                Some(entity) => {
                    if about.is_empty() && inside {
                        grounding.subject = self.id(entity).map(str::to_owned);
                    }
                    about.push(entity);
                    if inside && grounding.anchor == Anchor::None {
                        grounding.anchor = Anchor::Resolved;
                    }
                }
                None if inside && grounding.anchor != Anchor::Unresolvable => {
                    grounding.anchor = Anchor::Ambiguous;
                    let value = query.sentence.get(mention.range).unwrap_or_default().to_owned();
                    let condition = "a name of one entity".to_owned();
                    grounding.evidence.push(FailedLookup { field: "entity", value, condition });
                }
                None => {}
            }
        }
        match owner {
            // If an entity is named as the subject, the statement is only about it.
            Some(owner) => owner.into_iter().collect(),
            None => {
                about.extend(subject);
                about
            }
        }
    }

    /// The words inside the span that are not supported. The operator's facts do not support a denied word.
    fn missing<'a>(
        &self,
        query: &AnchorQuery<'a>,
        about: &[usize],
        inside: &[&'a CheckableWord],
    ) -> Vec<&'a CheckableWord> {
        let none = Vec::new();
        let also = query.also.iter().chain(std::iter::repeat(&none));
        let words: Vec<QueryWord<'_>> =
            query.words.iter().zip(also).map(|(of, also)| QueryWord { of, also: also.clone() }).collect();
        let about: Vec<_> =
            about.iter().filter_map(|e| self.known.get(*e)).map(|k| (k, k.said(&words, query.part))).collect();
        let supported = |word: &QueryWord<'_>| {
            (!word.of.negated && query.vouched.contains(&word.of.stem))
                || about.iter().any(|(known, said)| known.supports(word, said))
        };
        let asked = words.iter().filter(|word| inside.iter().any(|one| one.range == word.of.range));
        asked.filter(|word| !supported(word)).map(|word| word.of).collect()
    }

    /// Denials in the span that deny no checkable word ("…, not."), or deny only names. No fact can support such a
    /// denial.
    fn empty_denials<'q>(&self, query: &'q AnchorQuery<'_>, about: &[usize]) -> impl Iterator<Item = &'q Range<usize>> {
        let known: Vec<&KnownWords> = about.iter().filter_map(|e| self.known.get(*e)).collect();
        query.frame.denials.iter().filter(move |denial| {
            let behind = query.words.iter().skip_while(|w| w.range.start < denial.end);
            let denied = behind.take_while(|w| w.negated).any(|w| !known.iter().any(|k| k.names(w)));
            denial.start < query.span.end && query.span.start < denial.end && !denied
        })
    }

    /// Verbs in the span whose words have other roles in every fact with that verb, such as another subject. Each verb
    /// comes with one of these facts.
    fn misplaced<'q>(
        &'q self,
        query: &'q AnchorQuery<'_>,
        about: &[usize],
    ) -> impl Iterator<Item = (&'q Range<usize>, &'q str)> {
        let known: Vec<&KnownWords> = about.iter().filter_map(|e| self.known.get(*e)).collect();
        let inside = |clause: &&VerbClause| clause.verb.start < query.span.end && query.span.start < clause.verb.end;
        let differs = move |clause: &'q VerbClause| {
            let answers: Vec<Result<(), &str>> = known.iter().filter_map(|k| k.agrees(clause)).collect();
            let fact = answers.first()?.err()?;
            answers.iter().all(Result::is_err).then_some((&clause.verb, fact))
        };
        query.clauses.iter().filter(inside).filter_map(differs)
    }

    fn close(
        &self,
        query: &AnchorQuery<'_>,
        about: &[usize],
        inside: &[&CheckableWord],
        grounding: &mut SpanGrounding,
    ) {
        let missing = self.missing(query, about, inside);
        // A span such as "…, and a writer." cannot stand alone, so the earlier words of its sentence need support, too.
        let leans = !query.part && !query.stands_alone && query.span.start > 0;
        let before: Vec<&CheckableWord> =
            query.words.iter().filter(|w| leans && w.range.start < query.span.start).collect();
        let unled = self.missing(query, about, &before);
        let denials: Vec<&Range<usize>> = self.empty_denials(query, about).collect();
        let misplaced: Vec<(&Range<usize>, &str)> = self.misplaced(query, about).collect();
        let mut rests_on = |field, range: &Range<usize>, condition: String| {
            let value = query.sentence.get(range.clone()).unwrap_or_default().to_owned();
            grounding.evidence.push(FailedLookup { field, value, condition });
        };
        let said = "in a fact that the sentence says";
        for word in missing.iter().chain(&unled) {
            let condition = if word.negated { format!("denied {said}") } else { said.to_owned() };
            rests_on("word", &word.range, condition);
        }
        denials.iter().for_each(|denial| rests_on("word", denial, said.to_owned()));
        for (verb, fact) in &misplaced {
            rests_on("verb", verb, format!("of whom it is in the fact \"{fact}\""));
        }
        let supported = inside.len() - missing.len();
        let whole = if !denials.is_empty() || !misplaced.is_empty() {
            false
        } else if query.part {
            // A part of a divided span passes only if every word is supported, it can stand alone, and it has more than
            // names: a name alone asserts nothing.
            let names = |w: &&CheckableWord| about.iter().filter_map(|e| self.known.get(*e)).any(|k| k.names(w));
            missing.is_empty() && !inside.iter().all(names) && query.stands_alone
        } else {
            supported > 0 && missing.is_empty() && unled.is_empty()
        };
        grounding.validation = if whole {
            StageFinding::Pass
        } else if query.part || supported == 0 || !unled.is_empty() || !denials.is_empty() || missing.is_empty() {
            // A span without checkable words is rejected, too, because no fact supports it.
            StageFinding::Reject(ValidationReason::ClosedWorldUnsupported)
        } else {
            StageFinding::Decompose(ValidationReason::ClosedWorldPartial)
        };
        if !whole && missing.is_empty() && unled.is_empty() && denials.is_empty() && misplaced.is_empty() {
            let condition = if query.part { "able to stand alone" } else { "words that a fact can support" };
            rests_on("span", query.span, condition.to_owned());
        }
        if !whole {
            grounding.unsupported = missing.into_iter().map(|w| w.range.clone()).collect();
        }
    }
}

/// Whether the first name of a sentence is its subject: no preposition governs it, and no verb or pronoun precedes it.
/// A verb or pronoun may precede the name if a comma stands right before the name and the sentence does not begin with
/// a pronoun.
fn is_subject(query: &AnchorQuery<'_>, name: &Range<usize>) -> bool {
    let frame = query.frame;
    let before = query.sentence.get(..name.start).unwrap_or_default();
    let led_to = before.get(..before.trim_end().len()).is_some_and(|text| frame.prepositions.contains(&text.len()));
    let begins = before.len() - before.trim_start().len();
    let introduced = before.trim_end().ends_with(',') && frame.pronouns.first() != Some(&begins);
    let within = |at: &usize| *at < name.start;
    !led_to && (introduced || !frame.verbs.iter().chain(&frame.pronouns).any(within))
}
