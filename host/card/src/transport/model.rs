//! The card in Rust: the same registers, rings, lifecycle and answers as the RTL, with [`portcullis_policy::evaluate`]
//! as its banks.
//!
//! It works synchronously: what a register write allows to happen has happened when the write returns. So it shows one
//! of the orders in which the RTL may work, never a partial one. Its tick counts register accesses and entries, not
//! clocks.

mod capacity;
mod card;
mod credit;
mod decode;
mod entry;
mod host_memory;
mod lane;
mod lifecycle;
mod tables;

pub use capacity::{ENTROPY_ROWS, MAX_STREAMS, POLICY_ROWS};
pub use card::ModelCard;
