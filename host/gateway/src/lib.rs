//! An HTTP gateway that puts the gate in front of a model server.
//!
//! A client sends the same requests as to the server ([`api`]). The gateway judges the prompt before it asks the server
//! ([`prompt`]). It feeds the server's text ([`upstream`]) into governed streams ([`section`]) of a session
//! ([`session`]) of one of the cards ([`placement`]), and sends the client only what they release ([`answer`]). By
//! default the mode is `held`: readers do not get refused text, but the server has already continued after it.

mod admin;
mod answer;
mod api;
mod calls;
mod clock;
pub mod config;
mod continuations;
mod drive;
mod error;
mod governed;
pub mod logs;
mod loopback;
pub mod metrics;
mod observe;
mod open_streams;
pub mod output;
pub mod placement;
mod prompt;
mod reading;
pub mod receipts;
mod request;
mod routes;
mod section;
mod server;
mod service;
pub mod session;
pub mod session_state;
mod sources;
mod token_track;
mod traces;
mod ui;
pub mod upstream;

pub use error::ApiError;
pub use server::{ServeError, serve};
pub use service::{GatewayService, ServiceError};
