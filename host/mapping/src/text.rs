//! A scanned text: its class hits, and the pieces in which it is judged.

use crate::citation::{Citation, CitationKind};
use crate::form::{TextForm, WholeParts, form};
use crate::hits::Hits;
use crate::item;
use crate::language::{Language, kind};
use crate::quantity::{Quantities, QuantityHit, QuantityReading};
use crate::segment::{TextPiece, Whole, clause_cuts, cut, judge_last_connectives, limiting};
use crate::sentence::sentence_ends;
use crate::words::{is_boundary, lower, words};
use portcullis_core::class::{ClassId, ClassSet};
use portcullis_core::mutation::StageFinding;
use portcullis_core::reason::ValidationReason;
use portcullis_core::wire::Granularity;
use std::ops::Range;
use std::sync::OnceLock;

/// A text with the results of its scan.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let manifest = serde_json::from_str(r#"{"package":{"name":"p","version":"1.0.0","description":""},
/// #   "enumerations":{"domain":["any"],"audience":["any"],"temporal":["any"],"register":["any"]},
/// #   "class":[{"name":"mail","pattern":[{"regex":"\\b[a-z]{1,9}@[a-z]{1,9}\\.org\\b"}]}]}"#)?;
/// use portcullis_core::wire::Granularity;
/// use portcullis_mapping::TextMapper;
///
/// // The manifest has one class, for addresses such as `ana@example.org`.
/// let mapper = TextMapper::new(&manifest, &Default::default())?;
/// let text = mapper.read("Write to ana@example.org.".to_owned(), Granularity::Step);
/// // No cut falls inside the address, and the parts cover every byte once.
/// let parts = text.split(&text.pieces()[0].range, &[]);
/// let parts: Vec<&str> = parts.iter().map(|part| text.slice(&part.range)).collect();
/// assert!(parts.contains(&"ana@example.org"));
/// assert_eq!(parts.concat(), text.as_str());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScannedText {
    text: String,
    origin: usize,
    /// Number of bytes before this text in the longer text that it is a part of.
    offset: usize,
    hits: Hits,
    quantities: Vec<QuantityHit>,
    /// Places of citations; `None` if the search failed.
    citations: Option<Vec<Citation>>,
    /// Addresses that must not leave, in order and apart.
    addresses: Vec<RefusedAddress>,
    /// Tool calls, in order; they are never divided.
    calls: Vec<Range<usize>>,
    /// Escapes of documents that are nested too deep to be decoded, in order.
    too_deep: Vec<Range<usize>>,
    pieces: Vec<TextPiece>,
    /// Ends of the sentences.
    sentences: Vec<usize>,
    /// Numbers of list items, in order. No cut separates a number from the text after it.
    numbers: Vec<Range<usize>>,
    unfinished: usize,
    limiting: Limiting,
    language: &'static Language,
}

/// The places of the words that limit a statement or name its speaker, in order. They are looked for at the first
/// split.
#[derive(Clone, Debug, Default)]
struct Limiting(OnceLock<Vec<usize>>);

/// The places follow from the text, so they make no difference between two texts.
impl PartialEq for Limiting {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Limiting {}

/// The inert pieces at the end of a part of a text, which wait for the next span. They are not read again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    /// The bytes from the first border to the start of the text that is still read; empty if that text holds them.
    held: String,
    /// Inert pieces. All ranges begin at the start of `held`.
    pieces: Vec<TextPiece>,
    /// Starts of the sentences to which the pieces belong, and the start of the unreturned text.
    borders: Vec<usize>,
}

impl Waiting {
    fn new(pieces: Vec<TextPiece>, mut borders: Vec<usize>) -> Self {
        if let Some(first) = pieces.first() {
            let earlier = borders.partition_point(|border| *border <= first.range.start);
            borders.drain(..earlier.saturating_sub(1));
        }
        Self { held: String::new(), pieces, borders }
    }

    /// Adds what waits in the text after `held`.
    pub(crate) fn followed_by(mut self, more: Self) -> Self {
        if self.pieces.is_empty() {
            return more;
        }
        let by = self.held.len();
        self.pieces.extend(more.pieces.into_iter().map(|piece| TextPiece { range: moved(&piece.range, by), ..piece }));
        self.borders.extend(more.borders.into_iter().map(|border| border + by));
        self
    }

    /// Number of bytes before the text that is still read.
    pub(crate) const fn held(&self) -> usize {
        self.held.len()
    }

    /// The start of the first piece; `None` if nothing waits.
    pub(crate) fn start(&self) -> Option<usize> {
        self.pieces.first().map(|piece| piece.range.start)
    }

    /// Takes over the first bytes of the text that is read, as far as the pieces need them.
    pub(crate) fn keep(&mut self, forgotten: &str) {
        let first = match self.borders.first() {
            Some(border) if !self.pieces.is_empty() => (*border).min(forgotten.len()),
            _ => forgotten.len(),
        };
        let first = if self.held.is_empty() { first } else { 0 };
        if first > 0 {
            for piece in &mut self.pieces {
                piece.range = piece.range.start - first..piece.range.end - first;
            }
            self.borders.retain(|border| first <= *border);
            self.borders.iter_mut().for_each(|border| *border -= first);
        }
        self.held.push_str(forgotten.get(first..).unwrap_or_default());
    }
}

fn moved(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// Number of bytes of a sentence before a span that are read together with the span.
const EARLIER: usize = 256;
/// Number of bytes of a sentence on either side of a span that are compared with the anchors.
const AROUND: usize = 1024;
/// Greatest length in bytes of the text that counts as the beginning of a list item.
const ITEM: usize = 1024;
/// Greatest length in bytes of a word that is never cut.
const WORD: usize = 64;

/// An address that must not leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefusedAddress {
    pub(crate) range: Range<usize>,
    pub(crate) reason: ValidationReason,
}

impl RefusedAddress {
    /// Addresses that a client loads, and links that are not listed, in order and apart.
    pub(crate) fn joined(loads: Vec<Range<usize>>, links: Vec<Range<usize>>) -> Vec<Self> {
        let of = |reason| move |range| Self { range, reason };
        let loads = loads.into_iter().map(of(ValidationReason::LinkLoaded));
        let mut all: Vec<Self> = loads.chain(links.into_iter().map(of(ValidationReason::LinkUnlisted))).collect();
        all.sort_by_key(|address| (address.range.start, address.range.end));
        let mut joined: Vec<Self> = Vec::new();
        for next in all {
            match joined.last_mut() {
                Some(last) if next.range.start < last.range.end => {
                    last.range.end = last.range.end.max(next.range.end);
                    last.reason = last.reason.min(next.reason);
                }
                _ => joined.push(next),
            }
        }
        joined
    }
}

/// The results of scanning a text.
#[derive(Default)]
pub(crate) struct TextScanFindings {
    pub(crate) hits: Hits,
    pub(crate) quantities: Vec<QuantityHit>,
    /// Places of citations; `None` if the search failed.
    pub(crate) citations: Option<Vec<Citation>>,
    /// Addresses that must not leave, in order and apart.
    pub(crate) addresses: Vec<RefusedAddress>,
    /// Tool calls, in order.
    pub(crate) calls: Vec<Range<usize>>,
    /// Escapes of documents that are nested too deep to be decoded, in order.
    pub(crate) too_deep: Vec<Range<usize>>,
    /// The start of the suffix that more text could turn into a hit; the text's length if there is none.
    pub(crate) unfinished: usize,
}

impl TextScanFindings {
    /// The findings after `by` more bytes.
    pub(crate) fn moved(mut self, by: usize) -> Self {
        let lists = [&mut self.calls, &mut self.too_deep].into_iter();
        let ranges = lists.flatten().chain(self.quantities.iter_mut().map(|quantity| &mut quantity.range));
        let ranges = ranges.chain(self.addresses.iter_mut().map(|address| &mut address.range));
        for range in ranges.chain(self.citations.iter_mut().flatten().map(|cited| &mut cited.range)) {
            *range = moved(range, by);
        }
        Self { hits: self.hits.moved(by), unfinished: self.unfinished + by, ..self }
    }
}

impl ScannedText {
    /// A text of several consecutive parts, which end at `ends`. Only the text after `from` is cut; the text before it
    /// is context for hits and quantities.
    pub(crate) fn new(
        text: String,
        from: usize,
        ends: &[usize],
        found: TextScanFindings,
        language: &'static Language,
        granularity: Granularity,
    ) -> Self {
        let TextScanFindings { hits, quantities, citations, addresses, calls, too_deep, unfinished } = found;
        // Arguments of a call do not count as citations, and no client shows them as a page; the tool's own classes
        // check the addresses in them.
        let in_call = |c: &Range<usize>| {
            let call = calls.get(calls.partition_point(|call| call.end <= c.start));
            call.is_some_and(|call| call.start <= c.start && c.end <= call.end)
        };
        let citations =
            citations.map(|all: Vec<Citation>| all.into_iter().filter(|cited| !in_call(&cited.range)).collect());
        let addresses = addresses.into_iter().filter(|address| !in_call(&address.range)).collect();
        let (pieces, sentences, numbers) = (Vec::new(), Vec::new(), Vec::new());
        let mut read = Self {
            text,
            origin: from,
            offset: 0,
            hits,
            quantities,
            citations,
            addresses,
            calls,
            too_deep,
            pieces,
            sentences,
            numbers,
            unfinished,
            limiting: Limiting::default(),
            language,
        };
        let whole = from..read.text.len();
        let starts = std::iter::once(from).chain(ends.iter().copied());
        let parts: Vec<Range<usize>> = starts.zip(ends).map(|(start, end)| start..*end).collect();
        let sentences =
            |part: &Range<usize>| -> Vec<usize> { sentence_ends(read.slice(&(0..part.end)), part.start, language) };
        read.sentences = parts.iter().flat_map(sentences).collect();
        if granularity != Granularity::Token {
            read.numbers = read.item_numbers();
        }
        read.pieces = match granularity {
            Granularity::Step => read.cut(&whole, ends.to_vec()),
            Granularity::Span => {
                let mut pieces = Vec::new();
                let mut start = from;
                for end in read.sentences.clone() {
                    // A sentence whose end is inside a hit is joined with the next one.
                    if read.split_by(end) && end < whole.end {
                        continue;
                    }
                    let range = start..end;
                    let parts = WholeParts::of(&read.text, from, &range, language);
                    let divides = parts == WholeParts::Words;
                    let cuts = if divides { clause_cuts(&read.text, &range, language) } else { Vec::new() };
                    cut(&read.text, &range, cuts, &read, language, &mut pieces);
                    start = end;
                }
                pieces
            }
            // A token is a word with the bytes after it. A hit of several words is one token, because none of its bytes
            // may be released alone.
            Granularity::Token => {
                let words = |part: &Range<usize>| -> Vec<usize> {
                    words(read.slice(part)).skip(1).map(|word| part.start + word.start).chain([part.end]).collect()
                };
                read.cut(&whole, parts.iter().flat_map(words).collect())
            }
        };
        read
    }

    /// Completes a text after which no more text comes.
    pub(crate) fn ended(mut self) -> Self {
        judge_last_connectives(&self.text, self.language, &mut self.pieces);
        self
    }

    /// Makes the text a part of a longer text: after `offset` bytes, and after inert pieces that wait for a span.
    pub(crate) fn following(mut self, offset: usize, waiting: Waiting) -> Self {
        let by = waiting.held.len();
        self.offset = offset - by;
        if by > 0 {
            self.text.insert_str(0, &waiting.held);
            self.origin += by;
            self.unfinished += by;
            self.hits = std::mem::take(&mut self.hits).moved(by);
            let lists = [&mut self.calls, &mut self.too_deep, &mut self.numbers].into_iter();
            let ranges = lists.flatten().chain(self.quantities.iter_mut().map(|quantity| &mut quantity.range));
            let ranges = ranges.chain(self.addresses.iter_mut().map(|address| &mut address.range));
            let ranges = ranges.chain(self.citations.iter_mut().flatten().map(|cited| &mut cited.range));
            for range in ranges.chain(self.pieces.iter_mut().map(|piece| &mut piece.range)) {
                *range = moved(range, by);
            }
            self.sentences.iter_mut().for_each(|end| *end += by);
        }
        self.pieces.splice(..0, waiting.pieces);
        self.sentences.splice(..0, waiting.borders);
        self
    }

    /// Finds the last possible border, and keeps the pieces up to the last span before it. Returns the border and the
    /// inert pieces between that span and the border. `None` if there is no possible border; then no piece is kept.
    ///
    /// `ends` are certain ends of sentences, in order. `settled` is the start of the part that later text may change.
    /// `whole` are ranges that must not be divided, in order and apart.
    pub(crate) fn settle(
        &mut self,
        ends: &[usize],
        settled: usize,
        whole: &[Range<usize>],
    ) -> Option<(usize, Waiting)> {
        let is_border = |end: &usize| {
            *end <= settled
                && !self.split_by(*end)
                && whole.get(whole.partition_point(|range| range.end <= *end)).is_none_or(|range| *end <= range.start)
                && self.ends_item(*end)
                && self.pieces.binary_search_by_key(end, |piece| piece.range.end).is_ok()
        };
        let border = ends.iter().rev().copied().find(is_border);
        let kept = border.map_or(0, |border| self.pieces.partition_point(|piece| piece.range.end <= border));
        self.pieces.truncate(kept);
        let spans = self.pieces.iter().rposition(|piece| !piece.inert).map_or(0, |last| last + 1);
        let pieces = self.pieces.split_off(spans);
        let border = border?;
        let sentences = self.sentences.iter().copied().take_while(|end| *end <= border);
        let borders = std::iter::once(self.origin).chain(sentences).collect();
        Some((border, Waiting::new(pieces, borders)))
    }

    /// Whether later text cannot turn the text around the end of a sentence into the number of a list item.
    fn ends_item(&self, end: usize) -> bool {
        let behind = self.text.get(end..).unwrap_or_default();
        let before = self.text.get(self.text.floor_char_boundary(end.saturating_sub(item::REACH))..end);
        let start = self.sentences.partition_point(|other| *other < end);
        let start = start.checked_sub(1).and_then(|at| self.sentences.get(at)).copied().unwrap_or(self.origin);
        let near =
            end - start < item::REACH || before.is_some_and(|before| before.contains("; (") || before.contains(", ("));
        !near || behind.len() > item::REACH || behind.contains(char::is_alphanumeric)
    }

    /// Number of bytes before this text in the longer text that it is a part of.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The place where the text begins; the bytes before it are context from the end of another text.
    #[must_use]
    pub const fn origin(&self) -> usize {
        self.origin
    }

    /// The bytes of a range; empty for a range outside the text.
    #[must_use]
    pub fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    /// The pieces in which the text is judged; they cover every byte once, in order.
    #[must_use]
    pub fn pieces(&self) -> &[TextPiece] {
        &self.pieces
    }

    /// Splits the pieces into pieces to judge and pieces that wait. The first waiting piece is the first piece that
    /// more text could turn into a part of a hit. If it contains a hit already, or is longer than `most` bytes, only
    /// its unfinished part waits. If a hit is in the unfinished part, the whole piece is judged.
    pub fn finish(&mut self, most: usize) -> (Vec<TextPiece>, Vec<TextPiece>) {
        let end = self.word_start(self.unfinished).max(self.origin);
        self.hits.widen(&(end..self.text.len()));
        self.join_pieces();
        let first = self.pieces.partition_point(|piece| piece.range.end <= end);
        let (done, rest) = self.pieces.split_at(first);
        let (mut done, mut rest) = (done.to_vec(), rest.to_vec());
        let long = rest.first().is_some_and(|piece| piece.range.len() > most);
        match rest.iter().rposition(|piece| self.holds_hit(&piece.range)).or(long.then_some(0)) {
            None => {}
            // The text before the unfinished part is judged.
            Some(0) if !self.split_by(end) && !self.holds_hit(&(end..self.text.len())) => {
                let waiting = rest.split_off(1);
                let parts = rest.iter().flat_map(|piece| self.cut(&piece.range, vec![end])).collect::<Vec<_>>();
                let (before, from) = parts.into_iter().partition(|part| part.range.end <= end);
                (done, rest) = ([done, before].concat(), [from, waiting].concat());
            }
            Some(last) => done.extend(rest.drain(..=last)),
        }
        (done, rest)
    }

    /// Joins pieces whose border is inside a hit.
    fn join_pieces(&mut self) {
        let mut joined: Vec<TextPiece> = Vec::with_capacity(self.pieces.len());
        for piece in std::mem::take(&mut self.pieces) {
            match joined.last_mut() {
                Some(last) if self.hits.split_by(piece.range.start) => {
                    *last = TextPiece { range: last.range.start..piece.range.end, inert: false };
                }
                _ => joined.push(piece),
            }
        }
        self.pieces = joined;
    }

    /// The start of the word around `at`, which no cut divides; `at` in a word that is longer than [`WORD`] bytes.
    fn word_start(&self, at: usize) -> usize {
        let near = self.text.ceil_char_boundary(at.saturating_sub(WORD));
        let before = self.text.get(near..at).unwrap_or_default();
        let start = near + before.trim_end_matches(char::is_alphanumeric).len();
        if is_boundary(&self.text, at) || start == near { at } else { start }
    }

    /// Smaller parts of a span after a decompose; they cover the span. Empty if the span cannot be divided.
    ///
    /// The first cut that divides the span is used: around hits; around the phrases that overlap `apart`; between
    /// clauses; before each number; at the word boundary nearest to the middle. If the sentence has a word that limits
    /// it or names its speaker ("not", "if", "only", "she says"), the span is only cut around values, because its parts
    /// could mean something else.
    #[must_use]
    pub fn split(&self, span: &Range<usize>, apart: &[Range<usize>]) -> Vec<TextPiece> {
        let inside = |at: &usize| span.start < *at && *at < span.end;
        let whole = WholeParts::of(&self.text, self.origin, span, self.language);
        let edges_of = |hits: bool| -> Vec<usize> {
            self.clusters(span, hits, &whole).into_iter().flat_map(|c| [c.start, c.end]).filter(inside).collect()
        };
        // Several amounts are separated only to judge each of them alone, so limiting words do not matter.
        let amounts = apart.is_empty() && !self.holds_hit(span) && self.measured(span).nth(1).is_some();
        let scoped = !amounts && self.is_scoped(span);
        let edges = edges_of(!scoped || self.hits.touching(span).all(|hit| self.is_value(&hit.range)));
        if scoped && edges.is_empty() {
            return Vec::new();
        }
        let part = self.slice(span);
        let numbers = self.measured(span).skip(1).map(|q| q.range.start);
        let middle = span.start + part.len() / 2;
        let nearest = words(part).map(|w| span.start + w.start).filter(inside).min_by_key(|at| at.abs_diff(middle));
        let ways = if whole == WholeParts::Words {
            vec![
                edges,
                self.phrase_cuts(span, apart),
                clause_cuts(&self.text, span, self.language),
                numbers.filter(inside).collect(),
                nearest.into_iter().collect(),
            ]
        } else {
            vec![edges, whole.borders().into_iter().filter(inside).collect()]
        };
        for cuts in ways {
            let parts = self.cut(span, cuts);
            // A cut succeeds if it really divides the span.
            if parts.len() > 1 && parts.iter().filter(|p| !p.inert).all(|p| p.range != *span) {
                return parts;
            }
        }
        Vec::new()
    }

    /// Whether the sentence of a span has a word that limits it or names its speaker.
    fn is_scoped(&self, span: &Range<usize>) -> bool {
        let sentence = self.sentence(span);
        let places = self.limiting.0.get_or_init(|| {
            let starts = std::iter::once(self.origin).chain(self.sentences.iter().copied());
            let ends = self.sentences.iter().copied().chain([self.text.len()]);
            let of = |range: Range<usize>| {
                limiting(self.slice(&range), self.language).into_iter().map(move |at| range.start + at)
            };
            starts.zip(ends).filter(|(start, end)| start < end).flat_map(|(start, end)| of(start..end)).collect()
        });
        places.get(places.partition_point(|at| *at < sentence.start)).is_some_and(|at| *at < sentence.end)
    }

    /// Whether a hit is a value, such as a card number or an e-mail address, and not a phrase.
    fn is_value(&self, hit: &Range<usize>) -> bool {
        self.slice(hit).contains(|c: char| c.is_numeric() || c == '@')
    }

    /// Numbers of list items at the starts of sentences, and numbers in brackets after a semicolon or comma.
    fn item_numbers(&self) -> Vec<Range<usize>> {
        let starts = std::iter::once(self.origin).chain(self.sentences.iter().copied());
        let all = self.text.get(self.origin..).unwrap_or_default();
        let marked = |at: &usize| all.get(..*at).is_some_and(|before| before.ends_with("; ") || before.ends_with(", "));
        let inner = all.match_indices('(').map(|(at, _)| at).filter(marked).map(|at| self.origin + at - 1);
        let number = |at: usize| {
            let number = item::number(self.text.get(at..)?, self.language)?;
            Some(at + number.start..at + number.end)
        };
        let mut found: Vec<Range<usize>> = starts.chain(inner).filter_map(number).collect();
        found.sort_by_key(|number| number.start);
        found.dedup();
        found
    }

    /// The beginning of the list item that contains the place `at`, up to the item's first words. An item ends at the
    /// end of its line or at a limit in bytes.
    pub(crate) fn item_of(&self, at: usize) -> Option<&str> {
        let near = self.text.floor_char_boundary(at.saturating_sub(ITEM));
        let line = match self.text.get(near..at)?.rfind('\n') {
            Some(end) => near + end + 1,
            // Without a line break before `at`, the line begins with the text, unless the context may be cut off.
            None if near == 0 && self.origin < ITEM => 0,
            None => return None,
        };
        let number = item::number(self.text.get(line..)?, self.language)?;
        let item = self.text.get(line..self.text.floor_char_boundary(line + number.end + item::REACH))?;
        (line + number.end <= at).then_some(item)
    }

    /// Whether a span is a part of a tool call.
    pub(crate) fn is_call(&self, span: &Range<usize>) -> bool {
        self.call_at(span.start).is_some_and(|call| span.end <= call.end)
    }

    /// Whether a span is a JSON number or name, in whose place only a value keeps the text JSON.
    #[must_use]
    pub fn is_bare_value(&self, span: &Range<usize>) -> bool {
        WholeParts::is_bare_value(&self.text, self.origin, span, self.language)
    }

    /// Whether a span has a part of a document that is nested too deep to be decoded.
    pub(crate) fn is_too_deep(&self, span: &Range<usize>) -> bool {
        let first = self.too_deep.partition_point(|escape| escape.end <= span.start);
        self.too_deep.get(first).is_some_and(|escape| escape.start < span.end)
    }

    /// The form of a span, and its prose: the span, or the part of it with sentences; `None` if it has none.
    #[must_use]
    pub fn form(&self, span: &Range<usize>) -> (TextForm, Option<Range<usize>>) {
        form(&self.text, self.origin, span, self.language)
    }

    /// The hits that share a byte with a span: class and bytes, in order.
    pub fn class_hits(&self, span: &Range<usize>) -> impl Iterator<Item = (ClassId, Range<usize>)> {
        self.hits.touching(span).map(|hit| (hit.class, hit.range.clone()))
    }

    /// The bytes of the addresses that must not leave and share a byte with a span.
    pub fn refused_addresses(&self, span: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        self.refused(span).map(|address| address.range.clone())
    }

    /// Classes of the hits that touch a span.
    pub(crate) fn classes(&self, span: &Range<usize>) -> ClassSet {
        self.hits.touching(span).map(|h| h.class).collect()
    }

    /// The addresses that must not leave and share a byte with a span.
    pub(crate) fn refused(&self, span: &Range<usize>) -> impl Iterator<Item = &RefusedAddress> {
        let (start, end) = (span.start, span.end);
        let first = self.addresses.partition_point(|address| address.range.end <= start);
        self.addresses.iter().skip(first).take_while(move |address| address.range.start < end)
    }

    /// The addresses in a span that must not leave.
    pub fn addresses_of(&self, span: &Range<usize>) -> impl Iterator<Item = &str> {
        self.refused(span).map(|address| self.slice(&address.range))
    }

    /// Why a span cannot leave with its addresses: it is divided around them, and they are refused.
    pub(crate) fn address_finding(&self, span: &Range<usize>) -> Option<StageFinding<ValidationReason>> {
        let first = self.refused(span).next()?;
        let whole = first.range.start <= span.start && span.end <= first.range.end;
        Some(if whole { StageFinding::Reject(first.reason) } else { StageFinding::Decompose(first.reason) })
    }

    /// Citations that share a byte with a span; `None` if the search failed.
    #[must_use]
    pub fn citations(&self, span: &Range<usize>) -> Option<Vec<&str>> {
        Some(self.cited(span)?.map(|cited| self.slice(&cited.range)).collect())
    }

    /// As [`Self::citations`], without links that only lead somewhere and standards that are only named.
    #[must_use]
    pub fn sources(&self, span: &Range<usize>) -> Option<Vec<&str>> {
        let sources =
            self.cited(span)?.filter(|cited| cited.kind == CitationKind::Source || self.supports(&cited.range));
        Some(sources.map(|cited| self.slice(&cited.range)).collect())
    }

    fn cited(&self, span: &Range<usize>) -> Option<impl Iterator<Item = &Citation>> {
        let (all, end) = (self.citations.as_ref()?, span.end);
        let first = all.partition_point(|cited| cited.range.end <= span.start);
        Some(all.iter().skip(first).take_while(move |cited| cited.range.start < end))
    }

    /// Whether a link supports a statement: the words around it in its sentence call it a source.
    fn supports(&self, link: &Range<usize>) -> bool {
        let sentence = self.sentence(link);
        let from = self.text.ceil_char_boundary(link.start.saturating_sub(EARLIER));
        let to = self.text.floor_char_boundary((link.end + EARLIER).min(self.text.len()));
        let before = self.slice(&(sentence.start.max(from)..link.start));
        self.language.sources.supports(before, self.slice(&(link.end..sentence.end.min(to))))
    }

    /// The sentence in which a span begins, as far as this text contains it.
    #[must_use]
    pub fn sentence(&self, span: &Range<usize>) -> Range<usize> {
        let whole = self.origin..self.text.len();
        let ends = self.sentences.partition_point(|end| *end <= span.start);
        let start = ends.checked_sub(1).and_then(|i| self.sentences.get(i)).copied().unwrap_or(whole.start);
        start..self.sentences.get(ends).copied().unwrap_or(whole.end).max(span.end)
    }

    /// The sentence in which a span begins, at most [`AROUND`] bytes on either side of the span.
    #[must_use]
    pub fn around(&self, span: &Range<usize>) -> Range<usize> {
        let sentence = self.sentence(span);
        let from = self.text.ceil_char_boundary(span.start.saturating_sub(AROUND));
        let to = self.text.floor_char_boundary((span.end + AROUND).min(self.text.len()));
        sentence.start.max(from)..sentence.end.min(to)
    }

    /// The part of a span's sentence before the span: at most its last [`EARLIER`] bytes, from the start of a word on.
    #[must_use]
    pub fn earlier(&self, span: &Range<usize>) -> &str {
        let start = self.sentence(span).start;
        let near = self.text.ceil_char_boundary(span.start.saturating_sub(EARLIER));
        let before = self.slice(&(start.max(near)..span.start));
        if near <= start {
            return before;
        }
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '-' | '\u{2019}');
        before.trim_start_matches(inside)
    }

    /// Borders between the phrases that overlap `apart` and other phrases. A phrase begins after a mark, or with a
    /// preposition, a connective or a clause word.
    fn phrase_cuts(&self, span: &Range<usize>, apart: &[Range<usize>]) -> Vec<usize> {
        if apart.is_empty() {
            return Vec::new();
        }
        let part = self.slice(span);
        let mut starts = Vec::new();
        let mut end = 0;
        for word in words(part) {
            let gap = part.get(end..word.start).unwrap_or_default();
            let opens = kind::PREPOSITION | kind::CONNECTIVE | kind::CLAUSE;
            let lowered = lower(part.get(word.clone()).unwrap_or_default());
            if end > 0 && (gap.contains([',', ';', ':']) || self.language.kinds(&lowered) & opens != 0) {
                starts.push(span.start + word.start);
            }
            end = word.end;
        }
        let bounds: Vec<usize> = std::iter::once(span.start).chain(starts).chain([span.end]).collect();
        let mut apart: Vec<&Range<usize>> = apart.iter().collect();
        apart.sort_unstable_by_key(|range| (range.start, range.end));
        let reach: Vec<usize> = apart
            .iter()
            .scan(0, |most, range| {
                *most = range.end.max(*most);
                Some(*most)
            })
            .collect();
        let holds = |range: &Range<usize>| {
            let before = apart.partition_point(|a| a.start < range.end).checked_sub(1);
            before.and_then(|last| reach.get(last)).is_some_and(|reach| range.start < *reach)
        };
        let mut cuts = Vec::new();
        let mut before = None;
        for pair in bounds.windows(2) {
            let [start, end] = *pair else { continue };
            let now = holds(&(start..end));
            if before.is_some_and(|b| b != now) {
                cuts.push(start);
            }
            before = Some(now);
        }
        cuts
    }

    /// Quantities of a span.
    pub(crate) fn quantities(&self, span: &Range<usize>) -> QuantityReading {
        Quantities::read(self.measured(span))
    }

    /// Number of choices of values for which a span is judged, if it has several values of a quantity: one of them for
    /// each quantity, the largest last. 1 if there is nothing to choose, or if there are too many choices.
    #[must_use]
    pub fn choices(&self, span: &Range<usize>) -> usize {
        self.quantities(span).choices.len().max(1)
    }

    /// The quantities of a span as written in the text.
    pub fn quantities_of(&self, span: &Range<usize>) -> impl Iterator<Item = &str> {
        self.measured(span).map(|quantity| self.slice(&quantity.range))
    }

    /// The quantities that share a byte with a span: place in the manifest's list, and bytes.
    pub fn quantity_hits(&self, span: &Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        self.measured(span).map(|quantity| (quantity.slot, quantity.range.clone()))
    }

    /// Quantities that share a byte with a span.
    fn measured(&self, span: &Range<usize>) -> impl Iterator<Item = &QuantityHit> {
        let (start, end) = (span.start, span.end);
        let first = self.quantities.partition_point(|q| q.range.end <= start);
        let from = self.quantities.get(first..).unwrap_or_default();
        from.iter().take_while(move |q| q.range.start < end).filter(move |q| start < q.range.end)
    }

    /// The overlapping refused addresses of a span and, if `hits` is set, its hits, each with what leaves whole or not
    /// at all, joined into ranges; a range inside a call is extended to the whole call.
    fn clusters(&self, span: &Range<usize>, hits: bool, whole: &WholeParts) -> Vec<Range<usize>> {
        let hits = self.hits.touching(span).filter(|_| hits).map(|hit| whole.around(&self.text, &hit.range));
        let mut all: Vec<Range<usize>> = hits.chain(self.refused(span).map(|address| address.range.clone())).collect();
        all.sort_by_key(|range| (range.start, range.end));
        let mut clusters: Vec<Range<usize>> = Vec::new();
        for hit in all {
            let call = self.call_at(hit.start).unwrap_or(&hit);
            let (start, end) = (call.start.min(hit.start), call.end.max(hit.end));
            match clusters.last_mut() {
                Some(last) if start < last.end => last.end = last.end.max(end),
                _ => clusters.push(start..end),
            }
        }
        clusters
    }

    /// The call that contains a byte.
    fn call_at(&self, at: usize) -> Option<&Range<usize>> {
        let call = self.calls.get(self.calls.partition_point(|call| call.end <= at));
        call.filter(|call| call.start <= at)
    }

    fn cut(&self, range: &Range<usize>, cuts: Vec<usize>) -> Vec<TextPiece> {
        let mut pieces = Vec::new();
        cut(&self.text, range, cuts, self, self.language, &mut pieces);
        pieces
    }
}

impl Whole for ScannedText {
    fn split_by(&self, at: usize) -> bool {
        self.hits.split_by(at)
            || self.refused(&(at..at + 1)).any(|address| address.range.start < at)
            || self.call_at(at).is_some_and(|call| call.start < at)
            || self.numbers.get(self.numbers.partition_point(|n| n.end < at)).is_some_and(|n| n.start < at)
            || self.measured(&(at.saturating_sub(1)..at)).any(|q| at < q.range.end)
            || self.citations.as_ref().is_some_and(|all| {
                all.get(all.partition_point(|c| c.range.end <= at)).is_some_and(|c| c.range.start < at)
            })
    }

    fn holds_hit(&self, range: &Range<usize>) -> bool {
        self.hits.touches(range) || self.refused(range).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_apart_takes_its_phrase_with_it() {
        let said = "Ana is an actor born in 1949, in Porto, and a writer.";
        let language = Language::of("en").unwrap();
        let text =
            ScannedText::new(said.into(), 0, &[said.len()], TextScanFindings::default(), language, Granularity::Span)
                .ended();
        let at = said.find("1949").unwrap();
        let apart = vec![at..at + 4, at..at + 4];
        let parts = text.split(&(0..said.len()), &apart);
        let shown: Vec<&str> = parts.iter().filter(|p| !p.inert).map(|p| text.slice(&p.range)).collect();
        assert_eq!(shown, ["Ana is an actor born", "in 1949,", "in Porto, and a writer."]);
    }

    #[test]
    fn no_word_is_cut_where_a_hit_could_begin() {
        let said = "Please pay 55";
        let findings = TextScanFindings { unfinished: "Please pa".len(), ..TextScanFindings::default() };
        let language = Language::of("en").unwrap();
        let mut text = ScannedText::new(said.into(), 0, &[said.len()], findings, language, Granularity::Span);
        let (done, rest) = text.finish(4);
        let shown = |pieces: &[TextPiece]| pieces.iter().map(|p| text.slice(&p.range)).collect::<String>();
        assert_eq!([shown(&done), shown(&rest)], ["Please ", "pay 55"]);
    }

    #[test]
    fn what_limits_a_statement_is_not_parted_from_it() {
        let language = Language::of("en").unwrap();
        for (said, word, splits) in [
            ("It is not true that Ana took a bribe and designed the bridge in 1949.", "1949", false),
            ("Ana won every race in 1971 except the one in Porto.", "Porto", false),
            ("Ana won a race in 1971 and died in Porto.", "Porto", true),
        ] {
            let text = ScannedText::new(
                said.into(),
                0,
                &[said.len()],
                TextScanFindings::default(),
                language,
                Granularity::Span,
            )
            .ended();
            let at = said.find(word).unwrap();
            let apart: Vec<_> = std::iter::once(at..at + word.len()).collect();
            assert_eq!(!text.split(&(0..said.len()), &apart).is_empty(), splits, "{said}");
        }
    }
}
