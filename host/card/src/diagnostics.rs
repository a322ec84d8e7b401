//! What an operator asks of a card and of its machine: known answers, speed, a doctor's questions.

pub mod bench;
pub mod doctor;
mod known;
pub mod selftest;
