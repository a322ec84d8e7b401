//! Checks a gateway's answers for its clients.
//!
//! A [`ClientQuestion`] is a request in the form that is sent to the gateway: with a nonce and a request for proofs.
//! [`ClientQuestion::check`] parses the gateway's answer and returns the bytes for the client. The card admitted every
//! sentence in these bytes in a stream of this request, no admitted sentence is missing, and the order is right. The
//! trusted keys come from the client's own folder, not from the gateway. The check is not about truth: it shows that
//! the policy admitted the text. This crate sends nothing; the caller uses an HTTP client of its own.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use portcullis_client::{AnswerError, AnswerExpectations, CheckedApi, ClientQuestion};
//! use portcullis_evidence::verify::{TrustedParties, VerifyOptions};
//!
//! let request = br#"{"model": "m", "messages": [{"role": "user", "content": "How do tides work?"}]}"#;
//! let nonce = "5d41402abc4b2a76b9719d911017c592"; // Draw a new one for each request.
//! let question = ClientQuestion::new(CheckedApi::Chat, request, nonce)?;
//! // `question.body()` goes to the gateway. Here the answer comes without proofs.
//! let answer = br#"{"choices": [], "portcullis": {"answer": "", "streams": [], "unproven": "not_yet"}}"#;
//!
//! let (trust, options) = (TrustedParties::default(), VerifyOptions::default());
//! let expected = AnswerExpectations { trust, options, constants: Vec::new() };
//! assert!(matches!(question.check(answer, &expected), Err(AnswerError::Unproven(_))));
//! # Ok(())
//! # }
//! ```

mod admitted;
mod answer;
mod events;
mod expectations;
mod question;

pub use admitted::AdmissionError;
pub use answer::{AnswerError, CheckedAnswer};
pub use expectations::AnswerExpectations;
pub use question::{CheckedApi, ClientQuestion, QuestionError};
