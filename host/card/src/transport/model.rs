//! The card in Rust: registers, rings, lifecycle and answers as in the RTL, with [`portcullis_image`] as its
//! banks.
//!
//! It works synchronously: all effects of a register write are complete when the write returns. So it shows one of the
//! possible orders of the RTL, and never a state in between. Its tick counts register accesses and entries, not clocks.

mod capacity;
mod card;
mod credit;
mod decode;
mod entry;
mod host_memory;
mod lane;
mod lifecycle;
mod tables;
mod text;

pub use capacity::{ENTROPY_ROWS, MAX_STREAMS, POLICY_ROWS};
pub use card::ModelCard;
