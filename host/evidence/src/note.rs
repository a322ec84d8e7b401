//! Witness notes.

use crate::hex;
use ed25519_dalek::{Signature, VerifyingKey};

/// What a witness vouches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cosigned {
    /// Serial of the checkpoint.
    pub serial: u64,
    /// SHA-256 of its 192 bytes.
    pub checkpoint: [u8; 32],
    /// Nonce of the next heartbeat.
    pub nonce: u64,
    /// Unix seconds.
    pub time: u64,
}

/// Not a note of a known witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no note of a known witness")]
pub struct NoteError;

/// What a note says, once one of `witnesses` has signed it.
///
/// # Errors
/// [`NoteError`].
pub fn verify(note: &[u8], witnesses: &[VerifyingKey]) -> Result<Cosigned, NoteError> {
    let text = std::str::from_utf8(note).map_err(|_| NoteError)?;
    let (body, signature) = text.rsplit_once('\n').ok_or(NoteError)?;
    let signature = Signature::from_bytes(&hex::decode(signature).ok_or(NoteError)?);
    if !witnesses.iter().any(|key| key.verify_strict(body.as_bytes(), &signature).is_ok()) {
        return Err(NoteError);
    }
    let mut lines = body.split(' ');
    let mut number = || lines.next()?.parse().ok();
    let (serial, nonce, time) = (number(), number(), number());
    let checkpoint = lines.next().and_then(hex::decode);
    match (serial, nonce, time, checkpoint) {
        (Some(serial), Some(nonce), Some(time), Some(checkpoint)) => Ok(Cosigned { serial, checkpoint, nonce, time }),
        _ => Err(NoteError),
    }
}
