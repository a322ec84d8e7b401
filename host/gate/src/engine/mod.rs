//! Engines propose candidates. The loop gives an engine verified fields and admitted text and nothing else: no refused
//! text, no reason, not even the fact of a refusal.

mod completion;
mod deadline;
#[cfg(feature = "http-engine")]
mod http;
mod list;
mod ngram;

pub use completion::{CompletionToken, chunk_tokens, logprobs, proposal, span_end};
pub use deadline::DeadlineEngine;
#[cfg(feature = "http-engine")]
pub use http::{HttpEngine, HttpSettings, PromptTemplate};
pub use list::ListEngine;
pub use ngram::NgramEngine;

use crate::candidate::AnswerCandidate;
use serde::{Deserialize, Serialize};

/// Everything that an engine receives: the operator's words and the admitted text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineView<'a> {
    pub intent: &'a str,
    /// Facts that the operator guarantees.
    pub facts: &'a [String],
    /// The end of the admitted text, at most [`EngineView::ADMITTED_MAX`] bytes, cut at a character boundary.
    pub admitted: &'a str,
}

/// A [`EngineView`] for another thread or process, and the number of the attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalRequest {
    /// The task.
    pub intent: String,
    /// Facts that the operator guarantees.
    pub facts: Vec<String>,
    /// The end of the admitted text.
    pub admitted: String,
    /// Number of candidates that were requested at this place before.
    pub attempt: u32,
}

impl ProposalRequest {
    pub(crate) fn new(view: &EngineView<'_>, attempt: u32) -> Self {
        Self { intent: view.intent.to_owned(), facts: view.facts.to_vec(), admitted: view.admitted.to_owned(), attempt }
    }

    /// Requests a proposal from `engine`. Errors: those of the engine.
    pub fn ask(&self, engine: &mut dyn CandidateEngine) -> Result<EngineProposal, EngineError> {
        let view = EngineView { intent: &self.intent, facts: &self.facts, admitted: &self.admitted };
        engine.propose(&view, self.attempt)
    }
}

impl EngineView<'_> {
    /// Largest size of the admitted text in a view, in bytes.
    pub const ADMITTED_MAX: usize = 16 << 10;
}

/// The protocol of a model server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelServerProtocol {
    /// OpenAI-compatible `POST /v1/completions`.
    OpenAi,
    /// llama.cpp's `POST /completion`.
    Llama,
}

/// An engine's answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EngineProposal {
    Candidate(AnswerCandidate),
    /// There is no (further) candidate at this place in the text.
    Exhausted,
    End,
}

/// A message to an engine between proposals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineMove {
    /// See [`CandidateEngine::advance`].
    Advance(String),
    /// See [`CandidateEngine::roll_back`].
    RollBack(usize),
}

/// An engine failed; the stream ends with the text admitted so far.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum EngineError {
    #[error("the engine gave no answer within {millis} ms")]
    Deadline { millis: u64 },
    #[error("the engine is gone: {0}")]
    Gone(String),
    #[error("the engine's answer cannot be used: {0}")]
    Answer(String),
}

/// A source of candidates. The gate does not need access to its weights or activations. Every call must be bounded in
/// time; [`DeadlineEngine`] bounds an engine that does not bound itself.
pub trait CandidateEngine: Send {
    fn name(&self) -> String;

    /// Proposes a candidate after `view.admitted`. `attempt` is the number of candidates requested at this place
    /// before. An engine may use it only as an offset of its seed or as an index into a list: it is not feedback.
    /// Errors: [`EngineError`], which ends the stream.
    fn propose(&mut self, view: &EngineView<'_>, attempt: u32) -> Result<EngineProposal, EngineError>;

    /// The last candidate was admitted completely or in part; `admitted` is the admitted text. The next proposal
    /// follows it.
    fn advance(&mut self, admitted: &str);

    /// The last `steps` advances are undone.
    fn roll_back(&mut self, steps: usize);

    fn make(&mut self, step: EngineMove) {
        match step {
            EngineMove::Advance(admitted) => self.advance(&admitted),
            EngineMove::RollBack(steps) => self.roll_back(steps),
        }
    }
}
