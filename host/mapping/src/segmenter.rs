//! A text that arrives in chunks: its spans leave as soon as nothing that follows can change them.
//!
//! What is left of the text is read again with each new sentence. A sentence leaves when its end is certain (UAX #29
//! looks ahead), when no class pattern, phrase, citation or quantity continues over it, when no markup and no JSON
//! object that began before it is open, and when it does not end with the number of a list item. All these look at a
//! bounded number of bytes, in whole texts too, so that the spans of a text, and all that is read in them, are the same
//! however it is cut into chunks.

use crate::mapper::Mapper;
use crate::sentence::settled_end;
use crate::text::{Text, Waiting};
use crate::tool::Tools;
use portcullis_core::wire::Granularity;

/// Bytes before a border that are read with the text after it: more than any search can reach.
const CONTEXT: usize = 2048;

/// A text longer than the square of this is read again only after this fraction of its length has come.
const SELDOM: usize = 64;

/// The bytes are not UTF-8 (RFC 3629): refused, never guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("INVALID-UTF8 at byte {at}")]
pub struct NotUtf8 {
    /// The first byte that does not belong to a character.
    pub at: usize,
}

/// Reads one text as it arrives. What it gives does not depend on where the chunks were cut, not even inside a
/// character.
#[derive(Clone, Debug)]
pub struct Segmenter {
    granularity: Granularity,
    /// The rest of the text, with context before it.
    text: String,
    /// Bytes of the whole text before it.
    offset: usize,
    /// Places where sentences were divided from the following text, in order; the rest begins at the last one.
    borders: Vec<usize>,
    /// Inert bytes that wait for a span before the rest.
    waiting: Waiting,
    /// Ends of sentences of the rest that are certain.
    ends: Vec<usize>,
    /// The beginning of a character.
    begun: Vec<u8>,
    /// Bytes of the text when it was read last and no span left.
    tried: usize,
}

impl Segmenter {
    /// For one text that is judged in parts of this size. A text that is one step has no spans before its end.
    #[must_use]
    pub fn new(granularity: Granularity) -> Self {
        let (borders, waiting, ends, begun) = Default::default();
        Self { granularity, text: String::new(), offset: 0, borders, waiting, ends, begun, tried: 0 }
    }

    /// Takes the next chunk. Gives the part of the text whose spans are certain with it, when there is one: its pieces
    /// follow those of the part before.
    ///
    /// # Errors
    /// [`NotUtf8`]: nothing more of the text can be read.
    pub fn push(&mut self, mapper: &Mapper, chunk: &[u8]) -> Result<Option<Text>, NotUtf8> {
        self.decode(chunk)?;
        if self.granularity == Granularity::Step {
            return Ok(None);
        }
        let mut start = self.ends.last().copied().unwrap_or_else(|| self.origin());
        while let Some(end) = self.text.get(start..).and_then(settled_end) {
            start += end;
            self.ends.push(start);
        }
        // A long rest that does not leave is read seldom, so even a text of line breaks costs time in proportion to its
        // length.
        let soon = self.text.len() < self.tried + (self.text.len() / SELDOM).saturating_sub(SELDOM);
        if self.ends.is_empty() || soon {
            return Ok(None);
        }
        let part = self.part(mapper);
        self.tried = if part.is_none() { self.text.len() } else { 0 };
        Ok(part)
    }

    /// The rest of the text.
    ///
    /// # Errors
    /// [`NotUtf8`]: it ends inside a character.
    pub fn finish(self, mapper: &Mapper) -> Result<Text, NotUtf8> {
        if !self.begun.is_empty() {
            return Err(NotUtf8 { at: self.offset + self.text.len() });
        }
        let origin = self.origin();
        let Self { granularity, text, offset, waiting, .. } = self;
        Ok(mapper.read_window(text, origin, granularity).following(offset, waiting).ended())
    }

    /// Bytes that wait for what follows them.
    #[must_use]
    pub fn pending(&self) -> usize {
        let first = self.waiting.pieces.first().map_or_else(|| self.origin(), |piece| piece.range.start);
        self.text.len() - first + self.begun.len()
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

    /// The part of the rest up to the last border that is certain.
    fn part(&mut self, mapper: &Mapper) -> Option<Text> {
        let settled = mapper.settled(&self.text);
        let first = self.ends.first()?;
        if settled < *first {
            return None;
        }
        let looked_at = Tools::looked_at(&self.text);
        let mut read = mapper.read_window(self.text.clone(), self.origin(), self.granularity);
        let ends: Vec<usize> = self.ends.iter().copied().filter(|end| self.is_cut(*end)).collect();
        let (border, left) = read.settle(&ends, settled, &looked_at)?;
        let offset = self.offset;
        let spans = !read.pieces().is_empty();
        let waiting = std::mem::take(&mut self.waiting);
        let part = spans.then(|| read.following(offset, waiting.clone()));
        self.waiting = if spans { left } else { waiting.followed_by(left) };
        self.ends.retain(|end| *end > border);
        self.borders.push(border);
        self.forget();
        part
    }

    /// Whether a sentence's end is a cut. With tokens (words with the bytes after them) it is one if it is the
    /// beginning of a word after another.
    fn is_cut(&self, end: usize) -> bool {
        let has_word =
            || self.text.get(self.origin()..end).is_some_and(|before| before.contains(char::is_alphanumeric));
        let word = || self.text.get(end..).is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
        self.granularity != Granularity::Token || (word() && has_word())
    }

    /// Drops the bytes that the rest does not need as context any more.
    fn forget(&mut self) {
        let needed = self.origin().saturating_sub(CONTEXT);
        let needed = self.waiting.pieces.first().map_or(needed, |piece| needed.min(piece.range.start));
        let Some(last) = self.borders.iter().rposition(|border| *border <= needed) else { return };
        let from = self.borders.get(last).copied().unwrap_or(0);
        self.borders.drain(..last);
        self.borders.iter_mut().chain(&mut self.ends).for_each(|at| *at -= from);
        self.waiting.forget(from);
        self.text.drain(..from);
        self.offset += from;
    }
}
