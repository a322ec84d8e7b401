//! Checkpoints that somebody shows to an outside party.

use portcullis_core::wire;
use portcullis_evidence::certificate::key_id;
use portcullis_evidence::checkpoint::{Checkpoint, CheckpointError, SignedCheckpoint};

/// Why a checkpoint that was shown is not the card's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShownError {
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error("the public key is not the one that the ticket is for")]
    Key,
    #[error("the checkpoint is not signed by the card's key")]
    Signature,
}

/// The checkpoint in `message`, signed by `public_key`, whose id is `key`.
pub(crate) fn read(message: &[u8], public_key: &[u8; 32], key: &[u8; 32]) -> Result<Checkpoint, ShownError> {
    let signed = SignedCheckpoint::parse(message)?;
    if key_id(public_key) != *key {
        return Err(ShownError::Key);
    }
    if !signed.verify(public_key) {
        return Err(ShownError::Signature);
    }
    Ok(signed.checkpoint)
}

/// Whether both belong to one session in one run of one card. A reset begins another run.
pub(crate) fn same_run(a: &wire::Checkpoint, b: &wire::Checkpoint) -> bool {
    let run = |c: &wire::Checkpoint| (c.ticket_digest, c.epoch, c.boot_nonce, c.design_id, c.key_flags, c.lanes);
    run(a) == run(b)
}
