//! Code that the workspace's tasks share: starting programs, counting results, the pinned tools, the demo, the list of
//! proofs, Markdown pages.

#![allow(clippy::indexing_slicing, reason = "only serde_json values are indexed, and a missing key of theirs is null")]

pub mod cargo_test;
pub mod debian;
pub mod demo;
mod environment;
pub mod fleet;
pub mod pages;
pub mod parallel;
pub mod pins;
pub mod preflight;
pub mod proofs;
pub mod setup;
pub mod tally;
pub mod task;
pub mod tool;
