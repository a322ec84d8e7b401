//! Manifests of bitstreams.
//!
//! A manifest has two parts. `[design]` names the sources; `cargo xtask gen` writes it, and this program contains the
//! `[design]` of its own sources. `[build]` and `[[file]]` describe the result of a build, with the tool and the kind
//! of key; [`manifest::seal`] adds them.

mod error;
#[cfg(feature = "manifest")]
pub mod manifest;
mod sources;

pub use error::BitstreamError;
pub use sources::{DESIGN_PACKAGE, LAYOUT, REGISTERS, SourceCheckout, sha256};
