//! Admission to engines: a task is judged by the pre-execution filter, and only the pass that its router makes can make
//! an engine.

use crate::determination::Trigger;
use crate::engine::{Engine, EngineError};
use portcullis_core::context::Mode;
use portcullis_core::state::Task;
use portcullis_prefilter::{Pass, Prefilter, Route};
use std::sync::Arc;

/// Makes the engine of a stream, by the stream's number, from the pass of its task.
pub type Engines = Arc<dyn Fn(u64, Pass) -> Result<Box<dyn Engine>, EngineError> + Send + Sync>;

/// Makes the engine that answers as one did before.
pub(crate) type ReplayEngines = Arc<dyn Fn() -> Box<dyn Engine> + Send + Sync>;

#[derive(Clone)]
pub(crate) enum EngineAdmission {
    /// No engine was given.
    Closed,
    Filter(Arc<Prefilter>, Engines),
    /// Tasks are judged; whoever opens the stream has the engine.
    Caller(Arc<Prefilter>),
    /// Nothing executes: the engine's answers and the notes of its stream come from the record.
    Replay(ReplayEngines, Mode),
}

/// The place where the engine of an admitted task is asked.
pub(crate) enum EngineHome {
    /// The session: it never waits for this one.
    Session(Box<dyn Engine>),
    /// A thread of its own.
    Thread(Box<dyn Engine>),
    /// Whoever opens the stream.
    Caller,
}

pub(crate) struct Admission {
    /// Digest of the report, for the NOTE record that follows BEGIN.
    pub(crate) note: Option<[u8; 32]>,
    /// Where the engine is, or why there is none.
    pub(crate) engine: Result<EngineHome, (Trigger, String)>,
}

impl EngineAdmission {
    /// How the engine of a task is driven.
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

/// The bytes of a task that the filter judges: the intent, then each fact on a line of its own.
#[must_use]
pub fn judged_bytes(task: &Task) -> Vec<u8> {
    let mut bytes = task.intent.clone().into_bytes();
    for fact in &task.facts {
        bytes.push(b'\n');
        bytes.extend_from_slice(fact.as_bytes());
    }
    bytes
}
