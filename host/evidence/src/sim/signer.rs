//! A card's key in software, for tests only: the owner of such a key can sign anything.

use super::CardKeySeeds;
use crate::format::cose;
use portcullis_core::wire::{Checkpoint, SIGNATURE_BYTES};
use slh_dsa::{Sha2_128f, SigningKey};
use zerocopy::IntoBytes;

/// An SLH-DSA-SHA2-128f key.
pub struct SoftKey(SigningKey<Sha2_128f>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no signature was made")]
pub struct SignError;

impl SoftKey {
    /// Makes the key from these seeds (FIPS 205, algorithm 18).
    #[must_use]
    pub fn new(seeds: &CardKeySeeds) -> Self {
        Self(SigningKey::slh_keygen_internal(&seeds.sk_seed, &seeds.sk_prf, &seeds.pk_seed))
    }

    /// PK.seed || PK.root.
    #[must_use]
    pub fn public_key(&self) -> [u8; 32] {
        self.0.as_ref().to_bytes().into()
    }

    /// Signs a checkpoint; returns the COSE message. Signing is deterministic: equal checkpoints have equal messages.
    pub fn sign(&self, checkpoint: &Checkpoint) -> Result<Vec<u8>, SignError> {
        let bytes: &[u8; Checkpoint::BYTES] = checkpoint.as_bytes().try_into().map_err(|_| SignError)?;
        let message = cose::to_be_signed(bytes);
        let signature = self.0.try_sign_with_context(&message, &[], None).map_err(|_| SignError)?;
        let signature: [u8; SIGNATURE_BYTES] = signature.to_vec().try_into().map_err(|_| SignError)?;
        Ok(cose::encode(bytes, &signature))
    }
}
