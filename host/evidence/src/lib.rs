//! Evidence: what a card logs and signs, how it is bundled, and how somebody who trusts neither operator nor card checks it.

pub mod approval;
pub mod bundle;
mod cbor;
pub mod certificate;
pub mod checkpoint;
pub mod cose;
pub mod extract;
pub mod note;
pub mod receipt;
pub mod record;
pub mod report;
pub mod series;
pub mod sim;
mod statement;
pub mod ticket;
pub mod tree;
pub mod verify;
pub mod withholding;

pub use portcullis_core::hex;
