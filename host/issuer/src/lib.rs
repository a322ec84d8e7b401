//! A running issuer of session tickets: an HTTP service over the store of `portcullis-authority`, and its client.
//!
//! A client asks for a ticket, and reports the opening and the closing checkpoint of its session. Every request can be
//! repeated after a lost answer: it then changes nothing, and gets the same answer. The operator's [`config`] lists the
//! cards, seats and policies that get tickets, and the terms of these tickets.

pub mod client;
pub mod config;
mod refusal;
mod server;
mod service;
pub mod wire;

pub use server::{IssuerServeError, serve};
