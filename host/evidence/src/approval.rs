//! The approval of a policy: somebody with an approver's key says that this table image may be used.
//!
//! COSE_Sign1 as a ticket's (module `ticket`), with the payload `{1: policy digest bstr 32, 2: approver's name text}`.

use crate::cbor::{CborError, Major, Reader, put_bytes, put_head, put_text};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

/// `{1: -8}`: EdDSA (RFC 9053, 2.2).
const PROTECTED: [u8; 3] = [0xa1, 0x01, 0x27];
const COSE_SIGN1: u64 = 18;

/// An approval, whose signature is not checked until [`Approval::signer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// SHA-256 of the table image.
    pub policy: [u8; 32],
    /// Name that the approver claims.
    pub name: String,
    signature: [u8; 64],
}

impl Approval {
    /// The approval in `cose`; `None` for anything but its one encoding.
    #[must_use]
    pub fn parse(cose: &[u8]) -> Option<Self> {
        Self::read(cose).ok().flatten()
    }

    fn read(cose: &[u8]) -> Result<Option<Self>, CborError> {
        let mut message = Reader::new(cose);
        message.exactly(Major::Tag, COSE_SIGN1)?;
        message.exactly(Major::Array, 4)?;
        let protected = message.bytes()?;
        message.exactly(Major::Map, 0)?;
        let mut payload = Reader::new(message.bytes()?);
        let signature = message.array()?;
        message.end()?;
        payload.exactly(Major::Map, 2)?;
        payload.exactly(Major::Unsigned, 1)?;
        let policy = payload.array()?;
        payload.exactly(Major::Unsigned, 2)?;
        let name = payload.text()?.to_owned();
        payload.end()?;
        Ok((protected == PROTECTED).then_some(Self { policy, name, signature }))
    }

    /// The message that says so, signed by `key`.
    #[must_use]
    pub fn sign(policy: [u8; 32], name: &str, key: &SigningKey) -> Vec<u8> {
        let payload = payload(&policy, name);
        let mut out = Vec::new();
        put_head(&mut out, Major::Tag, COSE_SIGN1);
        put_head(&mut out, Major::Array, 4);
        put_bytes(&mut out, &PROTECTED);
        put_head(&mut out, Major::Map, 0);
        put_bytes(&mut out, &payload);
        put_bytes(&mut out, &key.sign(&to_be_signed(&payload)).to_bytes());
        out
    }

    /// The one of `keys` that signed it.
    #[must_use]
    pub fn signer<'k>(&self, keys: impl IntoIterator<Item = &'k VerifyingKey>) -> Option<&'k VerifyingKey> {
        let signed = to_be_signed(&payload(&self.policy, &self.name));
        let signature = Signature::from_bytes(&self.signature);
        keys.into_iter().find(|key| key.verify_strict(&signed, &signature).is_ok())
    }
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

/// The `Sig_structure` (RFC 9052, 4.4) over `payload`.
fn to_be_signed(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_head(&mut out, Major::Array, 4);
    put_text(&mut out, "Signature1");
    put_bytes(&mut out, &PROTECTED);
    put_bytes(&mut out, &[]);
    put_bytes(&mut out, payload);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_counts() {
        let key = SigningKey::from_bytes(&[3; 32]);
        let message = Approval::sign([5; 32], "board", &key);
        let keys = [key.verifying_key()];
        assert!(Approval::parse(&message).unwrap().signer(&keys).is_some());
        assert!(Approval::parse(&message).unwrap().signer([]).is_none());
        for bit in 0..message.len() * 8 {
            let mut wrong = message.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(Approval::parse(&wrong).is_none_or(|a| a.signer(&keys).is_none()), "bit {bit}");
        }
        assert!((0..message.len()).all(|length| Approval::parse(&message[..length]).is_none()));
        assert!(Approval::parse(&[&message[..], &[0]].concat()).is_none());
    }
}
