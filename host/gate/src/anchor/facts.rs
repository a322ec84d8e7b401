//! Look-ups: who is named, which citations are allowed, and which words of a span the facts support.
//!
//! A number or a name must stand in a fact that the sentence says of what it is about; of all checkable words a share must. The share
//! is taken over the whole sentence once: what is split off is only released when every word of it is supported.

use super::citation::allowed;
use super::contents::{Citation, Contents};
use super::known::KnownWords;
use super::query::{Evidence, Grounding, Query};
use aho_corasick::{AhoCorasick, MatchKind};
use portcullis_core::fixed::BasisPoints;
use portcullis_core::mutation::StageFinding;
use portcullis_core::reason::ValidationReason;
use portcullis_core::wire::Anchor;
use portcullis_mapping::{Checkable, Mapper};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Share of a span's words that must be supported for the whole span to pass, in basis points.
const WHOLE: u16 = 8_000;

/// An entity that a text names; several when the name is of several.
pub(super) struct Mention {
    pub(super) range: Range<usize>,
    pub(super) entities: Vec<usize>,
}

/// Everything that the stores hold, ready for look-ups.
pub(super) struct Facts {
    known: Vec<KnownWords>,
    names: Option<AhoCorasick>,
    /// Entities of each name.
    named: Vec<Vec<usize>>,
    called: BTreeMap<String, Vec<usize>>,
    citations: Vec<Citation>,
    empty: bool,
}

impl Facts {
    pub(super) fn new<'a>(stores: impl Iterator<Item = &'a Contents>, mapper: &Mapper) -> Self {
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
        // Every name of every store comes before the first fact.
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

    /// Entities that a text names, in order; names at word boundaries, the longest first.
    pub(super) fn mentions(&self, text: &str) -> Vec<Mention> {
        let Some(names) = &self.names else { return Vec::new() };
        let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        names
            .find_iter(text)
            .filter(|m| {
                let before = text.get(..m.start()).and_then(|t| t.chars().next_back());
                let after = text.get(m.end()..).and_then(|t| t.chars().next());
                // A name is capitalised wherever it stands.
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

    pub(super) fn resolve(&self, query: &Query<'_>) -> Grounding {
        let mut grounding = Grounding {
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
        let inside: Vec<&Checkable> =
            query.words.iter().filter(|w| w.range.start < query.span.end && query.span.start < w.range.end).collect();
        if let Some(entity) = intent.filter(|_| !inside.is_empty()) {
            let near = |w: &Checkable| {
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

    fn cite(&self, citations: Option<&[&str]>, grounding: &mut Grounding) {
        let Some(found) = citations else {
            grounding.anchor = Anchor::Unresolvable;
            return;
        };
        for citation in found {
            if allowed(citation, &self.citations) {
                grounding.anchor = grounding.anchor.max(Anchor::Resolved);
            } else {
                grounding.anchor = Anchor::Unresolvable;
                let condition = "a source that an anchor store allows";
                grounding.evidence.push(Evidence { field: "citation", value: (*citation).to_owned(), condition });
            }
        }
    }

    /// Who the sentence is about: the entities that it names, or else the stream's subject. A name of several is the subject's when it
    /// is one of them.
    fn name(&self, query: &Query<'_>, grounding: &mut Grounding) -> Vec<usize> {
        let subject = query.subject.and_then(|id| self.place(id));
        let mut about = Vec::new();
        for mention in self.mentions(query.sentence) {
            let inside = mention.range.start < query.span.end && query.span.start < mention.range.end;
            let entity = match mention.entities.as_slice() {
                [one] => Some(*one),
                several => subject.filter(|s| several.contains(s)),
            };
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
                    let condition = "a name of one entity";
                    grounding.evidence.push(Evidence { field: "entity", value, condition });
                }
                None => {}
            }
        }
        about.extend(subject);
        about
    }

    /// The words inside the span that nothing supports.
    fn missing<'a>(&self, query: &Query<'_>, about: &[usize], inside: &[&'a Checkable]) -> Vec<&'a Checkable> {
        let about: Vec<_> =
            about.iter().filter_map(|e| self.known.get(*e)).map(|k| (k, k.said(query.words, query.part))).collect();
        let supported = |word: &Checkable| {
            query.vouched.contains(&word.stem) || about.iter().any(|(known, said)| known.supports(word, said))
        };
        inside.iter().filter(|w| !supported(w)).copied().collect()
    }

    fn close(&self, query: &Query<'_>, about: &[usize], inside: &[&Checkable], grounding: &mut Grounding) {
        let missing = self.missing(query, about, inside);
        for word in &missing {
            let value = query.sentence.get(word.range.clone()).unwrap_or_default().to_owned();
            grounding.evidence.push(Evidence { field: "word", value, condition: "in a fact that the sentence says" });
        }
        let supported = inside.len() - missing.len();
        let whole = if query.part {
            // What was set apart passes word for word, and not when all that is left is a name: that says nothing.
            let names = |w: &&Checkable| about.iter().filter_map(|e| self.known.get(*e)).any(|k| k.names(w));
            missing.is_empty() && !inside.iter().all(names)
        } else {
            let share = BasisPoints::ratio(supported, inside.len()).get();
            supported > 0 && share >= WHOLE && !missing.iter().any(|w| w.value)
        };
        grounding.validation = if whole {
            StageFinding::Pass
        } else if query.part || supported == 0 {
            // What cannot be looked up is not guessed.
            StageFinding::Reject(ValidationReason::ClosedWorldUnsupported)
        } else {
            StageFinding::Decompose(ValidationReason::ClosedWorldPartial)
        };
        if !whole {
            grounding.unsupported = missing.into_iter().map(|w| w.range.clone()).collect();
        }
    }
}
