//! The formats of evidence: read strictly, written in one way only.

pub mod approval;
pub mod bundle;
mod cbor;
pub mod certificate;
pub mod checkpoint;
pub mod cose;
pub mod log;
pub mod note;
mod statement;
pub mod ticket;
pub mod tree;
pub mod withholding;
