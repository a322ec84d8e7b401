//! The door before engines: a task is judged by the pre-execution filter, and the pass that its router makes is what an engine is made
//! with. There is no other way to one.

use crate::determination::Trigger;
use crate::engine::{Engine, EngineError};
use portcullis_core::state::Task;
use portcullis_prefilter::{Pass, Prefilter, Route};
use std::sync::Arc;

/// Makes the engine of a stream, by the stream's number, from the pass of its task.
pub type Engines<'g> = Box<dyn Fn(u64, Pass) -> Result<Box<dyn Engine>, EngineError> + 'g>;

/// Makes the engine that answers as one did before.
pub(crate) type Again<'g> = Box<dyn Fn() -> Box<dyn Engine> + 'g>;

/// What stands between tasks and engines.
pub(crate) enum Door<'g> {
    /// No engine was given.
    Shut,
    /// Tasks are judged.
    Filtered(Arc<Prefilter>, Engines<'g>),
    /// Nothing executes: what an engine answered is on record, and so are the notes of its stream.
    Replayed(Again<'g>),
}

/// What came of a task at the door.
pub(crate) struct Entered {
    /// Digest of the report, for the NOTE record that follows BEGIN.
    pub(crate) note: Option<[u8; 32]>,
    /// The engine, or why there is none.
    pub(crate) engine: Result<Box<dyn Engine>, (Trigger, String)>,
}

impl Door<'_> {
    pub(crate) fn enter(&self, stream: u64, task: &Task) -> Entered {
        let engine = |made: Result<Box<dyn Engine>, EngineError>| made.map_err(|e| (Trigger::Engine, e.to_string()));
        match self {
            Self::Shut => {
                let why = "the item is a task for an engine, and none was given";
                Entered { note: None, engine: engine(Err(EngineError::Gone(why.into()))) }
            }
            Self::Replayed(again) => Entered { note: None, engine: Ok(again()) },
            Self::Filtered(filter, engines) => match filter.route(&judged_bytes(task)) {
                Route::Executive(pass) => {
                    Entered { note: Some(pass.report().digest()), engine: engine(engines(stream, pass)) }
                }
                Route::NonExecutive(report) => {
                    let ids: Vec<_> =
                        report.violations().map(|v| format!("{} at {}..{}", v.id, v.start, v.end)).collect();
                    let why = format!("{}: {}", report.verdict(), ids.join(", "));
                    Entered { note: Some(report.digest()), engine: Err((Trigger::Prefilter, why)) }
                }
            },
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
