//! Device certificates: they bind a public key to a card and its design.
//!
//! X.509 version 3 (RFC 5280). The leaf's subject key is SLH-DSA-SHA2-128f (RFC 9909: 2.16.840.1.101.3.4.3.21, no
//! parameters, 32 bytes); every signature is Ed25519 (RFC 8410). The chain is the intermediates in order: the leaf's
//! issuer first, the anchor left out. Anchors come from the verifier's [`TrustStore`] only. Path validation follows RFC
//! 5280, 6.1, without policies, name constraints and CRLs. A critical extension other than the two below is refused, so
//! no constraint is ignored.
//!
//! Extensions that are read; other non-critical ones are ignored (RFC 5280, 4.2):
//!
//! | OID | where | content |
//! | --- | --- | --- |
//! | 2.5.29.19 basic constraints, critical | CA | cA, path length |
//! | 2.5.29.15 key usage | all | leaf: digitalSignature without keyCertSign; CA: keyCertSign |
//! | [`DESIGN_ID`] | leaf | OCTET STRING of 16 bytes: the design that holds the key |
//! | [`CLASS`] | leaf | ENUMERATED: 0 simulated, 1 class key (every card of the design has it), 2 the key of one card |
//! | [`CLASS`] | root | ENUMERATED 0 in the root of simulated cards, left out in every other |
//! | [`SUPERVISED`] | leaf | BOOLEAN TRUE: a regulator was present when the key was placed; left out otherwise |
//!
//! The last three OIDs are the project's own, under 1.3.6.1.4.1.32473.1. They are not critical, so that stock tools
//! validate the chain too. RFC 5612 reserves the enterprise number 32473 for examples. An owner who certifies real
//! cards replaces it here; it is defined at no other place.
//!
//! Simulated cards have separate roots. A real root cannot certify a simulated card, a simulation root cannot certify a
//! real card, and the trust store keeps the two kinds apart.

mod profile;
mod store;
mod x509;

use sha2::{Digest, Sha256};
use x509_cert::der::Decode;
use x509_cert::der::asn1::OctetString;

pub use profile::{
    CLASS, CardKeyClass, CertificateError, CertificatePosition, DESIGN_ID, MAX_CHAIN, MAX_PEM, SIMULATED,
    SLH_DSA_SHA2_128F, SUPERVISED,
};
pub use store::TrustStore;
use x509::X509Certificate;

/// The facts about a card from a valid certificate chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceCertificate {
    /// SLH-DSA-SHA2-128f public key: PK.seed and PK.root (FIPS 205, 9.1).
    pub public_key: [u8; 32],
    /// The design that contains the key.
    pub design_id: [u8; 16],
    pub class: CardKeyClass,
    /// A regulator was present when the key was placed.
    pub supervised: bool,
    /// Subject (RFC 4514).
    pub subject: String,
    /// Serial number, big-endian, without leading zeros.
    pub serial: Vec<u8>,
    /// First Unix second of validity.
    pub not_before: u64,
    /// Last Unix second of validity.
    pub not_after: u64,
}

/// Id of a key in tickets, log origins and revocation lists: SHA-256 of its raw bytes.
#[must_use]
pub fn key_id(public_key: &[u8]) -> [u8; 32] {
    Sha256::digest(public_key).into()
}

/// Validates the path from the leaf to an anchor, and returns the facts in the leaf.
///
/// `chain_pem` may be empty. Every certificate must be valid at the Unix second `at`, and the leaf's key not revoked
/// then; without `at`, validity times are not checked, and a key that is revoked from some time on is revoked. Keys of
/// authorities must not be revoked from any time on. Errors: the first reason to refuse a certificate, searched from
/// the leaf to the anchor.
pub fn verify_chain(
    leaf_pem: &[u8],
    chain_pem: &[u8],
    roots: &TrustStore,
    at: Option<u64>,
) -> Result<DeviceCertificate, CertificateError> {
    let leaf = x509::parse_one(leaf_pem, CertificatePosition::Device)?;
    let device = read_leaf(&leaf)?;
    let chain = x509::parse_pem(chain_pem, CertificatePosition::Chain(0), CertificatePosition::Chain)?;
    if chain.len() > MAX_CHAIN {
        return Err(CertificateError::Oversize(CertificatePosition::Chain(MAX_CHAIN)));
    }
    let mut child = &leaf;
    for (below, issuer) in chain.iter().enumerate() {
        if issuer.subject == issuer.issuer {
            return Err(CertificateError::Profile(
                issuer.which,
                "is self-issued, but anchors are not taken from a bundle",
            ));
        }
        issuer.check_authority(below)?;
        child.check_issuer(issuer)?;
        child = issuer;
    }
    let root = roots.issuer_of(child)?;
    root.certificate.check_authority(chain.len())?;

    for certificate in [&leaf].into_iter().chain(&chain).chain([&root.certificate]) {
        if at.is_some_and(|at| at < certificate.not_before || at > certificate.not_after) {
            return Err(CertificateError::Validity(certificate.which, at.unwrap_or_default()));
        }
        // Whoever has the key of an authority can date a certificate as he likes.
        let shown = at.filter(|_| matches!(certificate.which, CertificatePosition::Device));
        if roots.is_revoked_key(&key_id(&certificate.key), shown) {
            return Err(CertificateError::RevokedKey(certificate.which));
        }
    }
    if roots.is_revoked_design(&device.design_id) {
        return Err(CertificateError::RevokedDesign);
    }
    if root.simulated != (device.class == CardKeyClass::Sim) {
        return Err(CertificateError::ClassRoot);
    }
    Ok(device)
}

fn read_leaf(leaf: &X509Certificate) -> Result<DeviceCertificate, CertificateError> {
    let wrong = |what| CertificateError::Profile(CertificatePosition::Device, what);
    if leaf.key_algorithm != SLH_DSA_SHA2_128F {
        return Err(wrong("has a subject key that is not SLH-DSA-SHA2-128f"));
    }
    let public_key =
        leaf.key.as_slice().try_into().map_err(|_| wrong("has a subject key that is not 32 bytes long"))?;
    leaf.check_device()?;
    let design = leaf.extension::<OctetString>(DESIGN_ID)?.ok_or_else(|| wrong("has no design id"))?;
    let design_id: [u8; 16] =
        design.as_bytes().try_into().map_err(|_| wrong("has a design id that is not 16 bytes long"))?;
    let class = leaf.raw_extension(CLASS).ok_or(wrong("has no class"))?;
    let class = [CardKeyClass::Sim, CardKeyClass::Class, CardKeyClass::Device]
        .into_iter()
        .find(|known| known.encoded() == class)
        .ok_or(wrong("has an unknown class"))?;
    let supervised = match leaf.raw_extension(SUPERVISED).map(bool::from_der) {
        None => false,
        Some(Ok(true)) => true,
        Some(_) => return Err(wrong("has a supervision mark that is not TRUE")),
    };
    if (design_id[0] & 0x80 != 0) != (class == CardKeyClass::Sim) {
        return Err(wrong("has a design id of another class"));
    }
    Ok(DeviceCertificate {
        public_key,
        design_id,
        class,
        supervised,
        subject: leaf.subject.to_string(),
        serial: leaf.serial.clone(),
        not_before: leaf.not_before,
        not_after: leaf.not_after,
    })
}
