//! Strict parser of one X.509 certificate: PEM without surrounding text, DER that encodes back to the same bytes,
//! version 3, Ed25519.

use std::collections::BTreeMap;

use ed25519_dalek::{Signature, VerifyingKey};
use x509_cert::Certificate;
use x509_cert::certificate::Version;
use x509_cert::der::{Decode, Encode, asn1::BitString, pem};
use x509_cert::ext::pkix::{BasicConstraints, KeyUsage};
use x509_cert::name::Name;
use x509_cert::spki::{AlgorithmIdentifierOwned, ObjectIdentifier};

use super::profile::{CertificateError, CertificatePosition, MAX_CHAIN, MAX_PEM};

const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const BASIC_CONSTRAINTS: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.19");
const KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.15");
/// Octets of a serial number (RFC 5280, 4.1.2.2).
const MAX_SERIAL: usize = 20;
/// Largest path length that this profile knows.
const MAX_PATH: u8 = 127;
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

#[derive(Clone, Debug)]
pub(super) struct X509Certificate {
    pub(super) which: CertificatePosition,
    pub(super) subject: Name,
    pub(super) issuer: Name,
    pub(super) key_algorithm: ObjectIdentifier,
    pub(super) key: Vec<u8>,
    pub(super) serial: Vec<u8>,
    pub(super) not_before: u64,
    pub(super) not_after: u64,
    extensions: BTreeMap<ObjectIdentifier, (bool, Vec<u8>)>,
    to_be_signed: Vec<u8>,
    signature: [u8; 64],
}

/// Parses the certificates of a PEM file, up to and including number [`MAX_CHAIN`] + 1.
pub(super) fn parse_pem(
    pem: &[u8],
    file: CertificatePosition,
    name: impl Fn(usize) -> CertificatePosition,
) -> Result<Vec<X509Certificate>, CertificateError> {
    if pem.len() > MAX_PEM {
        return Err(CertificateError::Oversize(file));
    }
    let mut rest = std::str::from_utf8(pem).map_err(|_| CertificateError::Pem(file))?.trim_ascii_end();
    let mut found = Vec::new();
    while !rest.is_empty() && found.len() <= MAX_CHAIN {
        let which = name(found.len());
        let end = rest.find(END).filter(|_| rest.starts_with(BEGIN)).ok_or(CertificateError::Pem(which))?;
        let (block, tail) = rest.split_at_checked(end + END.len()).ok_or(CertificateError::Pem(which))?;
        let (_, der) = pem::decode_vec(block.as_bytes()).map_err(|_| CertificateError::Pem(which))?;
        found.push(X509Certificate::from_der(&der, which)?);
        rest = tail.trim_ascii_start();
    }
    Ok(found)
}

pub(super) fn parse_one(pem: &[u8], which: CertificatePosition) -> Result<X509Certificate, CertificateError> {
    let [one] = <[X509Certificate; 1]>::try_from(parse_pem(pem, which, |_| which)?)
        .map_err(|_| CertificateError::Pem(which))?;
    Ok(one)
}

impl X509Certificate {
    fn from_der(der: &[u8], which: CertificatePosition) -> Result<Self, CertificateError> {
        let malformed = |_| CertificateError::Der(which);
        let certificate = Certificate::from_der(der).map_err(malformed)?;
        // The parsed fields must encode to exactly the signed bytes: parsing may not lose any of them.
        if certificate.to_der().map_err(malformed)? != der {
            return Err(CertificateError::Der(which));
        }
        let tbs = certificate.tbs_certificate();
        let wrong = |what| CertificateError::Profile(which, what);
        if tbs.version() != Version::V3 {
            return Err(wrong("is not of version 3"));
        }
        if !is_plain_ed25519(tbs.signature()) || !is_plain_ed25519(certificate.signature_algorithm()) {
            return Err(wrong("is not signed with Ed25519"));
        }
        let serial = tbs.serial_number().as_bytes();
        let positive = serial.first().is_some_and(|first| *first < 0x80) && serial.iter().any(|byte| *byte != 0);
        if !positive || serial.len() > MAX_SERIAL {
            return Err(wrong("has a serial number that is not positive, or longer than 20 octets"));
        }
        let mut extensions = BTreeMap::new();
        for extension in tbs.extensions().into_iter().flatten() {
            let value = (extension.critical, extension.extn_value.as_bytes().to_vec());
            if extensions.insert(extension.extn_id, value).is_some() {
                return Err(wrong("has an extension twice"));
            }
            if extension.critical && ![BASIC_CONSTRAINTS, KEY_USAGE].contains(&extension.extn_id) {
                return Err(wrong("has an unknown critical extension"));
            }
        }
        let spki = tbs.subject_public_key_info();
        if spki.algorithm.parameters.is_some() {
            return Err(wrong("has a subject key with parameters"));
        }
        Ok(Self {
            which,
            subject: tbs.subject().clone(),
            issuer: tbs.issuer().clone(),
            key_algorithm: spki.algorithm.oid,
            key: bits(&spki.subject_public_key).ok_or(wrong("has a subject key of broken bytes"))?.to_vec(),
            serial: serial.to_vec(),
            not_before: tbs.validity().not_before.to_unix_duration().as_secs(),
            not_after: tbs.validity().not_after.to_unix_duration().as_secs(),
            extensions,
            to_be_signed: tbs.to_der().map_err(malformed)?,
            signature: bits(certificate.signature())
                .and_then(|bytes| bytes.try_into().ok())
                .ok_or(wrong("has a signature that is not 64 bytes long"))?,
        })
    }

    pub(super) fn raw_extension(&self, oid: ObjectIdentifier) -> Option<&[u8]> {
        self.extensions.get(&oid).map(|(_, value)| value.as_slice())
    }

    pub(super) fn extension<'a, T: Decode<'a> + Encode>(
        &'a self,
        oid: ObjectIdentifier,
    ) -> Result<Option<T>, CertificateError> {
        self.raw_extension(oid)
            .map(|value| {
                // Extensions must be DER too, like the certificate.
                let found = T::from_der(value).ok().filter(|found| found.to_der().is_ok_and(|der| der == value));
                found.ok_or(CertificateError::Profile(self.which, "has a broken extension"))
            })
            .transpose()
    }

    /// Checks the constraints of a CA certificate with `below` intermediates between it and the leaf (RFC 5280, 6.1.4).
    pub(super) fn check_authority(&self, below: usize) -> Result<(), CertificateError> {
        let wrong = |what| CertificateError::Profile(self.which, what);
        let constraints = self.extension::<BasicConstraints>(BASIC_CONSTRAINTS)?;
        let critical = self.extensions.get(&BASIC_CONSTRAINTS).is_some_and(|(critical, _)| *critical);
        let constraints = constraints.filter(|found| found.ca && critical).ok_or(wrong("is not an authority"))?;
        if constraints.path_len_constraint.is_some_and(|most| most > MAX_PATH) {
            return Err(wrong("has a path length above 127"));
        }
        if constraints.path_len_constraint.is_some_and(|most| usize::from(most) < below) {
            return Err(wrong("does not permit a path of this length"));
        }
        match self.extension::<KeyUsage>(KEY_USAGE)? {
            Some(usage) if usage.key_cert_sign() => Ok(()),
            _ => Err(wrong("may not sign certificates")),
        }
    }

    pub(super) fn check_device(&self) -> Result<(), CertificateError> {
        let wrong = |what| CertificateError::Profile(self.which, what);
        let constraints = self.extension::<BasicConstraints>(BASIC_CONSTRAINTS)?;
        if constraints.as_ref().is_some_and(|found| found.ca) {
            return Err(wrong("is an authority"));
        }
        if constraints.is_some_and(|found| found.path_len_constraint.is_some()) {
            return Err(wrong("has a path length and is not an authority"));
        }
        match self.extension::<KeyUsage>(KEY_USAGE)? {
            Some(usage) if usage.digital_signature() && !usage.key_cert_sign() => Ok(()),
            _ => Err(wrong("is not for signatures alone")),
        }
    }

    /// Checks that `issuer` has the issuer name of this certificate and signed it.
    pub(super) fn check_issuer(&self, issuer: &Self) -> Result<(), CertificateError> {
        let key = <&[u8; 32]>::try_from(issuer.key.as_slice())
            .ok()
            .filter(|_| issuer.key_algorithm == ED25519)
            .and_then(|bytes| VerifyingKey::from_bytes(bytes).ok())
            .ok_or(CertificateError::Profile(issuer.which, "has a subject key that is not Ed25519"))?;
        let signed = self.issuer == issuer.subject
            && key.verify_strict(&self.to_be_signed, &Signature::from_bytes(&self.signature)).is_ok();
        if signed { Ok(()) } else { Err(CertificateError::Signature(self.which)) }
    }
}

fn is_plain_ed25519(algorithm: &AlgorithmIdentifierOwned) -> bool {
    algorithm.oid == ED25519 && algorithm.parameters.is_none()
}

fn bits(string: &BitString) -> Option<&[u8]> {
    string.as_bytes()
}
