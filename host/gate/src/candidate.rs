//! A candidate: text or a tool call that an engine proposes.

use portcullis_mapping::{EngineToolCall, LogProbs, LogProbsError};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerCandidate {
    pub text: String,
    /// Quantised log-probabilities of the candidate's tokens; `None` if the engine gave none. Stage 2 rejects a
    /// candidate with invalid log-probabilities.
    pub logprobs: Option<Result<LogProbs, LogProbsError>>,
    /// Why requested log-probabilities cannot be used. The descriptor then has unknown uncertainty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs_absent: Option<String>,
    /// Set if the candidate is a tool call. Its text is then made from the call, and `text` is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<EngineToolCall>,
}
