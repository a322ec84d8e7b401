//! Class hits: places where a text contains a phrase or a pattern of a declared class.
//!
//! The scan covers the whole text before it is cut, so that no cut can hide a hit. It also covers the text's matching
//! view; if view and text differ only in line breaks, one pass scans both. One Aho-Corasick automaton finds the
//! phrases. Patterns that begin with a digit or a mark share one automaton, tried at such bytes. Other patterns are
//! searched around a rare byte that every match contains, if there is such a byte. A refused match does not hide a
//! match inside it.

use crate::anchored::{AutomatonWalkEnd, JointPatternAutomaton, Walker};
use crate::bytes::{self, ByteSet};
use crate::cues::Cues;
use crate::error::MappingError;
use crate::label::Labels;
use crate::language::Language;
use crate::pattern;
use crate::phrase::{self, Phrases};
use crate::polarity::{self, Around};
use crate::unfinished::{self, UnfinishedHitFinder};
use crate::validators::{self, MatchValidator};
use crate::view::MatchingView;
use crate::words::{self, find, is_boundary};
use aho_corasick::{AhoCorasick, MatchKind};
use portcullis_core::class::{ClassId, ClassSet};
use portcullis_core::manifest::{ClassDeclaration, HitPolarity, PackageManifest, PatternBorder, PatternValidator};
use portcullis_core::wire::CLASSES;
use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};
use regex_syntax::hir::Hir;
use std::collections::BTreeMap;
use std::ops::Range;

/// Number of bytes that a search around a rare byte reads ahead. If they contain no match, they are not searched again.
const AHEAD: usize = 512;
/// Distance from a match, in bytes on either side, within which a phrase counts as near.
const NEAR: usize = 64;

/// Largest number of phrases that one line of a vocabulary may stand for.
const ALTERNATIVES: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassHit {
    pub(crate) range: Range<usize>,
    pub(crate) class: ClassId,
}

/// The hits of a text, sorted by start, end and class, without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hits {
    list: Vec<ClassHit>,
    /// The overlapping hits joined, in order, each with the index of its first hit. A search for hits reads only the
    /// hits of the joined ranges that it touches.
    joined: Vec<(Range<usize>, usize)>,
    /// Whether a class that requires a polarity was looked for at a place.
    is_polar: bool,
}

impl Hits {
    fn new(mut list: Vec<ClassHit>) -> Self {
        list.sort_unstable_by_key(|h| (h.range.start, h.range.end, h.class));
        list.dedup();
        let mut joined: Vec<(Range<usize>, usize)> = Vec::new();
        for (at, hit) in list.iter().enumerate() {
            match joined.last_mut() {
                Some((last, _)) if hit.range.start < last.end => last.end = last.end.max(hit.range.end),
                _ => joined.push((hit.range.clone(), at)),
            }
        }
        Self { list, joined, is_polar: false }
    }

    /// Whether the result depends on the polarity of a place, which is read in the text far before it.
    pub(crate) const fn is_polar(&self) -> bool {
        self.is_polar
    }

    /// Notes that the result depends on the polarity of a place, too.
    pub(crate) const fn depend_on_polarity(&mut self, is_polar: bool) {
        self.is_polar |= is_polar;
    }

    /// Adds hits.
    pub(crate) fn with(self, hits: impl IntoIterator<Item = (Range<usize>, ClassId)>) -> Self {
        let more = hits.into_iter().map(|(range, class)| ClassHit { range, class });
        Self { is_polar: self.is_polar, ..Self::new(self.list.into_iter().chain(more).collect()) }
    }

    /// The hits after `by` more bytes.
    pub(crate) fn moved(mut self, by: usize) -> Self {
        let joined = self.joined.iter_mut().map(|(range, _)| range);
        for range in self.list.iter_mut().map(|hit| &mut hit.range).chain(joined) {
            *range = range.start + by..range.end + by;
        }
        self
    }

    /// Extends the hits that share a byte with `range` so that each covers all of `range`.
    pub(crate) fn widen(&mut self, range: &Range<usize>) {
        if self.touches(range) {
            let is_polar = self.is_polar;
            let mut list = std::mem::take(self).list;
            for hit in list.iter_mut().filter(|hit| hit.range.start < range.end && range.start < hit.range.end) {
                hit.range = hit.range.start.min(range.start)..hit.range.end.max(range.end);
            }
            *self = Self { is_polar, ..Self::new(list) };
        }
    }

    /// The hits that share a byte with `range`.
    pub(crate) fn touching(&self, range: &Range<usize>) -> impl Iterator<Item = &ClassHit> {
        let (start, end) = (range.start, range.end);
        let first = self.joined.get(self.joined.partition_point(|(joined, _)| joined.end <= start));
        let first = first.map_or(self.list.len(), |(_, first)| *first);
        let list = self.list.get(first..).unwrap_or_default();
        list.iter().take_while(move |h| h.range.start < end).filter(move |h| start < h.range.end)
    }

    /// Whether a hit shares a byte with `range`.
    pub(crate) fn touches(&self, range: &Range<usize>) -> bool {
        let next = self.joined.get(self.joined.partition_point(|(joined, _)| joined.end <= range.start));
        next.is_some_and(|(joined, _)| joined.start < range.end)
    }

    /// Whether a cut at `at` would fall inside a hit.
    pub(crate) fn split_by(&self, at: usize) -> bool {
        let next = self.joined.get(self.joined.partition_point(|(joined, _)| joined.end <= at));
        next.is_some_and(|(joined, _)| joined.start < at)
    }

    /// The number of hits.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }
}

/// The hits of a decoded text.
pub(crate) struct DecodedHits {
    pub(crate) hits: Vec<(Range<usize>, ClassId)>,
    /// As [`Hits::is_polar`].
    pub(crate) is_polar: bool,
}

struct LocatedPattern {
    class: ClassId,
    regex: Regex,
    validator: Option<Box<dyn MatchValidator>>,
    /// Automaton over the phrases of `near`, one of which must be near a match; `None` if the pattern has no `near`.
    near: Option<AhoCorasick>,
    /// The labels, one of which takes the place of a phrase of `near`.
    label: Option<Labels>,
    /// Whether letters may be adjacent to a match.
    letters: PatternBorder,
    /// Length in bytes of the pattern's longest match.
    longest: usize,
    /// Rare bytes of which each match contains at least one, and the most bytes of a match before that byte.
    pivot: Option<(ByteSet, usize)>,
}

/// The rare bytes at which the search looks for patterns.
struct RareByteTable {
    /// For each byte value, which searches to start there: [`STARTS`], [`PIVOTS`] or both.
    at: [u8; 256],
}

/// Flag of `RareByteTable::at`: a pattern of [`Starting`] may begin with this byte.
const STARTS: u8 = 1;
/// Flag of `RareByteTable::at`: the byte is a rare byte of a pattern in `searched`.
const PIVOTS: u8 = 2;

/// Patterns that begin with a digit or a mark.
struct Starting {
    joint: JointPatternAutomaton,
    first: ByteSet,
    patterns: Vec<LocatedPattern>,
    /// Whether no pattern may begin between two digits.
    whole: bool,
}

/// The scanned text: the text itself, or its view.
#[derive(Clone, Copy)]
struct Page<'t> {
    text: &'t str,
    view: Option<&'t MatchingView>,
}

impl Page<'_> {
    fn crosses_border(&self, range: &Range<usize>) -> bool {
        self.view.is_some_and(|view| view.crosses_border(range))
    }
}

/// The compiled vocabularies and patterns.
pub(crate) struct Scanner {
    phrases: Option<AhoCorasick>,
    /// The class of each phrase.
    phrase_class: Vec<ClassId>,
    /// Finds phrases with other separators between their words, and in other word forms.
    worded: Phrases,
    /// Classes that are not searched for in the view.
    unviewed: ClassSet,
    /// Required polarity of each class that has one. Then: the set of these classes, and the words that decide
    /// polarity.
    polarities: BTreeMap<ClassId, HitPolarity>,
    polar: ClassSet,
    cues: Option<(&'static Cues, &'static Language)>,
    starting: Option<Starting>,
    /// The patterns that are not in `starting`.
    searched: Vec<LocatedPattern>,
    marks: RareByteTable,
    unfinished: UnfinishedHitFinder,
}

impl Scanner {
    pub(crate) fn new(manifest: &PackageManifest, files: &BTreeMap<String, Vec<u8>>) -> Result<Self, MappingError> {
        let mut phrases = Vec::new();
        let mut phrase_class = Vec::new();
        let mut worded = Vec::new();
        let mut unviewed = Vec::new();
        let mut patterns = Vec::new();
        let mut sources = Vec::new();
        for (index, class) in manifest.classes.iter().enumerate() {
            let count = manifest.classes.len();
            let id = manifest.class_id(index).ok_or(MappingError::TooMany { what: "classes", count, most: CLASSES })?;
            for file in &class.vocabulary {
                for phrase in vocabulary(&class.name, file, files)? {
                    if !phrase::has_slots(&phrase) {
                        phrases.push(phrase.clone());
                        phrase_class.push(id);
                    }
                    worded.push((phrase, id, class.inflect));
                }
            }
            if !class.view {
                unviewed.push(id);
            }
            for pattern in &class.patterns {
                let bounded = pattern::bounded(&class.name, pattern, class.letters)?;
                let near = automaton(&words::names(&pattern.near), MatchKind::Standard)?;
                let label = Labels::of(&class.name, pattern)?;
                let (longest, pivot) = (bounded.longest, bytes::pivot(&bounded.hir));
                let validator = pattern.validator.map(|validator| validators::of(validator, class));
                let (regex, letters) = (bounded.regex, class.letters);
                patterns.push(LocatedPattern { class: id, regex, validator, near, label, letters, longest, pivot });
                sources.push(bounded.hir);
            }
        }
        let unfinished = UnfinishedHitFinder::new(&sources).map_err(MappingError::Patterns)?;
        let (starting, searched): (Vec<_>, Vec<_>) = patterns.into_iter().zip(sources).partition(|(_, hir)| {
            let (first, empty) = bytes::first(hir);
            first.is_rare() && !empty
        });
        let starting = (!starting.is_empty()).then(|| Starting::new(starting)).transpose();
        let starting = starting.map_err(MappingError::Patterns)?;
        let searched: Vec<LocatedPattern> = searched.into_iter().map(|(pattern, _)| pattern).collect();
        let polarities = (0..).zip(&manifest.classes).filter(|(_, class)| class.polarity != HitPolarity::Any);
        let polarities: BTreeMap<ClassId, HitPolarity> =
            polarities.filter_map(|(at, class)| Some((manifest.class_id(at)?, class.polarity))).collect();
        let polar = polarities.keys().copied().collect();
        // All overlapping phrases are reported: the longest must not hide a shorter phrase of another class.
        Ok(Self {
            phrases: automaton(&phrases, MatchKind::Standard)?,
            phrase_class,
            worded: Phrases::new(&worded, &manifest.package.language),
            unviewed: unviewed.into_iter().collect(),
            polarities,
            polar,
            cues: Language::of(&manifest.package.language)
                .and_then(|language| Some((language.polarity.as_ref()?, language))),
            marks: RareByteTable::new(starting.as_ref(), &searched),
            starting,
            searched,
            unfinished,
        })
    }

    /// The start of the suffix of a text that may be the beginning of a hit, in the text or in its view, and that does
    /// not begin before `from`; the text's length if there is no such suffix.
    pub(crate) fn unfinished(&self, text: &str, from: usize, view: Option<&MatchingView>) -> usize {
        let seen = view.map_or(text.len(), |view| {
            let at = self.unfinished_in(Page { text: view.text(), view: Some(view) }, view.shown_until(from));
            view.origin_from(at, text.len())
        });
        self.unfinished_in(Page { text, view: None }, from).min(seen)
    }

    fn unfinished_in(&self, page: Page<'_>, from: usize) -> usize {
        let text = page.text;
        let first = ceil(text, text.len().saturating_sub(unfinished::REACH).max(from));
        let patterns = self.starting.iter().flat_map(|s| &s.patterns).chain(&self.searched);
        let waiting = patterns.filter_map(|pattern| pattern.waiting(page, first)).min();
        self.unfinished.from(text, from, &self.worded).min(waiting.unwrap_or(text.len()))
    }

    /// Every hit of a text and of its view that has the polarity that its class requires.
    pub(crate) fn scan(&self, text: &str, view: Option<&MatchingView>) -> Hits {
        let page = Page { text, view: None };
        let Some(view) = view else {
            let mut search = Search::new(self, page);
            self.phrases(page, |range, class| search.hits.push(ClassHit { range, class }));
            self.patterns(&mut [&mut search]);
            let is_polar = search.hits.iter().any(|hit| self.polar.contains(hit.class));
            search.hits.retain(|hit| self.counts(hit, page, text));
            return Hits { is_polar, ..Hits::new(search.hits) };
        };
        let seen = Page { text: view.text(), view: Some(view) };
        let mut searches = [Search::new(self, page), Search::new(self, seen)];
        let [written, shown] = &mut searches;
        if view.is_aligned() {
            // Phrases do not contain line breaks, so scanning the view also finds the phrases of the text. Digits and
            // punctuation have the same places in text and view.
            self.phrases(seen, |range, class| {
                let same = !view.differs_in(&range);
                if same && (!self.polar.contains(class) || self.unviewed.contains(class)) {
                    written.hits.push(ClassHit { range, class });
                } else {
                    shown.hits.push(ClassHit { range, class });
                }
            });
            self.patterns(&mut [written, shown]);
        } else {
            for search in [&mut *written, &mut *shown] {
                self.phrases(search.page, |range, class| search.hits.push(ClassHit { range, class }));
                self.patterns(&mut [search]);
            }
        }
        let [mut written, mut shown] = searches.map(|search| search.hits);
        shown.retain(|hit| !self.unviewed.contains(hit.class));
        let is_polar = written.iter().chain(&shown).any(|hit| self.polar.contains(hit.class));
        if self.polar != ClassSet::EMPTY {
            // The polarity of a hit in the view is decided by the words of the view.
            let polar = shown.iter().filter(|hit| self.polar.contains(hit.class));
            let seen_at =
                Hits::new(polar.map(|hit| ClassHit { range: view.origin(&hit.range), class: hit.class }).collect());
            let is_seen = |hit: &ClassHit| {
                self.polar.contains(hit.class) && seen_at.touching(&hit.range).any(|other| other.class == hit.class)
            };
            written.retain(|hit| !is_seen(hit) && self.counts(hit, page, text));
            shown.retain(|hit| self.counts(hit, seen, text));
        }
        let shown = shown.into_iter().map(|hit| ClassHit { range: view.origin(&hit.range), ..hit });
        Hits { is_polar, ..Hits::new(written.into_iter().chain(shown).collect()) }
    }

    /// The hits of a decoded text and of its view. A class that must stand in the bytes, and a class that switches a
    /// rule off, has no hit here.
    pub(crate) fn scan_decoded(&self, text: &str, view: Option<&MatchingView>) -> DecodedHits {
        let excuses = |class| self.polarities.get(&class) == Some(&HitPolarity::Affirmed);
        let Hits { list, is_polar, .. } = self.scan(text, view);
        let found = list.into_iter().filter(|hit| !self.unviewed.contains(hit.class) && !excuses(hit.class));
        DecodedHits { hits: found.map(|hit| (hit.range, hit.class)).collect(), is_polar }
    }

    /// Every hit in the bytes of a text; neither the view nor polarity is considered.
    pub(crate) fn written(&self, text: &str) -> Vec<ClassHit> {
        let page = Page { text, view: None };
        let mut search = Search::new(self, page);
        self.phrases(page, |range, class| search.hits.push(ClassHit { range, class }));
        self.patterns(&mut [&mut search]);
        Hits::new(search.hits).list
    }

    /// Whether a hit has the polarity that its class requires.
    fn counts(&self, hit: &ClassHit, page: Page<'_>, text: &str) -> bool {
        let polarity = self.polarities.get(&hit.class).copied().unwrap_or_default();
        match self.cues {
            Some((cues, language)) if polarity != HitPolarity::Any => {
                let around = Around::new(page.text, page.view.map(|view| (view, text)), &hit.range, language);
                polarity::counts(polarity, &around, cues, language)
            }
            _ => true,
        }
    }

    /// Whether a class requires a polarity.
    pub(crate) fn is_polar(&self, class: ClassId) -> bool {
        self.polar.contains(class)
    }

    fn phrases(&self, page: Page<'_>, mut hit: impl FnMut(Range<usize>, ClassId)) {
        let text = page.text;
        let mut phrase = |range: Range<usize>, class: ClassId| {
            if !page.crosses_border(&range) {
                hit(range, class);
            }
        };
        if let Some(phrases) = &self.phrases {
            for found in phrases.find_overlapping_iter(text) {
                if is_boundary(text, found.start())
                    && is_boundary(text, found.end())
                    && let Some(class) = self.phrase_class.get(found.pattern().as_usize())
                {
                    phrase(found.start()..found.end(), *class);
                }
            }
        }
        self.worded.find(text, phrase);
    }

    /// Adds the pattern matches of pages that have the same marks at the same places.
    fn patterns(&self, searches: &mut [&mut Search<'_>]) {
        let Some(text) = searches.first().map(|search| search.page.text) else { return };
        let mut at_marks = |walker: &mut Option<&mut Walker<'_>>| {
            let mark = |byte: u8| self.marks.at.get(usize::from(byte)).copied().unwrap_or(STARTS | PIVOTS);
            let mut from = 0;
            while let Some(at) = find(text.as_bytes(), from, |byte| mark(byte) != 0) {
                from = at + 1;
                let byte = text.as_bytes().get(at).copied().unwrap_or(0);
                let mark = mark(byte);
                for search in searches.iter_mut() {
                    if mark & STARTS != 0
                        && let (Some(starting), Some(walker)) = (&self.starting, &mut *walker)
                    {
                        starting.at(walker, at, search);
                    }
                    if mark & PIVOTS != 0 {
                        for (pattern, clear) in self.searched.iter().zip(&mut search.clear) {
                            pattern.around(search.page, at, byte, clear, &mut search.hits);
                        }
                    }
                }
            }
        };
        match &self.starting {
            Some(starting) => starting.joint.walks(|walker| at_marks(&mut Some(walker))),
            None => at_marks(&mut None),
        }
        for pattern in self.searched.iter().filter(|pattern| pattern.pivot.is_none()) {
            for search in searches.iter_mut() {
                let length = search.page.text.len();
                pattern.locate(search.page, 0..length, length, &mut search.hits);
            }
        }
    }
}

impl RareByteTable {
    fn new(starting: Option<&Starting>, searched: &[LocatedPattern]) -> Self {
        let mut at = [0; 256];
        for (byte, mark) in (0..=u8::MAX).zip(&mut at) {
            let starts = starting.is_some_and(|starting| starting.first.holds(byte));
            let pivots = searched.iter().filter_map(|pattern| pattern.pivot.as_ref());
            let pivots = pivots.into_iter().any(|(pivot, _)| pivot.holds(byte));
            *mark = if starts { STARTS } else { 0 } | if pivots { PIVOTS } else { 0 };
        }
        Self { at }
    }
}

/// The progress of the search in a page.
struct Search<'t> {
    page: Page<'t>,
    hits: Vec<ClassHit>,
    /// For each pattern of [`Starting`], the first place where its next match may begin.
    next: Vec<usize>,
    /// For each pattern of [`Starting`], whether it matches at the current place.
    matched: Vec<bool>,
    /// For each pattern of `searched`: all matches that begin before this place have been found.
    clear: Vec<usize>,
}

impl<'t> Search<'t> {
    fn new(scanner: &Scanner, page: Page<'t>) -> Self {
        let starting = scanner.starting.as_ref().map_or(0, |starting| starting.patterns.len());
        let clear = vec![0; scanner.searched.len()];
        Self { page, hits: Vec::new(), next: vec![0; starting], matched: vec![false; starting], clear }
    }
}

impl Starting {
    fn new(patterns: Vec<(LocatedPattern, Hir)>) -> Result<Self, String> {
        let (patterns, sources): (Vec<_>, Vec<_>) = patterns.into_iter().unzip();
        let mut first = ByteSet::none();
        sources.iter().for_each(|hir| first.join(&bytes::first(hir).0));
        let whole = patterns.iter().all(|p: &LocatedPattern| p.letters == PatternBorder::Any);
        Ok(Self { joint: JointPatternAutomaton::new(&sources)?, first, patterns, whole })
    }

    /// Adds the matches that begin at `at`.
    fn at(&self, walker: &mut Walker<'_>, at: usize, search: &mut Search<'_>) {
        let page = search.page;
        if self.whole && between_digits(page.text, at) {
            return;
        }
        let mut any = false;
        let end = walker.walk(page.text.as_bytes(), at, |pattern| {
            any = true;
            if let Some(matched) = search.matched.get_mut(pattern) {
                *matched = true;
            }
        });
        if !any && end != AutomatonWalkEnd::Unknown {
            return;
        }
        for ((pattern, next), matched) in self.patterns.iter().zip(&mut search.next).zip(&mut search.matched) {
            if (std::mem::take(matched) || end == AutomatonWalkEnd::Unknown) && *next <= at {
                *next = pattern.at(page, at, &mut search.hits);
            }
        }
    }
}

impl LocatedPattern {
    /// Adds the match that begins at `at`, if there is one. Returns the first place where the next match may begin.
    fn at(&self, page: Page<'_>, at: usize, hits: &mut Vec<ClassHit>) -> usize {
        let Some(found) = self.regex.find(Input::new(page.text).range(at..).anchored(Anchored::Yes)) else {
            return at + 1;
        };
        match self.accept(page, found.range()) {
            Ok(range) => {
                let end = range.end;
                hits.push(ClassHit { range, class: self.class });
                end
            }
            Err(again) => again,
        }
    }

    /// Adds the matches around the byte at `at`, if it is one of the pattern's rare bytes. Matches that begin before
    /// `clear` have been found already.
    fn around(&self, page: Page<'_>, at: usize, byte: u8, clear: &mut usize, hits: &mut Vec<ClassHit>) {
        let text = page.text;
        let Some((_, before)) = self.pivot.as_ref().filter(|(pivot, _)| pivot.holds(byte)) else { return };
        let from = ceil(text, at.saturating_sub(*before).max(*clear));
        if from <= at {
            *clear = self.locate(page, from..at + 1, ceil(text, at + 1 + self.longest + AHEAD), hits);
        }
    }

    /// Adds the matches that begin in `within`. Returns the place up to which all matches are found.
    fn locate(&self, page: Page<'_>, within: Range<usize>, read_to: usize, hits: &mut Vec<ClassHit>) -> usize {
        let text = page.text;
        let seen = if read_to == text.len() { read_to } else { read_to.saturating_sub(self.longest) };
        let mut at = within.start;
        while at < within.end {
            let Some(found) = self.regex.find(Input::new(text).range(at..read_to)) else { return seen.max(within.end) };
            if found.start() >= within.end {
                return found.start().min(seen).max(within.end);
            }
            match self.accept(page, found.range()) {
                Ok(range) => {
                    at = range.end.max(found.start() + 1);
                    hits.push(ClassHit { range, class: self.class });
                }
                Err(again) => at = ceil(text, again.max(found.start() + 1)),
            }
        }
        at
    }

    /// The start of the first match that lacks its `near` phrase although later text could still bring the phrase.
    fn waiting(&self, page: Page<'_>, first: usize) -> Option<usize> {
        let text = page.text;
        self.near.as_ref()?;
        let mut at = first;
        while at < text.len() {
            let found = self.regex.find(Input::new(text).range(at..))?;
            if found.end() + NEAR > text.len() && self.validate(page, found.range()).is_ok() {
                return Some(found.start());
            }
            at = ceil(text, found.start() + 1);
        }
        None
    }

    /// The part of a match that counts as a hit. `Err` gives the place from which the search must continue.
    fn accept(&self, page: Page<'_>, found: Range<usize>) -> Result<Range<usize>, usize> {
        let next = found.start + 1;
        let range = self.validate(page, found)?;
        let near = || self.near.as_ref().is_some_and(|near| is_near(near, page.text, &range));
        let label = || self.label.as_ref().is_some_and(|label| label.name(page.text, &range));
        let free = self.near.is_none() && self.label.is_none();
        if free || near() || label() { Ok(range) } else { Err(next) }
    }

    /// As [`Self::accept`], without the conditions on `near` and `label`.
    fn validate(&self, page: Page<'_>, found: Range<usize>) -> Result<Range<usize>, usize> {
        let text = page.text;
        let next = found.start + 1;
        let glued = |at: usize| self.letters == PatternBorder::Any && between_digits(text, at);
        if found.is_empty() || glued(found.start) {
            return Err(next);
        }
        let validator = self.validator.as_deref();
        let range = match validator {
            None => found,
            Some(validator) => validator.accept(text, &found, &|range| page.crosses_border(range))?,
        };
        let ends = validator.is_some_and(MatchValidator::finds_its_end);
        let crosses = validator.is_some_and(MatchValidator::crosses_borders);
        if (!ends && glued(range.end)) || (!crosses && page.crosses_border(&range)) {
            return Err(next);
        }
        Ok(range)
    }
}

/// Whether `at` is between two digits.
fn between_digits(text: &str, at: usize) -> bool {
    let digit = |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at)).is_some_and(u8::is_ascii_digit);
    digit(at.checked_sub(1)) && digit(Some(at))
}

/// Whether one of the phrases is near a match, at the borders of words, of the words of a name, or of another script.
fn is_near(phrases: &AhoCorasick, text: &str, range: &Range<usize>) -> bool {
    let from = floor(text, range.start.saturating_sub(NEAR));
    let around = text.get(from..ceil(text, range.end + NEAR)).unwrap_or_default();
    let border = |at: usize| words::is_label_border(text, from + at);
    phrases.find_overlapping_iter(around).any(|m| border(m.start()) && border(m.end()))
}

/// The first character boundary from `at` on.
fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len())
}

/// The last character boundary up to `at`.
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

/// Phrases of a vocabulary file, one per line; `#` starts a comment. `(a|b)` expands into one phrase per alternative.
pub(crate) fn vocabulary(
    class: &str,
    file: &str,
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<Vec<String>, MappingError> {
    let (class, path) = (class.to_owned(), file.to_owned());
    let Some(bytes) = files.get(file) else { return Err(MappingError::MissingVocabulary { class, file: path }) };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(MappingError::VocabularyEncoding { class, file: path });
    };
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    let phrases = lines.zip(1..).filter(|(line, _)| !line.is_empty()).map(|(phrase, line)| {
        if let Some((problem, at)) = phrase::problem(phrase, ALTERNATIVES) {
            return Err(MappingError::Phrase { file: path.clone(), line, phrase: phrase.to_owned(), problem, at });
        }
        Ok(phrase::alternatives(phrase, ALTERNATIVES).unwrap_or_default())
    });
    Ok(phrases.collect::<Result<Vec<_>, _>>()?.concat())
}

/// The errors of all vocabulary files and patterns.
pub(crate) fn problems(manifest: &PackageManifest, files: &BTreeMap<String, Vec<u8>>) -> Vec<MappingError> {
    let of_class = |class: &ClassDeclaration| {
        let vocabularies = class.vocabulary.iter().filter_map(|file| vocabulary(&class.name, file, files).err());
        let bounded = |p| pattern::bounded(&class.name, p, class.letters).err();
        let patterns = class.patterns.iter().filter_map(bounded);
        let labels = class.patterns.iter().filter_map(|pattern| Labels::of(&class.name, pattern).err());
        let useless = useless(class, &manifest.package.language);
        vocabularies.chain(patterns).chain(labels).chain(useless).collect::<Vec<_>>()
    };
    manifest.classes.iter().flat_map(of_class).collect()
}

/// Reports a key of a class that has no effect there.
fn useless(class: &ClassDeclaration, language: &str) -> Option<MappingError> {
    let bad = |key, problem: &str| {
        Some(MappingError::ClassKey { class: class.name.clone(), key, problem: problem.to_owned() })
    };
    if class.inflect && class.vocabulary.is_empty() {
        return bad("inflect", "the class has no vocabulary");
    }
    if class.inflect && !phrase::has_stems(language) {
        return bad("inflect", "there are no stems for the policy's language");
    }
    if class.polarity != HitPolarity::Any && class.patterns.is_empty() && class.vocabulary.is_empty() {
        return bad("polarity", "the class has neither vocabulary nor pattern");
    }
    if class.polarity != HitPolarity::Any && Language::of(language).is_some_and(|language| language.polarity.is_none())
    {
        return bad("polarity", "there are no words of polarity for the policy's language");
    }
    if class.letters == PatternBorder::Any && class.patterns.is_empty() {
        return bad("letters", "the class has no pattern");
    }
    if !class.view && class.patterns.is_empty() && class.vocabulary.is_empty() {
        return bad("view", "the class has neither vocabulary nor pattern");
    }
    let domains = class.private_domains.as_ref()?;
    let label = |domain: &String| domain.bytes().all(|byte| byte.is_ascii_alphabetic()) && domain.len() > 1;
    if domains.is_empty() || !domains.iter().all(label) {
        return bad("private_domains", "it lists top-level domains: at least two letters each, without a dot");
    }
    if class.patterns.iter().all(|pattern| pattern.validator != Some(PatternValidator::Email)) {
        return bad("private_domains", "the class has no pattern with the validator `email`");
    }
    None
}
