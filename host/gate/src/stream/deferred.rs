//! The queue of deferred mutations. Deferring is not a fourth outcome: the loop defers a reject whose reason the policy
//! lists. Each resubmission is a new record.

use super::work::SpanWork;
use portcullis_core::state::SemanticState;
use std::collections::VecDeque;

/// Largest number of deferred mutations per stream. More are rejected immediately.
const MOST: usize = 64;

#[derive(Debug)]
struct DeferredWork {
    work: SpanWork,
    seq: u32,
    /// Number of steps before the mutation expires.
    steps: u16,
    /// The state of knowledge when the mutation was last judged.
    known: Knowledge,
}

/// Information for which a deferred mutation can wait: words, classes, quantities, referents and claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Knowledge {
    words: usize,
    established: u128,
    quantities: [Option<i32>; portcullis_core::wire::QUANTITY_SLOTS],
    referents: usize,
    claims: usize,
    superseded: usize,
    propositions: usize,
}

impl Knowledge {
    pub(super) fn of(state: &SemanticState) -> Self {
        let memory = &state.memory;
        Self {
            words: memory.words.len(),
            established: memory.established.0,
            quantities: memory.quantities,
            referents: memory.referents.len(),
            claims: memory.claims.len(),
            superseded: memory.superseded.len(),
            propositions: memory.propositions.len(),
        }
    }
}

/// The deferred mutations, the oldest first.
#[derive(Debug, Default)]
pub(super) struct DeferredQueue {
    waiting: VecDeque<DeferredWork>,
}

impl DeferredQueue {
    /// Queues a mutation and returns whether there was room. A mutation that was deferred before keeps its remaining
    /// steps.
    pub(super) fn push(&mut self, work: SpanWork, seq: u32, expiry: u16, known: Knowledge) -> bool {
        let room = self.waiting.len() < MOST;
        if room {
            let steps = work.waited.unwrap_or(expiry);
            self.waiting.push_back(DeferredWork { work, seq, steps, known });
        }
        room
    }

    /// Counts one step, and returns the mutations that have expired.
    pub(super) fn step(&mut self) -> Vec<u32> {
        let mut expired = Vec::new();
        self.waiting.retain_mut(|d| {
            let keep = d.steps > 0;
            d.steps = d.steps.saturating_sub(1);
            if !keep {
                expired.push(d.seq);
            }
            keep
        });
        expired
    }

    /// Takes the oldest mutation for which the knowledge has changed since its last judgement; `None` if there is none.
    /// The last judgement becomes the parent of the next.
    pub(super) fn due(&mut self, known: Knowledge) -> Option<SpanWork> {
        let at = self.waiting.iter().position(|d| d.known != known)?;
        let DeferredWork { work, seq, steps, .. } = self.waiting.remove(at)?;
        Some(SpanWork { parent: Some(seq), waited: Some(steps), ..work })
    }

    pub(super) fn drain(&mut self) -> Vec<u32> {
        self.waiting.drain(..).map(|d| d.seq).collect()
    }
}
