//! Manifests of bitstreams.
//!
//! A manifest has two parts. `[design]` names the sources; `cargo xtask gen` makes it, and this program contains the
//! one of its own sources. `[build]` and `[[file]]` describe what was built from them, with which tool and which kind
//! of key; [`manifest::seal`] adds them.

mod error;
#[cfg(feature = "manifest")]
pub mod manifest;
mod sources;

pub use error::BitstreamError;
pub use sources::{DESIGN_PACKAGE, LAYOUT, REGISTERS, Sources, sha256};
