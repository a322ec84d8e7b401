//! Compares the card's text scan with the software walk over generated packages and the shipped policies: classes,
//! UTF-8 and state are equal after every byte, or, in one half of the entries, at the end. Compares the text lane,
//! which reads texts from windows, with a model of its answers. Inverts bits of the memories.
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
mod upsets;
mod windows;

fn is_long() -> bool {
    std::env::var_os("PORTCULLIS_LONG").is_some()
}
