//! Bundles, end to end on the Verilated card: what `run --bundle` writes verifies and replays; what is changed in it
//! does not.
#![cfg(feature = "sim")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at its first surprise, its helpers included"
)]

mod compose;
mod reader;
mod replay;
mod scene;
mod session;
mod trial;
