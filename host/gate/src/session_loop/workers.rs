//! The workers of a session. They map texts, so that the thread that serves the card does not, and they share the
//! processor fairly among the owners of the streams (the API keys of a gateway).
//!
//! A job is one step of one stream: at most one span to map and one candidate to read. The owners with
//! waiting jobs take turns, and one owner never has more than half of the workers. There are twice as many workers as
//! processors, so one owner alone can use every processor, and the first job of another owner still finds a free
//! worker. A job changes only its own stream, so the records of a stream do not depend on the workers. At most one job
//! of each open stream waits, so the memory is bounded by the slots of the card.

use super::mailbox::Inbox;
use crate::stream::{Next, StreamMachine};
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Processors beyond this number get no workers.
const MOST_PROCESSORS: usize = 32;
/// Bytes of a worker's stack. The readers of texts nest to fixed depths.
const STACK: usize = 4 << 20;

/// A step of a stream.
pub(super) struct Job {
    /// Number of the stream.
    pub(super) number: u64,
    pub(super) owner: u64,
    pub(super) step: Box<dyn FnOnce() -> Stepped + Send>,
}

/// A stream after a step, and what it needs next.
pub(super) type Stepped = (Box<StreamMachine>, Next);

/// A finished step. No result: the step panicked, so the stream is lost.
pub(super) struct Finished {
    pub(super) number: u64,
    pub(super) result: Option<Stepped>,
}

#[derive(Default)]
struct State {
    /// Waiting jobs of each owner.
    waiting: BTreeMap<u64, VecDeque<Job>>,
    /// Owners with waiting jobs; the first one is next.
    turns: VecDeque<u64>,
    /// Number of jobs in work of each owner.
    in_work: BTreeMap<u64, usize>,
    finished: Vec<Finished>,
    /// Largest number of jobs in work of one owner.
    most: usize,
    closed: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// The threads end after their current job when this is dropped.
pub(super) struct Workers(Arc<Shared>);

impl State {
    fn give(&mut self, job: Job) {
        let jobs = self.waiting.entry(job.owner).or_default();
        if jobs.is_empty() {
            self.turns.push_back(job.owner);
        }
        jobs.push_back(job);
    }

    /// The next job whose owner may have another worker.
    fn take(&mut self) -> Option<Job> {
        let may = |owner: &u64| self.in_work.get(owner).copied().unwrap_or(0) < self.most;
        let at = self.turns.iter().position(may)?;
        let owner = self.turns.remove(at)?;
        let jobs = self.waiting.get_mut(&owner)?;
        let job = jobs.pop_front();
        if jobs.is_empty() {
            self.waiting.remove(&owner);
        } else {
            self.turns.push_back(owner);
        }
        *self.in_work.entry(owner).or_default() += 1;
        job
    }

    fn done(&mut self, owner: u64) {
        if let Some(count) = self.in_work.get_mut(&owner) {
            *count -= 1;
            if *count == 0 {
                self.in_work.remove(&owner);
            }
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, inbox: &Inbox) {
        let mut state = self.state();
        while !state.closed {
            let Some(Job { number, owner, step }) = state.take() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            // A machine that panicked is dropped, so nothing of its half-done step is used.
            let result = catch_unwind(AssertUnwindSafe(step)).ok();
            state = self.state();
            state.done(owner);
            state.finished.push(Finished { number, result });
            drop(state);
            inbox.mark(number);
            state = self.state();
        }
    }
}

impl Workers {
    /// Starts the workers. `None` if no thread can be started: the caller then does the jobs itself.
    pub(super) fn new(inbox: &Arc<Inbox>) -> Option<Self> {
        let processors = thread::available_parallelism().map_or(1, usize::from).min(MOST_PROCESSORS);
        Self::of(2 * processors, inbox)
    }

    fn of(count: usize, inbox: &Arc<Inbox>) -> Option<Self> {
        let workers = Self(Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() }));
        let start = |number: usize| {
            let (shared, inbox) = (Arc::clone(&workers.0), Arc::clone(inbox));
            let thread = thread::Builder::new().name(format!("mapping {number}")).stack_size(STACK);
            thread.spawn(move || shared.work(&inbox)).is_ok()
        };
        let started = (0..count).filter(|number| start(*number)).count();
        workers.0.state().most = (started / 2).max(1);
        (started > 0).then_some(workers)
    }

    pub(super) fn give(&self, job: Job) {
        self.0.state().give(job);
        self.0.changed.notify_one();
    }

    /// The steps that were finished since the last call.
    pub(super) fn take_finished(&self) -> Vec<Finished> {
        std::mem::take(&mut self.0.state().finished)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.closed = true;
        state.waiting.clear();
        state.turns.clear();
        drop(state);
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::{Finished, Job, State, Workers};
    use crate::session_loop::mailbox::{Bounds, Inbox};
    use std::time::Duration;

    fn job(owner: u64, number: u64) -> Job {
        Job { number, owner, step: Box::new(|| std::panic::resume_unwind(Box::new("the panic of a test"))) }
    }

    /// The scheduler is a function of its jobs, so these tests need no threads and no clock.
    fn state(most: usize, jobs: &[(u64, u64)]) -> State {
        let mut state = State { most, ..State::default() };
        jobs.iter().for_each(|(owner, number)| state.give(job(*owner, *number)));
        state
    }

    fn taken(state: &mut State, most: usize) -> Vec<u64> {
        std::iter::from_fn(|| state.take()).take(most).map(|job| job.number).collect()
    }

    #[test]
    fn owners_take_turns() {
        let mut state = state(9, &[(1, 10), (1, 11), (1, 12), (2, 20), (3, 30), (2, 21)]);
        assert_eq!(taken(&mut state, 9), [10, 20, 30, 11, 21, 12]);
    }

    #[test]
    fn a_new_owner_is_next_whatever_another_owner_has_queued() {
        let mut state = state(2, &[(1, 10), (1, 11), (1, 12), (1, 13)]);
        assert_eq!(taken(&mut state, 9), [10, 11], "owner 1 has half of four workers, also while it is alone");
        state.give(job(2, 20));
        assert_eq!(state.take().map(|job| job.number), Some(20));
        assert!(state.take().is_none(), "owner 1 gets no third worker");
        state.done(1);
        assert_eq!(state.take().map(|job| job.number), Some(12));
    }

    #[test]
    fn an_owner_without_jobs_leaves_nothing_behind() {
        let mut state = state(1, &[(1, 10), (1, 11)]);
        for expected in [10, 11] {
            assert_eq!(state.take().map(|job| job.number), Some(expected));
            assert!(state.take().is_none());
            state.done(1);
        }
        assert!(state.waiting.is_empty() && state.turns.is_empty() && state.in_work.is_empty());
    }

    /// A worker outlives a step that panics: the next step of another stream finds it.
    #[test]
    fn a_step_that_panics_gives_no_stream_and_leaves_its_worker() {
        let inbox = Inbox::new(Bounds::default());
        let workers = Workers::of(1, &inbox).unwrap();
        let mut lost = Vec::new();
        for number in [4, 7] {
            workers.give(job(1, number));
            inbox.wait(false, false, true, Some(Duration::from_secs(60)));
            assert!(inbox.take_changed().contains(&number));
            lost.extend(
                workers.take_finished().into_iter().map(|Finished { number, result }| (number, result.is_none())),
            );
        }
        assert_eq!(lost, [(4, true), (7, true)]);
    }
}
