//! An HTTP gateway that puts the gate in front of a model server.
//!
//! A client speaks to it as to the server ([`dialect`]). What the client sends is judged before the server is asked
//! ([`prompt`]); what the server writes ([`upstream`]) goes into governed streams ([`section`]) of the card's session
//! ([`session`]), and only what they release becomes bytes for the client ([`answer`]). The mode is `held`: what was
//! refused is kept from readers, not from what the server wrote next.

mod admin;
mod answer;
pub mod config;
pub mod decide;
pub mod dialect;
mod doors;
mod drive;
mod error;
mod governed;
mod host;
pub mod logs;
pub mod metrics;
pub mod output;
mod prompt;
pub mod receipts;
mod request;
mod routes;
mod section;
mod server;
mod service;
pub mod session;
pub mod upstream;

pub use error::ApiError;
pub use server::{ServeError, serve};
pub use service::{Service, ServiceError};
