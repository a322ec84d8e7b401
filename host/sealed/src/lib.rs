//! Texts of a bundle, sealed to a public key, in a file next to the bundle.
//!
//! A session can be recorded without texts in its bundle. Then [`TextSealer`] writes the texts, salts, receipts, inputs
//! and context documents of each stream into a separate file, which only the holder of a private key can read (HPKE,
//! RFC 9180). [`UnsealedFiles`] combines the files of a bundle with the content of such a file, so that a verifier or a
//! replay reads them like a bundle with texts. The seal hides texts; it does not show who wrote them, as the card's
//! signature does. `docs/reference/formats/sealed.md` defines the format.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let bundle = folder.path().join("first.bundle");
//! # let key = folder.path().join("reader.pub");
//! # std::fs::write(&key, "-----BEGIN PUBLIC KEY-----\n\
//! #     MCowBQYDK2VuAyEACQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n-----END PUBLIC KEY-----\n")?;
//! use portcullis_sealed::{CommitmentOpening, PublicKey, TextSealer, beside, is_sealed_texts};
//!
//! let path = beside(&bundle);
//! let mut sealer = TextSealer::create(&path, PublicKey::load(&key)?, [7; 32])?;
//! // Lane 0, and the log index of the stream's BEGIN.
//! sealer.seal(0, 1, CommitmentOpening::Context(b"the context document"))?;
//! sealer.end(0, 1);
//! sealer.finish()?;
//!
//! assert!(is_sealed_texts(&path));
//! let sealed = std::fs::read(&path)?;
//! assert!(!sealed.windows(7).any(|bytes| bytes == b"context"));
//! # Ok(())
//! # }
//! ```

mod format;
mod keys;
mod seal;
mod unseal;

pub use keys::{PrivateKey, PublicKey, SealKeyError};
pub use seal::{CommitmentOpening, TextSealer};
pub use unseal::{UnsealReport, UnsealedFiles, beside, is_sealed_texts};
