//! Manifests of bitstreams.
//!
//! A manifest has two parts. `[design]` names the sources; `cargo xtask gen` makes it, and this program carries the one of its own sources.
//! `[build]` and `[[file]]` say what was built of them, with which tool and which kind of key; [`manifest::seal`] adds them.

mod error;
#[cfg(feature = "manifest")]
pub mod manifest;
mod sources;

pub use error::BitstreamError;
pub use sources::{DESIGN_PACKAGE, LAYOUT, REGISTERS, Sources, sha256};
