//! The APIs of the gateway, one room for each kind of caller:
//!
//! - clients of a model: [`openai`] and [`anthropic`]. [`dialect`] lists these APIs, and [`exchange`] answers in them.
//! - gateways and orchestrators that show the text themselves: [`guardrail`];
//! - callers that have the text themselves, with the gate's own words: [`native`].

mod anthropic;
pub(crate) mod dialect;
mod event;
pub(crate) mod exchange;
mod fields;
pub(crate) mod guardrail;
pub(crate) mod native;
mod openai;
pub(crate) mod reply;
