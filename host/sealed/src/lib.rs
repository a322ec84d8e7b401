//! Texts of a bundle, sealed to a public key, in a file beside the bundle.
//!
//! A session can be recorded without texts in its bundle. [`Sealer`] then writes the texts, salts, receipts, inputs and
//! context documents of each stream into a separate file that only the holder of a private key can read (HPKE, RFC
//! 9180). [`Unsealed`] presents a bundle and the content of such a file as one set of files, so that a verifier or a
//! replay reads it like a bundle with texts. `docs/reference/formats/sealed.md` defines the format.

mod format;
mod keys;
mod seal;
mod unseal;

pub use keys::{KeyError, PrivateKey, PublicKey};
pub use seal::{Opening, Sealer};
pub use unseal::{UnsealReport, Unsealed, beside, is_sealed_texts};
