//! Spans that a caller pushes, as an engine: what was refused with what followed it is proposed again from there.

use super::mailbox::Mailbox;
use crate::engine::{EngineError, Move, Proposal};
use crate::source::Candidate;
use std::collections::VecDeque;

/// Bytes of spans that are kept to go back to: more than an end that is pending can hold.
const KEPT: usize = 1 << 17;

/// The last spans that were taken, and which of them comes next.
#[derive(Debug, Default)]
pub(super) struct PushedSpans {
    taken: VecDeque<Candidate>,
    /// Places from the first of them; before it no span is kept.
    at: isize,
    bytes: usize,
}

impl PushedSpans {
    pub(super) fn make(&mut self, step: &Move) {
        let places = match step {
            Move::Advance(_) => 1,
            Move::RollBack(places) => -isize::try_from(*places).unwrap_or(isize::MAX),
        };
        self.at = self.at.saturating_add(places);
    }

    /// The span of this place; `None` when it has not come. What is pushed has no alternatives.
    pub(super) fn propose(&mut self, mailbox: &Mailbox, attempt: u32) -> Option<Result<Proposal, EngineError>> {
        if attempt > 0 {
            return Some(Ok(Proposal::Exhausted));
        }
        let kept = usize::try_from(self.at).ok().and_then(|at| self.taken.get(at));
        if let Some(span) = kept {
            return Some(Ok(Proposal::Candidate(span.clone())));
        }
        let answer = mailbox.take_span()?;
        if let Ok(Proposal::Candidate(span)) = &answer {
            self.keep(span.clone());
        }
        Some(answer)
    }

    fn keep(&mut self, span: Candidate) {
        self.bytes += span.text.len();
        self.taken.push_back(span);
        while self.bytes > KEPT
            && self.taken.len() > 1
            && let Some(first) = self.taken.pop_front()
        {
            self.bytes -= first.text.len();
            self.at -= 1;
        }
    }
}
