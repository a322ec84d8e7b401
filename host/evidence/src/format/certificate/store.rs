//! The verifier's trust anchors and revocations.

use std::collections::BTreeSet;

use portcullis_core::hex;

use super::profile::{CLASS, CertificateError, SIMULATED, Which};
use super::x509::{X509Certificate, parse_one};

/// Anchors and revocations. An empty store trusts no certificate.
#[derive(Clone, Debug, Default)]
pub struct TrustStore {
    roots: Vec<Root>,
    revoked_keys: BTreeSet<[u8; 32]>,
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
        let certificate = parse_one(pem, Which::Root)?;
        certificate.check_authority(0)?;
        certificate.check_issuer(&certificate)?;
        if (certificate.raw_extension(CLASS) == Some(&SIMULATED)) != simulated {
            return Err(CertificateError::ClassRoot);
        }
        self.roots.push(Root { certificate, simulated });
        Ok(())
    }

    /// Revokes a key of a device or of an authority, by its [`key_id`](super::key_id).
    pub fn revoke_key(&mut self, id: [u8; 32]) {
        self.revoked_keys.insert(id);
    }

    /// Revokes all certificates of a design.
    pub fn revoke_design(&mut self, id: [u8; 16]) {
        self.revoked_designs.insert(id);
    }

    /// Reads a revocation list with one entry per line: `key <64 hex digits>` or `design <32 hex digits>` in lower
    /// case. Empty lines and lines that begin with `#` are ignored. Errors: [`CertificateError::Revocation`] with the
    /// number of the first malformed line; the entries before that line are added.
    pub fn revoke_list(&mut self, text: &str) -> Result<(), CertificateError> {
        for (number, line) in (1..).zip(text.lines()) {
            let wrong = CertificateError::Revocation(number);
            match line.split_once(' ') {
                _ if line.is_empty() || line.starts_with('#') => {}
                Some(("key", id)) => self.revoke_key(hex::decode(id).ok_or(wrong)?),
                Some(("design", id)) => self.revoke_design(hex::decode(id).ok_or(wrong)?),
                _ => return Err(wrong),
            }
        }
        Ok(())
    }

    pub(super) fn is_revoked_key(&self, id: &[u8; 32]) -> bool {
        self.revoked_keys.contains(id)
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
        assert!(store.is_revoked_key(&[0xab; 32]) && store.is_revoked_design(&[1; 16]));
        for wrong in [
            "key 00",
            "design",
            "key  00",
            &format!("design {}", "0".repeat(33)),
            &format!("key {}", "0g".repeat(32)),
            &format!("key {}", "AB".repeat(32)),
        ] {
            assert_eq!(store.revoke_list(&format!("\n{wrong}")), Err(CertificateError::Revocation(2)), "{wrong}");
        }
    }
}
