//! The matching view: a text as a reader of the rendered page sees it, with references to the original bytes.
//!
//! Classes and quantities are matched on the text and on its view; a hit in either counts.
//! `docs/explanation/mapping.md` lists what the view removes and joins. An ASCII line without markup needs no view.

mod build;
mod decode;
mod entity;
mod fold;
mod latex;
mod markup;
mod open;

use build::ViewDifference;
pub(crate) use decode::{decoded, too_deep, undecoded};
pub(crate) use entity::reference;
use fold::{Fold, fold};
pub(crate) use open::{completed, undecided};
use std::ops::Range;

/// Look-alikes of the ASCII braces.
const OPENING: &[char] = &['\u{ff5b}', '\u{fe5b}', '\u{fe37}', '\u{2774}', '\u{2983}'];
const CLOSING: &[char] = &['\u{ff5d}', '\u{fe5c}', '\u{fe38}', '\u{2775}', '\u{2984}'];

/// A part of the view, and the bytes of the text that it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    /// The part's start in the view.
    at: usize,
    origin: Range<usize>,
    /// Whether the part is a copy of the bytes at `origin`.
    copied: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MatchingView {
    text: String,
    segments: Vec<Segment>,
    /// Places of the spaces that stand for a border of cells or items, in order.
    borders: Vec<usize>,
    /// Places of the spaces that stand for a line break, in order.
    lines: Vec<usize>,
    /// Whether the view equals the text byte for byte, except for a space in place of each single line break.
    aligned: bool,
}

impl MatchingView {
    /// The view of a text; `None` if it would equal the text.
    pub(crate) fn of(text: &str) -> Option<Self> {
        match build::difference(text) {
            ViewDifference::None => None,
            ViewDifference::Lines(lines) => Some(Self::aligned(text, lines)),
            ViewDifference::More => Some(build::build(text)).filter(|view| view.text != text),
        }
    }

    /// The text with look-alikes of braces and other marks replaced by ASCII marks; markup stays, unlike in the view.
    /// `None` if the text has no opening brace, or if nothing is replaced.
    pub(crate) fn of_marks(text: &str) -> Option<Self> {
        let opens = |c: char| c == '{' || OPENING.contains(&c);
        if text.is_ascii() || !text.contains(opens) {
            return None;
        }
        let mut view = Self {
            text: String::with_capacity(text.len()),
            segments: Vec::new(),
            borders: Vec::new(),
            lines: Vec::new(),
            aligned: false,
        };
        for (start, c) in text.char_indices() {
            let origin = start..start + c.len_utf8();
            let at = view.text.len();
            match if c.is_ascii() { Fold::Keep } else { fold(c) } {
                _ if OPENING.contains(&c) => view.text.push('{'),
                _ if CLOSING.contains(&c) => view.text.push('}'),
                Fold::Ascii(byte) => view.text.push(char::from(byte)),
                Fold::Text(shown) => view.text.push_str(&shown),
                Fold::Space | Fold::LineBreak => view.text.push(' '),
                Fold::Drop => continue,
                _ => view.text.push(c),
            }
            view.segments.push(Segment { at, origin, copied: false });
        }
        (view.text != text).then_some(view)
    }

    /// The text with a space instead of each line break in `lines`. A line break before another line break stays.
    fn aligned(text: &str, lines: Vec<usize>) -> Self {
        let mut shown = String::with_capacity(text.len());
        let mut from = 0;
        for line in &lines {
            shown.push_str(text.get(from..*line).unwrap_or_default());
            let blank = text.as_bytes().get(line + 1) == Some(&b'\n');
            shown.push(if blank { '\n' } else { ' ' });
            from = line + 1;
        }
        shown.push_str(text.get(from..).unwrap_or_default());
        let segments = vec![Segment { at: 0, origin: 0..text.len(), copied: true }];
        Self { text: shown, segments, borders: Vec::new(), lines, aligned: true }
    }

    /// Whether the view differs from the text only by spaces in place of line breaks.
    pub(crate) const fn is_aligned(&self) -> bool {
        self.aligned
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of the text that a range of the view shows, with the removed bytes between them.
    pub(crate) fn origin(&self, range: &Range<usize>) -> Range<usize> {
        let (start, end) = (self.origin_of(range.start), self.origin_of(range.end.saturating_sub(1)));
        start.start..end.end.max(start.start)
    }

    /// The place in the text that corresponds to place `at` of the view; `end` if `at` is the end of the view.
    pub(crate) fn origin_from(&self, at: usize, end: usize) -> usize {
        if at < self.text.len() { self.origin_of(at).start } else { end }
    }

    /// The place in the view at which the first `end` bytes of the text end.
    pub(crate) fn shown_until(&self, end: usize) -> usize {
        let next = self.segments.partition_point(|s| s.origin.start < end);
        let Some(segment) = next.checked_sub(1).and_then(|i| self.segments.get(i)) else { return 0 };
        let most = self.segments.get(next).map_or(self.text.len(), |s| s.at);
        if segment.copied { most.min(segment.at + (end - segment.origin.start)) } else { most }
    }

    /// The place after the last border of a cell or an item in a range.
    pub(crate) fn last_border(&self, range: &Range<usize>) -> Option<usize> {
        let next = self.borders.partition_point(|b| *b < range.end);
        let border = next.checked_sub(1).and_then(|i| self.borders.get(i)).copied()?;
        (range.start <= border).then_some(border + 1)
    }

    /// Whether a range crosses the border of a cell or an item.
    pub(crate) fn crosses_border(&self, range: &Range<usize>) -> bool {
        let first = self.borders.partition_point(|b| *b < range.start);
        self.borders.get(first).is_some_and(|b| *b < range.end)
    }

    /// Whether a range crosses a line break, or the border of a cell or an item.
    pub(crate) fn joins_lines(&self, range: &Range<usize>) -> bool {
        let first = self.lines.partition_point(|b| *b < range.start);
        self.lines.get(first).is_some_and(|b| *b < range.end) || self.crosses_border(range)
    }

    /// Whether a range of an aligned view differs from the text.
    pub(crate) fn differs_in(&self, range: &Range<usize>) -> bool {
        let first = self.lines.partition_point(|b| *b < range.start);
        let lines = self.lines.iter().skip(first).take_while(|b| **b < range.end);
        lines.into_iter().any(|line| self.text.as_bytes().get(*line) == Some(&b' '))
    }

    /// The bytes of the text that the character at `at` shows; one byte for copied text.
    fn origin_of(&self, at: usize) -> Range<usize> {
        let next = self.segments.partition_point(|s| s.at <= at);
        let Some(segment) = next.checked_sub(1).and_then(|i| self.segments.get(i)) else { return 0..0 };
        if segment.copied {
            let byte = segment.origin.start + (at - segment.at);
            byte..byte + 1
        } else {
            segment.origin.clone()
        }
    }
}

#[cfg(test)]
mod tests;
