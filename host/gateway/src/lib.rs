//! An HTTP gateway that puts the gate in front of a model server.
//!
//! A client sends the same requests as to the server. The gateway judges the prompt before it asks the server. It feeds
//! the server's text ([`upstream`]) into governed streams of a session ([`session`]) of one of the cards
//! ([`placement`]), and sends the client only what they release. By default the mode is `held`: readers do not get
//! refused text, but the server has already continued after it.
//!
//! [`config::GatewayConfig`] is the operator's configuration, and [`serve`] runs the gateway until it is stopped. Its
//! clients need not trust the gateway: they check its answers with `portcullis-client`.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use portcullis_gateway::config::{AnswerMode, GatewayConfig};
//!
//! let config = GatewayConfig::parse(
//!     r#"
//!     policy = "policies/pii"
//!
//!     [[model]]
//!     name = "m"
//!     upstream = "http://127.0.0.1:18080/v1"
//!     "#,
//! )?;
//! config.check()?;
//! assert_eq!(config.models[0].mode, AnswerMode::Held);
//!
//! // Without keys, everyone who reaches the address may ask. So it must be an address of this machine only.
//! let open = GatewayConfig { listen: "0.0.0.0:8080".parse()?, ..config };
//! assert!(open.check().is_err());
//! # Ok(())
//! # }
//! ```

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
