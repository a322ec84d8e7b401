//! The formats of the evidence. Each content has exactly one valid encoding; readers refuse every other encoding.

pub mod approval;
pub mod bundle;
mod cbor;
pub mod certificate;
pub mod checkpoint;
pub mod cose;
pub mod log;
pub mod note;
pub mod public_log;
pub mod signing;
mod statement;
pub mod ticket;
pub mod tree;
pub mod withholding;
