//! A text that was read once: its class hits, and the pieces that it is judged in.

use crate::hits::Hits;
use crate::language::Language;
use crate::quantity::{Found, Measured, Quantities};
use crate::segment::{Piece, Whole, clause_cuts, cut, sentence_ends};
use crate::words::words;
use portcullis_core::class::ClassSet;
use portcullis_core::wire::Granularity;
use std::ops::Range;

/// A text with what the scan found in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    text: String,
    origin: usize,
    hits: Hits,
    quantities: Vec<Measured>,
    pieces: Vec<Piece>,
    language: &'static Language,
}

impl Text {
    /// Reads `text` from `from` on; what stands before is only the context of hits and quantities.
    pub(crate) fn new(
        text: String,
        from: usize,
        hits: Hits,
        quantities: Vec<Measured>,
        language: &'static Language,
        granularity: Granularity,
    ) -> Self {
        let mut read = Self { text, origin: from, hits, quantities, pieces: Vec::new(), language };
        let whole = from..read.text.len();
        read.pieces = match granularity {
            Granularity::Step => read.cut(&whole, Vec::new()),
            Granularity::Span => {
                let mut pieces = Vec::new();
                let mut start = from;
                let part = read.slice(&whole).to_owned();
                for end in sentence_ends(&part).into_iter().map(|end| from + end) {
                    // A sentence that ends inside a hit goes on.
                    if read.split_by(end) && end < whole.end {
                        continue;
                    }
                    let range = start..end;
                    pieces.extend(read.cut(&range, clause_cuts(&read.text, &range, language)));
                    start = end;
                }
                pieces
            }
            // A token is a word with what follows it; a hit of several words is one token, for no byte of it may go alone.
            Granularity::Token => {
                let starts: Vec<usize> = words(read.slice(&whole)).skip(1).map(|w| from + w.start).collect();
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

    /// Where the text begins: what stands before is the end of another, for context.
    #[must_use]
    pub const fn origin(&self) -> usize {
        self.origin
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
        let numbers = self.measured(span).skip(1).map(|q| q.range.start);
        let middle = span.start + part.len() / 2;
        let nearest = words(part).map(|w| span.start + w.start).filter(inside).min_by_key(|at| at.abs_diff(middle));
        let ways = [
            edges,
            clause_cuts(&self.text, span, self.language),
            numbers.filter(inside).collect(),
            nearest.into_iter().collect(),
        ];
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

    /// Quantities of a span.
    pub(crate) fn quantities(&self, span: &Range<usize>) -> Found {
        Quantities::read(self.measured(span))
    }

    /// Quantities that share a byte with a span.
    fn measured(&self, span: &Range<usize>) -> impl Iterator<Item = &Measured> {
        let (start, end) = (span.start, span.end);
        let first = self.quantities.partition_point(|q| q.range.end <= start);
        self.quantities.iter().skip(first).filter(move |q| q.range.start < end && start < q.range.end)
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
        cut(&self.text, range, cuts, self, self.language)
    }
}

impl Whole for Text {
    fn split_by(&self, at: usize) -> bool {
        self.hits.split_by(at) || self.measured(&(at.saturating_sub(1)..at)).any(|q| at < q.range.end)
    }

    fn holds_hit(&self, range: &Range<usize>) -> bool {
        self.hits.touching(range).next().is_some()
    }
}
