//! A withholding: the signed statement that texts of streams were removed from a bundle, with the reason.
//!
//! Its payload (module `statement`) is `{0: version 1, 1: ticket digest bstr 32, 2: digest of the bundle before bstr
//! 32, 3: name text, 4: reason text, 5: streams}`. The streams are an array of `[lane, log index of BEGIN]` in
//! ascending order.

use crate::format::cbor::{CborError, CborReader, Major, put_bytes, put_head, put_text};
use crate::format::statement::SignedStatement;
use ed25519_dalek::{SigningKey, VerifyingKey};
use std::collections::BTreeSet;

const VERSION: u64 = 1;
/// Longest reason in bytes.
pub const REASON_MAX: usize = 4096;
/// Longest name in bytes.
pub const NAME_MAX: usize = 200;

/// A stream, by its lane and the log index of its BEGIN record.
pub type StreamAt = (u8, u64);

/// The removed streams, the signer and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithholdingTerms {
    /// Digest of the session's ticket; it identifies the session.
    pub ticket: [u8; 32],
    /// SHA-256 of the manifest before the removal.
    pub before: [u8; 32],
    /// Name that the signer claims: one line. The signature does not prove it.
    pub name: String,
    /// Reason: one line.
    pub reason: String,
    pub streams: BTreeSet<StreamAt>,
}

/// A withholding. [`Withholding::signer`] checks its signature; parsing does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withholding {
    pub terms: WithholdingTerms,
    statement: SignedStatement,
}

impl Withholding {
    /// Parses a withholding; `None` unless `cose` is the canonical encoding.
    #[must_use]
    pub fn parse(cose: &[u8]) -> Option<Self> {
        let statement = SignedStatement::parse(cose)?;
        let terms = read(&statement.payload).ok()?;
        // The encoding is canonical: streams are in order, without duplicates.
        (terms.is_sound() && payload(&terms) == statement.payload).then_some(Self { terms, statement })
    }

    /// Encodes the terms and signs them with `key`; `None` for terms that readers refuse.
    #[must_use]
    pub fn sign(terms: &WithholdingTerms, key: &SigningKey) -> Option<Vec<u8>> {
        terms.is_sound().then(|| SignedStatement::sign(&payload(terms), key).ok()).flatten()
    }

    /// The key among `keys` that signed the withholding; `None` if none of them did.
    #[must_use]
    pub fn signer<'k>(&self, keys: impl IntoIterator<Item = &'k VerifyingKey>) -> Option<&'k VerifyingKey> {
        self.statement.signer(keys)
    }
}

impl WithholdingTerms {
    fn is_sound(&self) -> bool {
        let line = |text: &str, most| !text.is_empty() && text.len() <= most && !text.contains(char::is_control);
        line(&self.name, NAME_MAX) && line(&self.reason, REASON_MAX) && !self.streams.is_empty()
    }
}

fn payload(terms: &WithholdingTerms) -> Vec<u8> {
    let mut out = Vec::new();
    put_head(&mut out, Major::Map, 6);
    put_head(&mut out, Major::Unsigned, 0);
    put_head(&mut out, Major::Unsigned, VERSION);
    put_head(&mut out, Major::Unsigned, 1);
    put_bytes(&mut out, &terms.ticket);
    put_head(&mut out, Major::Unsigned, 2);
    put_bytes(&mut out, &terms.before);
    put_head(&mut out, Major::Unsigned, 3);
    put_text(&mut out, &terms.name);
    put_head(&mut out, Major::Unsigned, 4);
    put_text(&mut out, &terms.reason);
    put_head(&mut out, Major::Unsigned, 5);
    put_head(&mut out, Major::Array, terms.streams.len() as u64);
    for (lane, index) in &terms.streams {
        put_head(&mut out, Major::Array, 2);
        put_head(&mut out, Major::Unsigned, (*lane).into());
        put_head(&mut out, Major::Unsigned, *index);
    }
    out
}

fn read(payload: &[u8]) -> Result<WithholdingTerms, CborError> {
    let mut payload = CborReader::new(payload);
    payload.exactly(Major::Map, 6)?;
    payload.exactly(Major::Unsigned, 0)?;
    payload.exactly(Major::Unsigned, VERSION)?;
    payload.exactly(Major::Unsigned, 1)?;
    let ticket = payload.array()?;
    payload.exactly(Major::Unsigned, 2)?;
    let before = payload.array()?;
    payload.exactly(Major::Unsigned, 3)?;
    let name = payload.text()?.to_owned();
    payload.exactly(Major::Unsigned, 4)?;
    let reason = payload.text()?.to_owned();
    payload.exactly(Major::Unsigned, 5)?;
    let count = payload.head(Major::Array)?;
    let mut streams = BTreeSet::new();
    for _ in 0..count {
        payload.exactly(Major::Array, 2)?;
        streams.insert((payload.unsigned()?, payload.unsigned()?));
    }
    payload.end()?;
    Ok(WithholdingTerms { ticket, before, name, reason, streams })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> WithholdingTerms {
        let streams = BTreeSet::from([(0, 1), (0, 300), (3, 2)]);
        WithholdingTerms {
            ticket: [1; 32],
            before: [2; 32],
            name: "clerk".into(),
            reason: "erased on request".into(),
            streams,
        }
    }

    #[test]
    fn every_bit_counts() {
        let key = SigningKey::from_bytes(&[3; 32]);
        let message = Withholding::sign(&terms(), &key).unwrap();
        let read = Withholding::parse(&message).unwrap();
        let keys = [key.verifying_key()];
        assert_eq!((&read.terms, read.signer(&keys)), (&terms(), Some(&keys[0])));
        for bit in 0..message.len() * 8 {
            let mut wrong = message.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(Withholding::parse(&wrong).is_none_or(|w| w.signer(&keys).is_none()), "bit {bit}");
        }
        assert!((0..message.len()).all(|length| Withholding::parse(&message[..length]).is_none()));
    }

    #[test]
    fn what_nobody_could_read_in_a_report_is_not_signed() {
        let key = SigningKey::from_bytes(&[3; 32]);
        let wrong: [fn(&mut WithholdingTerms); 5] = [
            |terms| terms.streams.clear(),
            |terms| terms.reason.clear(),
            |terms| terms.reason = "a\nb".into(),
            |terms| terms.reason = "a".repeat(REASON_MAX + 1),
            |terms| terms.name = "a".repeat(NAME_MAX + 1),
        ];
        for change in wrong {
            let mut terms = terms();
            change(&mut terms);
            assert!(Withholding::sign(&terms, &key).is_none());
            assert!(Withholding::parse(&SignedStatement::sign(&payload(&terms), &key).unwrap()).is_none());
        }
    }
}
