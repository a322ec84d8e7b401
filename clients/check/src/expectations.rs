//! The trust and the expectations of a client.

use portcullis_evidence::verify::{Options, Trust};

/// What a client believes and expects.
#[derive(Clone)]
pub struct Expectations {
    pub trust: Trust,
    /// Whether simulated cards count, and the time at which certificates are looked at.
    pub options: Options,
    /// The policy's own texts in place of refused ones.
    pub constants: Vec<String>,
}
