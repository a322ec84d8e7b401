//! Checks of a gateway's answers, for its clients.
//!
//! A [`Question`] is a request as it goes to the gateway: with a nonce, and asking for the proofs of its answer.
//! [`Question::check`] takes the gateway's answer and returns the bytes that a client may see. The card admitted every
//! sentence in them in a stream of this very request, no admitted sentence is missing, and all are in their order. The
//! trusted keys come from a folder of the client's own, never from the gateway.

mod admitted;
mod answer;
mod events;
mod expectations;
mod question;

pub use admitted::AdmissionError;
pub use answer::{AnswerError, CheckedAnswer};
pub use expectations::Expectations;
pub use question::{Api, Question, QuestionError};
