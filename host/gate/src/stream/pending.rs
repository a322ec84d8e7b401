//! The text of an engine's candidates that was read but not judged: the pending end, and the candidate after it.

use super::work::{Base, RangeLogProbs, SpanWork};
use portcullis_mapping::{LogProbs, LogProbsError, ScannedText, TextPiece};
use std::sync::Arc;

/// The text of a candidate, or its end, with the engine's log-probabilities.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    pub(super) text: String,
    /// Number of bytes of the candidate before this text.
    pub(super) skipped: usize,
    pub(super) logprobs: Option<Result<LogProbs, LogProbsError>>,
}

/// The pending end of a step: text that more text could turn into a part of a hit.
#[derive(Debug, Default)]
pub(super) struct PendingEnd {
    parts: Vec<Fragment>,
    /// Number of bytes of the step before the pending end.
    number: usize,
}

/// A candidate that was read together with the pending end before it. It is judged after that end.
#[derive(Debug)]
pub(super) struct Upcoming {
    pub(super) text: String,
    /// The candidate's spans, in order.
    pub(super) work: Vec<SpanWork>,
    pub(super) pending: PendingEnd,
}

pub(super) struct CandidateReading {
    /// Spans of the current step, in order.
    pub(super) work: Vec<SpanWork>,
    pub(super) pending: PendingEnd,
    /// Text added to the current step: the new candidate, unless it is a step of its own.
    pub(super) added: String,
    /// Whether the new candidate became a part of the current step.
    pub(super) joined: bool,
    /// The new candidate, if it is a step of its own.
    pub(super) upcoming: Option<Upcoming>,
}

impl PendingEnd {
    pub(super) const fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }

    /// Reads the pending end together with the next candidate; without a candidate, the pending end is final. `place`
    /// is the place of the current step. `next_place` is the candidate's place if it becomes a step of its own. A piece
    /// longer than `most` bytes does not wait for more text.
    pub(super) fn read(
        self,
        next: Option<Fragment>,
        place: (usize, u8),
        next_place: usize,
        read: impl FnOnce(&[&str]) -> ScannedText,
        most: usize,
    ) -> CandidateReading {
        let waits = next.is_some();
        let added = next.as_ref().map_or_else(String::new, |part| part.text.clone());
        let number = self.number;
        let border: usize = self.parts.iter().map(|part| part.text.len()).sum();
        let parts: Vec<Fragment> = self.parts.into_iter().chain(next).collect();
        let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
        let mut text = read(&texts);
        let (origin, border) = (text.origin(), text.origin() + border);
        let (finished, rest) = if waits { text.finish(most) } else { (text.pieces().to_vec(), Vec::new()) };
        let text = Arc::new(text);
        let said = said(&parts, origin);
        let is_across = |piece: &TextPiece| piece.range.start < border && border < piece.range.end;
        // The candidate becomes its own step if no piece crosses its start and all text before it is finished.
        let whole = border == origin;
        let joined = !whole
            && waits
            && (text.pieces().iter().any(is_across) || rest.first().is_some_and(|p| p.range.start < border));
        let own = if whole || joined { finished.len() } else { finished.partition_point(|p| p.range.start < border) };
        let (own, later) = finished.split_at(own);
        let left = |base: Base| Self {
            number: rest.first().map_or(0, |piece| piece.range.start - base.from + base.number),
            parts: rest.first().map_or_else(Vec::new, |first| cut_before(&parts, first.range.start - origin)),
        };
        let work = |pieces: &[TextPiece], base: Base, place: (usize, u8)| -> Vec<SpanWork> {
            let work = |piece: &TextPiece| SpanWork {
                range: piece.range.clone(),
                inert: piece.inert,
                base,
                ..SpanWork::whole(Arc::clone(&text), Arc::clone(&said), Some(place))
            };
            pieces.iter().map(work).collect()
        };
        let base = Base { from: origin, number };
        let next_base = Base { from: border, number: 0 };
        let apart = waits && !whole && !joined;
        let (added, next_text) = if apart { (String::new(), added) } else { (added, String::new()) };
        CandidateReading {
            added,
            work: work(own, base, place),
            pending: if apart { Self::default() } else { left(base) },
            joined,
            upcoming: apart.then(|| Upcoming {
                text: next_text,
                work: work(later, next_base, (next_place, 0)),
                pending: left(next_base),
            }),
        }
    }
}

/// Consecutive texts without their first `at` bytes.
fn cut_before(parts: &[Fragment], at: usize) -> Vec<Fragment> {
    let mut start = 0;
    let mut left = Vec::new();
    for part in parts {
        let text = part.text.get(at.saturating_sub(start).min(part.text.len())..).unwrap_or_default();
        if !text.is_empty() {
            let skipped = part.skipped + (part.text.len() - text.len());
            left.push(Fragment { text: text.to_owned(), skipped, logprobs: part.logprobs.clone() });
        }
        start += part.text.len();
    }
    left
}

/// The engine's log-probabilities of consecutive texts, from `origin` on.
fn said(parts: &[Fragment], origin: usize) -> Arc<[RangeLogProbs]> {
    let mut start = origin;
    let said = |part: &Fragment| {
        let range = start..start + part.text.len();
        start = range.end;
        RangeLogProbs { range, skipped: part.skipped, logprobs: part.logprobs.clone() }
    };
    parts.iter().map(said).collect()
}
