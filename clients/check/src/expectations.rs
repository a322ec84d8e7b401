//! What a client trusts and expects.

use portcullis_evidence::verify::{Options, Trust};

/// The keys that a client trusts, and the texts that it expects.
#[derive(Clone)]
pub struct Expectations {
    pub trust: Trust,
    /// Whether simulated cards are accepted, and the time at which certificates must be valid.
    pub options: Options,
    /// The policy's constants: texts that can replace refused text.
    pub constants: Vec<String>,
}
