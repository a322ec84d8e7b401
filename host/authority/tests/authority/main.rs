//! The outside parties, with honest and hostile callers.
#![cfg(test)]

mod certificates;
mod common;
mod cosign;
mod forged;
mod public_log;
mod rate;
mod stores;
mod tickets;
mod witness;
mod witness_http;
