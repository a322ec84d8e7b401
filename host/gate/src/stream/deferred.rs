//! Rejected mutations that wait for information. This is not a fourth outcome: the loop does it with a reject whose
//! reason the policy lists. Each resubmission is a new record.

use super::work::Work;
use portcullis_core::state::SemanticState;
use std::collections::VecDeque;

/// Most mutations that wait at the same time: a bound on memory. Further ones are rejected at once.
const MOST: usize = 64;

/// A mutation that waits.
#[derive(Debug)]
struct DeferredWork {
    work: Work,
    seq: u32,
    /// Steps that it may still wait.
    steps: u16,
    /// The knowledge at its last judgement.
    known: Knowledge,
}

/// Information that a resubmission can wait for: words, classes, quantities, referents and claims.
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

/// The waiting mutations, the oldest first.
#[derive(Debug, Default)]
pub(super) struct DeferredQueue {
    waiting: VecDeque<DeferredWork>,
}

impl DeferredQueue {
    /// Puts a mutation on the queue and returns whether there was room. A mutation that waited before keeps its
    /// remaining steps.
    pub(super) fn push(&mut self, work: Work, seq: u32, expiry: u16, known: Knowledge) -> bool {
        let room = self.waiting.len() < MOST;
        if room {
            let steps = work.waited.unwrap_or(expiry);
            self.waiting.push_back(DeferredWork { work, seq, steps, known });
        }
        room
    }

    /// One step has passed: gives those that have waited too long.
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

    /// The oldest that was judged when less, or something else, was known; its determination is the parent of the next.
    pub(super) fn due(&mut self, known: Knowledge) -> Option<Work> {
        let at = self.waiting.iter().position(|d| d.known != known)?;
        let DeferredWork { work, seq, steps, .. } = self.waiting.remove(at)?;
        Some(Work { parent: Some(seq), waited: Some(steps), ..work })
    }

    /// Gives up all that wait.
    pub(super) fn drain(&mut self) -> Vec<u32> {
        self.waiting.drain(..).map(|d| d.seq).collect()
    }
}
