//! The approval of a policy: the owner of an approver's key states that a table image may be used.
//!
//! An approval is a signed statement (module `statement`) with the payload
//! `{1: policy digest bstr 32, 2: approver's name text}`.

use crate::format::cbor::{CborError, CborReader, Major, put_bytes, put_head, put_text};
use crate::format::signing::{SigningError, StatementKey};
use crate::format::statement::SignedStatement;
use ed25519_dalek::VerifyingKey;

/// An approval. [`PolicyApproval::signer`] checks its signature; parsing does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyApproval {
    /// SHA-256 of the table image.
    pub policy: [u8; 32],
    /// Name that the approver claims; the signature does not prove it.
    pub name: String,
    statement: SignedStatement,
}

impl PolicyApproval {
    /// Parses an approval; `None` unless `cose` is the canonical encoding.
    #[must_use]
    pub fn parse(cose: &[u8]) -> Option<Self> {
        let statement = SignedStatement::parse(cose)?;
        let (policy, name) = read(&statement.payload).ok()?;
        Some(Self { policy, name, statement })
    }

    /// Encodes the approval of `policy` and signs it with `key`. Errors: the key does not sign.
    pub fn sign(policy: [u8; 32], name: &str, key: &dyn StatementKey) -> Result<Vec<u8>, SigningError> {
        SignedStatement::sign(&payload(&policy, name), key)
    }

    /// The key among `keys` that signed the approval; `None` if none of them did.
    #[must_use]
    pub fn signer<'k>(&self, keys: impl IntoIterator<Item = &'k VerifyingKey>) -> Option<&'k VerifyingKey> {
        self.statement.signer(keys)
    }
}

fn read(payload: &[u8]) -> Result<([u8; 32], String), CborError> {
    let mut payload = CborReader::new(payload);
    payload.exactly(Major::Map, 2)?;
    payload.exactly(Major::Unsigned, 1)?;
    let policy = payload.array()?;
    payload.exactly(Major::Unsigned, 2)?;
    let name = payload.text()?.to_owned();
    payload.end()?;
    Ok((policy, name))
}

fn payload(policy: &[u8; 32], name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_head(&mut out, Major::Map, 2);
    put_head(&mut out, Major::Unsigned, 1);
    put_bytes(&mut out, policy);
    put_head(&mut out, Major::Unsigned, 2);
    put_text(&mut out, name);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::SigningKey;

    #[test]
    fn every_bit_counts() {
        let key = SigningKey::from_bytes(&[3; 32]);
        let message = PolicyApproval::sign([5; 32], "board", &key).unwrap();
        let keys = [key.verifying_key()];
        assert!(PolicyApproval::parse(&message).unwrap().signer(&keys).is_some());
        assert!(PolicyApproval::parse(&message).unwrap().signer([]).is_none());
        for bit in 0..message.len() * 8 {
            let mut wrong = message.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(PolicyApproval::parse(&wrong).is_none_or(|a| a.signer(&keys).is_none()), "bit {bit}");
        }
        assert!((0..message.len()).all(|length| PolicyApproval::parse(&message[..length]).is_none()));
        assert!(PolicyApproval::parse(&[&message[..], &[0]].concat()).is_none());
    }
}
