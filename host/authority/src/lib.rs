//! The parties outside the operator's reach: who certifies cards, who issues session tickets, and the witness.
//!
//! They are one crate because a small deployment runs them as one body, but they share no state: each has its key and its store.

pub mod ca;
pub mod keys;
mod shown;
mod store;
pub mod tickets;
pub mod witness;

pub use shown::ShownError;
pub use store::StoreError;
