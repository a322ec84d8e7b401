//! The signature of a statement: Ed25519 (RFC 8032) over the bytes of its JSON file. `openssl pkeyutl -verify -rawin`
//! checks it.
//!
//! Every statement begins with its kind, so that the key's signature of a statement is never one of another message:
//! the messages of RFC 9052 that other keys of this project sign begin with another byte.

use ed25519_dalek::{Signature, VerifyingKey};
use portcullis_evidence::signing::{SigningError, StatementKey};

/// Length of a signature file.
pub const SIGNATURE_BYTES: usize = 64;

/// Signs the bytes of a statement's file. Errors: the key does not sign.
pub fn sign(statement: &[u8], key: &dyn StatementKey) -> Result<[u8; SIGNATURE_BYTES], SigningError> {
    Ok(key.signature(statement)?.to_bytes())
}

/// Whether `signature` is the signature of `statement` by `key`.
#[must_use]
pub fn check_signature(statement: &[u8], signature: &[u8], key: &VerifyingKey) -> bool {
    Signature::from_slice(signature).is_ok_and(|signature| key.verify_strict(statement, &signature).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::SigningKey;

    #[test]
    fn every_bit_of_statement_and_signature_counts() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let (statement, public) = (b"{\"kind\":\"x\"}".to_vec(), key.verifying_key());
        let signature = sign(&statement, &key).unwrap();
        assert!(check_signature(&statement, &signature, &public));
        assert!(!check_signature(&statement, &signature[..63], &public));
        assert!(!check_signature(&statement, &signature, &SigningKey::from_bytes(&[8; 32]).verifying_key()));
        for bit in 0..statement.len() * 8 {
            let mut other = statement.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!check_signature(&other, &signature, &public), "bit {bit}");
        }
        for bit in 0..signature.len() * 8 {
            let mut other = signature;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!check_signature(&statement, &other, &public), "bit {bit}");
        }
    }
}
