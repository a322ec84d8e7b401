//! Releases text only after its record is signed.

use portcullis_gate::StreamEventKind;
use portcullis_recorder::ProofBook;
use std::collections::VecDeque;
use std::sync::Arc;

/// Events that wait until a checkpoint covers their records.
pub(super) struct SignedRelease {
    book: Arc<ProofBook>,
    lane: u8,
    /// Sequence of the last determination.
    last: u32,
    /// Events, each with the number of signed records that it needs in its lane. `None` means that it needs END's
    /// record, which does not exist yet.
    waiting: VecDeque<(Option<u64>, StreamEventKind)>,
}

impl SignedRelease {
    pub(super) const fn new(book: Arc<ProofBook>) -> Self {
        Self { book, lane: 0, last: 0, waiting: VecDeque::new() }
    }

    /// Whether events are left that can still be released.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() && !self.book.is_over()
    }

    /// Adds an event.
    pub(super) fn push(&mut self, event: StreamEventKind) {
        let covering = |index: Option<u64>| index.map_or(0, |index| index + 1);
        let needed = match &event {
            StreamEventKind::Begun { lane, log_index, .. } => {
                self.lane = *lane;
                Some(covering(*log_index))
            }
            StreamEventKind::Determined(judged) => {
                self.last = judged.determination.seq;
                Some(covering(judged.log_index))
            }
            // Bytes after the last span belong to the END record.
            StreamEventKind::Released { seqs, .. } if seqs.iter().any(|seq| *seq > self.last) => None,
            StreamEventKind::Ended { closing, .. } => {
                let needed = covering(closing.as_ref().and_then(|closing| closing.log_index));
                self.waiting.iter_mut().for_each(|(of_end, _)| *of_end = of_end.or(Some(needed)));
                Some(needed)
            }
            _ => Some(0),
        };
        self.waiting.push_back((needed, event));
    }

    /// Whether the first event waits for a checkpoint. For an event that needs END's record, the result is false until
    /// END is recorded.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.front().is_some_and(|(needed, _)| needed.is_some()) && !self.book.is_over()
    }

    /// The next event, if its record is signed.
    pub(super) fn pop(&mut self) -> Option<StreamEventKind> {
        let signed = self.book.signed().get(usize::from(self.lane)).copied().unwrap_or(0);
        let next = self.waiting.pop_front_if(|(needed, _)| needed.is_some_and(|needed| needed <= signed));
        next.map(|(_, event)| event)
    }
}
