//! Evidence: what a card logs and signs, how it is bundled, and how somebody who trusts neither operator nor card checks it.

mod cbor;
pub mod certificate;
pub mod checkpoint;
pub mod cose;
pub mod hex;
pub mod note;
pub mod ticket;
pub mod tree;
