//! The card as the host sees it: one narrow [`Card`] trait, the ring driver [`Session`] above it, transports below it.
//!
//! | part | what it knows |
//! | --- | --- |
//! | [`Card`] | registers of 32 bits, memory that the card reaches, waiting |
//! | [`model`], [`sim`], [`vfio_user`] | one implementation each: the card in Rust, the Verilated RTL, a PCI device behind a socket |
//! | [`registers`] | addresses and fields, generated from `rtl/layout/card.rdl` |
//! | [`Session`] | bring-up, rings, doorbells, the checks of every answer, the end |
//! | [`selftest`], [`bench`] | known answers and speed, for any card |
//!
//! Everything fails closed: an entry has an [`Outcome`] that admits only when the card's completion and its record agree
//! with each other, with what was submitted, and with the session. After the first disagreement the card is lost, and every
//! later call says so.

pub mod bench;
mod card;
pub mod doctor;
mod info;
mod kind;
mod known;
mod memory;
pub mod model;
pub mod outcome;
pub mod pci;
pub mod registers;
pub mod selftest;
pub mod session;
#[cfg(feature = "sim")]
pub mod sim;
pub mod vfio;
pub mod vfio_user;

pub use card::{Card, CardError, DmaBuffer, Watch};
pub use info::{CardInfo, public_key};
pub use kind::{CardChoice, CardKind, CardKindError};
pub use memory::{Memory, Pages};
pub use outcome::{Completed, Outcome};
pub use session::{Session, SessionConfig, SessionError, Tables, await_public_key};
