//! Session tickets: an issuer's permission for one session of one card.
//!
//! A ticket is a COSE_Sign1 message (RFC 9052, 4.2) in deterministic CBOR (RFC 8949, 4.2.1), tag 18, signed with
//! Ed25519:
//! ```text
//! d2 84 43 a10127 a1 04 48 <kid 8> <payload bstr> 58 40 <signature 64>
//! ```
//! `kid` = SHA-256(issuer's public key)\[..8\]. The payload is a map with the keys 0 to 13, all of them present: 0
//! version, 2; 1 serial u64, from 1; 2 nonce bstr 16; 3 key bstr 32, SHA-256 of the card's public key; 4 policy digest
//! bstr 32; 5 permitted context digests, an ascending array of bstr 32, empty for any; 6 heartbeat records u32; 7
//! heartbeat ticks u32; 8 previous close bstr 32; 9 \[not before, not after\], Unix seconds; 10 issuer's name, text; 11
//! seat u16; 12 permitted profile digests, an ascending array of bstr 32, empty for any; 13 text lane, 1 if required,
//! else 0. A reader refuses any other version and any other key. The card binds the *ticket digest*: SHA-256 over the
//! whole message, signature included.
//!
//! An operator without an issuer makes a ticket with the issuer `self`. The signing key is discarded, and verifiers do
//! not check the signature: the ticket only carries the parameters of the session. Its heartbeats are off.

use std::collections::BTreeSet;

use ed25519_dalek::pkcs8::DecodePublicKey;
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest, Sha256};

pub use crate::format::cbor::CborError;
use crate::format::cbor::{CborReader, Major, put_bytes, put_head, put_text};
use crate::format::signing::{SigningError, StatementKey};
use crate::format::statement::{PROTECTED, to_be_signed};

pub const VERSION: u64 = 2;
const KEYS: u64 = 14;
/// Largest number of permitted contexts.
pub const MAX_CONTEXTS: usize = 1024;
/// Largest number of permitted profiles.
pub const MAX_PROFILES: usize = 256;
/// Largest ticket in bytes.
pub const MAX_BYTES: usize = 64 * 1024;
/// Longest name of an issuer in bytes.
pub const MAX_ISSUER: usize = 64;
/// The issuer's name in a ticket that an operator made.
pub const SELF_ISSUER: &str = "self";

const COSE_SIGN1: u64 = 18;
/// Header parameter `kid` (RFC 9052, 3.1).
const KID: u64 = 4;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    #[error("the ticket is longer than {MAX_BYTES} bytes")]
    Oversize,
    #[error("the ticket {0}")]
    Encoding(#[from] CborError),
    #[error("the ticket's {0}")]
    Field(&'static str),
    #[error(
        "the ticket is not of format version {VERSION}, the only one that this program reads; ask the issuer for a new one"
    )]
    Version,
    #[error("no trusted issuer has the key that signed the ticket of `{0}`")]
    UnknownIssuer(String),
    #[error("the ticket's signature does not verify under the issuer's key")]
    Signature,
    #[error("the key of the issuer `{0}` is revoked, and nothing shows that the ticket is older than that")]
    Revoked(String),
    #[error("not an Ed25519 public key in PEM")]
    Key,
    #[error(transparent)]
    Signing(#[from] SigningError),
}

/// Identifies the chain of sessions of one card. Several cards can share a key; each of them has a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId {
    /// SHA-256 of the card's 32-byte public key.
    pub key: [u8; 32],
    /// Number of the card among the cards that share the key, from 0.
    pub seat: u16,
}

/// The content of a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionTicket {
    /// Number of the session among all sessions of the key and the seat: 1, 2, 3 and so on.
    pub serial: u64,
    /// Random.
    pub nonce: [u8; 16],
    /// SHA-256 of the card's 32-byte public key.
    pub key: [u8; 32],
    /// SHA-256 of the required table image.
    pub policy: [u8; 32],
    /// Digests of the context documents that streams may name; empty permits any.
    pub contexts: BTreeSet<[u8; 32]>,
    /// The card refuses entries after this many records without a heartbeat; 0 means no limit.
    pub heartbeat_records: u32,
    /// The card refuses entries after this many units of 2^16 clocks without a heartbeat; 0 means no limit.
    pub heartbeat_ticks: u32,
    /// SHA-256 of the 192 bytes of the last checkpoint of session `serial - 1`. Zeros if `serial` is 1 or that session
    /// was abandoned.
    pub previous_close: [u8; 32],
    /// First Unix second at which the session may be opened.
    pub not_before: u64,
    /// Last Unix second at which the session may run.
    pub not_after: u64,
    /// Name of the issuer: 1 to [`MAX_ISSUER`] visible ASCII characters.
    pub issuer: String,
    /// Number of the card among the cards that share a key, from 0. Each seat has its own serials, from 1 on.
    pub seat: u16,
    /// Digests of the profiles that streams may use; empty permits any.
    pub profiles: BTreeSet<[u8; 32]>,
    /// Whether the card itself must read and scan the text.
    pub text_lane: bool,
}

impl SessionTicket {
    /// The chain of sessions that the ticket's session is a part of.
    #[must_use]
    pub const fn chain(&self) -> ChainId {
        ChainId { key: self.key, seat: self.seat }
    }
}

/// A parsed ticket with digest and signature. [`SignedTicket::verify`] checks the signature; parsing does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedTicket<T> {
    pub content: T,
    /// SHA-256 of the whole message.
    pub digest: [u8; 32],
    /// First 8 bytes of the SHA-256 of the signer's public key.
    pub kid: [u8; 8],
    to_be_signed: Vec<u8>,
    signature: [u8; 64],
}

/// The issuer of a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TicketIssuer {
    Issuer {
        /// Name in the ticket. It is not proved: any key can sign any name.
        name: String,
        /// Public key that signed.
        key: [u8; 32],
    },
    /// The operator made the ticket itself.
    SelfIssued,
}

impl SessionTicket {
    /// Parses a ticket; the signature is not checked. Errors: bytes other than the exact message that
    /// [`SessionTicket::sign`] makes of the same content.
    pub fn parse(cose: &[u8]) -> Result<SignedTicket<Self>, TicketError> {
        if cose.len() > MAX_BYTES {
            return Err(TicketError::Oversize);
        }
        let mut message = CborReader::new(cose);
        message.exactly(Major::Tag, COSE_SIGN1)?;
        message.exactly(Major::Array, 4)?;
        if message.bytes()? != PROTECTED {
            return Err(TicketError::Field("protected header is not EdDSA alone"));
        }
        message.exactly(Major::Map, 1)?;
        message.exactly(Major::Unsigned, KID)?;
        let kid = message.array()?;
        let payload = message.bytes()?;
        let signature = message.array()?;
        message.end()?;
        let content = Self::read(payload)?;
        content.check()?;
        Ok(SignedTicket {
            content,
            digest: Sha256::digest(cose).into(),
            kid,
            to_be_signed: to_be_signed(payload),
            signature,
        })
    }

    /// Encodes this ticket and signs it with `key`. Errors: a field out of its range; the key does not sign.
    pub fn sign(&self, key: &dyn StatementKey) -> Result<Vec<u8>, TicketError> {
        self.check()?;
        let payload = self.payload();
        let signature = key.signature(&to_be_signed(&payload))?;
        let mut out = Vec::with_capacity(payload.len() + 96);
        put_head(&mut out, Major::Tag, COSE_SIGN1);
        put_head(&mut out, Major::Array, 4);
        put_bytes(&mut out, &PROTECTED);
        put_head(&mut out, Major::Map, 1);
        put_head(&mut out, Major::Unsigned, KID);
        put_bytes(&mut out, &kid(&key.verifying_key()));
        put_bytes(&mut out, &payload);
        put_bytes(&mut out, &signature.to_bytes());
        Ok(out)
    }

    fn payload(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_head(&mut out, Major::Map, KEYS);
        let mut key = 0;
        let mut field = |put: &dyn Fn(&mut Vec<u8>)| {
            put_head(&mut out, Major::Unsigned, key);
            put(&mut out);
            key += 1;
        };
        field(&|out| put_head(out, Major::Unsigned, VERSION));
        field(&|out| put_head(out, Major::Unsigned, self.serial));
        field(&|out| put_bytes(out, &self.nonce));
        field(&|out| put_bytes(out, &self.key));
        field(&|out| put_bytes(out, &self.policy));
        field(&|out| put_digests(out, &self.contexts));
        field(&|out| put_head(out, Major::Unsigned, self.heartbeat_records.into()));
        field(&|out| put_head(out, Major::Unsigned, self.heartbeat_ticks.into()));
        field(&|out| put_bytes(out, &self.previous_close));
        field(&|out| {
            put_head(out, Major::Array, 2);
            put_head(out, Major::Unsigned, self.not_before);
            put_head(out, Major::Unsigned, self.not_after);
        });
        field(&|out| put_text(out, &self.issuer));
        field(&|out| put_head(out, Major::Unsigned, self.seat.into()));
        field(&|out| put_digests(out, &self.profiles));
        field(&|out| put_head(out, Major::Unsigned, self.text_lane.into()));
        out
    }

    fn read(payload: &[u8]) -> Result<Self, TicketError> {
        let mut map = CborReader::new(payload);
        let keys = map.head(Major::Map)?;
        // The first format of tickets had no version; its first map key was 1.
        if map.head(Major::Unsigned)? != 0 || map.head(Major::Unsigned)? != VERSION {
            return Err(TicketError::Version);
        }
        if keys != KEYS {
            return Err(TicketError::Field("keys are not those of its version"));
        }
        let mut next = 0;
        let mut key = |map: &mut CborReader| {
            next += 1;
            map.exactly(Major::Unsigned, next)
        };
        key(&mut map)?;
        let serial = map.unsigned()?;
        key(&mut map)?;
        let nonce = map.array()?;
        key(&mut map)?;
        let card = map.array()?;
        key(&mut map)?;
        let policy = map.array()?;
        key(&mut map)?;
        let contexts =
            read_digests(&mut map, MAX_CONTEXTS, "contexts are too many", "contexts are not in ascending order")?;
        key(&mut map)?;
        let heartbeat_records = map.unsigned()?;
        key(&mut map)?;
        let heartbeat_ticks = map.unsigned()?;
        key(&mut map)?;
        let previous_close = map.array()?;
        key(&mut map)?;
        map.exactly(Major::Array, 2)?;
        let (not_before, not_after) = (map.unsigned()?, map.unsigned()?);
        key(&mut map)?;
        let issuer = map.text()?.to_owned();
        key(&mut map)?;
        let seat = map.unsigned()?;
        key(&mut map)?;
        let profiles =
            read_digests(&mut map, MAX_PROFILES, "profiles are too many", "profiles are not in ascending order")?;
        key(&mut map)?;
        let text_lane = match map.head(Major::Unsigned)? {
            0 => false,
            1 => true,
            _ => return Err(TicketError::Field("text lane is neither required nor not")),
        };
        map.end()?;
        Ok(Self {
            serial,
            nonce,
            key: card,
            policy,
            contexts,
            heartbeat_records,
            heartbeat_ticks,
            previous_close,
            not_before,
            not_after,
            issuer,
            seat,
            profiles,
            text_lane,
        })
    }

    fn check(&self) -> Result<(), TicketError> {
        let wrong = if self.serial == 0 {
            "serial is 0"
        } else if self.contexts.len() > MAX_CONTEXTS {
            "contexts are too many"
        } else if self.profiles.len() > MAX_PROFILES {
            "profiles are too many"
        } else if self.serial == 1 && self.previous_close != [0; 32] {
            "previous close is set, but nothing precedes serial 1"
        } else if self.not_before > self.not_after {
            "validity ends before it begins"
        } else if self.issuer.is_empty() || self.issuer.len() > MAX_ISSUER {
            "issuer is empty or too long"
        } else if !self.issuer.bytes().all(|byte| byte.is_ascii_graphic()) {
            "issuer is not visible ASCII"
        } else if self.issuer == SELF_ISSUER && (self.heartbeat_records, self.heartbeat_ticks) != (0, 0) {
            "heartbeats are on, but no one issued it"
        } else {
            return Ok(());
        };
        Err(TicketError::Field(wrong))
    }
}

impl SignedTicket<SessionTicket> {
    /// Finds the key among `issuers` that signed the ticket. Errors: the ticket names an issuer but none of `issuers`
    /// signed it; or a trusted issuer signed a ticket named `self`.
    pub fn verify<'k>(&self, issuers: impl IntoIterator<Item = &'k VerifyingKey>) -> Result<TicketIssuer, TicketError> {
        let name = &self.content.issuer;
        let mut candidates = issuers.into_iter().filter(|key| kid(key) == self.kid).peekable();
        if name == SELF_ISSUER {
            // A ticket that names `self` must not have the key id of a trusted issuer: it would have two meanings.
            return if candidates.peek().is_none() {
                Ok(TicketIssuer::SelfIssued)
            } else {
                Err(TicketError::Signature)
            };
        }
        if candidates.peek().is_none() {
            return Err(TicketError::UnknownIssuer(name.clone()));
        }
        let signature = Signature::from_bytes(&self.signature);
        let key = candidates
            .find(|key| key.verify_strict(&self.to_be_signed, &signature).is_ok())
            .ok_or(TicketError::Signature)?;
        Ok(TicketIssuer::Issuer { name: name.clone(), key: key.to_bytes() })
    }
}

/// Parses an issuer's public key: Ed25519, PEM (RFC 8410). Errors: [`TicketError::Key`].
pub fn issuer_key(pem: &str) -> Result<VerifyingKey, TicketError> {
    VerifyingKey::from_public_key_pem(pem.trim_end()).map_err(|_| TicketError::Key)
}

fn kid(key: &VerifyingKey) -> [u8; 8] {
    let mut id = [0; 8];
    id.copy_from_slice(Sha256::digest(key.as_bytes()).split_at(8).0);
    id
}

fn put_digests(out: &mut Vec<u8>, digests: &BTreeSet<[u8; 32]>) {
    put_head(out, Major::Array, digests.len() as u64);
    digests.iter().for_each(|digest| put_bytes(out, digest));
}

/// Reads an ascending array of at most `most` digests. The last two arguments are the error messages for a longer
/// array and for a wrong order.
fn read_digests(
    map: &mut CborReader,
    most: usize,
    too_many: &'static str,
    disorder: &'static str,
) -> Result<BTreeSet<[u8; 32]>, TicketError> {
    let count = map.head(Major::Array)?;
    if count > most as u64 {
        return Err(TicketError::Field(too_many));
    }
    let mut digests = BTreeSet::new();
    for _ in 0..count {
        let digest: [u8; 32] = map.array()?;
        if digests.last().is_some_and(|last| *last >= digest) {
            return Err(TicketError::Field(disorder));
        }
        digests.insert(digest);
    }
    Ok(digests)
}

#[cfg(test)]
mod tests;
