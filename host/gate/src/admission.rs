//! Admission of tasks: the pre-execution filter judges each task before an engine gets it. The filter's router issues a
//! [`Pass`], a permit, for an accepted task. An engine can be made only with this permit.

use crate::determination::Trigger;
use crate::engine::{Engine, EngineError};
use portcullis_core::context::Mode;
use portcullis_core::state::Task;
use portcullis_prefilter::{Pass, Prefilter, Route};
use std::sync::Arc;

/// Makes the engine of a stream, from the stream's number and the `Pass` of its task.
pub type Engines = Arc<dyn Fn(u64, Pass) -> Result<Box<dyn Engine>, EngineError> + Send + Sync>;

/// Makes an engine that repeats recorded answers.
pub(crate) type ReplayEngines = Arc<dyn Fn() -> Box<dyn Engine> + Send + Sync>;

#[derive(Clone)]
pub(crate) enum EngineAdmission {
    /// There is no engine.
    Closed,
    Filter(Arc<Prefilter>, Engines),
    /// The filter judges tasks; the caller who opens the stream runs the engine.
    Caller(Arc<Prefilter>),
    /// Nothing executes: a record supplies the engine's answers and the digests of NOTE entries.
    Replay(ReplayEngines, Mode),
}

/// Where the engine of an admitted task runs.
pub(crate) enum EngineHome {
    /// In the session loop; only for an engine that answers at once.
    Session(Box<dyn Engine>),
    /// In its own thread.
    Thread(Box<dyn Engine>),
    /// With the caller who opens the stream.
    Caller,
}

pub(crate) struct Admission {
    /// Digest of the filter's report, for the NOTE record that follows BEGIN.
    pub(crate) note: Option<[u8; 32]>,
    /// Where the engine runs, or why there is none.
    pub(crate) engine: Result<EngineHome, (Trigger, String)>,
}

impl EngineAdmission {
    /// The mode of streams with an engine.
    pub(crate) const fn mode(&self) -> Mode {
        match self {
            Self::Replay(_, mode) => *mode,
            Self::Closed | Self::Filter(..) | Self::Caller(_) => Mode::Driven,
        }
    }

    pub(crate) fn admit(&self, stream: u64, task: &Task) -> Admission {
        let failed = |error: EngineError| (Trigger::Engine, error.to_string());
        match self {
            Self::Closed => {
                let why = "the item is a task for an engine, and none was given";
                Admission { note: None, engine: Err(failed(EngineError::Gone(why.into()))) }
            }
            Self::Replay(again, _) => Admission { note: None, engine: Ok(EngineHome::Session(again())) },
            Self::Filter(filter, engines) => {
                judge(filter, task, |pass| engines(stream, pass).map(EngineHome::Thread).map_err(failed))
            }
            Self::Caller(filter) => judge(filter, task, |_| Ok(EngineHome::Caller)),
        }
    }
}

fn judge(
    filter: &Prefilter,
    task: &Task,
    engine: impl FnOnce(Pass) -> Result<EngineHome, (Trigger, String)>,
) -> Admission {
    match filter.route(&judged_bytes(task)) {
        Route::Executive(pass) => Admission { note: Some(pass.report().digest()), engine: engine(pass) },
        Route::NonExecutive(report) => {
            let ids: Vec<_> = report.violations().map(|v| format!("{} at {}..{}", v.id, v.start, v.end)).collect();
            let why = format!("{}: {}", report.verdict(), ids.join(", "));
            Admission { note: Some(report.digest()), engine: Err((Trigger::Prefilter, why)) }
        }
    }
}

/// The bytes of a task that the filter judges: the intent, then each fact on its own line.
#[must_use]
pub fn judged_bytes(task: &Task) -> Vec<u8> {
    let mut bytes = task.intent.clone().into_bytes();
    for fact in &task.facts {
        bytes.push(b'\n');
        bytes.extend_from_slice(fact.as_bytes());
    }
    bytes
}
