//! Reads a public log from its files, and checks all of it.

use super::entry::{PublicLogEntry, PublicLogEventKind};
use super::policy::{CosignedHead, HeadError, LogPolicy};
use super::{TILE, tile_path};
use crate::format::note::MAX_HEAD_BYTES;
use crate::format::ticket::ChainId;
use crate::format::tree::{Hash, MerkleFrontier};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes of an entry in a tile, with its length.
const ENTRY: usize = PublicLogEntry::BYTES + 2;
/// Bytes of a full tile of entries.
const MAX_TILE: usize = TILE * ENTRY;

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Reading failed. This says nothing about the log.
    #[error("cannot read `{path}`: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("the head of the public log: {0}")]
    Head(#[from] HeadError),
    #[error("the public log: `{path}` {what}")]
    Damaged { path: PathBuf, what: &'static str },
}

impl ReadError {
    /// Whether reading failed, which says nothing about the log.
    #[must_use]
    pub const fn is_operational(&self) -> bool {
        matches!(self, Self::Io { .. })
    }
}

/// How far the issuer knows a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LoggedSessionState {
    Issued,
    Opened,
    Closed,
    Abandoned,
}

/// A session in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedSession {
    /// Digest of the ticket.
    pub ticket: Hash,
    pub state: LoggedSessionState,
    /// Whether its opening checkpoint was presented. A ticket can be abandoned before its session opens.
    pub is_opened: bool,
}

impl LoggedSession {
    /// The session after the next event of its chain; `None` if this event cannot follow.
    fn after(last: Option<(u64, Self)>, entry: &PublicLogEntry) -> Option<Self> {
        use LoggedSessionState::{Abandoned, Closed, Issued, Opened};
        let Some((serial, session)) = last.filter(|_| entry.kind != PublicLogEventKind::Issued) else {
            let is_free = last.is_none_or(|(_, session)| matches!(session.state, Closed | Abandoned));
            let is_next = entry.serial == last.map_or(0, |(serial, _)| serial).checked_add(1)?;
            let issued = Self { ticket: entry.ticket, state: Issued, is_opened: false };
            return (entry.kind == PublicLogEventKind::Issued && is_free && is_next).then_some(issued);
        };
        let (state, is_opened) = match (session.state, entry.kind) {
            (Issued, PublicLogEventKind::Opened) => (Opened, true),
            (Opened, PublicLogEventKind::Closed) => (Closed, true),
            (Issued | Opened, PublicLogEventKind::Abandoned) => (Abandoned, session.is_opened),
            _ => return None,
        };
        let is_same = (entry.serial, entry.ticket) == (serial, session.ticket);
        is_same.then_some(Self { state, is_opened, ..session })
    }
}

/// A log whose head a policy trusts, and whose entries are under this head.
#[derive(Clone, Debug)]
pub struct TrustedPublicLog {
    pub head: CosignedHead,
    sessions: BTreeMap<ChainId, BTreeMap<u64, LoggedSession>>,
}

impl TrustedPublicLog {
    /// Reads the log in `folder`. Errors: its head is not one that `policy` trusts; its entries have another root; an
    /// entry does not follow the one before it in its chain; reading failed.
    pub fn read(folder: &Path, policy: &LogPolicy) -> Result<Self, ReadError> {
        let path = folder.join("checkpoint");
        let note = read(&path, MAX_HEAD_BYTES)?;
        let damaged = |path: &Path, what| ReadError::Damaged { path: path.to_owned(), what };
        let note = String::from_utf8(note).map_err(|_| damaged(&path, "is not text"))?;
        let head = policy.check(&note)?;
        let size = usize::try_from(head.head.size).map_err(|_| damaged(&path, "is of a log that is too long"))?;
        let mut log = Self { head, sessions: BTreeMap::new() };
        let (mut tree, mut places) = (MerkleFrontier::new(), BTreeMap::new());
        for tile in 0..size.div_ceil(TILE) {
            let width = (size - tile * TILE).min(TILE);
            let path = folder.join(tile_path("entries", tile, width));
            let tile = match read(&path, MAX_TILE) {
                // The log has grown meanwhile: the full tile begins with the same entries.
                Err(ReadError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound && width < TILE => {
                    let mut full = read(&folder.join(tile_path("entries", tile, TILE)), MAX_TILE)?;
                    full.truncate(width * ENTRY);
                    full
                }
                tile => tile?,
            };
            let entries = PublicLogEntry::from_tile(&tile).filter(|entries| entries.len() == width);
            for entry in entries.ok_or_else(|| damaged(&path, "does not have its entries"))? {
                tree.push(entry.leaf());
                let place = places.entry(entry.chain).or_insert(0);
                if *place != entry.place || !log.add(&entry) {
                    return Err(damaged(&path, "has an entry that cannot follow the one before it in its chain"));
                }
                *place += 1;
            }
        }
        if tree.root() == log.head.head.root {
            Ok(log)
        } else {
            Err(damaged(&path, "has another root than its entries"))
        }
    }

    fn add(&mut self, entry: &PublicLogEntry) -> bool {
        let sessions = self.sessions.entry(entry.chain).or_default();
        let last = sessions.last_key_value().map(|(serial, session)| (*serial, *session));
        let session = LoggedSession::after(last, entry);
        sessions.extend(session.map(|session| (entry.serial, session)));
        session.is_some()
    }

    /// The sessions of a chain, by serial. The serials have no gap.
    #[must_use]
    pub fn sessions(&self, chain: &ChainId) -> Option<&BTreeMap<u64, LoggedSession>> {
        self.sessions.get(chain)
    }

    /// All chains with their sessions.
    pub fn chains(&self) -> impl Iterator<Item = (&ChainId, &BTreeMap<u64, LoggedSession>)> {
        self.sessions.iter()
    }
}

/// The content of a file of at most `max` bytes.
fn read(path: &Path, max: usize) -> Result<Vec<u8>, ReadError> {
    let io = |error| ReadError::Io { path: path.to_owned(), error };
    let mut bytes = Vec::new();
    // Opening a pipe would wait for its writer.
    if !fs::metadata(path).map_err(io)?.is_file() {
        return Err(ReadError::Damaged { path: path.to_owned(), what: "is not a file" });
    }
    File::open(path).and_then(|file| file.take(max as u64 + 1).read_to_end(&mut bytes)).map_err(io)?;
    if bytes.len() > max { Err(ReadError::Damaged { path: path.to_owned(), what: "is too long" }) } else { Ok(bytes) }
}
