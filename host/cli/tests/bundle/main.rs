//! Bundles on the Verilated card, end to end: a bundle of `run --bundle` verifies and replays, and a changed bundle
//! does not.
#![cfg(feature = "sim")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at its first surprise, its helpers included"
)]

mod attest;
mod compose;
mod reader;
mod replay;
mod scene;
mod session;
mod trial;
