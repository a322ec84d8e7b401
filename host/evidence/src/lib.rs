//! The evidence: what a card logs and signs, how it is bundled, and how an outsider who trusts neither operator nor
//! card checks it.

pub mod extract;
mod format;
pub mod receipt;
pub mod sim;
pub mod stream_proof;
pub mod verify;

pub use format::{approval, bundle, certificate, checkpoint, cose, log, note, ticket, tree, withholding};
pub use portcullis_core::hex;
