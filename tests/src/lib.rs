//! End-to-end tests across crates; see the `tests` folder.
//!
//! The library part makes cases: what it generates is the same for every test that asks for the same seed.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test support: a broken generator must stop the test"
)]

pub mod policies;
pub mod random;
pub mod snapshot;
