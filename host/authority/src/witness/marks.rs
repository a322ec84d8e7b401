//! The marks of a witness: the newest head of each of its logs, in files outside its store.
//!
//! A store that is restored from an old copy looks whole. A witness that went on from it would sign a second history.
//! So the witness writes the head of a log here before its answer leaves, and compares the store with the marks when it
//! starts. A mark is at most as new as the store, because the store is changed first. Marks that are restored together
//! with the store show nothing: keep them on another disk.

use super::InternalError;
use crate::store::EventStoreError;
use portcullis_core::hex;
use portcullis_evidence::note::{LogTreeHead, ORIGIN, SignedNote, WitnessProof};
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const DAMAGED: &str = "a mark does not parse";

/// The marks in a folder.
pub(super) struct HighWaterMarks {
    folder: PathBuf,
    heads: Mutex<BTreeMap<String, LogTreeHead>>,
}

impl HighWaterMarks {
    /// Reads the marks in `folder`, which is made if it is not there, and compares the store with them. Errors:
    /// [`InternalError::Behind`]; a file that is not a mark; reading failed.
    pub(super) fn open(folder: &Path, database: &Connection) -> Result<Self, InternalError> {
        let at = |error| InternalError::from(EventStoreError::Make(folder.to_owned(), error));
        fs::create_dir_all(folder).map_err(at)?;
        let mut heads = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(at)? {
            let path = entry.map_err(at)?.path();
            // A crash can leave the file of a mark that was not finished.
            if path.extension().is_some() {
                continue;
            }
            let text = fs::read_to_string(&path).map_err(at)?;
            let head = LogTreeHead::parse(&text).map_err(|_| EventStoreError::Damaged(DAMAGED))?;
            if path.file_name().is_none_or(|name| name.to_string_lossy() != file_name(&head.origin)) {
                return Err(EventStoreError::Damaged(DAMAGED).into());
            }
            if !reaches(database, &head)? {
                return Err(InternalError::Behind { origin: head.origin, size: head.size, mark: path });
            }
            heads.insert(head.origin.clone(), head);
        }
        let marks = Self { folder: folder.to_owned(), heads: Mutex::new(heads) };
        // A store from before there were marks has none.
        newest(database)?.into_iter().try_for_each(|head| marks.set(head))?;
        Ok(marks)
    }

    /// Refuses a log that has become shorter than its mark while the witness runs. Errors: [`InternalError::Behind`].
    pub(super) fn check(&self, origin: &str, size: u64) -> Result<(), InternalError> {
        let heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        match heads.get(origin).filter(|mark| size < mark.size) {
            Some(mark) => Err(InternalError::Behind {
                origin: origin.to_owned(),
                size: mark.size,
                mark: self.folder.join(file_name(origin)),
            }),
            None => Ok(()),
        }
    }

    /// Marks this head if it is newer than the mark. When this returns, the mark is on the disk.
    pub(super) fn set(&self, head: LogTreeHead) -> Result<(), InternalError> {
        let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        if heads.get(&head.origin).is_some_and(|mark| head.size <= mark.size) {
            return Ok(());
        }
        let path = self.folder.join(file_name(&head.origin));
        write(&self.folder, &path, &head.text()).map_err(|error| EventStoreError::Make(path, error))?;
        heads.insert(head.origin.clone(), head);
        Ok(())
    }
}

fn file_name(origin: &str) -> String {
    hex::encode(&Sha256::digest(origin))
}

/// Replaces a file; the old or the new content survives a crash.
fn write(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    let unfinished = path.with_extension("new");
    let mut file = File::create(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, path)?;
    File::open(folder)?.sync_all()
}

/// The newest head of each log in the store.
fn newest(database: &Connection) -> Result<Vec<LogTreeHead>, InternalError> {
    let notes = |query: &str| -> Result<Vec<String>, InternalError> {
        Ok(database.prepare(query)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    };
    let of_cards = notes("SELECT note FROM entry JOIN log USING (key, seat) WHERE number = size - 1")?;
    let cosigned = notes("SELECT note FROM cosigned")?;
    let heads = of_cards.iter().map(|note| head_of(note));
    let heads =
        heads.chain(cosigned.iter().map(|note| LogTreeHead::parse(SignedNote::parse_head(note).ok()?.text).ok()));
    heads.map(|head| head.ok_or_else(|| EventStoreError::Damaged("a signed head does not parse").into())).collect()
}

/// Whether the store has this head, or a newer one of the same log.
fn reaches(database: &Connection, mark: &LogTreeHead) -> Result<bool, InternalError> {
    if !mark.origin.starts_with(ORIGIN) {
        let query = "SELECT note FROM cosigned WHERE origin = ?";
        let note: Option<String> = database.query_row(query, [&mark.origin], |row| row.get(0)).optional()?;
        let head = note.as_deref().and_then(|note| LogTreeHead::parse(SignedNote::parse_head(note).ok()?.text).ok());
        return Ok(head.is_some_and(|head| head.size > mark.size || head == *mark));
    }
    let chain = mark.chain()?;
    let query = "SELECT note FROM entry WHERE key = ? AND seat = ? AND number = ?";
    // The note of an entry has the head that the log had then.
    let place = params![chain.key, chain.seat, mark.size.saturating_sub(1)];
    let note: Option<String> = database.query_row(query, place, |row| row.get(0)).optional()?;
    Ok(note.as_deref().and_then(head_of).is_some_and(|head| head == *mark))
}

/// The head in a note about a checkpoint.
pub(super) fn head_of(note: &str) -> Option<LogTreeHead> {
    let proof = WitnessProof::parse(note.as_bytes()).ok()?;
    LogTreeHead::parse(SignedNote::parse(&proof.note).ok()?.text).ok()
}
