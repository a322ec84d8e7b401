//! The profile of a card's certificate: identifiers, limits, and the reasons to refuse one.

use std::fmt;
use x509_cert::spki::ObjectIdentifier;

/// SLH-DSA-SHA2-128f (RFC 9909, section 3).
pub const SLH_DSA_SHA2_128F: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.3.21");
/// Extension: the design that contains the key.
pub const DESIGN_ID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.32473.1.1");
/// Extension: [`CardKeyClass`] of the key.
pub const CLASS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.32473.1.2");
/// Extension: the key was placed under supervision.
pub const SUPERVISED: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.32473.1.3");
/// Content of [`CLASS`] for simulated cards and their roots.
pub const SIMULATED: [u8; 3] = CardKeyClass::Sim.encoded();
/// Largest number of intermediates between leaf and anchor.
pub const MAX_CHAIN: usize = 4;
/// Largest PEM file with certificates, in bytes.
pub const MAX_PEM: usize = 64 * 1024;

/// The position of a certificate in its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificatePosition {
    Device,
    /// An intermediate, counted from the leaf's issuer.
    Chain(usize),
    Root,
}

impl fmt::Display for CertificatePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device => f.write_str("device certificate"),
            Self::Chain(index) => write!(f, "intermediate {index}"),
            Self::Root => f.write_str("root"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    #[error("the {0} is not a sequence of certificates in PEM")]
    Pem(CertificatePosition),
    #[error("the {0} is not an X.509 certificate in DER")]
    Der(CertificatePosition),
    #[error("the {0} is too long")]
    Oversize(CertificatePosition),
    #[error("the {0} {1}")]
    Profile(CertificatePosition, &'static str),
    #[error("the {0} is not signed by its issuer")]
    Signature(CertificatePosition),
    #[error("the chain leads to no trusted root")]
    UnknownRoot,
    #[error("the {0} is not valid at second {1}")]
    Validity(CertificatePosition, u64),
    #[error("the key of the {0} is revoked")]
    RevokedKey(CertificatePosition),
    #[error("the design of the device is revoked")]
    RevokedDesign,
    #[error("a simulated device and a real root, or the other way about")]
    ClassRoot,
    #[error("line {0} of the revocation list is neither `key <64 hex digits>` nor `design <32 hex digits>`")]
    Revocation(usize),
}

/// Which cards have the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CardKeyClass {
    /// Every simulated card: the key is public.
    Sim,
    /// Every card that runs the design.
    Class,
    Device,
}

impl CardKeyClass {
    /// DER of the ENUMERATED in [`CLASS`].
    #[must_use]
    pub const fn encoded(self) -> [u8; 3] {
        [0x0a, 1, self as u8]
    }
}
