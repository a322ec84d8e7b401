//! The reasons to refuse a note.

use crate::format::signing::SigningError;

/// Largest note in bytes.
pub const MAX_BYTES: usize = 16 * 1024;
/// Largest number of signatures on a note.
pub const MAX_SIGNATURES: usize = 16;
/// Largest signed head of a log in bytes. It can have many more cosignatures than a note about a checkpoint.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Largest number of signatures on a head: those of the log, and of the witnesses that a policy can name.
pub const MAX_HEAD_SIGNATURES: usize = 80;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    #[error("the note is too long")]
    Oversize,
    #[error("the note is not a {0}")]
    Format(&'static str),
    #[error("`{0}` is not a {1}")]
    Key(String, &'static str),
    #[error("no known witness signed the note")]
    UnknownWitness,
    #[error("the signature of the witness `{0}` does not verify")]
    Signature(String),
    #[error("the signature of the log `{0}` does not verify")]
    LogSignature(String),
    #[error("the entry is not included in the log that the note is of")]
    Inclusion,
    #[error("the note's origin is not that of a card's log")]
    Origin,
    #[error(transparent)]
    Signing(#[from] SigningError),
}
