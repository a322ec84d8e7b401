//! The evidence: the records and signatures of a card, the bundle format, and the verifier for an outsider who trusts
//! neither the operator nor the card.
//!
//! [`verify::verify`] checks a bundle ([`bundle`]) with the keys that the verifier's user trusts
//! ([`verify::TrustedParties`]). [`receipt`] and [`stream_proof`] are proofs of one span and of one stream, for readers
//! who do not have the bundle. This crate needs no card and no policy engine, so it does not compute verdicts again:
//! `portcullis-audit` does.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let world = portcullis_test_support::world::World::new();
//! # let (mut files, trust) = (world.honest().files(), world.trust(false));
//! use portcullis_evidence::bundle;
//! use portcullis_evidence::verify::{EvidenceStatus, VerifyOptions, verify};
//!
//! // `files` is the bundle of a session, and `trust` the trusted keys.
//! let report = verify(&files, &trust, VerifyOptions::default(), &mut |_records| {})?;
//! assert_eq!(report.status, EvidenceStatus::Affirmed);
//!
//! // One changed bit of one record.
//! let records = files.0.get_mut(bundle::RECORDS).ok_or("no records")?;
//! records[300] ^= 1;
//! let report = verify(&files, &trust, VerifyOptions::default(), &mut |_records| {})?;
//! assert_eq!(report.status, EvidenceStatus::Contradicted);
//! # Ok(())
//! # }
//! ```

pub mod extract;
mod format;
pub mod receipt;
pub mod sim;
pub mod stream_proof;
pub mod verify;

pub use format::{
    approval, bundle, certificate, checkpoint, cose, log, note, public_log, signing, ticket, tree, withholding,
};
pub use portcullis_core::hex;
