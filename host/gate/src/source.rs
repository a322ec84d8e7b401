//! What a stream is made of.

use crate::engine::{EngineError, Proposal};
use portcullis_core::state::Task;
use portcullis_mapping::{Call, LogProbs, LogProbsError};
use serde::{Deserialize, Serialize};

/// One text, or one list of steps with their alternatives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Item {
    /// A whole text, generated before: it is judged, mode `recorded`.
    Text {
        /// Identity.
        id: String,
        /// The text.
        text: String,
        /// What it was written for.
        task: Task,
    },
    /// Steps, each with its alternatives in the engine's order: mode `driven`.
    Candidates {
        /// Identity.
        id: String,
        /// Alternatives of each step; none is empty.
        steps: Vec<Vec<Candidate>>,
        /// What they were proposed for.
        task: Task,
    },
    /// A text that was judged while it was written, in chunks, and kept from readers until then: mode `held`.
    Given {
        /// Identity.
        id: String,
        /// Chunks and tool calls in the order in which they came, and how they ended.
        given: Vec<Result<Proposal, EngineError>>,
        /// What it was written for.
        task: Task,
    },
    /// A task for an engine: mode `driven`.
    Prompt {
        /// Identity.
        id: String,
        /// What the engine is asked to do.
        task: Task,
    },
}

/// One candidate of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The text.
    pub text: String,
    /// Quantised log-probabilities of its tokens; absent when the engine gave none. What is no log-probability makes stage 2 reject
    /// the candidate: it is never guessed.
    pub logprobs: Option<Result<LogProbs, LogProbsError>>,
    /// Why log-probabilities that were asked for cannot be used: the descriptor says then that the uncertainty is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs_absent: Option<String>,
    /// The tool call that the candidate is; its text is made from it then, and what stands in `text` is not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
}
