//! A step of a stream. It may take as long as the mapping of a span or the reading of a text.

use super::{Next, Part, Seat, StreamMachine, StreamRequest};
use crate::engine::{EngineError, Proposal};
use portcullis_card::Outcome;
use portcullis_core::wire::Record;

pub(crate) enum Step {
    Open(Box<StreamRequest>, Seat),
    /// Nothing came; the stream goes on.
    Continue,
    /// The card's answer.
    Answer(Outcome, Option<Box<Record>>),
    Part(Result<Part, EngineError>),
    Proposed(Result<Proposal, EngineError>),
    /// A defect of the mapping.
    #[cfg(test)]
    Panic,
}

impl Step {
    /// Does the step; returns the stream and what it needs next. `machine` is `None` only for [`Step::Open`].
    pub(crate) fn run(self, machine: Option<Box<StreamMachine>>) -> Option<(Box<StreamMachine>, Next)> {
        #[cfg(test)]
        if matches!(self, Self::Panic) {
            std::panic::resume_unwind(Box::new("a test's panic"));
        }
        let mut machine = match (self, machine) {
            (Self::Open(request, seat), _) => Box::new(StreamMachine::new(*request, seat)),
            (task, Some(mut machine)) => {
                match task {
                    Self::Open(..) | Self::Continue => {}
                    Self::Answer(outcome, record) => machine.answer(outcome, record.as_deref()),
                    Self::Part(part) => machine.part(part),
                    Self::Proposed(answer) => machine.proposed(answer),
                    #[cfg(test)]
                    Self::Panic => {}
                }
                machine
            }
            (_, None) => return None,
        };
        let next = machine.next();
        Some((machine, next))
    }

    /// Does the step only so far that the stream can be ended: opens it, or hands it the card's answer.
    pub(crate) fn last(self, machine: Option<Box<StreamMachine>>) -> Option<Box<StreamMachine>> {
        match (self, machine) {
            (Self::Open(request, seat), _) => Some(Box::new(StreamMachine::new(*request, seat))),
            (Self::Answer(outcome, record), Some(mut machine)) => {
                machine.answer(outcome, record.as_deref());
                Some(machine)
            }
            (_, machine) => machine,
        }
    }
}
