//! Checks checkpoints that a client presents to an outside party.

use portcullis_core::wire;
use portcullis_evidence::certificate::key_id;
use portcullis_evidence::checkpoint::{CheckpointError, CoseCheckpoint, ParsedCheckpoint};

/// The reasons to refuse a presented checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShownError {
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error("the public key is not the one that the ticket is for")]
    Key,
    #[error("the checkpoint is not signed by the card's key")]
    Signature,
}

/// Parses a checkpoint and checks its signature. `key` is the id of `public_key`.
pub(crate) fn read(message: &[u8], public_key: &[u8; 32], key: &[u8; 32]) -> Result<ParsedCheckpoint, ShownError> {
    let signed = CoseCheckpoint::parse(message)?;
    if key_id(public_key) != *key {
        return Err(ShownError::Key);
    }
    if !signed.verify(public_key) {
        return Err(ShownError::Signature);
    }
    Ok(signed.checkpoint)
}

/// Whether two checkpoints belong to the same session in the same run of a card. A reset starts a new run.
pub(crate) fn same_run(a: &wire::Checkpoint, b: &wire::Checkpoint) -> bool {
    let run = |c: &wire::Checkpoint| (c.ticket_digest, c.epoch, c.boot_nonce, c.design_id, c.key_flags, c.lanes);
    run(a) == run(b)
}
