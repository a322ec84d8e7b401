//! The matching view: the text as a reader of the page sees it, with the way back to the bytes.
//!
//! Classes and quantities are matched on the text and on its view; a hit in either stands. What the view leaves out or joins is said in
//! `docs/mapping.md`. A text of ASCII without markup has no view: it is its own.

mod build;
mod entity;
mod fold;
mod latex;
mod markup;
mod open;

pub(crate) use open::completed;
use std::ops::Range;

/// A part of the view and the bytes that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    /// Where it begins in the view.
    at: usize,
    /// The bytes.
    origin: Range<usize>,
    /// Whether it is those bytes themselves.
    copied: bool,
}

/// A text as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    text: String,
    segments: Vec<Segment>,
    /// Spaces that part cells or items, in order.
    borders: Vec<usize>,
    /// Spaces that were line breaks, in order.
    lines: Vec<usize>,
}

impl View {
    /// The view of a text, where it is another than the text.
    pub(crate) fn of(text: &str) -> Option<Self> {
        build::differs(text.as_bytes()).then(|| build::build(text)).filter(|view| view.text != text)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The bytes that a range of the view stands for, what was left out between them included.
    pub(crate) fn origin(&self, range: &Range<usize>) -> Range<usize> {
        let (start, end) = (self.origin_of(range.start), self.origin_of(range.end.saturating_sub(1)));
        start.start..end.end.max(start.start)
    }

    /// Whether a range reaches over the border of a cell or an item.
    pub(crate) fn crosses_border(&self, range: &Range<usize>) -> bool {
        let first = self.borders.partition_point(|b| *b < range.start);
        self.borders.get(first).is_some_and(|b| *b < range.end)
    }

    /// Whether a range reaches over what was no space inside a line.
    pub(crate) fn joins_lines(&self, range: &Range<usize>) -> bool {
        let first = self.lines.partition_point(|b| *b < range.start);
        self.lines.get(first).is_some_and(|b| *b < range.end) || self.crosses_border(range)
    }

    /// The bytes that the character at `at` stands for; one byte of what was copied.
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
