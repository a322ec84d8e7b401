//! X25519 keys in files (RFC 8410), in the form of `openssl genpkey -algorithm x25519`.

use crate::format::Kem;
use der::asn1::OctetStringRef;
use der::{Decode, Document, SecretDocument};
use ed25519_dalek::pkcs8::spki::SubjectPublicKeyInfoRef;
use ed25519_dalek::pkcs8::{ObjectIdentifier, PrivateKeyInfoRef};
use hpke::{Deserializable, Kem as _, Serializable};
use portcullis_settings::secret::{self, SecretError};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Object identifier id-X25519.
const X25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.110");
/// Largest permitted size of a key file in bytes.
const MAX_BYTES: u64 = 4096;

/// Why a key cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum SealKeyError {
    /// The file cannot be read.
    #[error("cannot read the key `{}`: {source}", path.display())]
    Io {
        path: PathBuf,
        /// The error that the system returned.
        source: std::io::Error,
    },
    /// The file of a private key cannot be read, or other users can read it.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The file does not contain a key of the expected kind in PEM.
    #[error(
        "`{}` is not an X25519 {kind} key in PEM; make one with `openssl genpkey -algorithm x25519 -out KEY` and \
         `openssl pkey -in KEY -pubout`", path.display()
    )]
    Format {
        path: PathBuf,
        /// The kind: public or private.
        kind: &'static str,
    },
}

/// The key to which texts are sealed.
#[derive(Clone)]
pub struct PublicKey(pub(crate) <Kem as hpke::Kem>::PublicKey);

/// The key that opens sealed texts.
#[derive(Clone)]
pub struct PrivateKey {
    pub(crate) secret: <Kem as hpke::Kem>::PrivateKey,
    pub(crate) public: PublicKey,
}

impl PublicKey {
    /// Reads a key.
    ///
    /// # Errors
    /// [`SealKeyError`].
    pub fn load(path: &Path) -> Result<Self, SealKeyError> {
        let pem = read(path, false)?;
        let key = || {
            let (label, document) = Document::from_pem(&pem).ok().filter(|(label, _)| *label == "PUBLIC KEY")?;
            let _ = label;
            let info = SubjectPublicKeyInfoRef::from_der(document.as_bytes()).ok()?;
            let bytes = (info.algorithm.oid == X25519 && info.algorithm.parameters.is_none())
                .then(|| info.subject_public_key.as_bytes())??;
            <Kem as hpke::Kem>::PublicKey::from_bytes(bytes).ok()
        };
        key().map(Self).ok_or_else(|| SealKeyError::Format { path: path.to_owned(), kind: "public" })
    }

    /// SHA-256 of the key's 32 bytes.
    pub(crate) fn id(&self) -> [u8; 32] {
        Sha256::digest(self.0.to_bytes()).into()
    }
}

impl PrivateKey {
    /// Reads a key.
    ///
    /// # Errors
    /// [`SealKeyError`], also if other users may access the file.
    pub fn load(path: &Path) -> Result<Self, SealKeyError> {
        let pem = read(path, true)?;
        let key = || {
            let (label, document) = SecretDocument::from_pem(&pem).ok()?;
            let info = PrivateKeyInfoRef::from_der(document.as_bytes()).ok().filter(|_| label == "PRIVATE KEY")?;
            let is_x25519 = info.algorithm.oid == X25519 && info.algorithm.parameters.is_none();
            // The private key is an octet string that is itself in an octet string.
            let inner = is_x25519.then(|| <&OctetStringRef>::from_der(info.private_key.as_bytes()).ok())??;
            <Kem as hpke::Kem>::PrivateKey::from_bytes(inner.as_bytes()).ok()
        };
        let secret = key().ok_or_else(|| SealKeyError::Format { path: path.to_owned(), kind: "private" })?;
        let public = PublicKey(Kem::sk_to_pk(&secret));
        Ok(Self { secret, public })
    }
}

fn read(path: &Path, is_private: bool) -> Result<String, SealKeyError> {
    let io = |source| SealKeyError::Io { path: path.to_owned(), source };
    let file = if is_private { secret::open(path)? } else { File::open(path).map_err(io)? };
    let mut pem = String::new();
    file.take(MAX_BYTES).read_to_string(&mut pem).map_err(io)?;
    Ok(pem)
}
