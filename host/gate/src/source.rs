//! The inputs of streams.

use crate::candidate::AnswerCandidate;
use crate::engine::{EngineError, EngineProposal};
use portcullis_core::state::StreamTask;
use serde::{Deserialize, Serialize};

/// The input of one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamInput {
    /// A text that was generated before; it is judged in mode `recorded`.
    Text { id: String, text: String, task: StreamTask },
    /// Steps, each with its alternatives in the engine's order; mode `driven`.
    Candidates {
        id: String,
        /// Alternatives of each step; each step has at least one.
        steps: Vec<Vec<AnswerCandidate>>,
        task: StreamTask,
    },
    /// A text that was judged in chunks while it arrived, and whose chunks are known; mode `held`.
    Given {
        id: String,
        /// Chunks and tool calls in order of arrival, and the end.
        given: Vec<Result<EngineProposal, EngineError>>,
        task: StreamTask,
    },
    /// A task for an engine; mode `driven`.
    Prompt {
        id: String,
        /// The task that the filter judges first.
        task: StreamTask,
    },
}
