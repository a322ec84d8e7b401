//! All tests of the crate in one program, so that shared code is compiled and linked only once.
#![cfg(test)]

mod cards;
mod checking_client;
mod continues;
mod driven;
mod faults;
mod guardrail;
mod json_answers;
mod leaks;
mod listener;
mod logprobs;
mod native;
mod observed;
mod operation;
mod receipts;
mod records;
mod refusals;
mod requests;
mod sessions;
mod sources;
mod support;
mod texts;
mod tickets;
mod traces;
mod ui;
mod walk;
