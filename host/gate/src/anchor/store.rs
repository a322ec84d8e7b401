//! A store's file, JSON Lines or SQLite, which is read completely when it is opened. SQLite needs the feature
//! `sqlite-store`.

use super::contents::AnchorContents;
use super::jsonl;
use super::jsonl::LineError;
#[cfg(feature = "sqlite-store")]
use super::sqlite;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// An opened store; all of its content is in memory.
#[derive(Clone, Debug)]
pub struct AnchorStore {
    path: PathBuf,
    contents: AnchorContents,
    digest: [u8; 32],
    /// Whether the store was read from a file, which can change. A store from a bundle was not.
    is_file: bool,
    stamp: Option<(u64, SystemTime)>,
}

#[derive(Debug, thiserror::Error)]
pub enum AnchorStoreError {
    #[error("the anchor store `{}` cannot be read: {error}; `portcullis anchors build` makes one", path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("the anchor store `{}`, line {line}: {problem}; expected {{\"entity\": …}}, {{\"fact\": …}} or {{\"citation\": …}}", path.display())]
    Line { path: PathBuf, line: usize, problem: String },
    #[error("the anchor store `{}` is a SQLite database; a bundle holds its stores as JSON Lines", path.display())]
    Database { path: PathBuf },
    #[cfg(feature = "sqlite-store")]
    #[error("the anchor store `{}` is not a usable SQLite store: {error}; build it anew with `portcullis anchors build`", path.display())]
    Sqlite { path: PathBuf, error: rusqlite::Error },
    /// This program was built without SQLite.
    #[cfg(not(feature = "sqlite-store"))]
    #[error("the anchor store `{}` is a SQLite database; this program reads stores as JSON Lines only", path.display())]
    Unsupported { path: PathBuf },
    /// The content is inconsistent: a fact of an unknown entity, or an entity that occurs twice.
    #[error("the anchor store `{}`: {problem}", path.display())]
    Content { path: PathBuf, problem: String },
}

impl AnchorStoreError {
    fn of_line(path: &Path, LineError { line, problem }: LineError) -> Self {
        Self::Line { path: path.to_owned(), line, problem }
    }
}

impl AnchorStore {
    /// Opens a store: SQLite if the file begins like a database, otherwise JSON Lines. Errors: [`AnchorStoreError`].
    pub fn open(path: &Path) -> Result<Self, AnchorStoreError> {
        let bytes = read(path)?;
        let contents = if bytes.starts_with(SQLITE) {
            read_database(path)?
        } else {
            jsonl::read(&bytes).map_err(|error| AnchorStoreError::of_line(path, error))?
        };
        Self::of(path, contents, true)
    }

    /// The store with the JSON Lines in `bytes`. `path` is its name in messages; no file is read. Errors: as
    /// [`AnchorStore::open`]; [`AnchorStoreError::Database`].
    pub fn from_json_lines(path: &Path, bytes: &[u8]) -> Result<Self, AnchorStoreError> {
        if bytes.starts_with(SQLITE) {
            return Err(AnchorStoreError::Database { path: path.to_owned() });
        }
        let contents = jsonl::read(bytes).map_err(|error| AnchorStoreError::of_line(path, error))?;
        Self::of(path, contents, false)
    }

    fn of(path: &Path, contents: AnchorContents, is_file: bool) -> Result<Self, AnchorStoreError> {
        let contents =
            contents.canonical().map_err(|problem| AnchorStoreError::Content { path: path.to_owned(), problem })?;
        let digest = contents.digest();
        let stamp = if is_file { stamp(path) } else { None };
        Ok(Self { path: path.to_owned(), contents, digest, is_file, stamp })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[must_use]
    pub const fn contents(&self) -> &AnchorContents {
        &self.contents
    }

    /// SHA-256 of the content.
    #[must_use]
    pub const fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Whether the file's content has changed since the store was opened. The file is read again only if its length or
    /// time differs.
    pub(super) fn changed(&self) -> bool {
        if !self.is_file {
            return false;
        }
        let now = stamp(&self.path);
        now.is_none() || (now != self.stamp && !Self::open(&self.path).is_ok_and(|s| s.digest == self.digest))
    }
}

const SQLITE: &[u8] = b"SQLite format 3\0";

fn read(path: &Path) -> Result<Vec<u8>, AnchorStoreError> {
    fs::read(path).map_err(|error| AnchorStoreError::Unreadable { path: path.to_owned(), error })
}

#[cfg(feature = "sqlite-store")]
fn read_database(path: &Path) -> Result<AnchorContents, AnchorStoreError> {
    sqlite::read(path).map_err(|error| AnchorStoreError::Sqlite { path: path.to_owned(), error })
}

#[cfg(not(feature = "sqlite-store"))]
fn read_database(path: &Path) -> Result<AnchorContents, AnchorStoreError> {
    Err(AnchorStoreError::Unsupported { path: path.to_owned() })
}

fn stamp(path: &Path) -> Option<(u64, SystemTime)> {
    let data = fs::metadata(path).ok()?;
    Some((data.len(), data.modified().ok()?))
}
