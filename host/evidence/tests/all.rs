//! All tests of the crate in one program, so that shared code is compiled and linked only once.
#![cfg(test)]

mod attacks;
mod cost;
mod crash;
mod fields;
mod formats;
mod lanes;
mod logs;
mod merkle;
mod profiles;
mod reread;
mod simulation;
mod stream_proofs;
mod text_lane;
mod texts;
mod versions;
mod withhold;
