//! All tests of the crate in one program, so that shared code is compiled and linked once.
#![cfg(test)]

mod amounts;
mod anchors;
mod chunks;
mod endings;
mod entry;
mod governed_loop;
mod host_stages;
mod hostile_engine;
mod ledger;
mod lost_card;
mod measured;
mod replay;
mod session_loop;
mod support;
mod text_lane;
mod tool_calls;
