//! A text that was read once: its class hits, and the pieces that it is judged in.

use crate::hits::Hits;
use crate::quantity::number_starts;
use crate::segment::{Piece, clause_cuts, cut, sentence_ends};
use crate::words::words;
use portcullis_core::class::ClassSet;
use portcullis_core::wire::Granularity;
use std::ops::Range;

/// A text with what the scan found in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    text: String,
    hits: Hits,
    pieces: Vec<Piece>,
}

impl Text {
    pub(crate) fn new(text: String, hits: Hits, granularity: Granularity) -> Self {
        let mut read = Self { text, hits, pieces: Vec::new() };
        let whole = 0..read.text.len();
        read.pieces = match granularity {
            Granularity::Step => read.cut(&whole, Vec::new()),
            Granularity::Span => {
                let mut pieces = Vec::new();
                let mut start = 0;
                for end in sentence_ends(&read.text) {
                    // A sentence that ends inside a hit goes on.
                    if read.hits.split_by(end) {
                        continue;
                    }
                    let range = start..end;
                    pieces.extend(read.cut(&range, clause_cuts(&read.text, &range)));
                    start = end;
                }
                pieces
            }
            // A token is a word with what follows it; a hit of several words is one token, for no byte of it may go alone.
            Granularity::Token => {
                let starts: Vec<usize> = words(&read.text).skip(1).map(|w| w.start).collect();
                read.cut(&whole, starts)
            }
        };
        read
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The bytes of a range; empty for one that is not of this text.
    #[must_use]
    pub fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    /// The pieces that the text is judged in: every byte once, in order.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Smaller parts of a span that was decomposed, covering it; empty when there are none.
    ///
    /// Hits are set apart first, so that what offends is judged alone; without a hit to set apart the span is cut at clauses, then
    /// before numbers, then at the word boundary nearest its middle.
    #[must_use]
    pub fn split(&self, span: &Range<usize>) -> Vec<Piece> {
        let inside = |at: &usize| span.start < *at && *at < span.end;
        let edges: Vec<usize> = self.clusters(span).into_iter().flat_map(|c| [c.start, c.end]).filter(inside).collect();
        let part = self.slice(span);
        let numbers = number_starts(part).into_iter().map(|n| span.start + n);
        let middle = span.start + part.len() / 2;
        let nearest = words(part).map(|w| span.start + w.start).filter(inside).min_by_key(|at| at.abs_diff(middle));
        let ways =
            [edges, clause_cuts(&self.text, span), numbers.filter(inside).collect(), nearest.into_iter().collect()];
        for cuts in ways {
            let parts = self.cut(span, cuts);
            // A part is smaller when the span itself is not among the parts.
            if parts.len() > 1 && parts.iter().filter(|p| !p.inert).all(|p| p.range != *span) {
                return parts;
            }
        }
        Vec::new()
    }

    /// Classes of the hits that touch a span.
    pub(crate) fn classes(&self, span: &Range<usize>) -> ClassSet {
        self.hits.touching(span).map(|h| h.class).collect()
    }

    /// Hits that overlap each other, joined.
    fn clusters(&self, span: &Range<usize>) -> Vec<Range<usize>> {
        let mut clusters: Vec<Range<usize>> = Vec::new();
        for hit in self.hits.touching(span) {
            match clusters.last_mut() {
                Some(last) if hit.range.start < last.end => last.end = last.end.max(hit.range.end),
                _ => clusters.push(hit.range.clone()),
            }
        }
        clusters
    }

    fn cut(&self, range: &Range<usize>, cuts: Vec<usize>) -> Vec<Piece> {
        cut(&self.text, range, cuts, &self.hits)
    }
}
