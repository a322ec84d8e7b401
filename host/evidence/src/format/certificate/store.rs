//! The verifier's trust anchors and revocations.

use std::collections::{BTreeMap, BTreeSet};

use portcullis_core::hex;

use crate::format::note::decimal;

use super::profile::{CLASS, CertificateError, CertificatePosition, SIMULATED};
use super::x509::{X509Certificate, parse_one};

/// Anchors and revocations. An empty store trusts no certificate.
#[derive(Clone, Debug, Default)]
pub struct TrustStore {
    roots: Vec<Root>,
    /// For each key, the Unix second from which on its signatures do not count; 0 if none counts.
    revoked_keys: BTreeMap<[u8; 32], u64>,
    revoked_designs: BTreeSet<[u8; 16]>,
}

/// An anchor.
#[derive(Clone, Debug)]
pub(super) struct Root {
    pub(super) certificate: X509Certificate,
    pub(super) simulated: bool,
}

impl TrustStore {
    /// Adds a root for real cards: one self-signed certificate in PEM. Errors: anything else, and a simulation root.
    pub fn add_root(&mut self, pem: &[u8]) -> Result<(), CertificateError> {
        self.add(pem, false)
    }

    /// Adds a root for simulated cards, for a caller that accepts simulated evidence. Errors: anything but one
    /// self-signed certificate in PEM, and a root of real cards.
    pub fn add_sim_root(&mut self, pem: &[u8]) -> Result<(), CertificateError> {
        self.add(pem, true)
    }

    fn add(&mut self, pem: &[u8], simulated: bool) -> Result<(), CertificateError> {
        let certificate = parse_one(pem, CertificatePosition::Root)?;
        certificate.check_authority(0)?;
        certificate.check_issuer(&certificate)?;
        if (certificate.raw_extension(CLASS) == Some(&SIMULATED)) != simulated {
            return Err(CertificateError::ClassRoot);
        }
        self.roots.push(Root { certificate, simulated });
        Ok(())
    }

    /// Revokes a key of a device, an authority, an issuer, an approver or a withholder, by its
    /// [`key_id`](super::key_id): none of its signatures counts. A trust folder's list revokes keys of witnesses, too.
    pub fn revoke_key(&mut self, id: [u8; 32]) {
        self.revoke_key_since(id, 0);
    }

    /// Revokes a key from this Unix second on. Signatures that are shown to be older count. If the key is revoked more
    /// than once, the earliest time applies.
    pub fn revoke_key_since(&mut self, id: [u8; 32], since: u64) {
        let earliest = self.revoked_keys.entry(id).or_insert(since);
        *earliest = since.min(*earliest);
    }

    /// Revokes all certificates of a design.
    pub fn revoke_design(&mut self, id: [u8; 16]) {
        self.revoked_designs.insert(id);
    }

    /// Reads a revocation list with one entry per line: `key <64 hex digits>`, `key <64 hex digits> since <Unix
    /// second>` or `design <32 hex digits>`, in lower case. Empty lines and lines that begin with `#` are ignored.
    /// Errors: [`CertificateError::Revocation`] with the number of the first malformed line; the entries before that
    /// line are added.
    pub fn revoke_list(&mut self, text: &str) -> Result<(), CertificateError> {
        for (number, line) in (1..).zip(text.lines()) {
            let wrong = CertificateError::Revocation(number);
            match line.split_once(' ') {
                _ if line.is_empty() || line.starts_with('#') => {}
                Some(("key", id)) => match id.split_once(" since ") {
                    None => self.revoke_key(hex::decode(id).ok_or(wrong)?),
                    Some((id, since)) => {
                        let since = decimal(since).ok_or(wrong.clone())?;
                        self.revoke_key_since(hex::decode(id).ok_or(wrong)?, since);
                    }
                },
                Some(("design", id)) => self.revoke_design(hex::decode(id).ok_or(wrong)?),
                _ => return Err(wrong),
            }
        }
        Ok(())
    }

    /// Whether a signature of this key does not count. `shown` is a Unix second before which the signature was made;
    /// without it, every revocation applies.
    #[must_use]
    pub fn is_revoked_key(&self, id: &[u8; 32], shown: Option<u64>) -> bool {
        self.revoked_since(id).is_some_and(|since| shown.is_none_or(|shown| shown >= since))
    }

    /// The Unix second from which on signatures of a key do not count, if it is revoked.
    pub(crate) fn revoked_since(&self, id: &[u8; 32]) -> Option<u64> {
        self.revoked_keys.get(id).copied()
    }

    /// The store without the revocations that have a time, for a caller that judges the time elsewhere.
    #[must_use]
    pub fn without_dated_revocations(mut self) -> Self {
        self.revoked_keys.retain(|_, since| *since == 0);
        self
    }

    pub(super) fn is_revoked_design(&self, id: &[u8; 16]) -> bool {
        self.revoked_designs.contains(id)
    }

    /// The anchor that issued `certificate`.
    pub(super) fn issuer_of(&self, certificate: &X509Certificate) -> Result<&Root, CertificateError> {
        self.roots
            .iter()
            .find(|root| certificate.check_issuer(&root.certificate).is_ok())
            .ok_or(CertificateError::UnknownRoot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revocation_lists() {
        let mut store = TrustStore::default();
        let list = format!("# leaked in March\n\nkey {}\ndesign {}\n", "ab".repeat(32), "01".repeat(16));
        store.revoke_list(&list).unwrap();
        assert!(store.is_revoked_key(&[0xab; 32], Some(0)) && store.is_revoked_design(&[1; 16]));
        for wrong in [
            "key 00",
            "design",
            "key  00",
            &format!("design {}", "0".repeat(33)),
            &format!("key {}", "0g".repeat(32)),
            &format!("key {}", "AB".repeat(32)),
            &format!("key {} since", "ab".repeat(32)),
            &format!("key {} since ", "ab".repeat(32)),
            &format!("key {} since 01", "ab".repeat(32)),
            &format!("key {} since +1", "ab".repeat(32)),
            &format!("key {} since 1 ", "ab".repeat(32)),
            &format!("key {}  since 1", "ab".repeat(32)),
            &format!("key {} since 18446744073709551616", "ab".repeat(32)),
            &format!("design {} since 1", "ab".repeat(16)),
        ] {
            assert_eq!(store.revoke_list(&format!("\n{wrong}")), Err(CertificateError::Revocation(2)), "{wrong}");
        }
    }

    #[test]
    fn revocations_with_a_time() {
        let list = |times: &[&str]| {
            let mut store = TrustStore::default();
            let lines: Vec<_> = times.iter().map(|time| format!("key {}{time}", "ab".repeat(32))).collect();
            store.revoke_list(&lines.join("\n")).unwrap();
            store
        };
        let key = [0xab; 32];
        let store = list(&[" since 100"]);
        assert!(!store.is_revoked_key(&key, Some(99)) && store.is_revoked_key(&key, Some(100)));
        assert!(store.is_revoked_key(&key, None), "without a time, it is revoked");
        assert!(!store.is_revoked_key(&[1; 32], None));
        assert!(!store.clone().without_dated_revocations().is_revoked_key(&key, None));
        // The earliest time applies, whatever the order.
        for times in [[" since 100", " since 7"], [" since 7", " since 100"]] {
            let store = list(&times);
            assert!(!store.is_revoked_key(&key, Some(6)) && store.is_revoked_key(&key, Some(7)));
        }
        for times in [["", " since 100"], [" since 100", ""]] {
            let store = list(&times);
            assert!(store.is_revoked_key(&key, Some(0)));
            assert!(store.without_dated_revocations().is_revoked_key(&key, Some(0)));
        }
    }
}
