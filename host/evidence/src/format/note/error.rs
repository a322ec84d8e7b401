//! Why a note is not believed.

/// Largest note in bytes.
pub const MAX_BYTES: usize = 16 * 1024;
/// Most signatures on a note.
pub const MAX_SIGNATURES: usize = 16;

/// Why a note is not believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// Longer than [`MAX_BYTES`], or signed more than [`MAX_SIGNATURES`] times.
    #[error("the note is too long")]
    Oversize,
    /// Not in the format named.
    #[error("the note is not a {0}")]
    Format(&'static str),
    /// A key name or verifier key.
    #[error("`{0}` is not a {1}")]
    Key(String, &'static str),
    /// No known witness signed.
    #[error("no known witness signed the note")]
    UnknownWitness,
    /// A signature that claims to be a known witness's is not.
    #[error("the signature of the witness `{0}` does not verify")]
    Signature(String),
    /// The entry is not in the log.
    #[error("the entry is not included in the log that the note is of")]
    Inclusion,
    /// A log that is not one of checkpoints of a card.
    #[error("the note's origin is not that of a card's log")]
    Origin,
}
