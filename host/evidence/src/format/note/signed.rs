//! C2SP `signed-note` with signatures of logs, and cosignatures of witnesses (C2SP `tlog-cosignature`), both Ed25519.

use std::fmt;

use base64ct::{Base64, Encoding};
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest, Sha256};

use crate::format::signing::StatementKey;

use super::error::{MAX_BYTES, MAX_HEAD_BYTES, MAX_HEAD_SIGNATURES, MAX_SIGNATURES, NoteError};
use portcullis_core::hex;

/// Signature type of a log's Ed25519 signature.
const LOG: u8 = 0x01;
/// Signature type of a timestamped Ed25519 cosignature.
const COSIGNATURE: u8 = 0x04;
/// Latest Unix second that a cosignature can contain.
const MAX_TIME: u64 = i64::MAX as u64;

/// Name and public key of a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessKey {
    name: String,
    key: VerifyingKey,
    /// Cosignatures from this Unix second on do not count; `None` if all count.
    until: Option<u64>,
}

impl WitnessKey {
    /// A witness of this name, such as `witness.example/w1`. Errors: a name that is empty or contains spaces, control
    /// characters or `+`.
    pub fn new(name: &str, key: VerifyingKey) -> Result<Self, NoteError> {
        if !is_key_name(name) {
            return Err(NoteError::Key(name.to_owned(), "key name"));
        }
        Ok(Self { name: name.to_owned(), key, until: None })
    }

    /// Parses a verifier key of type 0x04: `<name>+<key id>+<base64 of type and key>`. Errors: any other text, and a
    /// key id that does not match the key.
    pub fn parse(text: &str) -> Result<Self, NoteError> {
        let (name, key) = parse_key(text, COSIGNATURE)
            .ok_or_else(|| NoteError::Key(text.to_owned(), "verifier key of an Ed25519 witness"))?;
        Ok(Self { name, key, until: None })
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn public_key(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }

    /// The same witness, whose cosignatures from this Unix second on do not count.
    #[must_use]
    pub fn until(self, time: u64) -> Self {
        Self { until: Some(time), ..self }
    }

    fn id(&self) -> [u8; 4] {
        key_id(&self.name, COSIGNATURE, self.key.as_bytes())
    }
}

impl fmt::Display for WitnessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_key(f, &self.name, COSIGNATURE, &self.key)
    }
}

/// Name and public key of a log. The name is the first line of its heads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogKey {
    name: String,
    key: VerifyingKey,
}

impl LogKey {
    /// A log of this name, such as `registrar.example/tickets`. Errors: a name that no key can have.
    pub fn new(name: &str, key: VerifyingKey) -> Result<Self, NoteError> {
        if !is_key_name(name) {
            return Err(NoteError::Key(name.to_owned(), "key name"));
        }
        Ok(Self { name: name.to_owned(), key })
    }

    /// Parses a verifier key of type 0x01: `<name>+<key id>+<base64 of type and key>`. Errors: any other text, and a
    /// key id that does not match the key.
    pub fn parse(text: &str) -> Result<Self, NoteError> {
        let wrong = || NoteError::Key(text.to_owned(), "verifier key of an Ed25519 log");
        parse_key(text, LOG).map(|(name, key)| Self { name, key }).ok_or_else(wrong)
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn public_key(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }

    /// The note about `text` with the log's signature by `key`, which is the log's. Errors: a text that no note can
    /// have; the key does not sign.
    pub fn sign(&self, text: &str, key: &dyn StatementKey) -> Result<String, NoteError> {
        if !text.ends_with('\n') {
            return Err(NoteError::Format("text that can be signed"));
        }
        let signature = key.signature(text.as_bytes())?.to_bytes();
        let bytes = [&self.id()[..], &signature].concat();
        Ok(format!("{text}\n\u{2014} {} {}\n", self.name, Base64::encode_string(&bytes)))
    }

    fn id(&self) -> [u8; 4] {
        key_id(&self.name, LOG, self.key.as_bytes())
    }
}

impl fmt::Display for LogKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_key(f, &self.name, LOG, &self.key)
    }
}

/// Name and key of a verifier key of this signature type; `None` for any other text.
fn parse_key(text: &str, kind: u8) -> Option<(String, VerifyingKey)> {
    // Neither name nor key id contains a plus sign; base64 may.
    let mut parts = text.splitn(3, '+');
    let (name, id, key) = (parts.next()?, parts.next()?, parts.next()?);
    let key = Base64::decode_vec(key).ok()?;
    let key = key.strip_prefix(&[kind]).and_then(|key| VerifyingKey::try_from(key).ok())?;
    let is_its_id = hex::decode(id) == Some(key_id(name, kind, key.as_bytes()));
    (is_key_name(name) && is_its_id).then(|| (name.to_owned(), key))
}

fn write_key(f: &mut fmt::Formatter<'_>, name: &str, kind: u8, key: &VerifyingKey) -> fmt::Result {
    let bytes = Base64::encode_string(&[&[kind], &key.as_bytes()[..]].concat());
    write!(f, "{name}+{}+{bytes}", hex::encode(&key_id(name, kind, key.as_bytes())))
}

/// A note: a text and its signature lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedNote<'a> {
    /// The text, with its final newline.
    pub text: &'a str,
    signatures: Vec<SignatureLine<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct SignatureLine<'a> {
    name: &'a str,
    id: [u8; 4],
    signature: Vec<u8>,
}

impl<'a> SignedNote<'a> {
    /// Parses a note about a checkpoint; signatures are not checked. Errors: a text that is not a signed note, or is
    /// too long.
    pub fn parse(note: &'a str) -> Result<Self, NoteError> {
        Self::parse_within(note, MAX_BYTES, MAX_SIGNATURES)
    }

    /// Parses the signed head of a log, as [`SignedNote::parse`]; it can be longer.
    pub fn parse_head(note: &'a str) -> Result<Self, NoteError> {
        Self::parse_within(note, MAX_HEAD_BYTES, MAX_HEAD_SIGNATURES)
    }

    fn parse_within(note: &'a str, bytes: usize, signatures_max: usize) -> Result<Self, NoteError> {
        let wrong = NoteError::Format("signed note (C2SP signed-note)");
        if note.len() > bytes {
            return Err(NoteError::Oversize);
        }
        if note.chars().any(|c| c < ' ' && c != '\n') {
            return Err(wrong);
        }
        // The text ends with the newline before the last empty line.
        let (text, signatures) =
            note.rfind("\n\n").and_then(|at| Some((note.get(..=at)?, note.get(at + 2..)?))).ok_or(wrong.clone())?;
        let lines = signatures.strip_suffix('\n').ok_or(wrong.clone())?.split('\n');
        let signatures: Vec<_> = lines.map(signature_line).collect::<Option<_>>().ok_or(wrong)?;
        if signatures.len() > signatures_max {
            return Err(NoteError::Oversize);
        }
        Ok(Self { text, signatures })
    }

    /// The earliest Unix second in the signatures. It is not checked.
    #[must_use]
    pub fn claimed_time(&self) -> Option<u64> {
        let time = |line: &SignatureLine<'_>| line.signature.first_chunk().map(|time| u64::from_be_bytes(*time));
        self.signatures.iter().filter_map(time).min()
    }

    /// The first of `witnesses` that cosigned the text, and the Unix second of its signature. Errors: no witness
    /// signed, or as [`SignedNote::cosignatures`].
    pub fn verify<'k>(&self, witnesses: &'k [WitnessKey]) -> Result<(&'k WitnessKey, u64), NoteError> {
        self.cosignatures(witnesses)?.into_iter().next().ok_or(NoteError::UnknownWitness)
    }

    /// Those of `witnesses` that cosigned the text, in their order, each with the Unix second of its first signature.
    /// Signatures of unknown keys are ignored, and so are those from the time on at which a key was revoked. Errors: a
    /// line with a witness's name and key id has a wrong signature.
    pub fn cosignatures<'k>(
        &self,
        witnesses: impl IntoIterator<Item = &'k WitnessKey>,
    ) -> Result<Vec<(&'k WitnessKey, u64)>, NoteError> {
        let mut cosigned = Vec::new();
        for witness in witnesses {
            let mut first = None;
            for line in self.lines(&witness.name, witness.id()) {
                let time = check(self.text, &line.signature, &witness.key)
                    .ok_or_else(|| NoteError::Signature(witness.name.clone()))?;
                if witness.until.is_none_or(|until| time < until) {
                    first.get_or_insert((witness, time));
                }
            }
            cosigned.extend(first);
        }
        Ok(cosigned)
    }

    /// Whether the log signed the text. Errors: a line with the log's name and key id has a wrong signature.
    pub fn is_signed_by(&self, log: &LogKey) -> Result<bool, NoteError> {
        let mut is_signed = false;
        for line in self.lines(&log.name, log.id()) {
            Signature::from_slice(&line.signature)
                .and_then(|signature| log.key.verify_strict(self.text.as_bytes(), &signature))
                .map_err(|_| NoteError::LogSignature(log.name.clone()))?;
            is_signed = true;
        }
        Ok(is_signed)
    }

    /// Number of signature lines.
    #[must_use]
    pub const fn signatures(&self) -> usize {
        self.signatures.len()
    }

    fn lines<'n>(&'n self, name: &str, id: [u8; 4]) -> impl Iterator<Item = &'n SignatureLine<'a>> {
        self.signatures.iter().filter(move |line| line.name == name && line.id == id)
    }
}

/// The line, with newline, by which a witness cosigns `text` at the Unix second `time`. Errors: an invalid key name; a
/// text that no note can have; a time beyond 2^63 - 1; the key does not sign.
pub fn cosign(text: &str, name: &str, key: &dyn StatementKey, time: u64) -> Result<String, NoteError> {
    let witness = WitnessKey::new(name, key.verifying_key())?;
    if !text.ends_with('\n') || time > MAX_TIME {
        return Err(NoteError::Format("text that can be cosigned"));
    }
    let signature = key.signature(&message(text, time))?.to_bytes();
    let bytes = [&witness.id()[..], &time.to_be_bytes(), &signature].concat();
    Ok(format!("\u{2014} {name} {}\n", Base64::encode_string(&bytes)))
}

fn signature_line(line: &str) -> Option<SignatureLine<'_>> {
    let (name, bytes) = line.strip_prefix("\u{2014} ")?.split_once(' ')?;
    let bytes = Base64::decode_vec(bytes).ok()?;
    let (id, signature) = bytes.split_first_chunk()?;
    is_key_name(name).then(|| SignatureLine { name, id: *id, signature: signature.to_vec() })
}

/// The time in a cosignature; `None` unless `key` made it over `text`.
fn check(text: &str, signature: &[u8], key: &VerifyingKey) -> Option<u64> {
    let (time, signature) = signature.split_first_chunk()?;
    let time = u64::from_be_bytes(*time);
    let signature = Signature::from_slice(signature).ok()?;
    let valid = time <= MAX_TIME && key.verify_strict(&message(text, time), &signature).is_ok();
    valid.then_some(time)
}

fn message(text: &str, time: u64) -> Vec<u8> {
    format!("cosignature/v1\ntime {time}\n{text}").into_bytes()
}

/// Whether a key can have this name (C2SP signed-note).
fn is_key_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(|c| c == '+' || c.is_whitespace() || c.is_control())
}

/// Key id: the first bytes of SHA-256(name, newline, signature type, public key).
pub(super) fn key_id(name: &str, kind: u8, key: &[u8]) -> [u8; 4] {
    let digest = Sha256::new().chain_update(name).chain_update([b'\n', kind]).chain_update(key).finalize();
    let mut id = [0; 4];
    id.copy_from_slice(digest.split_at(4).0);
    id
}
