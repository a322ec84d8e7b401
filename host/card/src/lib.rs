//! Access to cards: the trait, the driver and the transports.
//!
//! | part | content |
//! | --- | --- |
//! | [`CardTransport`], [`CardError`] | registers of 32 bits, memory that host and card share, waiting |
//! | [`registers`], [`limits`] | addresses, fields and values of the registers; the limits of every card |
//! | [`machine`] | the machine's PCI functions, their drivers and register windows |
//! | [`driver`] | [`CardSession`]: start, rings, doorbells, checks of every answer, end |
//! | [`transport`] | the implementations of [`CardTransport`] |
//! | [`diagnostics`] | self-test, benchmark, doctor |
//! | [`CardChoice`] | opens a card by name |
//!
//! [`registers`] uses the generated accessors of `host/regs`. The transports are the Rust model, the Verilated RTL, a
//! PCI device behind a socket, and the kernel's VFIO.
//!
//! A part uses only the parts above it in this table. `machine` and `driver` do not use each other; neither do `driver`
//! and `transport`.
//!
//! Every failure is a refusal: an [`EntryOutcome`] admits only if the card's completion and record agree with each
//! other, with the submitted entry, and with the session. After the first disagreement the card is lost, and every
//! later call reports the loss. The card judges entries; `portcullis-gate` makes them from texts.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use portcullis_policy::context::ContextConverter;
//! # use std::path::Path;
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies/pii");
//! # let package = portcullis_policy::PolicyPackage::load(Path::new(folder))?;
//! # let image = package.compile()?.image;
//! # let entry = ContextConverter::new(package.vocabulary()).neutral();
//! use portcullis_card::{CardChoice, CardSession, SessionConfig};
//!
//! // `image` has the tables of a policy, and `entry` is a descriptor that the policy permits.
//! let card = CardChoice::Model.open()?;
//! let mut session = CardSession::open(card, &image, SessionConfig::default())?;
//! let (stream, _begun) = session.begin([0; 32])?;
//! let completed = session.gate_descriptor(&stream, entry)?;
//! assert!(completed.outcome.is_admit());
//!
//! session.end(stream, [0; 32])?;
//! let closed = session.close()?;
//! assert_eq!(closed.records, 5, "OPEN, BEGIN, VERDICT, END, CLOSE");
//! # Ok(())
//! # }
//! ```

#![allow(unsafe_code, reason = "registers and memory are shared with a device")]

mod card;
mod choice;
pub mod diagnostics;
pub mod driver;
mod error;
#[cfg(feature = "test-hooks")]
mod forward;
pub mod limits;
pub mod machine;
pub mod registers;
mod tables;
pub mod transport;

pub use card::{CardTransport, DmaBuffer, WatchedByte};
pub use choice::{CardChoice, CardChoiceError, CardKind};
pub use driver::{CardInfo, CardSession, CompletedEntry, EntryOutcome, SessionConfig, SessionError, await_public_key};
pub use error::CardError;
pub use tables::{CardTables, TextTables};
