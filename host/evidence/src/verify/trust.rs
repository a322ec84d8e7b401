//! The trust folder: files with the roots and keys that a verifier trusts.

use crate::format::approval::PolicyApproval;
use crate::format::certificate::{CertificateError, TrustStore, key_id};
use crate::format::note::{NoteError, WitnessKey};
use crate::format::public_log::{LogPolicy, LogPolicyError};
use crate::format::ticket::{SELF_ISSUER, SessionTicket, SignedTicket, TicketError, TicketIssuer, issuer_key};
use crate::format::withholding::Withholding;
use ed25519_dalek::VerifyingKey;
use portcullis_core::hex::HexBytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Largest file of a trust folder, in bytes.
const FILE_MAX: u64 = 1 << 20;
/// The list of revoked keys and designs.
const REVOKED: &str = "revoked.txt";
/// The policy for public logs.
const LOG_POLICY: &str = "log-policy.txt";
/// The folders of a trust folder.
const FOLDERS: [&str; 6] = ["roots", "sim-roots", "issuers", "approvers", "withholders", "witnesses"];

/// The keys that the verifier trusts. They never come from a bundle.
#[derive(Clone, Debug, Default)]
pub struct TrustedParties {
    /// Roots of device certificates, and what is revoked.
    pub roots: TrustStore,
    pub issuers: Vec<TrustedKey>,
    /// Keys that may approve a policy. An issuer's key may not, unless this list contains it too.
    pub approvers: Vec<TrustedKey>,
    /// Keys that may remove texts from a bundle.
    pub withholders: Vec<TrustedKey>,
    pub witnesses: Vec<WitnessKey>,
    /// Which heads of public logs are trusted.
    pub log_policy: Option<LogPolicy>,
    /// The files that were read, for reports.
    pub files: Vec<TrustFile>,
}

/// A file of the trust folder whose content is trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrustFile {
    /// Path of the file below the trust folder.
    pub name: String,
    /// SHA-256 of its content.
    pub digest: HexBytes<32>,
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
pub struct SignerIdentity {
    /// The name in the signed message. It is not proved: any key can sign any name.
    pub claimed: String,
    /// SHA-256 of the public key; absent if no trusted key signed.
    pub key: Option<HexBytes<32>>,
    /// File of that key below the trust folder.
    pub file: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("cannot read `{path}`: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    /// An unexpected file. It is an error, because a misspelt name of a revocation list would otherwise revoke nothing.
    #[error(
        "`{0}` is none of roots/*.pem, sim-roots/*.pem, issuers/*.pub, approvers/*.pub, withholders/*.pub, witnesses/*.pub, log-policy.txt and revoked.txt"
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
    #[error("`{path}`: {source}")]
    LogPolicy { path: PathBuf, source: LogPolicyError },
}

/// The texts of the files of a trust folder, in the order of their names: `roots/root.pem`, `revoked.txt`. A process
/// that has no such folder can be given these, and has the same trust.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TrustTexts(Vec<(String, String)>);

impl TrustTexts {
    /// Reads all files of a trust folder. Errors: a file cannot be read, or its name is not one of a trust folder.
    pub fn read(folder: &Path) -> Result<Self, TrustError> {
        let mut texts = Vec::new();
        for path in list(folder)? {
            let Some(name) = name_of(&path) else { return Err(TrustError::Name(path)) };
            if name == REVOKED || name == LOG_POLICY {
                texts.push((name.to_owned(), read(&path)?));
            } else if FOLDERS.contains(&name) {
                for file in list(&path)? {
                    let Some(of_file) = name_of(&file) else { return Err(TrustError::Name(file)) };
                    texts.push((format!("{name}/{of_file}"), read(&file)?));
                }
            } else {
                return Err(TrustError::Name(path));
            }
        }
        Ok(Self(texts))
    }
}

impl TrustedParties {
    /// Reads `roots/*.pem`, `issuers/*.pub`, `approvers/*.pub` and `withholders/*.pub` (Ed25519, PEM),
    /// `witnesses/*.pub` (C2SP verifier keys), `log-policy.txt` (C2SP tlog-policy), `revoked.txt`, and, with
    /// `allow_sim`, `sim-roots/*.pem`. All of them are optional.
    pub fn load(folder: &Path, allow_sim: bool) -> Result<Self, TrustError> {
        Self::from_texts(folder, &TrustTexts::read(folder)?, allow_sim)
    }

    /// The trust of a folder whose texts were read before. `folder` only stands in errors. Errors: as [`Self::load`].
    pub fn from_texts(folder: &Path, texts: &TrustTexts, allow_sim: bool) -> Result<Self, TrustError> {
        let mut trust = Self::default();
        for (name, text) in &texts.0 {
            trust.add(name, text, folder.join(name), allow_sim)?;
            trust.files.push(TrustFile::new(name, text));
        }
        trust.revoke_witnesses();
        if !allow_sim {
            trust.files.retain(|file| !file.name.starts_with("sim-roots/"));
        }
        Ok(trust)
    }

    fn add(&mut self, name: &str, text: &str, path: PathBuf, allow_sim: bool) -> Result<(), TrustError> {
        let certificate = |path, source| TrustError::Certificate { path, source };
        match name.split_once('/') {
            None if name == REVOKED => {
                self.roots.revoke_list(text).map_err(|source| certificate(path, source))?;
            }
            None if name == LOG_POLICY => {
                let policy = LogPolicy::parse(text).map_err(|source| TrustError::LogPolicy { path, source })?;
                self.log_policy = Some(policy);
            }
            Some(("roots", file)) if file.ends_with(".pem") => {
                self.roots.add_root(text.as_bytes()).map_err(|source| certificate(path, source))?;
            }
            // Always parsed, but trusted only with `allow_sim`.
            Some(("sim-roots", file)) if file.ends_with(".pem") => {
                let store = if allow_sim { &mut self.roots } else { &mut Self::default().roots };
                store.add_sim_root(text.as_bytes()).map_err(|source| certificate(path, source))?;
            }
            Some((folder @ ("issuers" | "approvers" | "withholders"), file)) if file.ends_with(".pub") => {
                let key = TrustedKey::read(name, text, path)?;
                match folder {
                    "issuers" => self.issuers.push(key),
                    "approvers" => self.approvers.push(key),
                    _ => self.withholders.push(key),
                }
            }
            Some(("witnesses", file)) if file.ends_with(".pub") => {
                let key = WitnessKey::parse(text.trim_end()).map_err(|source| TrustError::Witness { path, source })?;
                self.witnesses.push(key);
            }
            _ => return Err(TrustError::Name(path)),
        }
        Ok(())
    }
}

impl TrustedParties {
    /// The same trust without the revocations that have a time, for a caller that judges the time elsewhere.
    /// Cosignatures of witnesses still end at their times.
    #[must_use]
    pub fn without_dated_revocations(self) -> Self {
        Self { roots: self.roots.without_dated_revocations(), ..self }
    }

    /// Ends the trust in witnesses at the times at which their keys are revoked. A witness states the time of its
    /// cosignature itself.
    fn revoke_witnesses(&mut self) {
        let revoked = |witness: WitnessKey| match self.roots.revoked_since(&key_id(witness.public_key())) {
            Some(since) => witness.until(since),
            None => witness,
        };
        self.witnesses = std::mem::take(&mut self.witnesses).into_iter().map(revoked).collect();
        let until = |key: &[u8; 32]| self.roots.revoked_since(&key_id(key));
        self.log_policy = self.log_policy.take().map(|policy| policy.revoke(until));
    }

    /// Whether signatures of a key of `keys` count that nothing shows to be older than its revocation.
    fn unrevoked<'k>(&'k self, keys: &'k [TrustedKey]) -> impl Iterator<Item = &'k VerifyingKey> + Clone {
        keys.iter().map(|trusted| &trusted.key).filter(|key| !self.roots.is_revoked_key(&key_id(key.as_bytes()), None))
    }
}

impl TrustFile {
    fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), digest: HexBytes(Sha256::digest(text).into()) }
    }
}

impl TrustedKey {
    fn read(name: &str, text: &str, path: PathBuf) -> Result<Self, TrustError> {
        Ok(Self { file: name.to_owned(), key: issuer_key(text).map_err(|source| TrustError::Key { path, source })? })
    }

    /// The trusted key with these bytes; `None` if it is not among `keys`.
    fn find<'k>(keys: &'k [Self], key: &[u8; 32]) -> Option<&'k Self> {
        keys.iter().find(|trusted| trusted.key.as_bytes() == key)
    }
}

impl SignerIdentity {
    fn of(claimed: &str, keys: &[TrustedKey], key: &[u8; 32]) -> Self {
        let file = TrustedKey::find(keys, key).map(|trusted| trusted.file.clone());
        Self { claimed: claimed.to_owned(), key: Some(HexBytes(Sha256::digest(key).into())), file }
    }

    pub(crate) fn unknown(claimed: &str) -> Self {
        Self { claimed: claimed.to_owned(), key: None, file: None }
    }
}

impl fmt::Display for SignerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { claimed, key, file } = self;
        match (key, file) {
            (Some(key), Some(file)) => write!(f, "key {key} in {file}, which calls itself `{claimed}`"),
            _ if claimed == SELF_ISSUER => f.write_str("the operator"),
            _ => write!(f, "a key that is not trusted, which calls itself `{claimed}`"),
        }
    }
}

impl TrustedParties {
    /// The issuer of a ticket. `shown` is a Unix second before which the ticket was signed, if there is one: a key may
    /// be revoked since. Errors: as [`SignedTicket::verify`]; the issuer's key is revoked.
    pub fn issuer(
        &self,
        ticket: &SignedTicket<SessionTicket>,
        shown: Option<u64>,
    ) -> Result<SignerIdentity, TicketError> {
        Ok(match ticket.verify(self.issuers.iter().map(|trusted| &trusted.key))? {
            TicketIssuer::Issuer { name, key } if self.roots.is_revoked_key(&key_id(&key), shown) => {
                return Err(TicketError::Revoked(name));
            }
            TicketIssuer::Issuer { name, key } => SignerIdentity::of(&name, &self.issuers, &key),
            TicketIssuer::SelfIssued => SignerIdentity::unknown(SELF_ISSUER),
        })
    }

    /// The signer of an approval; `None` if no trusted approver signed it. Nothing shows when an approval was signed,
    /// so approvals of a revoked key never count.
    #[must_use]
    pub fn approver(&self, approval: &PolicyApproval) -> Option<SignerIdentity> {
        let key = approval.signer(self.unrevoked(&self.approvers))?;
        Some(SignerIdentity::of(&approval.name, &self.approvers, key.as_bytes()))
    }

    /// The signer of a statement about removed texts. As with approvals, those of a revoked key never count.
    #[must_use]
    pub fn withholder(&self, withholding: &Withholding) -> SignerIdentity {
        let name = &withholding.terms.name;
        match withholding.signer(self.unrevoked(&self.withholders)) {
            Some(key) => SignerIdentity::of(name, &self.withholders, key.as_bytes()),
            None => SignerIdentity::unknown(name),
        }
    }
}

fn name_of(path: &Path) -> Option<&str> {
    path.file_name().and_then(|name| name.to_str())
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
