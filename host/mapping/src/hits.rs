//! Class hits: where the text holds a phrase or a pattern of a declared class.
//!
//! The scan runs over the whole text before anything is cut, so no boundary can hide a hit. Phrases are one Aho-Corasick
//! automaton. Patterns are first searched together, a window at a time, for which of them occur at all; only those are then
//! located one by one. A match that its validator refuses does not hide one that begins inside it.

use crate::error::MappingError;
use crate::pattern;
use crate::validate;
use crate::words::is_boundary;
use aho_corasick::{AhoCorasick, MatchKind};
use portcullis_core::class::ClassId;
use portcullis_core::manifest::{Class, Manifest, Validator};
use portcullis_core::wire::CLASSES;
use regex_automata::MatchKind as RegexMatchKind;
use regex_automata::meta::Regex;
use regex_automata::{Input, PatternSet};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a window of the joint search; each window reads on by the longest match.
const WINDOW: usize = 2048;
/// Bytes on either side of a match in which a phrase counts as near.
const NEAR: usize = 64;

/// One hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) range: Range<usize>,
    pub(crate) class: ClassId,
}

/// The hits of a text, ordered by start, then end, then class, without repetition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hits {
    list: Vec<Hit>,
    /// Bytes of the longest, so that what touches a range is found without a walk from the start.
    longest: usize,
}

impl Hits {
    fn new(mut list: Vec<Hit>) -> Self {
        list.sort_unstable_by_key(|h| (h.range.start, h.range.end, h.class));
        list.dedup();
        let longest = list.iter().map(|h| h.range.len()).max().unwrap_or(0);
        Self { list, longest }
    }

    /// The same with further hits.
    pub(crate) fn with(self, hits: impl IntoIterator<Item = (Range<usize>, ClassId)>) -> Self {
        let more = hits.into_iter().map(|(range, class)| Hit { range, class });
        Self::new(self.list.into_iter().chain(more).collect())
    }

    /// The classes.
    pub(crate) fn classes(&self) -> impl Iterator<Item = ClassId> {
        self.list.iter().map(|hit| hit.class)
    }

    /// The hits that share a byte with `range`.
    pub(crate) fn touching(&self, range: &Range<usize>) -> impl Iterator<Item = &Hit> {
        let (start, end) = (range.start, range.end);
        let first = self.list.partition_point(|h| h.range.start + self.longest <= start);
        self.list.iter().skip(first).take_while(move |h| h.range.start < end).filter(move |h| start < h.range.end)
    }

    /// Whether a cut at `at` would fall inside a hit.
    pub(crate) fn split_by(&self, at: usize) -> bool {
        self.touching(&(at.saturating_sub(1)..at)).any(|h| at < h.range.end)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }
}

struct LocatedPattern {
    class: ClassId,
    regex: Regex,
    validator: Option<Validator>,
    /// Automaton over the phrases of which one must stand near; `None` is no condition.
    near: Option<AhoCorasick>,
}

/// The compiled vocabularies and patterns.
pub(crate) struct Scanner {
    phrases: Option<AhoCorasick>,
    /// Class of each phrase.
    phrase_class: Vec<ClassId>,
    /// Every pattern in one automaton, to learn which occur.
    joint: Option<Regex>,
    patterns: Vec<LocatedPattern>,
    /// Longest match of any pattern.
    reach: usize,
}

impl Scanner {
    pub(crate) fn new(manifest: &Manifest, files: &BTreeMap<String, Vec<u8>>) -> Result<Self, MappingError> {
        let mut phrases = Vec::new();
        let mut phrase_class = Vec::new();
        let mut patterns = Vec::new();
        let mut sources = Vec::new();
        let mut reach = 0;
        for (index, class) in manifest.classes.iter().enumerate() {
            let id = u8::try_from(index).ok().and_then(|i| ClassId::try_from(i).ok());
            let count = manifest.classes.len();
            let id = id.ok_or(MappingError::TooMany { what: "classes", count, most: CLASSES })?;
            for file in &class.vocabulary {
                for phrase in vocabulary(&class.name, file, files)? {
                    phrases.push(phrase.to_owned());
                    phrase_class.push(id);
                }
            }
            for pattern in &class.patterns {
                let (regex, longest) = pattern::bounded(&class.name, pattern)?;
                reach = reach.max(longest);
                let near = automaton(&pattern.near, MatchKind::Standard)?;
                patterns.push(LocatedPattern { class: id, regex, validator: pattern.validator, near });
                sources.push(pattern.regex.as_str());
            }
        }
        let joint = (!sources.is_empty()).then(|| pattern::joint(&sources, RegexMatchKind::All)).transpose();
        let joint = joint.map_err(MappingError::Patterns)?;
        // Overlapping phrases are all found: the longest must not hide a shorter one of another class.
        Ok(Self { phrases: automaton(&phrases, MatchKind::Standard)?, phrase_class, joint, patterns, reach })
    }

    /// Every hit of `text`.
    pub(crate) fn scan(&self, text: &str) -> Hits {
        let mut hits = Vec::new();
        if let Some(phrases) = &self.phrases {
            for found in phrases.find_overlapping_iter(text) {
                if is_boundary(text, found.start())
                    && is_boundary(text, found.end())
                    && let Some(class) = self.phrase_class.get(found.pattern().as_usize())
                {
                    hits.push(Hit { range: found.start()..found.end(), class: *class });
                }
            }
        }
        if let Some(joint) = &self.joint {
            let mut present = PatternSet::new(self.patterns.len());
            let mut start = 0;
            while start < text.len() {
                let end = ceil(text, start + WINDOW);
                let read_to = ceil(text, end + self.reach);
                present.clear();
                joint.which_overlapping_matches(&Input::new(text).range(start..read_to), &mut present);
                for pattern in present.iter().filter_map(|p| self.patterns.get(p.as_usize())) {
                    pattern.locate(text, start..end, read_to, &mut hits);
                }
                start = end;
            }
        }
        Hits::new(hits)
    }
}

impl LocatedPattern {
    /// Adds the matches that begin in `within`.
    fn locate(&self, text: &str, within: Range<usize>, read_to: usize, hits: &mut Vec<Hit>) {
        let mut at = within.start;
        while at < within.end {
            let Some(found) = self.regex.find(Input::new(text).range(at..read_to)) else { return };
            if found.start() >= within.end {
                return;
            }
            let matched = text.get(found.range()).unwrap_or_default();
            let accepted = match self.validator {
                None => (!matched.is_empty()).then_some(matched.len()),
                Some(validator) => validate::accept(validator, matched),
            };
            let near = self.near.as_ref().is_none_or(|near| near.is_match(around(text, found.range())));
            match accepted.filter(|_| near) {
                Some(length) => {
                    hits.push(Hit { range: found.start()..found.start() + length, class: self.class });
                    at = found.start() + length;
                }
                None => at = ceil(text, found.start() + 1),
            }
        }
    }
}

/// What stands around a match: where a phrase counts as near.
fn around(text: &str, range: Range<usize>) -> &str {
    let from = floor(text, range.start.saturating_sub(NEAR));
    text.get(from..ceil(text, range.end + NEAR)).unwrap_or_default()
}

/// The character boundary at `at` or the next one.
fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len())
}

/// The character boundary at `at` or the one before.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

fn automaton(phrases: &[String], kind: MatchKind) -> Result<Option<AhoCorasick>, MappingError> {
    if phrases.is_empty() {
        return Ok(None);
    }
    let built = AhoCorasick::builder().ascii_case_insensitive(true).match_kind(kind).build(phrases);
    built.map(Some).map_err(|e| MappingError::Vocabulary(e.to_string()))
}

/// Phrases of a vocabulary file, one a line; `#` starts a comment.
fn vocabulary<'f>(
    class: &str,
    file: &str,
    files: &'f BTreeMap<String, Vec<u8>>,
) -> Result<impl Iterator<Item = &'f str>, MappingError> {
    let (class, path) = (class.to_owned(), file.to_owned());
    let Some(bytes) = files.get(file) else { return Err(MappingError::MissingVocabulary { class, file: path }) };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(MappingError::VocabularyEncoding { class, file: path });
    };
    Ok(text.lines().map(|line| line.split('#').next().unwrap_or("").trim()).filter(|line| !line.is_empty()))
}

/// Every vocabulary file and every pattern that cannot be used.
pub(crate) fn problems(manifest: &Manifest, files: &BTreeMap<String, Vec<u8>>) -> Vec<MappingError> {
    let of_class = |class: &Class| {
        let vocabularies = class.vocabulary.iter().filter_map(|file| vocabulary(&class.name, file, files).err());
        let patterns = class.patterns.iter().filter_map(|pattern| pattern::bounded(&class.name, pattern).err());
        vocabularies.chain(patterns).collect::<Vec<_>>()
    };
    manifest.classes.iter().flat_map(of_class).collect()
}
