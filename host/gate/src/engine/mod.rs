//! Engines propose candidates. The loop shows an engine verified fields and admitted text, and nothing else: neither
//! refused text nor a reason, nor the fact that something was refused.

mod completion;
mod deadline;
mod http;
mod list;
mod ngram;

pub use completion::{Token, chunk_tokens, logprobs, proposal, span_end};
pub use deadline::DeadlineEngine;
pub use http::{HttpEngine, HttpSettings, Template};
pub use list::ListEngine;
pub use ngram::NgramEngine;

use crate::candidate::Candidate;
use serde::{Deserialize, Serialize};

/// All that an engine may know: the operator's words and the admitted text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    pub intent: &'a str,
    /// Facts that the operator vouches for.
    pub facts: &'a [String],
    /// The end of the admitted text, at most [`View::ADMITTED_MAX`] bytes, cut at a character.
    pub admitted: &'a str,
}

/// A [`View`] that is sent to another thread or process, and which of the candidates at this place is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalRequest {
    /// The task.
    pub intent: String,
    /// Facts that the operator vouches for.
    pub facts: Vec<String>,
    /// The end of the admitted text.
    pub admitted: String,
    /// Candidates asked for at this place before.
    pub attempt: u32,
}

impl ProposalRequest {
    pub(crate) fn new(view: &View<'_>, attempt: u32) -> Self {
        Self { intent: view.intent.to_owned(), facts: view.facts.to_vec(), admitted: view.admitted.to_owned(), attempt }
    }

    /// Asks `engine`.
    ///
    /// # Errors
    /// The engine's.
    pub fn ask(&self, engine: &mut dyn Engine) -> Result<Proposal, EngineError> {
        let view = View { intent: &self.intent, facts: &self.facts, admitted: &self.admitted };
        engine.propose(&view, self.attempt)
    }
}

impl View<'_> {
    /// Most bytes of admitted text that an engine is shown.
    pub const ADMITTED_MAX: usize = 16 << 10;
}

/// Which protocol the server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OpenAI-compatible `POST /v1/completions`.
    OpenAi,
    /// llama.cpp's `POST /completion`.
    Llama,
}

impl Protocol {
    const fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "/v1/completions",
            Self::Llama => "/completion",
        }
    }
}

/// The proposal of an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proposal {
    Candidate(Candidate),
    /// No (further) candidate at this place.
    Exhausted,
    End,
}

/// A message to an engine between proposals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// See [`Engine::advance`].
    Advance(String),
    /// See [`Engine::roll_back`].
    RollBack(usize),
}

/// An engine failed: the stream ends with the text admitted so far.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum EngineError {
    #[error("the engine gave no answer within {millis} ms")]
    Deadline { millis: u64 },
    #[error("the engine is gone: {0}")]
    Gone(String),
    #[error("the engine's answer cannot be used: {0}")]
    Answer(String),
}

/// Something that proposes candidates. It needs no access to weights or activations, and every call is bounded in time:
/// [`DeadlineEngine`] bounds one that does not bound itself.
pub trait Engine: Send {
    fn name(&self) -> String;

    /// Proposes a candidate to follow `view.admitted`. `attempt` counts the candidates asked for at this place, from 0.
    /// It is not feedback: an engine may use it only as an offset of its seed or as a place in a list. Errors:
    /// [`EngineError`] ends the stream.
    fn propose(&mut self, view: &View<'_>, attempt: u32) -> Result<Proposal, EngineError>;

    /// The last candidate was admitted, wholly or in the parts that `admitted` holds; the next proposal follows it.
    fn advance(&mut self, admitted: &str);

    /// The last `steps` advances are taken back.
    fn roll_back(&mut self, steps: usize);

    fn make(&mut self, step: Move) {
        match step {
            Move::Advance(admitted) => self.advance(&admitted),
            Move::RollBack(steps) => self.roll_back(steps),
        }
    }
}
