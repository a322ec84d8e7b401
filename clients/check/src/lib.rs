//! What a client of a gateway can check of its answers.
//!
//! A [`Question`] is a request as it goes to the gateway: with a nonce, and asking for the proofs of its answer. [`Question::check`] takes the
//! gateway's answer and gives the bytes that a client may see: every sentence in them is one that the card admitted in a stream of this very
//! request, none that was admitted is missing, and all stand in their order. Whom to believe comes from a folder of the client's own, never
//! from the gateway.

mod admitted;
mod answer;
mod events;
mod expectations;
mod question;

pub use admitted::AdmissionError;
pub use answer::{AnswerError, CheckedAnswer};
pub use expectations::Expectations;
pub use question::{Api, Question, QuestionError};
