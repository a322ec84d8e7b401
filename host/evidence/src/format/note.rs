//! Witness notes. In a note, an outside party states that it saw a checkpoint, when, at which place in the order, and
//! that it accepted no other checkpoint for that place.
//!
//! A witness keeps one transparency log per card key and seat. Its origin is `portcullis/<SHA-256 of the card's public
//! key, hexadecimal>`, and `/<seat>` behind it if the seat is not 0. Each accepted checkpoint becomes one
//! [`WitnessEntry`]. The log covers all sessions of the card in order and only grows. The witness's answer,
//! `witness/<serial>.note` in a bundle, is a self-contained C2SP `tlog-proof`:
//! ```text
//! c2sp.org/tlog-proof@v1
//! extra <base64 of the entry>
//! index <number of the entry in the log>
//! <base64 of one hash of the inclusion proof, one line per hash; RFC 9162, 2.1.3>
//!
//! portcullis/<key>[/<seat>]
//! <entries in the log>
//! <base64 of its root; RFC 9162, 2.1.1>
//!
//! — <witness> <base64 of key id, time and Ed25519 signature>
//! ```
//! The entry is the data of the log's leaf. The note (C2SP `signed-note`, `tlog-checkpoint` without extension lines)
//! has only cosignatures (C2SP `tlog-cosignature`, Ed25519, type 0x04) as signatures: the witness itself keeps the log,
//! and each checkpoint contains the card's signature already. The nonce of the next heartbeat is a field of the entry,
//! not a line of the note, so the root commits to it. A witness that gives two nonces for one checkpoint has signed
//! two different logs.

mod error;
mod head;
mod proof;
mod signed;
mod view;

pub use error::{MAX_BYTES, MAX_HEAD_BYTES, MAX_HEAD_SIGNATURES, MAX_SIGNATURES, NoteError};
pub use head::{LogTreeHead, ORIGIN, decimal, hash};
pub use proof::{WitnessEntry, WitnessProof};
pub use signed::{LogKey, SignedNote, WitnessKey, cosign};
pub use view::LogView;

use crate::format::ticket::ChainId;
use crate::format::tree::{self, Hash};

/// Seconds by which the clocks of two witnesses, or of a witness and an issuer or gateway, can differ.
pub const CLOCK_SKEW: u64 = 600;

/// A checkpoint in the log of a witness, as read from a signed note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessedCheckpoint {
    /// The chain that the session is a part of.
    pub chain: ChainId,
    /// Serial of the session's ticket.
    pub ticket: u64,
    /// Serial of the checkpoint in the session.
    pub serial: u64,
    /// SHA-256 of the checkpoint's 192 bytes.
    pub checkpoint: Hash,
    /// Nonce of the next heartbeat, if the witness gives one.
    pub nonce: Option<u64>,
    /// Index of the entry in the witness's log of the chain.
    pub index: u64,
    /// Name of the first known witness that signed.
    pub witness: String,
    /// Unix second at which that witness signed.
    pub time: u64,
    /// What the note proves about the log of that witness.
    pub view: LogView,
}

/// Checks that one of `witnesses` signed the note and that its entry is in the log. Errors: the first reason to refuse
/// the note.
pub fn verify(note: &[u8], witnesses: &[WitnessKey]) -> Result<WitnessedCheckpoint, NoteError> {
    let proof = WitnessProof::parse(note)?;
    let signed = SignedNote::parse(&proof.note)?;
    let (witness, time) = signed.verify(witnesses)?;
    let head = LogTreeHead::parse(signed.text)?;
    let chain = head.chain()?;
    let leaf = tree::leaf(&proof.entry.to_bytes());
    if !tree::verify_inclusion(&leaf, proof.index, head.size, &proof.path, &head.root) {
        return Err(NoteError::Inclusion);
    }
    let view = LogView::new(witness.to_string(), chain, head.size, &proof);
    let WitnessEntry { ticket, serial, checkpoint, nonce } = proof.entry;
    Ok(WitnessedCheckpoint {
        chain,
        ticket,
        serial,
        checkpoint,
        nonce,
        index: proof.index,
        witness: witness.name().to_owned(),
        time,
        view,
    })
}

#[cfg(test)]
mod tests;
