//! The parties outside the operator's reach: the certificate authority of cards ([`ca`]), the issuer of session tickets
//! ([`tickets`]), and the witness ([`witness`]).
//!
//! They are in one crate because in a small deployment one organisation runs them all. They share no state: each has
//! its own key and its own store. The issuer here is a library; `portcullis-issuer` serves it over HTTP.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use portcullis_authority::ca::CertificateValidity;
//! # use portcullis_evidence::ticket::{ChainId, SessionTicket};
//! # let folder = tempfile::tempdir()?;
//! # let key = ed25519_dalek::SigningKey::from_bytes(&[5; 32]);
//! use portcullis_authority::StoreUrl;
//! use portcullis_authority::tickets::{IssueError, IssueRequest, Issuer};
//!
//! let store = StoreUrl::File(folder.path().join("tickets"));
//! let mut issuer = Issuer::open(&store, key, "registrar.example")?;
//! let request = IssueRequest {
//!     chain: ChainId { key: [1; 32], seat: 0 },
//!     policy: [2; 32],
//! #     contexts: Default::default(),
//! #     profiles: Default::default(),
//! #     text_lane: false,
//! #     heartbeat_records: 0,
//! #     heartbeat_ticks: 0,
//!     window: CertificateValidity { not_before: 1_790_000_000, not_after: 1_790_086_400 },
//!     // …
//! };
//! let ticket = SessionTicket::parse(&issuer.issue(&request)?)?;
//! assert_eq!(ticket.content.serial, 1);
//!
//! // A card has one session at a time, so the issuer waits for the end of the first one.
//! assert!(matches!(issuer.issue(&request), Err(IssueError::Pending(1))));
//! # Ok(())
//! # }
//! ```

pub mod ca;
pub mod keys;
pub mod public_log;
mod shown;
mod store;
pub mod tickets;
pub mod witness;

pub use shown::ShownError;
pub use store::{EventStoreError, StoreUrl};
