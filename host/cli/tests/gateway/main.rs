//! `portcullis serve` as a process.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod cards;
mod checking;
mod clients;
mod continued;
mod disk;
mod peers;
mod process;
mod proxied;
mod reload;
#[path = "../../../gateway/tests/support/mod.rs"]
mod support;
mod tutorial;
