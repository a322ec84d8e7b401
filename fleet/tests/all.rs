//! One program for all tests, so that the engine is linked once.
#![cfg(test)]

mod buckets;
#[cfg(feature = "cluster")]
mod cluster;
mod contradictions;
mod damage;
mod program;
mod public_log;
mod support;
mod tables;
