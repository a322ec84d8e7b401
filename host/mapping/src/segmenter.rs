//! Reads a text that arrives in chunks: returns each span as soon as later text cannot change it.
//!
//! The rest of the text is read again with each new sentence. A sentence is returned when all of this is true: its end
//! is certain (UAX #29 looks ahead), no class pattern, phrase, citation or quantity continues beyond it, no markup or
//! JSON object is open at its end, and it does not end with a list number. All these searches have a bounded reach, in
//! complete texts too. So the spans and their readings do not depend on the chunks.

use crate::language::Language;
use crate::load::ReferenceLabels;
use crate::mapper::TextMapper;
use crate::segment::Whole;
use crate::sentence::{UncertainEnd, settled_end};
use crate::text::{ScannedText, Waiting};
use crate::tool::Tools;
use portcullis_core::wire::Granularity;
use std::ops::Range;

/// Number of bytes before a border that are read again as context; no search reaches further back.
const CONTEXT: usize = 2048;

/// Number of bytes before a border that a search reads, unless its result depends on a sentence or a table: the words
/// near a match, and the marks around a number.
const NEAR: usize = 320;

/// Number of bytes by which a part of a text that gave no result must grow before it is read again. So the total time
/// stays proportional to the length of the text, whatever its chunks are. A long part waits for more: prose gives a
/// result long before, so only texts without sentences wait so long.
const fn growth(length: usize) -> usize {
    const LONG: usize = 4096;
    length / 32 + length.saturating_sub(LONG) / 4
}

/// Number of bytes without a mark with which a sentence can end, after which its end is looked for all the same.
const UNMARKED: usize = 1 << 12;

/// Greatest number of waiting bytes that delay the next reading.
const RARE: usize = 1 << 14;

/// The bytes are not UTF-8 (RFC 3629). The reader refuses them and does not replace them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("INVALID-UTF8 at byte {at}")]
pub struct NotUtf8 {
    /// The first byte that is not part of a character.
    pub at: usize,
}

/// Reads one text as it arrives. The results do not depend on the borders of the chunks, even inside a character.
#[derive(Clone, Debug)]
pub struct Segmenter {
    granularity: Granularity,
    /// The part of the text that is not returned yet, with some context before it.
    text: String,
    /// Number of bytes of the whole text that come before `text`.
    offset: usize,
    /// Ends of sentences at which the text was divided, in order; the unreturned text begins at the last one.
    borders: Vec<usize>,
    /// Inert bytes that stand before the unreturned text and wait for the next span.
    waiting: Waiting,
    /// Certain ends of sentences in the unreturned text.
    ends: Vec<usize>,
    /// Labels of references in the text before byte `labelled` of `text`.
    labels: ReferenceLabels,
    labelled: usize,
    /// The first bytes of an incomplete character.
    begun: Vec<u8>,
    /// [`Segmenter::length`] when `text` was last read without returning a span.
    tried: usize,
    /// Length of `text` when its last sentence was last found to have no certain end, and what was found.
    looked: usize,
    uncertain: UncertainEnd,
    /// Length of `text` when its marks were last looked for, whether the text that is uncertain has a mark with which a
    /// sentence can end, and whether a line break came since its end was last looked for.
    seen: usize,
    marks: bool,
    breaks: bool,
}

impl Segmenter {
    /// A reader for one text. With granularity step, it returns all spans at the end of the text.
    #[must_use]
    pub fn new(granularity: Granularity) -> Self {
        let (borders, waiting, ends, labels, begun) = Default::default();
        let uncertain = UncertainEnd::default();
        let (text, offset, labelled, tried, looked, seen, marks, breaks) = Default::default();
        Self {
            granularity,
            text,
            offset,
            borders,
            waiting,
            ends,
            labels,
            labelled,
            begun,
            tried,
            looked,
            uncertain,
            seen,
            marks,
            breaks,
        }
    }

    /// Reads the next chunk. Returns the part of the text whose spans are certain now, if there is one; its pieces
    /// continue those of the previous part.
    ///
    /// # Errors
    /// [`NotUtf8`]: the text cannot be read any further.
    pub fn push(&mut self, mapper: &TextMapper, chunk: &[u8]) -> Result<Option<ScannedText>, NotUtf8> {
        self.decode(chunk)?;
        if self.granularity == Granularity::Step {
            return Ok(None);
        }
        self.find_ends(mapper.language());
        let soon = self.length() < self.tried + growth(self.length().saturating_sub(CONTEXT));
        if self.ends.is_empty() || soon {
            return Ok(None);
        }
        let part = self.part(mapper);
        self.tried = if part.is_none() { self.length() } else { 0 };
        Ok(part)
    }

    /// Finds the ends of sentences that later text cannot move.
    fn find_ends(&mut self, language: &Language) {
        let mut start = self.ends.last().copied().unwrap_or_else(|| self.origin());
        // Before a mark, no sentence ends; what follows a line break decides about it.
        let is_mark = |byte: &u8| matches!(byte, b'.' | b'!' | b'?' | b'\n' | b'\r' | 0x80..);
        let new = self.text.as_bytes().get(self.seen..).unwrap_or_default();
        self.marks |= new.iter().any(is_mark);
        self.breaks |= new.contains(&b'\n');
        self.seen = self.text.len();
        let UncertainEnd { goes_on, until } = self.uncertain;
        let waits = !self.marks && self.seen - goes_on.min(self.seen) < UNMARKED || !self.breaks && self.seen < until;
        if waits || self.text.len() < self.looked + growth(self.text.len() - start) {
            return;
        }
        self.uncertain = loop {
            match settled_end(&self.text, start, self.uncertain.goes_on.max(start), language) {
                Ok(end) => {
                    self.ends.push(end);
                    start = end;
                }
                Err(uncertain) => break uncertain,
            }
        };
        self.looked = self.text.len();
        self.breaks = false;
        self.marks = self.text.as_bytes().get(self.uncertain.goes_on..).unwrap_or_default().iter().any(is_mark);
    }

    /// Returns the rest of the text.
    ///
    /// # Errors
    /// [`NotUtf8`]: the text ends inside a character.
    pub fn finish(self, mapper: &TextMapper) -> Result<ScannedText, NotUtf8> {
        if !self.begun.is_empty() {
            return Err(NotUtf8 { at: self.offset + self.text.len() });
        }
        let (origin, near) = (self.origin(), self.labelled);
        let Self { granularity, text, offset, waiting, labels, .. } = self;
        Ok(mapper.read_window(text, origin, near, &labels, granularity).following(offset, waiting).ended())
    }

    /// Number of bytes that wait for later text.
    #[must_use]
    pub fn pending(&self) -> usize {
        let first = self.waiting.start().unwrap_or_else(|| self.origin());
        self.waiting.held() + self.text.len() - first + self.begun.len()
    }

    /// The length that has to grow before the text is read again. Waiting bytes are not read again, but many of them
    /// show that spans are rare, so that a few bytes more need not be read at once.
    fn length(&self) -> usize {
        self.text.len() + self.waiting.held().min(RARE)
    }

    fn origin(&self) -> usize {
        self.borders.last().copied().unwrap_or(0)
    }

    fn decode(&mut self, chunk: &[u8]) -> Result<(), NotUtf8> {
        self.begun.extend_from_slice(chunk);
        let (valid, is_cut) = match std::str::from_utf8(&self.begun) {
            Ok(text) => (text.len(), true),
            Err(error) => (error.valid_up_to(), error.error_len().is_none()),
        };
        if !is_cut {
            return Err(NotUtf8 { at: self.offset + self.text.len() + valid });
        }
        let rest = self.begun.split_off(valid);
        let text = std::mem::replace(&mut self.begun, rest);
        self.text.push_str(std::str::from_utf8(&text).unwrap_or_default());
        Ok(())
    }

    /// The part of the unreturned text up to its last certain border.
    fn part(&mut self, mapper: &TextMapper) -> Option<ScannedText> {
        let near = self.near();
        if near > self.labelled {
            mapper.remember(self.text.get(self.labelled..)?, near - self.labelled, &mut self.labels);
            self.labelled = near;
        }
        let part = self.text.get(near..)?;
        let settled = near + mapper.settled(part, self.origin() - near);
        let first = self.ends.first()?;
        if settled < *first {
            return None;
        }
        let looked_at: Vec<Range<usize>> =
            Tools::looked_at(part).iter().map(|range| near + range.start..near + range.end).collect();
        let mut read = mapper.read_window(self.text.clone(), self.origin(), near, &self.labels, self.granularity);
        let ends: Vec<usize> = self.ends.iter().copied().filter(|end| self.is_cut(*end)).collect();
        let (border, left) = read.settle(&ends, settled, &looked_at)?;
        let (has_spans, before) = (!read.pieces().is_empty(), std::mem::take(&mut self.waiting));
        self.ends.retain(|end| *end > border);
        self.borders.push(border);
        let from = self.context(&read, &looked_at, near);
        let part = if has_spans {
            self.waiting = left;
            Some(read.following(self.offset, before))
        } else {
            self.waiting = before.followed_by(left);
            None
        };
        if from > self.labelled {
            mapper.remember(self.text.get(self.labelled..).unwrap_or_default(), from - self.labelled, &mut self.labels);
            self.labelled = from;
        }
        self.forget(from);
        part
    }

    /// The last border that is so far before the unreturned text that the searches find the same from there on.
    fn near(&self) -> usize {
        let needed = self.origin().saturating_sub(NEAR);
        self.borders.iter().copied().rfind(|border| *border <= needed).unwrap_or(0).max(self.labelled)
    }

    /// Whether the end of a sentence is a cut. With granularity token (a word and the bytes after it), it must also be
    /// the beginning of a word that is not the first.
    fn is_cut(&self, end: usize) -> bool {
        let has_word =
            || self.text.get(self.origin()..end).is_some_and(|before| before.contains(char::is_alphanumeric));
        let word = || self.text.get(end..).is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
        self.granularity != Granularity::Token || (word() && has_word())
    }

    /// The start of the bytes that are needed as context. It is a border, or, in a very long sentence, behind white
    /// space that no hit and no object spans. The text was searched from `near` on.
    fn context(&self, read: &ScannedText, looked_at: &[Range<usize>], near: usize) -> usize {
        let needed = self.origin().saturating_sub(CONTEXT);
        let border = self.borders.iter().copied().rfind(|border| *border <= needed).unwrap_or(0);
        let Some(first) = needed.checked_sub(CONTEXT).filter(|first| border < *first) else { return border };
        let is_whole = |at: usize| {
            let range = looked_at.get(looked_at.partition_point(|range| range.end <= at));
            at >= near && range.is_none_or(|range| at <= range.start) && !read.split_by(at)
        };
        let behind_space = |at: &usize| self.text.as_bytes().get(*at - 1).is_some_and(u8::is_ascii_whitespace);
        (first + 1..=needed).rev().filter(behind_space).find(|at| is_whole(*at)).unwrap_or(border)
    }

    /// Drops the bytes before `from`, but keeps those that wait.
    fn forget(&mut self, from: usize) {
        self.borders.retain(|border| *border >= from);
        self.borders.iter_mut().chain(&mut self.ends).for_each(|at| *at -= from);
        self.waiting.keep(self.text.get(..from).unwrap_or_default());
        self.text.drain(..from);
        self.looked = self.looked.saturating_sub(from);
        self.uncertain.goes_on = self.uncertain.goes_on.saturating_sub(from);
        self.uncertain.until = self.uncertain.until.saturating_sub(from);
        self.seen = self.seen.saturating_sub(from);
        self.labelled = self.labelled.saturating_sub(from);
        self.offset += from;
    }
}
