//! Salts of commitments, and their key.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::collections::BTreeMap;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The session's salt key. Whoever does not know the salt of a short span cannot guess the span from its commitment.
/// Copies share one place in memory, which is wiped when the last copy is dropped.
#[derive(Clone)]
pub struct SaltKey(Arc<Zeroizing<[u8; 32]>>);

/// The source of a stream's salts.
#[derive(Clone)]
pub enum SaltSource {
    Key(SaltKey),
    /// Disclosed salts by sequence, for a replay. A salt that was not disclosed counts as zero.
    Disclosed(BTreeMap<u32, [u8; 16]>),
}

impl SaltSource {
    pub(crate) fn salt(&self, stream: u64, sequence: u32) -> [u8; 16] {
        match self {
            Self::Key(key) => key.salt(stream, sequence),
            Self::Disclosed(salts) => salts.get(&sequence).copied().unwrap_or_default(),
        }
    }
}

impl From<SaltKey> for SaltSource {
    fn from(key: SaltKey) -> Self {
        Self::Key(key)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the operating system gave no random bytes for the salt key: {0}")]
pub struct SaltKeyError(String);

impl SaltKey {
    /// A random key from the operating system.
    pub fn random() -> Result<Self, SaltKeyError> {
        let mut key = Arc::new(Zeroizing::new([0; 32]));
        // The key is drawn directly into its shared memory, so that no other copy of it exists.
        getrandom::fill(Arc::make_mut(&mut key).as_mut_slice()).map_err(|e| SaltKeyError(e.to_string()))?;
        Ok(Self(key))
    }

    /// Uses a given key; for tests that compare whole runs.
    #[must_use]
    pub fn from_bytes(key: [u8; 32]) -> Self {
        Self(Arc::new(Zeroizing::new(key)))
    }

    /// Salt of one entry: the first 16 bytes of HMAC-SHA-256 (RFC 2104) over stream id and sequence, both
    /// little-endian.
    #[must_use]
    pub fn salt(&self, stream: u64, sequence: u32) -> [u8; 16] {
        // RFC 2104 pads a key that is shorter than a block with zeros.
        let mut block = Zeroizing::new([0; 64]);
        block.iter_mut().zip(self.0.iter()).for_each(|(b, k)| *b = *k);
        let mut mac = <Hmac<Sha256> as KeyInit>::new((&*block).into());
        mac.update(&stream.to_le_bytes());
        mac.update(&sequence.to_le_bytes());
        let full: [u8; 32] = mac.finalize().into_bytes().into();
        let mut salt = [0; 16];
        salt.iter_mut().zip(full).for_each(|(s, f)| *s = f);
        salt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::commitment::{SpanKind, commitment};
    use portcullis_core::hex;

    #[test]
    fn salts_and_commitments_are_those_of_the_vectors() {
        let vectors = include_str!("../../../docs/reference/formats/vectors.json");
        let vectors: serde_json::Value = serde_json::from_str(vectors).unwrap();
        for vector in vectors["commitments"].as_array().unwrap() {
            let text = |key: &str| vector[key].as_str().unwrap();
            let key = SaltKey::from_bytes([7; 32]);
            assert_eq!(text("salt_key"), "07".repeat(32));
            let salt = key.salt(vector["stream"].as_u64().unwrap(), vector["sequence"].as_u64().unwrap() as u32);
            assert_eq!(hex::encode(&salt), text("salt"));
            let kind: SpanKind = serde_json::from_value(vector["kind"].clone()).unwrap();
            assert_eq!(
                hex::encode(&commitment(kind, &salt, &[text("held").as_bytes(), text("text").as_bytes()])),
                text("commitment")
            );
        }
    }

    #[test]
    fn copies_of_a_key_share_the_place_that_is_wiped() {
        let key = SaltKey::from_bytes([7; 32]);
        let place = Arc::as_ptr(&key.0);
        let copy = key.clone();
        drop(key);
        assert_eq!(Arc::as_ptr(&copy.0), place);
        assert_eq!(Arc::strong_count(&copy.0), 1);
    }

    #[test]
    fn salts_differ() {
        let key = SaltKey::from_bytes([7; 32]);
        assert_ne!(key.salt(1, 2), key.salt(1, 3));
        assert_ne!(key.salt(1, 2), key.salt(2, 2));
    }
}
