//! The evidence: the records and signatures of a card, the bundle format, and the verifier for an outsider who trusts
//! neither the operator nor the card.

pub mod extract;
mod format;
pub mod receipt;
pub mod sim;
pub mod stream_proof;
pub mod verify;

pub use format::{
    approval, bundle, certificate, checkpoint, cose, log, note, public_log, signing, ticket, tree, withholding,
};
pub use portcullis_core::hex;
