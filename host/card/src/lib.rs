//! The card as the host sees it.
//!
//! | part | content |
//! | --- | --- |
//! | [`Card`], [`CardError`] | registers of 32 bits, memory that the card reaches, waiting |
//! | [`registers`], [`limits`] | addresses, fields and values of the registers; the limits of every card |
//! | [`machine`] | the machine's PCI functions, their drivers and register windows |
//! | [`driver`] | [`Session`]: bring-up, rings, doorbells, the checks of every answer, the end |
//! | [`transport`] | the implementations of [`Card`] |
//! | [`diagnostics`] | self-test, benchmark, doctor |
//! | [`CardChoice`] | opens a card by name |
//!
//! [`registers`] uses the generated accessors of `host/regs`. The transports are the card in Rust, the Verilated RTL,
//! a PCI device behind a socket, and the kernel's VFIO.
//!
//! A part uses only those above it in this table. `machine` and `driver` do not use each other, nor do `driver` and
//! `transport`.
//!
//! Everything fails closed: an entry has an [`Outcome`] that admits only when the card's completion and its record
//! agree with each other, with what was submitted, and with the session. After the first disagreement the card is lost,
//! and every later call reports it.

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

pub use card::{Card, DmaBuffer, Watch};
pub use choice::{CardChoice, CardChoiceError, CardKind};
pub use driver::{CardInfo, Completed, Outcome, Session, SessionConfig, SessionError, await_public_key};
pub use error::CardError;
pub use tables::Tables;
