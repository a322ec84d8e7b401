//! A step of a stream: it takes what came for it, and finds its next entry. A step may map one span, or read one
//! candidate. To take an answer of the card is not a step: it costs little, and the events must keep the order of the
//! card's records.

use super::{HeldStreamPart, Next, Phase, StreamMachine};
use crate::engine::{EngineError, EngineProposal};

/// What came for a stream.
#[derive(Debug)]
pub(crate) enum StreamMachineInput {
    Nothing,
    Part(Result<HeldStreamPart, EngineError>),
    Proposed(Result<EngineProposal, EngineError>),
}

impl StreamMachine {
    /// Takes the input, and returns what the stream needs next.
    pub(crate) fn step(&mut self, input: StreamMachineInput) -> Next {
        match input {
            StreamMachineInput::Nothing => {}
            StreamMachineInput::Part(part) => self.part(part),
            StreamMachineInput::Proposed(answer) => self.proposed(answer),
        }
        self.next()
    }

    /// Whether a step with this input maps or reads a text.
    pub(crate) fn maps(&self, input: &StreamMachineInput) -> bool {
        match input {
            StreamMachineInput::Nothing => {
                matches!(self.phase, Phase::Body) && self.submitted.is_none() && self.queue.has_spans()
            }
            StreamMachineInput::Part(_) | StreamMachineInput::Proposed(_) => true,
        }
    }
}
