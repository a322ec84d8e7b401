//! Certification of cards by the manufacturer: roots, issuing authorities, device certificates (profile:
//! `portcullis_evidence::certificate`).
//!
//! An authority certifies either simulated cards or real ones, as its root states, never both.

use std::str::FromStr;
use std::time::Duration;

use ed25519_dalek::pkcs8::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};
use ed25519_dalek::{Signature, SigningKey};
use portcullis_evidence::certificate::{CLASS, CardKeyClass, DESIGN_ID, SIMULATED, SLH_DSA_SHA2_128F, SUPERVISED};
use sha2::{Digest, Sha256};
use x509_cert::Certificate;
use x509_cert::builder::profile::BuilderProfile;
use x509_cert::builder::{Builder, CertificateBuilder};
use x509_cert::certificate::TbsCertificate;
use x509_cert::der::asn1::{BitString, OctetString, UtcTime};
use x509_cert::der::pem::LineEnding;
use x509_cert::der::{DateTime, DecodePem, Encode, EncodePem};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::{AuthorityKeyIdentifier, BasicConstraints, KeyUsage, KeyUsages, SubjectKeyIdentifier};
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{ObjectIdentifier, SubjectPublicKeyInfoRef};
use x509_cert::time::{Time, Validity};

const BASIC_CONSTRAINTS: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.19");
const KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.15");
const SUBJECT_KEY_ID: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.14");
const AUTHORITY_KEY_ID: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.35");

#[derive(Debug, thiserror::Error)]
pub enum CaError {
    /// A distinguished name that is invalid under RFC 4514.
    #[error("`{0}` is not a distinguished name such as `CN=Gate 17,O=Example`")]
    Name(String),
    #[error("the validity from second {0} to second {1} cannot be certified")]
    Validity(u64, u64),
    /// The certificate and the key do not match, or the certificate is not an authority's.
    #[error("the authority's {0}")]
    Authority(&'static str),
    #[error("a {0} authority certifies no {1} cards")]
    Class(&'static str, &'static str),
    #[error("the design id is that of a {0} card")]
    Design(&'static str),
    #[error("the certificate cannot be encoded: {0}")]
    Encoding(#[from] x509_cert::builder::Error),
    #[error("no randomness: {0}")]
    Random(#[from] getrandom::Error),
}

/// A period in Unix seconds. It includes both of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateValidity {
    /// First second.
    pub not_before: u64,
    /// Last second.
    pub not_after: u64,
}

/// The key of the simulation root is the SHA-256 of this text. It is public, like the key of every simulated card.
const SIMULATION_TEXT: &[u8] = b"SIM ROOT KEY - NOT FOR PRODUCTION";
/// Validity of the simulation root: 2020 to 2049, the end of the range of X.509's UTCTime.
pub const SIMULATION: CertificateValidity = CertificateValidity { not_before: 1_577_836_800, not_after: 2_524_607_999 };

/// The simulation root. Its key is public, so anyone can certify a simulated card; verifiers trust it only on request.
pub fn simulation() -> Result<CertificateAuthority, CaError> {
    let key = SigningKey::from_bytes(&Sha256::digest(SIMULATION_TEXT).into());
    CertificateAuthority::root(key, "CN=Portcullis simulations", SIMULATION, true)
}

/// A certifying key with its certificate.
pub struct CertificateAuthority {
    key: SigningKey,
    certificate: Certificate,
    simulated: bool,
}

/// The content of a device certificate.
#[derive(Clone, Debug)]
pub struct DeviceCertificateContent {
    /// SLH-DSA-SHA2-128f public key.
    pub public_key: [u8; 32],
    /// The design that contains the key.
    pub design_id: [u8; 16],
    pub class: CardKeyClass,
    /// A regulator was present when the key was placed.
    pub supervised: bool,
    /// Subject (RFC 4514), such as `CN=Gate 17,O=Example`.
    pub subject: String,
    pub window: CertificateValidity,
}

impl CertificateAuthority {
    /// Makes a root for real cards or for simulated ones. Errors: a name or window that X.509 does not allow.
    pub fn root(key: SigningKey, subject: &str, window: CertificateValidity, simulated: bool) -> Result<Self, CaError> {
        let subject = name(subject)?;
        let mut extensions = authority_extensions(&key, None)?;
        if simulated {
            extensions.push(extension(CLASS, false, SIMULATED.to_vec())?);
        }
        let profile = CertificateProfile { issuer: subject.clone(), subject, extensions };
        let certificate = build(profile, window, public_key(&key)?, &key)?;
        Ok(Self { key, certificate, simulated })
    }

    /// Makes an authority below this one; it can certify devices only. Errors: as [`CertificateAuthority::root`].
    pub fn subordinate(&self, key: SigningKey, subject: &str, window: CertificateValidity) -> Result<Self, CaError> {
        let profile = CertificateProfile {
            issuer: self.certificate.tbs_certificate().subject().clone(),
            subject: name(subject)?,
            extensions: authority_extensions(&key, Some(&self.key))?,
        };
        let certificate = build(profile, window, public_key(&key)?, &self.key)?;
        Ok(Self { key, certificate, simulated: self.simulated })
    }

    /// Loads an authority from its key and its PEM certificate. `simulated` is the kind of the root. Errors: a
    /// certificate of another key, or a root of the other kind.
    pub fn load(key: SigningKey, certificate_pem: &str, simulated: bool) -> Result<Self, CaError> {
        let certificate = Certificate::from_pem(certificate_pem.trim_end())
            .map_err(|_| CaError::Authority("certificate is not X.509 in PEM"))?;
        let tbs = certificate.tbs_certificate();
        if *tbs.subject_public_key_info() != public_key(&key)? {
            return Err(CaError::Authority("certificate is of another key"));
        }
        let marked = tbs.extensions().into_iter().flatten().any(|found| found.extn_id == CLASS);
        if tbs.subject() == tbs.issuer() && marked != simulated {
            return Err(CaError::Class(kind(marked), kind(simulated)));
        }
        Ok(Self { key, certificate, simulated })
    }

    pub fn certificate_pem(&self) -> Result<String, CaError> {
        pem(&self.certificate)
    }

    /// Certifies a card; returns the certificate in PEM. Errors: a card that this authority may not certify, or fields
    /// that X.509 does not allow.
    pub fn certify(&self, device: &DeviceCertificateContent) -> Result<String, CaError> {
        let simulated = device.class == CardKeyClass::Sim;
        if simulated != self.simulated {
            return Err(CaError::Class(kind(self.simulated), kind(simulated)));
        }
        if (device.design_id[0] & 0x80 != 0) != simulated {
            return Err(CaError::Design(kind(!simulated)));
        }
        let mut extensions = vec![
            extension(BASIC_CONSTRAINTS, true, der(&BasicConstraints { ca: false, path_len_constraint: None })?)?,
            extension(KEY_USAGE, true, der(&KeyUsage(KeyUsages::DigitalSignature.into()))?)?,
            subject_key_id(&device.public_key)?,
            authority_key_id(&self.key)?,
            extension(DESIGN_ID, false, der(&octets(&device.design_id)?)?)?,
            extension(CLASS, false, device.class.encoded().to_vec())?,
        ];
        if device.supervised {
            extensions.push(extension(SUPERVISED, false, der(&true)?)?);
        }
        let spki = SubjectPublicKeyInfoOwned {
            algorithm: AlgorithmIdentifierOwned { oid: SLH_DSA_SHA2_128F, parameters: None },
            subject_public_key: BitString::from_bytes(&device.public_key).map_err(encoding)?,
        };
        let issuer = self.certificate.tbs_certificate().subject().clone();
        let profile = CertificateProfile { issuer, subject: name(&device.subject)?, extensions };
        pem(&build(profile, device.window, spki, &self.key)?)
    }
}

struct CertificateProfile {
    issuer: Name,
    subject: Name,
    extensions: Vec<Extension>,
}

impl BuilderProfile for CertificateProfile {
    fn get_issuer(&self, _: &Name) -> Name {
        self.issuer.clone()
    }

    fn get_subject(&self) -> Name {
        self.subject.clone()
    }

    fn build_extensions(
        &self,
        _: SubjectPublicKeyInfoRef<'_>,
        _: SubjectPublicKeyInfoRef<'_>,
        _: &TbsCertificate,
    ) -> x509_cert::builder::Result<Vec<Extension>> {
        Ok(self.extensions.clone())
    }
}

fn build(
    profile: CertificateProfile,
    window: CertificateValidity,
    spki: SubjectPublicKeyInfoOwned,
    issuer: &SigningKey,
) -> Result<Certificate, CaError> {
    let time = |second| time(second).ok_or(CaError::Validity(window.not_before, window.not_after));
    if window.not_before > window.not_after {
        return Err(CaError::Validity(window.not_before, window.not_after));
    }
    let validity = Validity::new(time(window.not_before)?, time(window.not_after)?);
    // The serial is random, and positive without a leading zero (RFC 5280, 4.1.2.2).
    let mut serial = [0; 16];
    getrandom::fill(&mut serial)?;
    serial[0] = serial[0] & 0x7f | 0x40;
    let serial = SerialNumber::new(&serial).map_err(encoding)?;
    Ok(CertificateBuilder::new(profile, serial, validity, spki)?.build::<_, Signature>(issuer)?)
}

/// RFC 5280, 4.1.2.5: UTCTime until 2049, GeneralizedTime from 2050.
fn time(second: u64) -> Option<Time> {
    let date = DateTime::from_unix_duration(Duration::from_secs(second)).ok()?;
    Some(match UtcTime::from_date_time(date) {
        Ok(utc) => Time::UtcTime(utc),
        Err(_) => Time::GeneralTime(date.into()),
    })
}

fn authority_extensions(key: &SigningKey, issuer: Option<&SigningKey>) -> Result<Vec<Extension>, CaError> {
    // A subordinate authority has no authorities below it.
    let path_len_constraint = issuer.map(|_| 0);
    let mut extensions = vec![
        extension(BASIC_CONSTRAINTS, true, der(&BasicConstraints { ca: true, path_len_constraint })?)?,
        extension(KEY_USAGE, true, der(&KeyUsage(KeyUsages::KeyCertSign.into()))?)?,
        subject_key_id(key.verifying_key().as_bytes())?,
    ];
    if let Some(issuer) = issuer {
        extensions.push(authority_key_id(issuer)?);
    }
    Ok(extensions)
}

/// Key identifier by RFC 7093, method 1: the first 160 bits of the SHA-256 of the key.
fn short_id(key: &[u8]) -> Result<OctetString, CaError> {
    octets(Sha256::digest(key).split_at(20).0)
}

fn subject_key_id(key: &[u8]) -> Result<Extension, CaError> {
    extension(SUBJECT_KEY_ID, false, der(&SubjectKeyIdentifier(short_id(key)?))?)
}

fn authority_key_id(issuer: &SigningKey) -> Result<Extension, CaError> {
    let key_identifier = Some(short_id(issuer.verifying_key().as_bytes())?);
    let id = AuthorityKeyIdentifier { key_identifier, authority_cert_issuer: None, authority_cert_serial_number: None };
    extension(AUTHORITY_KEY_ID, false, der(&id)?)
}

fn extension(extn_id: ObjectIdentifier, critical: bool, value: Vec<u8>) -> Result<Extension, CaError> {
    Ok(Extension { extn_id, critical, extn_value: octets(&value)? })
}

fn public_key(key: &SigningKey) -> Result<SubjectPublicKeyInfoOwned, CaError> {
    SubjectPublicKeyInfoOwned::from_key(&key.verifying_key()).map_err(|error| CaError::Encoding(error.into()))
}

fn name(text: &str) -> Result<Name, CaError> {
    match Name::from_str(text) {
        Ok(name) if !name.is_empty() => Ok(name),
        _ => Err(CaError::Name(text.to_owned())),
    }
}

fn octets(bytes: &[u8]) -> Result<OctetString, CaError> {
    OctetString::new(bytes).map_err(encoding)
}

fn der(value: &impl Encode) -> Result<Vec<u8>, CaError> {
    value.to_der().map_err(encoding)
}

fn pem(certificate: &Certificate) -> Result<String, CaError> {
    certificate.to_pem(LineEnding::LF).map_err(encoding)
}

fn encoding(error: x509_cert::der::Error) -> CaError {
    CaError::Encoding(error.into())
}

fn kind(simulated: bool) -> &'static str {
    if simulated { "simulated" } else { "real" }
}
