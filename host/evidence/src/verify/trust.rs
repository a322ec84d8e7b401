//! The trust folder: files with the roots and keys that a verifier trusts.

use crate::format::approval::Approval;
use crate::format::certificate::{CertificateError, TrustStore};
use crate::format::note::{NoteError, WitnessKey};
use crate::format::ticket::{SELF_ISSUER, SignedTicket, Ticket, TicketError, TicketIssuer, issuer_key};
use crate::format::withholding::Withholding;
use ed25519_dalek::VerifyingKey;
use portcullis_core::hex::Hex;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Largest file of a trust folder, in bytes.
const FILE_MAX: u64 = 1 << 20;

/// The keys that the verifier trusts. They never come from a bundle.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// Roots of device certificates, and what is revoked.
    pub roots: TrustStore,
    pub issuers: Vec<TrustedKey>,
    /// Keys that may approve a policy. An issuer's key may not, unless this list contains it too.
    pub approvers: Vec<TrustedKey>,
    /// Keys that may remove texts from a bundle.
    pub withholders: Vec<TrustedKey>,
    pub witnesses: Vec<WitnessKey>,
    /// The files that were read, for reports.
    pub files: Vec<TrustFile>,
}

/// A file of the trust folder whose content is trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrustFile {
    /// Path of the file below the trust folder.
    pub name: String,
    /// SHA-256 of its content.
    pub digest: Hex<32>,
}

/// A key of the trust folder.
#[derive(Clone, Debug)]
pub struct TrustedKey {
    /// Name of its file below the trust folder.
    pub file: String,
    pub key: VerifyingKey,
}

/// The signer of a message, as far as known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Signer {
    /// The name in the signed message. It is not proved: any key can sign any name.
    pub claimed: String,
    /// SHA-256 of the public key; absent if no trusted key signed.
    pub key: Option<Hex<32>>,
    /// File of that key below the trust folder.
    pub file: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("cannot read `{path}`: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    /// An unexpected file. It is an error, because a misspelt name of a revocation list would otherwise revoke nothing.
    #[error(
        "`{0}` is none of roots/*.pem, sim-roots/*.pem, issuers/*.pub, approvers/*.pub, withholders/*.pub, witnesses/*.pub and revoked.txt"
    )]
    Name(PathBuf),
    #[error("`{0}` is larger than 1 MiB")]
    Size(PathBuf),
    #[error("`{path}`: {source}")]
    Certificate { path: PathBuf, source: CertificateError },
    #[error("`{path}`: {source}")]
    Key { path: PathBuf, source: TicketError },
    #[error("`{path}`: {source}")]
    Witness { path: PathBuf, source: NoteError },
}

impl Trust {
    /// Reads `roots/*.pem`, `issuers/*.pub`, `approvers/*.pub` and `withholders/*.pub` (Ed25519, PEM),
    /// `witnesses/*.pub` (C2SP verifier keys), `revoked.txt`, and, with `allow_sim`, `sim-roots/*.pem`. All of them
    /// are optional.
    pub fn load(folder: &Path, allow_sim: bool) -> Result<Self, TrustError> {
        let mut trust = Self::default();
        for path in list(folder)? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            match name {
                "roots" => trust.each(&path, "pem", |trust, text, path| {
                    trust.roots.add_root(text.as_bytes()).map_err(|source| TrustError::Certificate { path, source })
                })?,
                // Always parsed, but trusted only with `allow_sim`.
                "sim-roots" => trust.each(&path, "pem", |trust, text, path| {
                    let store = if allow_sim { &mut trust.roots } else { &mut Self::default().roots };
                    store.add_sim_root(text.as_bytes()).map_err(|source| TrustError::Certificate { path, source })
                })?,
                "issuers" => trust.each(&path, "pub", |trust, text, path| {
                    trust.issuers.push(TrustedKey::read("issuers", text, path)?);
                    Ok(())
                })?,
                "approvers" => trust.each(&path, "pub", |trust, text, path| {
                    trust.approvers.push(TrustedKey::read("approvers", text, path)?);
                    Ok(())
                })?,
                "withholders" => trust.each(&path, "pub", |trust, text, path| {
                    trust.withholders.push(TrustedKey::read("withholders", text, path)?);
                    Ok(())
                })?,
                "witnesses" => trust.each(&path, "pub", |trust, text, path| {
                    let key =
                        WitnessKey::parse(text.trim_end()).map_err(|source| TrustError::Witness { path, source })?;
                    trust.witnesses.push(key);
                    Ok(())
                })?,
                "revoked.txt" => {
                    let text = read(&path)?;
                    trust.files.push(TrustFile::new(name, &text));
                    let revoked = trust.roots.revoke_list(&text);
                    revoked.map_err(|source| TrustError::Certificate { path, source })?;
                }
                _ => return Err(TrustError::Name(path)),
            }
        }
        if !allow_sim {
            trust.files.retain(|file| !file.name.starts_with("sim-roots/"));
        }
        Ok(trust)
    }

    fn each(
        &mut self,
        folder: &Path,
        extension: &str,
        add: impl Fn(&mut Self, &str, PathBuf) -> Result<(), TrustError>,
    ) -> Result<(), TrustError> {
        for path in list(folder)? {
            if path.extension().is_none_or(|found| found != extension) {
                return Err(TrustError::Name(path));
            }
            let text = read(&path)?;
            let folder = folder.file_name().unwrap_or_default().to_string_lossy();
            let name = format!("{folder}/{}", path.file_name().unwrap_or_default().to_string_lossy());
            add(self, &text, path)?;
            self.files.push(TrustFile::new(&name, &text));
        }
        Ok(())
    }
}

impl TrustFile {
    fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), digest: Hex(Sha256::digest(text).into()) }
    }
}

impl TrustedKey {
    fn read(folder: &str, text: &str, path: PathBuf) -> Result<Self, TrustError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let file = format!("{folder}/{name}");
        Ok(Self { file, key: issuer_key(text).map_err(|source| TrustError::Key { path, source })? })
    }

    /// The trusted key with these bytes; `None` if it is not among `keys`.
    fn find<'k>(keys: &'k [Self], key: &[u8; 32]) -> Option<&'k Self> {
        keys.iter().find(|trusted| trusted.key.as_bytes() == key)
    }
}

impl Signer {
    fn of(claimed: &str, keys: &[TrustedKey], key: &[u8; 32]) -> Self {
        let file = TrustedKey::find(keys, key).map(|trusted| trusted.file.clone());
        Self { claimed: claimed.to_owned(), key: Some(Hex(Sha256::digest(key).into())), file }
    }

    pub(crate) fn unknown(claimed: &str) -> Self {
        Self { claimed: claimed.to_owned(), key: None, file: None }
    }
}

impl fmt::Display for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { claimed, key, file } = self;
        match (key, file) {
            (Some(key), Some(file)) => write!(f, "key {key} in {file}, which calls itself `{claimed}`"),
            _ if claimed == SELF_ISSUER => f.write_str("the operator"),
            _ => write!(f, "a key that is not trusted, which calls itself `{claimed}`"),
        }
    }
}

impl Trust {
    /// The issuer of a ticket. Errors: as [`SignedTicket::verify`].
    pub fn issuer(&self, ticket: &SignedTicket<Ticket>) -> Result<Signer, TicketError> {
        Ok(match ticket.verify(self.issuers.iter().map(|trusted| &trusted.key))? {
            TicketIssuer::Issuer { name, key } => Signer::of(&name, &self.issuers, &key),
            TicketIssuer::SelfIssued => Signer::unknown(SELF_ISSUER),
        })
    }

    /// The signer of an approval; `None` if no trusted approver signed it.
    #[must_use]
    pub fn approver(&self, approval: &Approval) -> Option<Signer> {
        let key = approval.signer(self.approvers.iter().map(|trusted| &trusted.key))?;
        Some(Signer::of(&approval.name, &self.approvers, key.as_bytes()))
    }

    #[must_use]
    pub fn withholder(&self, withholding: &Withholding) -> Signer {
        let name = &withholding.terms.name;
        match withholding.signer(self.withholders.iter().map(|trusted| &trusted.key)) {
            Some(key) => Signer::of(name, &self.withholders, key.as_bytes()),
            None => Signer::unknown(name),
        }
    }
}

/// The content of a folder, ordered by name.
fn list(folder: &Path) -> Result<Vec<PathBuf>, TrustError> {
    let io = |source| TrustError::Io { path: folder.to_owned(), source };
    let entries = fs::read_dir(folder).map_err(io)?;
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(io)?;
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<String, TrustError> {
    let io = |source| TrustError::Io { path: path.to_owned(), source };
    if fs::metadata(path).map_err(io)?.len() > FILE_MAX {
        return Err(TrustError::Size(path.to_owned()));
    }
    fs::read_to_string(path).map_err(io)
}
