//! The outside parties, each against honest and hostile callers.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod certificates;
mod common;
mod forged;
mod tickets;
mod witness;
