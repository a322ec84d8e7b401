//! The parties outside the operator's reach: the certificate authority of cards, the issuer of session tickets, and
//! the witness.
//!
//! They are in one crate because in a small deployment one organisation runs them all. They share no state: each has
//! its own key and its own store.

pub mod ca;
pub mod keys;
pub mod public_log;
mod shown;
mod store;
pub mod tickets;
pub mod witness;

pub use shown::ShownError;
pub use store::{EventStoreError, StoreUrl};
