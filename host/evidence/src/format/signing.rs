//! Keys that sign statements. A key is in memory, or in a device that signs on request.

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

/// The reason why a key did not sign.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key does not sign: {0}")]
pub struct SigningError(pub String);

/// An Ed25519 key that signs statements (RFC 8032). The same message always has the same signature.
pub trait StatementKey {
    fn verifying_key(&self) -> VerifyingKey;

    /// Signs `message`. Errors: the key is in a device that does not sign, or that signs wrongly.
    fn signature(&self, message: &[u8]) -> Result<Signature, SigningError>;
}

impl StatementKey for SigningKey {
    fn verifying_key(&self) -> VerifyingKey {
        Self::verifying_key(self)
    }

    fn signature(&self, message: &[u8]) -> Result<Signature, SigningError> {
        Ok(self.sign(message))
    }
}
