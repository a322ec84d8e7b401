//! A signed statement: COSE_Sign1 with Ed25519 and without a key id (RFC 9052, 4.2; RFC 9053, 2.2). So a verifier tries
//! each key that it trusts.

use crate::format::cbor::{CborError, CborReader, Major, put_bytes, put_head, put_text};
use crate::format::signing::{SigningError, StatementKey};
use ed25519_dalek::{Signature, VerifyingKey};

/// `{1: -8}`: EdDSA.
pub(crate) const PROTECTED: [u8; 3] = [0xa1, 0x01, 0x27];
const COSE_SIGN1: u64 = 18;

/// A payload and its signature. [`SignedStatement::signer`] checks the signature; parsing does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignedStatement {
    pub(crate) payload: Vec<u8>,
    signature: [u8; 64],
}

impl SignedStatement {
    /// Parses a statement; `None` unless `cose` is the canonical encoding.
    pub(crate) fn parse(cose: &[u8]) -> Option<Self> {
        Self::read(cose).ok().flatten()
    }

    fn read(cose: &[u8]) -> Result<Option<Self>, CborError> {
        let mut message = CborReader::new(cose);
        message.exactly(Major::Tag, COSE_SIGN1)?;
        message.exactly(Major::Array, 4)?;
        let protected = message.bytes()?;
        message.exactly(Major::Map, 0)?;
        let payload = message.bytes()?.to_vec();
        let signature = message.array()?;
        message.end()?;
        Ok((protected == PROTECTED).then_some(Self { payload, signature }))
    }

    /// Encodes `payload` and signs it with `key`.
    pub(crate) fn sign(payload: &[u8], key: &dyn StatementKey) -> Result<Vec<u8>, SigningError> {
        let signature = key.signature(&to_be_signed(payload))?;
        let mut out = Vec::new();
        put_head(&mut out, Major::Tag, COSE_SIGN1);
        put_head(&mut out, Major::Array, 4);
        put_bytes(&mut out, &PROTECTED);
        put_head(&mut out, Major::Map, 0);
        put_bytes(&mut out, payload);
        put_bytes(&mut out, &signature.to_bytes());
        Ok(out)
    }

    pub(crate) fn signer<'k>(&self, keys: impl IntoIterator<Item = &'k VerifyingKey>) -> Option<&'k VerifyingKey> {
        let signed = to_be_signed(&self.payload);
        let signature = Signature::from_bytes(&self.signature);
        keys.into_iter().find(|key| key.verify_strict(&signed, &signature).is_ok())
    }
}

/// The `Sig_structure` (RFC 9052, 4.4) over `payload`.
pub(crate) fn to_be_signed(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_head(&mut out, Major::Array, 4);
    put_text(&mut out, "Signature1");
    put_bytes(&mut out, &PROTECTED);
    put_bytes(&mut out, &[]);
    put_bytes(&mut out, payload);
    out
}
