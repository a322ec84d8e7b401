//! A step of a stream: it takes what came for it, and finds its next entry. A step may map one span, or read one
//! candidate. To take an answer of the card is not a step: it costs little, and the events must keep the order of the
//! card's records.

use super::{Next, Part, Phase, StreamMachine};
use crate::engine::{EngineError, Proposal};

/// What came for a stream.
#[derive(Debug)]
pub(crate) enum Input {
    Nothing,
    Part(Result<Part, EngineError>),
    Proposed(Result<Proposal, EngineError>),
}

impl StreamMachine {
    /// Takes the input, and returns what the stream needs next.
    pub(crate) fn step(&mut self, input: Input) -> Next {
        match input {
            Input::Nothing => {}
            Input::Part(part) => self.part(part),
            Input::Proposed(answer) => self.proposed(answer),
        }
        self.next()
    }

    /// Whether a step with this input maps or reads a text.
    pub(crate) fn maps(&self, input: &Input) -> bool {
        match input {
            Input::Nothing => matches!(self.phase, Phase::Body) && self.submitted.is_none() && self.queue.has_spans(),
            Input::Part(_) | Input::Proposed(_) => true,
        }
    }
}
