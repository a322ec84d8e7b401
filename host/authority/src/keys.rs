//! Ed25519 keys: in files, PKCS #8 in PEM (RFC 8410), readable by their owner only; or behind a program, which asks a
//! device to sign.

mod program;

pub use program::SigningProgram;

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey};
use ed25519_dalek::{Signature, SigningKey, VerifyingKey};
use portcullis_evidence::signing::{SigningError, StatementKey};
use portcullis_settings::secret::{self, SecretError};

/// Largest key file in bytes.
const MAX_BYTES: u64 = 4096;

#[derive(Debug, thiserror::Error)]
pub enum AuthorityKeyError {
    #[error("`{0}`: {1}")]
    Io(PathBuf, std::io::Error),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("`{0}` is not an Ed25519 private key in PEM")]
    Format(PathBuf),
    #[error("the key cannot be encoded")]
    Encoding,
    #[error("no randomness: {0}")]
    Random(#[from] getrandom::Error),
    #[error("{0}")]
    Program(SigningError),
}

/// A key of an issuer, a witness or an approver.
#[derive(Clone)]
pub enum AuthorityKey {
    Memory(SigningKey),
    Program(SigningProgram),
}

impl From<SigningKey> for AuthorityKey {
    fn from(key: SigningKey) -> Self {
        Self::Memory(key)
    }
}

impl StatementKey for AuthorityKey {
    fn verifying_key(&self) -> VerifyingKey {
        match self {
            Self::Memory(key) => key.verifying_key(),
            Self::Program(program) => program.verifying_key(),
        }
    }

    fn signature(&self, message: &[u8]) -> Result<Signature, SigningError> {
        match self {
            Self::Memory(key) => key.signature(message),
            Self::Program(program) => program.signature(message),
        }
    }
}

impl AuthorityKey {
    /// The key at `place`: `program:PATH`, or a file. Errors: as [`load`]; the program does not show its public key.
    pub fn open(place: &Path) -> Result<Self, AuthorityKeyError> {
        match Self::program(place) {
            Some(path) => Ok(Self::Program(SigningProgram::start(&path).map_err(AuthorityKeyError::Program)?)),
            None => Ok(Self::Memory(load(place)?)),
        }
    }

    /// Runs `work` with the key at `place`, as [`AuthorityKey::open`]; makes the key if it is a file that is not there,
    /// as [`with_new`].
    pub fn open_or_make<T, E: From<AuthorityKeyError>>(
        place: &Path,
        work: impl FnOnce(Self) -> Result<T, E>,
    ) -> Result<T, E> {
        match Self::program(place).is_some() || place.exists() {
            true => work(Self::open(place)?),
            false => with_new(place, |key| work(key.into())),
        }
    }

    /// The path of the program if `place` names one.
    fn program(place: &Path) -> Option<PathBuf> {
        Some(PathBuf::from(place.to_str()?.strip_prefix("program:")?))
    }
}

/// Generates a key and writes it to a new file with mode 600. Errors: the file exists; it is not changed then.
pub fn generate(path: &Path) -> Result<SigningKey, AuthorityKeyError> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)?;
    let key = SigningKey::from_bytes(&seed);
    let pem = key.to_pkcs8_pem(LineEnding::LF).map_err(|_| AuthorityKeyError::Encoding)?;
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(pem.as_bytes())?;
        file.sync_all()
    };
    write().map_err(|error| AuthorityKeyError::Io(path.to_owned(), error))?;
    Ok(key)
}

/// Runs `work` with a new key in a new file. If `work` fails, the file is removed: nothing has used the key, and the
/// corrected command can make it. Errors: as [`generate`], or those of `work`.
pub fn with_new<T, E: From<AuthorityKeyError>>(
    path: &Path,
    work: impl FnOnce(SigningKey) -> Result<T, E>,
) -> Result<T, E> {
    let worked = work(generate(path)?);
    if worked.is_err() {
        // The error of the work says more than one of this.
        let _ = std::fs::remove_file(path);
    }
    worked
}

/// Reads a key. Errors: a file that several users can read ([`secret::open`]), or that is not an Ed25519 key.
pub fn load(path: &Path) -> Result<SigningKey, AuthorityKeyError> {
    let io = |error| AuthorityKeyError::Io(path.to_owned(), error);
    let file = secret::open(path)?;
    let mut pem = String::new();
    file.take(MAX_BYTES).read_to_string(&mut pem).map_err(io)?;
    SigningKey::from_pkcs8_pem(pem.trim_end()).map_err(|_| AuthorityKeyError::Format(path.to_owned()))
}

/// The public key in PEM, as used in trust folders and by `openssl pkeyutl -pubin`.
pub fn public_pem(key: &VerifyingKey) -> Result<String, AuthorityKeyError> {
    key.to_public_key_pem(LineEnding::LF).map_err(|_| AuthorityKeyError::Encoding)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn a_key_file_is_its_owners_and_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("issuer.key");
        let key = generate(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(load(&path).unwrap().to_bytes(), key.to_bytes());
        assert!(matches!(generate(&path), Err(AuthorityKeyError::Io(..))));
        assert_eq!(load(&path).unwrap().to_bytes(), key.to_bytes());
        for mode in [0o640, 0o604, 0o660, 0o700] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let refused = load(&path);
            assert!(
                matches!(refused, Err(AuthorityKeyError::Secret(SecretError::Exposed { mode: found, .. })) if found == mode)
            );
        }
    }

    #[test]
    fn other_files_are_no_keys() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("issuer.key");
        generate(&path).unwrap();
        let pem = std::fs::read_to_string(&path).unwrap();
        for wrong in [String::new(), pem[..pem.len() / 2].to_owned(), pem.replace("PRIVATE", "PUBLIC"), pem.repeat(40)]
        {
            std::fs::write(&path, wrong).unwrap();
            assert!(matches!(load(&path), Err(AuthorityKeyError::Format(_))));
        }
        assert!(matches!(load(&dir.path().join("none")), Err(AuthorityKeyError::Secret(SecretError::Read { .. }))));
    }
}
