//! Texts of a bundle, sealed to a public key in a file beside it.
//!
//! A session can be recorded without its texts in the bundle. [`Sealer`] then writes the texts, salts, receipts, inputs
//! and context documents of each stream into a file of their own, which only the holder of a private key can read
//! (HPKE, RFC 9180). [`Unsealed`] shows a bundle and what such a file holds as one set of files, so that a verifier or
//! a replay reads it like a bundle with its texts. `docs/reference/formats/sealed.md` has the format.

mod format;
mod keys;
mod seal;
mod unseal;

pub use keys::{KeyError, PrivateKey, PublicKey};
pub use seal::{Opening, Sealer};
pub use unseal::{UnsealReport, Unsealed, beside, is_sealed_texts};
