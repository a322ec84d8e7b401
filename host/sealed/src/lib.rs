//! Texts of a bundle, sealed to a public key, in a file next to the bundle.
//!
//! A session can be recorded without texts in its bundle. Then [`TextSealer`] writes the texts, salts, receipts, inputs
//! and context documents of each stream into a separate file, which only the holder of a private key can read (HPKE,
//! RFC 9180). [`UnsealedFiles`] combines the files of a bundle with the content of such a file, so that a verifier or a
//! replay reads them like a bundle with texts. `docs/reference/formats/sealed.md` defines the format.

mod format;
mod keys;
mod seal;
mod unseal;

pub use keys::{PrivateKey, PublicKey, SealKeyError};
pub use seal::{CommitmentOpening, TextSealer};
pub use unseal::{UnsealReport, UnsealedFiles, beside, is_sealed_texts};
