//! The text scan of the card against the software walk: the same classes, the same UTF-8 and the same state behind
//! every byte, over made packages and the shipped policies. And the lane, which reads texts from windows, against a
//! model of what it has to answer.
//!
//! `PORTCULLIS_LONG` makes the runs longer.
#![cfg(test)]

mod lane;
mod load;
#[path = "../../../../host/lane/tests/lane/made.rs"]
#[allow(dead_code, reason = "the lane's own tests use more of it")]
mod made;
#[path = "../../../../host/lane/tests/lane/package.rs"]
#[allow(dead_code, reason = "the lane's own tests use more of it")]
mod package;
mod scan;
mod stream;
mod windows;

fn is_long() -> bool {
    std::env::var_os("PORTCULLIS_LONG").is_some()
}
