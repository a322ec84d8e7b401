//! The witness as a cosigner of other logs, such as the public log of an issuer (C2SP `tlog-witness`).
//!
//! For each log, the witness keeps the newest head that it has cosigned. It cosigns a head only if the log's entries up
//! to that newest head are the start of the log's entries now. So readers who demand its cosignature all see one
//! history of a log. If a log signs two heads of the same size and different roots, the witness keeps both: they prove
//! it.

use base64ct::{Base64, Encoding};
use portcullis_evidence::note::{LogTreeHead, MAX_HEAD_BYTES, SignedNote, cosign, decimal, hash};
use portcullis_evidence::tree::{self, Hash};
use rusqlite::{OptionalExtension, TransactionBehavior, params};

use super::{CheckpointWitness, InternalError};
use crate::store::EventStoreError;

/// Largest number of hashes in a proof.
const MAX_PROOF: usize = 63;
/// Largest body in bytes: a line with a number, the proof, an empty line, and the head.
pub(super) const MAX_BODY: usize = 32 + MAX_PROOF * 45 + MAX_HEAD_BYTES;
/// The tables: the newest head of each log, and the first two that contradict each other.
pub(super) const TABLES: &str = "
CREATE TABLE cosigned (
  origin TEXT PRIMARY KEY,
  note TEXT NOT NULL
) STRICT;
CREATE TABLE split (
  origin TEXT PRIMARY KEY,
  accepted TEXT NOT NULL,
  refused TEXT NOT NULL
) STRICT;
";

/// A request to cosign the newest head of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddCheckpoint {
    /// Size of the log when the witness last cosigned it; 0 if it never did.
    pub old: u64,
    /// The proof that the log at that size is the start of the log now (RFC 6962, 2.1.2); empty if `old` is 0.
    pub proof: Vec<Hash>,
    /// The signed head.
    pub note: String,
}

/// Why the witness does not cosign.
#[derive(Debug, thiserror::Error)]
pub enum CosignRefusal {
    #[error("the request {0}")]
    Malformed(&'static str),
    #[error("the witness does not know the log `{0}`")]
    Unknown(String),
    #[error("the log has not signed its head")]
    Signature,
    /// The value is the size of the log when the witness last cosigned it.
    #[error("the log had {0} entries when the witness last cosigned it")]
    Size(u64),
    #[error("the log has signed two heads of one size: its history was changed")]
    Split,
    #[error("the entries that the witness has seen are not shown to be the start of the log")]
    Inconsistent,
    #[error("the witness cannot answer")]
    Internal(#[from] InternalError),
}

impl From<rusqlite::Error> for CosignRefusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Internal(error.into())
    }
}

/// Two heads that a log signed, of one size and with different roots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSplitView {
    pub origin: String,
    pub accepted: String,
    pub refused: String,
}

impl AddCheckpoint {
    /// The body of the request.
    #[must_use]
    pub fn to_body(&self) -> String {
        let proof: String = self.proof.iter().map(|hash| Base64::encode_string(hash) + "\n").collect();
        format!("old {}\n{proof}\n{}", self.old, self.note)
    }

    /// Parses the body of a request. Errors: [`CosignRefusal::Malformed`].
    pub fn from_body(body: &[u8]) -> Result<Self, CosignRefusal> {
        let wrong = |what| CosignRefusal::Malformed(what);
        let body = std::str::from_utf8(body).map_err(|_| wrong("is not text"))?;
        let (head, note) = body.split_once("\n\n").ok_or_else(|| wrong("has no empty line"))?;
        let mut lines = head.split('\n');
        let old = lines.next().and_then(|line| line.strip_prefix("old ")).and_then(decimal);
        let old = old.ok_or_else(|| wrong("does not begin with `old` and a size"))?;
        let proof: Vec<Hash> = lines.map(hash).collect::<Option<_>>().ok_or_else(|| wrong("has a broken proof"))?;
        if proof.len() > MAX_PROOF {
            return Err(wrong("has a proof that is too long"));
        }
        Ok(Self { old, proof, note: note.to_owned() })
    }
}

impl CheckpointWitness {
    /// Cosigns the newest head of a log at the Unix second `now`; returns the signature line. Errors: the reason to
    /// refuse it. A refusal does not affect later requests.
    pub fn cosign(&self, request: &AddCheckpoint, now: u64) -> Result<String, CosignRefusal> {
        let wrong = |_| CosignRefusal::Malformed("has no signed head of a log");
        let note = SignedNote::parse_head(&request.note).map_err(wrong)?;
        let head = LogTreeHead::parse(note.text).map_err(wrong)?;
        let mut known = self.logs.iter().filter(|log| log.name() == head.origin).peekable();
        if known.peek().is_none() {
            return Err(CosignRefusal::Unknown(head.origin));
        }
        if !known.any(|log| note.is_signed_by(log) == Ok(true)) {
            return Err(CosignRefusal::Signature);
        }
        if request.old > head.size {
            return Err(CosignRefusal::Malformed("names an old size that is larger than the log"));
        }
        let mut database = self.lock();
        let work = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let query = "SELECT note FROM cosigned WHERE origin = ?";
        let last: Option<String> = work.query_row(query, [&head.origin], |row| row.get(0)).optional()?;
        let old = last.as_deref().map(read).transpose()?;
        let (size, root) = old.map_or((0, tree::root([])), |old| (old.size, old.root));
        if let Some(marks) = &self.marks {
            marks.check(&head.origin, size)?;
        }
        if request.old != size {
            return Err(CosignRefusal::Size(size));
        }
        if size == head.size && root != head.root {
            if let Some(accepted) = &last {
                let split = "INSERT OR IGNORE INTO split VALUES (?, ?, ?)";
                work.execute(split, params![head.origin, accepted, request.note])?;
                work.commit()?;
            }
            return Err(CosignRefusal::Split);
        }
        let is_proved = tree::verify_consistency(size, head.size, &request.proof, &root, &head.root);
        if !is_proved || size == 0 && !request.proof.is_empty() {
            return Err(CosignRefusal::Inconsistent);
        }
        work.execute("INSERT OR REPLACE INTO cosigned VALUES (?, ?)", params![head.origin, request.note])?;
        let line = cosign(note.text, self.name.name(), &self.key, now).map_err(InternalError::from)?;
        work.commit()?;
        if let Some(marks) = &self.marks {
            marks.set(head)?;
        }
        Ok(line)
    }

    /// The logs that have signed two histories.
    pub fn splits(&self) -> Result<Vec<LogSplitView>, InternalError> {
        let database = self.lock();
        let mut query = database.prepare("SELECT origin, accepted, refused FROM split ORDER BY origin")?;
        let read =
            |row: &rusqlite::Row| Ok(LogSplitView { origin: row.get(0)?, accepted: row.get(1)?, refused: row.get(2)? });
        Ok(query.query_map([], read)?.collect::<Result<_, _>>()?)
    }
}

/// A head in the store.
fn read(note: &str) -> Result<LogTreeHead, InternalError> {
    let head = SignedNote::parse_head(note).and_then(|note| LogTreeHead::parse(note.text));
    head.map_err(|_| EventStoreError::Damaged("a cosigned head does not parse").into())
}
