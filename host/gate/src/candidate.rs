//! A candidate: the text that an engine proposes for one place.

use portcullis_mapping::{Call, LogProbs, LogProbsError};
use serde::{Deserialize, Serialize};

/// One candidate of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    pub text: String,
    /// Quantised log-probabilities of its tokens; absent when the engine gave none. What is not a log-probability makes
    /// stage 2 reject the candidate: it is never guessed.
    pub logprobs: Option<Result<LogProbs, LogProbsError>>,
    /// Why log-probabilities that were asked for cannot be used: the descriptor says then that the uncertainty is
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs_absent: Option<String>,
    /// Present if the candidate is a tool call. Its text is then made from the call, and `text` is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
}
