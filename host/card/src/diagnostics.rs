//! Diagnostics of a card and its machine for an operator: self-test, benchmark, doctor.

pub mod bench;
pub mod doctor;
mod known;
pub mod selftest;
