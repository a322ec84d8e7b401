//! Admission of tasks: the pre-execution filter judges each task before an engine gets it. The filter's router issues a
//! [`ExecutionPass`], a permit, for an accepted task. An engine can be made only with this permit.

use crate::determination::TerminationTrigger;
use crate::engine::{CandidateEngine, EngineError};
use portcullis_core::context::StreamMode;
use portcullis_core::state::StreamTask;
use portcullis_prefilter::{ExecutionPass, InputPrefilter, InputRoute};
use std::sync::Arc;

/// Makes the engine of a stream, from the stream's number and the `ExecutionPass` of its task.
pub type Engines = Arc<dyn Fn(u64, ExecutionPass) -> Result<Box<dyn CandidateEngine>, EngineError> + Send + Sync>;

/// Makes an engine that repeats recorded answers.
pub(crate) type ReplayEngines = Arc<dyn Fn() -> Box<dyn CandidateEngine> + Send + Sync>;

#[derive(Clone)]
pub(crate) enum EngineAdmission {
    /// There is no engine.
    Closed,
    Filter(Arc<InputPrefilter>, Engines),
    /// The filter judges tasks; the caller who opens the stream runs the engine.
    Caller(Arc<InputPrefilter>),
    /// Nothing executes: a record supplies the engine's answers and the digests of NOTE entries.
    Replay(ReplayEngines, StreamMode),
}

/// Where the engine of an admitted task runs.
pub(crate) enum EngineHome {
    /// In the session loop; only for an engine that answers at once.
    Session(Box<dyn CandidateEngine>),
    /// In its own thread.
    Thread(Box<dyn CandidateEngine>),
    /// With the caller who opens the stream.
    Caller,
}

pub(crate) struct Admission {
    /// Digest of the filter's report, for the NOTE record that follows BEGIN.
    pub(crate) note: Option<[u8; 32]>,
    /// Where the engine runs, or why there is none.
    pub(crate) engine: Result<EngineHome, (TerminationTrigger, String)>,
}

impl EngineAdmission {
    /// The mode of streams with an engine.
    pub(crate) const fn mode(&self) -> StreamMode {
        match self {
            Self::Replay(_, mode) => *mode,
            Self::Closed | Self::Filter(..) | Self::Caller(_) => StreamMode::Driven,
        }
    }

    pub(crate) fn admit(&self, stream: u64, task: &StreamTask) -> Admission {
        let failed = |error: EngineError| (TerminationTrigger::Engine, error.to_string());
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
    filter: &InputPrefilter,
    task: &StreamTask,
    engine: impl FnOnce(ExecutionPass) -> Result<EngineHome, (TerminationTrigger, String)>,
) -> Admission {
    match filter.route(&judged_bytes(task)) {
        InputRoute::Executive(pass) => Admission { note: Some(pass.report().digest()), engine: engine(pass) },
        InputRoute::NonExecutive(report) => {
            let ids: Vec<_> = report.violations().map(|v| format!("{} at {}..{}", v.id, v.start, v.end)).collect();
            let why = format!("{}: {}", report.verdict(), ids.join(", "));
            Admission { note: Some(report.digest()), engine: Err((TerminationTrigger::Prefilter, why)) }
        }
    }
}

/// The bytes of a task that the filter judges: the intent, then each fact on its own line.
#[must_use]
pub fn judged_bytes(task: &StreamTask) -> Vec<u8> {
    let mut bytes = task.intent.clone().into_bytes();
    for fact in &task.facts {
        bytes.push(b'\n');
        bytes.extend_from_slice(fact.as_bytes());
    }
    bytes
}
