//! A running issuer of session tickets: an HTTP service over the store of `portcullis-authority`, and its client.
//!
//! A client ([`client::IssuerClient`]) asks for a ticket, and reports the opening and the closing checkpoint of its
//! session. Every request can be repeated after a lost answer: it then changes nothing, and gets the same answer. The
//! operator's [`config`] lists the cards, seats and policies that get tickets, and the terms of these tickets.
//! [`serve`] runs the service. It does not encrypt, so it listens on a loopback address, behind a server with TLS.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (key, digest) = ("11".repeat(32), "22".repeat(32));
//! use portcullis_issuer::config::IssuerConfig;
//!
//! let text = format!(
//!     r#"
//!     client = [{{ name = "gateway", token = "gateway.token" }}]
//!     card = [{{ name = "gate-17", public_key = "{key}" }}]
//!     policy = [{{ name = "pii", digest = "{digest}", hours = 12 }}]
//!     "#
//! );
//! let config = IssuerConfig::parse(&text)?;
//! assert!(config.listen.ip().is_loopback() && config.cards[0].seats.contains(&0));
//! assert!(IssuerConfig::parse(&format!("listen = \"0.0.0.0:8630\"\n{text}")).is_err());
//! # Ok(())
//! # }
//! ```

pub mod client;
pub mod config;
mod refusal;
mod server;
mod service;
pub mod wire;

pub use server::{IssuerServeError, serve};
