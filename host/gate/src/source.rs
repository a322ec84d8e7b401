//! The sources of a stream.

use crate::candidate::Candidate;
use crate::engine::{EngineError, Proposal};
use portcullis_core::state::Task;
use serde::{Deserialize, Serialize};

/// One text, or one list of steps with their alternatives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Item {
    /// A whole text, generated before: it is judged, mode `recorded`.
    Text { id: String, text: String, task: Task },
    /// Steps, each with its alternatives in the engine's order: mode `driven`.
    Candidates {
        id: String,
        /// Alternatives of each step; none is empty.
        steps: Vec<Vec<Candidate>>,
        task: Task,
    },
    /// A text that was judged while it was written, in chunks, and kept from readers until then: mode `held`.
    Given {
        id: String,
        /// Chunks and tool calls in the order in which they came, and how they ended.
        given: Vec<Result<Proposal, EngineError>>,
        task: Task,
    },
    /// A task for an engine: mode `driven`.
    Prompt {
        id: String,
        /// The task of the engine.
        task: Task,
    },
}
