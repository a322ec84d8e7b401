//! Compares the card's text scan with the software walk: classes, UTF-8 validity and state after every byte, for
//! generated packages and for the shipped policies.
//!
//! `PORTCULLIS_LONG` makes the runs longer.
#![cfg(test)]

mod load;
#[path = "../../../../host/lane/tests/lane/made.rs"]
#[allow(dead_code, reason = "the lane's own tests use more of it")]
mod made;
#[path = "../../../../host/lane/tests/lane/package.rs"]
#[allow(dead_code, reason = "the lane's own tests use more of it")]
mod package;
mod scan;
mod stream;

fn is_long() -> bool {
    std::env::var_os("PORTCULLIS_LONG").is_some()
}
