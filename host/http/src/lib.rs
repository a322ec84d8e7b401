//! HTTP/1.1 within limits: every wait has an end, and every message a largest size.
//!
//! `server` is the listener of the gateway, of the issuer and of the witness; `client` reads the answers of engines,
//! issuers and witnesses. Each is a feature, because a crate that needs the one should not link the other.

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
mod linger;
#[cfg(feature = "server")]
pub mod server;
