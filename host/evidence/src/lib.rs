//! Evidence: what a card logs and signs, how it is bundled, and how somebody who trusts neither operator nor card checks it.

pub mod bundle;
mod cbor;
pub mod checkpoint;
pub mod cose;
pub mod hex;
pub mod record;
pub mod ticket;
pub mod tree;
