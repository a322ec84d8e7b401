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
//! A part uses only the parts above it in this table. `machine` and `driver` do not use each other; neither do
//! `driver` and `transport`.
//!
//! Every failure is a refusal: an [`EntryOutcome`] admits only if the card's completion and record agree with each
//! other, with the submitted entry, and with the session. After the first disagreement the card is lost, and every
//! later call reports the loss.

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
