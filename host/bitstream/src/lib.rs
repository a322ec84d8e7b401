//! Manifests of bitstreams.
//!
//! A manifest has two parts. `[design]` names the sources; `cargo xtask gen` writes it, and this program contains the
//! `[design]` of its own sources. `[build]` and `[[file]]` describe the result of a build, with the tool and the kind
//! of key; `manifest::seal` adds them, and `manifest::verify` checks a manifest. [`SourceCheckout`] computes the
//! digests of sources. A manifest does not prove what a card runs: the card's certificate names its design.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use portcullis_bitstream::{LAYOUT, SourceCheckout, sha256};
//! use std::path::Path;
//!
//! let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
//! let sources = SourceCheckout::new(root);
//! let design_id = sources.design_id()?;
//! assert_eq!(design_id[0] & 0x80, 0, "the top bit marks a simulated card");
//! assert_eq!(sources.file(LAYOUT)?, sha256(&root.join(LAYOUT))?);
//! # Ok(())
//! # }
//! ```

mod error;
#[cfg(feature = "manifest")]
pub mod manifest;
mod sources;

pub use error::BitstreamError;
pub use sources::{DESIGN_PACKAGE, LAYOUT, REGISTERS, SourceCheckout, sha256};
