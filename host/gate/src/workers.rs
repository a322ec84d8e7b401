//! The workers of this process. They read and map texts, so that no thread that serves others does, and they share the
//! processors fairly among the owners of the texts (the API keys of a gateway).
//!
//! There are as many workers as processors, and at least two. Owners with waiting jobs take turns. While another owner
//! has work, or had some within the last second, one owner has at most half of the workers, so that the next short job
//! of the other one finds a free worker. The results do not depend on the workers: a job changes only what it owns.

use rustix::process::{getpriority_process, setpriority_process};
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Processors beyond this number get no workers.
const MOST_PROCESSORS: usize = 64;
/// Bytes of a worker's stack. The readers of texts nest to fixed depths.
const STACK: usize = 4 << 20;
/// How much nicer than the process a worker is, so that a short answer of another owner does not wait for a worker's
/// slice of the processor.
const NICER: i32 = 10;
/// An owner without work for this time takes no share.
const QUIET: Duration = Duration::from_secs(1);

/// One piece of bounded work, such as the mapping of a span.
type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Schedule {
    workers: usize,
    /// Waiting jobs of each owner.
    waiting: BTreeMap<u64, VecDeque<Job>>,
    /// Owners with waiting jobs; the first one is next.
    turns: VecDeque<u64>,
    /// Number of jobs in work of each owner.
    in_work: BTreeMap<u64, usize>,
    /// When each owner last gave or finished a job, if that was within [`QUIET`] at the last look.
    seen: BTreeMap<u64, Instant>,
}

#[derive(Default)]
struct SharedSchedule {
    schedule: Mutex<Schedule>,
    changed: Condvar,
}

/// Threads that do jobs in the turns of their owners.
pub struct WorkerPool(Arc<SharedSchedule>);

impl std::fmt::Debug for WorkerPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers").field("count", &self.0.schedule().workers).finish()
    }
}

impl Schedule {
    fn give(&mut self, owner: u64, job: Job, now: Instant) {
        self.seen.insert(owner, now);
        let jobs = self.waiting.entry(owner).or_default();
        if jobs.is_empty() {
            self.turns.push_back(owner);
        }
        jobs.push_back(job);
    }

    /// The next job whose owner may have another worker, and its owner.
    fn take(&mut self, now: Instant) -> Option<(u64, Job)> {
        let (in_work, waiting) = (&self.in_work, &self.waiting);
        self.seen
            .retain(|owner, seen| in_work.contains_key(owner) || waiting.contains_key(owner) || *seen + QUIET > now);
        let most = if self.seen.len() > 1 { (self.workers / 2).max(1) } else { self.workers };
        let may = |owner: &u64| self.in_work.get(owner).copied().unwrap_or(0) < most;
        let at = self.turns.iter().position(may)?;
        let owner = self.turns.remove(at)?;
        let jobs = self.waiting.get_mut(&owner)?;
        let job = jobs.pop_front()?;
        if jobs.is_empty() {
            self.waiting.remove(&owner);
        } else {
            self.turns.push_back(owner);
        }
        *self.in_work.entry(owner).or_default() += 1;
        Some((owner, job))
    }

    fn done(&mut self, owner: u64, now: Instant) {
        self.seen.insert(owner, now);
        if let Some(count) = self.in_work.get_mut(&owner) {
            *count -= 1;
            if *count == 0 {
                self.in_work.remove(&owner);
            }
        }
    }
}

impl SharedSchedule {
    fn schedule(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        // Linux keeps this value for each thread. A worker that cannot be made nicer works as well.
        if let Ok(nice) = getpriority_process(None) {
            let _ = setpriority_process(None, nice.saturating_add(NICER));
        }
        let mut schedule = self.schedule();
        loop {
            let Some((owner, job)) = schedule.take(Instant::now()) else {
                // An owner that falls quiet leaves its share to the waiting jobs of the others.
                let is_waiting = !schedule.turns.is_empty();
                schedule = if is_waiting {
                    self.changed.wait_timeout(schedule, QUIET).unwrap_or_else(PoisonError::into_inner).0
                } else {
                    self.changed.wait(schedule).unwrap_or_else(PoisonError::into_inner)
                };
                continue;
            };
            drop(schedule);
            // Whoever gave the job learns from its missing result that it panicked.
            let _ = catch_unwind(AssertUnwindSafe(job));
            schedule = self.schedule();
            schedule.done(owner, Instant::now());
            self.changed.notify_all();
        }
    }
}

impl WorkerPool {
    /// The workers of this process.
    pub fn shared() -> &'static Self {
        static SHARED: LazyLock<WorkerPool> = LazyLock::new(|| {
            let processors = thread::available_parallelism().map_or(1, usize::from);
            WorkerPool::of(processors.clamp(2, MOST_PROCESSORS))
        });
        &SHARED
    }

    fn of(count: usize) -> Self {
        let shared = Arc::new(SharedSchedule::default());
        let start = |number: usize| {
            let shared = Arc::clone(&shared);
            let thread = thread::Builder::new().name(format!("mapping {number}")).stack_size(STACK);
            thread.spawn(move || shared.work()).is_ok()
        };
        let started = (0..count).filter(|number| start(*number)).count();
        shared.schedule().workers = started;
        Self(shared)
    }

    /// Queues a job, which must be bounded work. If no worker could be started, the job is done here.
    pub(crate) fn give(&self, owner: u64, job: Job) {
        let mut schedule = self.0.schedule();
        if schedule.workers == 0 {
            drop(schedule);
            job();
            return;
        }
        schedule.give(owner, job, Instant::now());
        drop(schedule);
        self.0.changed.notify_one();
    }

    /// Does bounded work in the owner's turn, and waits for its result. `None`: the work panicked in a worker.
    pub fn run<T: Send + 'static>(&self, owner: u64, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (send, receive) = mpsc::sync_channel(1);
        self.give(owner, Box::new(move || drop(send.send(work()))));
        receive.recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{QUIET, Schedule, WorkerPool};
    use std::sync::mpsc::{Sender, channel};
    use std::time::{Duration, Instant};

    /// A schedule with jobs that say their number. It is a function of its jobs and of the times that it is given, so
    /// these tests need no threads and no clock.
    struct Said {
        schedule: Schedule,
        send: Sender<u64>,
        start: Instant,
    }

    impl Said {
        fn new(workers: usize) -> (Self, std::sync::mpsc::Receiver<u64>) {
            let (send, receive) = channel();
            (Self { schedule: Schedule { workers, ..Schedule::default() }, send, start: Instant::now() }, receive)
        }

        fn give(&mut self, owner: u64, number: u64) {
            let send = self.send.clone();
            self.schedule.give(owner, Box::new(move || send.send(number).unwrap()), self.start);
        }

        /// Takes and does jobs; none of them counts as done.
        fn take(&mut self, most: usize, after: Duration) {
            for _ in 0..most {
                let Some((_, job)) = self.schedule.take(self.start + after) else { break };
                job();
            }
        }
    }

    #[test]
    fn owners_take_turns() {
        let (mut said, numbers) = Said::new(18);
        for (owner, number) in [(1, 10), (1, 11), (1, 12), (2, 20), (3, 30), (2, 21)] {
            said.give(owner, number);
        }
        said.take(9, Duration::ZERO);
        assert_eq!(numbers.try_iter().collect::<Vec<_>>(), [10, 20, 30, 11, 21, 12]);
    }

    #[test]
    fn an_owner_has_all_workers_alone_and_half_of_them_beside_another() {
        let (mut said, numbers) = Said::new(4);
        (10..20).for_each(|number| said.give(1, number));
        said.take(9, Duration::ZERO);
        assert_eq!(numbers.try_iter().count(), 4);
        let now = said.start;
        said.schedule.done(1, now);
        said.give(2, 20);
        said.take(9, Duration::ZERO);
        assert_eq!(numbers.try_iter().collect::<Vec<_>>(), [20], "owner 1 still has three workers");
        (0..3).for_each(|_| said.schedule.done(1, now));
        said.schedule.done(2, now);
        said.take(9, Duration::ZERO);
        assert_eq!(numbers.try_iter().collect::<Vec<_>>(), [14, 15], "owner 2 had work a moment ago");
        said.take(9, QUIET);
        assert_eq!(numbers.try_iter().collect::<Vec<_>>(), [16, 17], "owner 2 is quiet");
    }

    #[test]
    fn an_owner_without_jobs_leaves_nothing_behind() {
        let (mut said, _numbers) = Said::new(2);
        (10..12).for_each(|number| said.give(1, number));
        said.take(2, Duration::ZERO);
        let now = said.start;
        (0..2).for_each(|_| said.schedule.done(1, now));
        said.take(1, QUIET);
        let Schedule { waiting, turns, in_work, seen, .. } = &said.schedule;
        assert!(waiting.is_empty() && turns.is_empty() && in_work.is_empty() && seen.is_empty());
    }

    /// A worker outlives a job that panics.
    #[test]
    fn a_job_that_panics_has_no_result() {
        let workers = WorkerPool::of(1);
        for _ in 0..2 {
            let lost: Option<u8> = workers.run(1, || std::panic::resume_unwind(Box::new("the panic of a test")));
            assert_eq!(lost, None);
            assert_eq!(workers.run(1, || 7), Some(7));
        }
    }
}
