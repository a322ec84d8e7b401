//! What a client trusts and expects.

use portcullis_evidence::verify::{TrustedParties, VerifyOptions};

/// The keys that a client trusts, and the texts that it expects.
#[derive(Clone)]
pub struct AnswerExpectations {
    pub trust: TrustedParties,
    /// Whether simulated cards are accepted, and the time at which certificates must be valid.
    pub options: VerifyOptions,
    /// The policy's constants: texts that can replace refused text.
    pub constants: Vec<String>,
}
