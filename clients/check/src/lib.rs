//! Checks a gateway's answers for its clients.
//!
//! A [`ClientQuestion`] is a request in the form that is sent to the gateway: with a nonce and a request for proofs.
//! [`ClientQuestion::check`] parses the gateway's answer and returns the bytes for the client. The card admitted every
//! sentence in these bytes in a stream of this request, no admitted sentence is missing, and the order is right. The
//! trusted keys come from the client's own folder, not from the gateway.

mod admitted;
mod answer;
mod events;
mod expectations;
mod question;

pub use admitted::AdmissionError;
pub use answer::{AnswerError, CheckedAnswer};
pub use expectations::AnswerExpectations;
pub use question::{CheckedApi, ClientQuestion, QuestionError};
