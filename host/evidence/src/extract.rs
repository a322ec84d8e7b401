//! Splits a bundle into files that stock tools can read: `openssl`, `sha256sum`, Python's standard library.
//!
//! This module checks nothing. The README that it writes beside the files explains how to check them.

use crate::format::bundle::{self, Bundle, BundleError, BundleFiles};
use crate::format::checkpoint::{CheckpointError, CoseCheckpoint};
use crate::format::cose;
use base64ct::{Base64, Encoding};
use portcullis_core::hex;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use x509_cert::Certificate;
use x509_cert::der::DecodePem;
use zerocopy::IntoBytes;

/// README of an extracted bundle.
pub const README: &str = include_str!("extract/README.md");
/// Python script that recomputes the roots with the standard library only.
const ROOTS: &str = include_str!("extract/roots.py");

/// DER of the SubjectPublicKeyInfo of SLH-DSA-SHA2-128f (RFC 9909, section 4) before the 32 bytes of the key.
const SPKI_HEAD: [u8; 18] =
    [0x30, 0x30, 0x30, 0x0b, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x15, 0x03, 0x21, 0x00];

#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error("checkpoint {0}: {1}")]
    Checkpoint(u64, CheckpointError),
    #[error("the certificate is none of an SLH-DSA-SHA2-128f key")]
    Certificate,
    #[error("cannot write `{name}`: {source}")]
    Io { name: String, source: io::Error },
}

/// Writes the files into a new folder. Errors: [`ExtractError`], also if the folder exists.
pub fn extract(files: &dyn BundleFiles, folder: &Path) -> Result<(), ExtractError> {
    let bundle = Bundle::open(files)?;
    let to = Folder(folder);
    to.make("")?;
    to.make("checkpoints")?;
    let certificate = bundle.read(bundle::CERTIFICATE)?;
    let public_key = public_key(&certificate).ok_or(ExtractError::Certificate)?;
    to.put("cert.pem", &certificate)?;
    to.put("chain.pem", &bundle.read(bundle::CHAIN)?)?;
    to.put("device.pem", public_key_pem(&public_key).as_bytes())?;
    to.put("ticket.cose", &bundle.read(bundle::TICKET)?)?;
    to.put("image.bin", &bundle.read(bundle::IMAGE)?)?;
    to.make("records")?;
    for (name, _) in bundle.below("records/") {
        to.copy(name, &mut bundle.stream(name)?)?;
    }

    let mut sums = String::new();
    for serial in 0..bundle.checkpoints() {
        let name = bundle::checkpoint(serial);
        let signed =
            CoseCheckpoint::parse(&bundle.read(&name)?).map_err(|error| ExtractError::Checkpoint(serial, error))?;
        let wire = signed.checkpoint.wire;
        let bytes = zerocopy::transmute!(wire);
        to.put(&format!("checkpoints/{serial:08}.tbs"), &cose::to_be_signed(&bytes))?;
        to.put(&format!("checkpoints/{serial:08}.sig"), signed.signature.as_bytes())?;
        // The expected digests come from the signed data, not from the files, so `sha256sum -c` is a real comparison.
        let image = hex::encode(&wire.policy_digest);
        let ticket = hex::encode(&wire.ticket_digest);
        let lines = format!("{image}  image.bin\n{ticket}  ticket.cose\n");
        if !sums.ends_with(&lines) {
            sums.push_str(&lines);
        }
    }
    to.put("SHA256SUMS", sums.as_bytes())?;
    to.put("roots.py", ROOTS.as_bytes())?;
    to.put("README.md", README.as_bytes())
}

/// The subject public key of a PEM certificate.
fn public_key(certificate: &[u8]) -> Option<[u8; 32]> {
    let certificate = Certificate::from_pem(certificate).ok()?;
    certificate.tbs_certificate().subject_public_key_info().subject_public_key.raw_bytes().try_into().ok()
}

/// The public key in the PEM form that `openssl pkeyutl -pubin` reads.
#[must_use]
pub fn public_key_pem(key: &[u8; 32]) -> String {
    let der = [&SPKI_HEAD[..], key].concat();
    let text = Base64::encode_string(&der);
    let (first, rest) = text.split_at_checked(64).unwrap_or((&text, ""));
    format!("-----BEGIN PUBLIC KEY-----\n{first}\n{rest}\n-----END PUBLIC KEY-----\n")
}

struct Folder<'a>(&'a Path);

impl Folder<'_> {
    fn make(&self, name: &str) -> Result<(), ExtractError> {
        let path = if name.is_empty() { self.0.to_owned() } else { self.0.join(name) };
        fs::create_dir(&path).map_err(|source| Self::failed(&path, source))
    }

    fn failed(path: &Path, source: io::Error) -> ExtractError {
        ExtractError::Io { name: path.display().to_string(), source }
    }

    fn put(&self, name: &str, content: &[u8]) -> Result<(), ExtractError> {
        self.copy(name, &mut &*content)
    }

    fn copy(&self, name: &str, from: &mut dyn io::Read) -> Result<(), ExtractError> {
        let path = self.0.join(name);
        let copied = File::create_new(&path).and_then(|mut file| io::copy(from, &mut file));
        copied.map(drop).map_err(|source| Self::failed(&path, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_keys_are_those_of_rfc_9909() {
        let pem = public_key_pem(&[0xff; 32]);
        let lines: Vec<_> = pem.lines().collect();
        assert_eq!((lines.len(), lines[1].len(), lines[2].len()), (4, 64, 4));
        let der = Base64::decode_vec(&[lines[1], lines[2]].concat()).unwrap();
        assert_eq!((der.len(), &der[..2], &der[18..]), (50, &[0x30, 48][..], &[0xff; 32][..]));
    }
}
