//! A store: entities with their aliases, facts with where they come from, and sources that may be cited. JSON Lines or SQLite.

use super::{jsonl, sqlite};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Something that has a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entity {
    /// Identity within all stores.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What it is also called.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What it is: `person`, `place` and so on; for people who read the store.
    #[serde(default)]
    pub kind: String,
}

/// Something that is so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// Id of the entity that it is about.
    pub entity: String,
    /// The fact, as a sentence.
    pub text: String,
    /// Where it comes from.
    pub source: String,
}

/// A source that may be cited.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Citation {
    /// The citation as it stands in text: a DOI, `PMID 123`, a statute, a URL. One `*` at the end allows everything that begins so.
    pub id: String,
    /// Where the permission comes from.
    pub source: String,
}

/// What a store holds, in canonical order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Entities by id.
    pub entities: Vec<Entity>,
    /// Facts.
    pub facts: Vec<Fact>,
    /// Sources that may be cited.
    pub citations: Vec<Citation>,
}

/// A store that was opened: all of it is in memory.
#[derive(Clone, Debug)]
pub struct Store {
    path: PathBuf,
    contents: Contents,
    digest: [u8; 32],
    /// Whether there is a file that could change; a store of a bundle is in memory alone.
    is_file: bool,
    stamp: Option<(u64, SystemTime)>,
}

/// A store that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be read.
    #[error("the anchor store `{}` cannot be read: {error}; `portcullis anchors build` makes one", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// A line that is no entity, fact or citation.
    #[error("the anchor store `{}`, line {line}: {problem}; expected {{\"entity\": …}}, {{\"fact\": …}} or {{\"citation\": …}}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// A database where only JSON Lines are taken.
    #[error("the anchor store `{}` is a SQLite database; a bundle holds its stores as JSON Lines", path.display())]
    Database {
        /// The file.
        path: PathBuf,
    },
    /// SQLite refuses the file, or it is no store.
    #[error("the anchor store `{}` is no usable SQLite store: {error}; build it anew with `portcullis anchors build`", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: rusqlite::Error,
    },
    /// A fact of an entity that the store does not hold, or one entity twice.
    #[error("the anchor store `{}`: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl Contents {
    /// The same in canonical order, checked: ids are unique, no name is empty, every fact is of an entity that is there.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn canonical(mut self) -> Result<Self, String> {
        for entity in &mut self.entities {
            entity.aliases.sort_unstable();
            entity.aliases.dedup();
        }
        self.entities.sort_unstable();
        self.facts.sort_unstable();
        self.facts.dedup();
        self.citations.sort_unstable();
        self.citations.dedup();
        if let Some(pair) = self.entities.windows(2).find(|w| w.first().map(|e| &e.id) == w.last().map(|e| &e.id)) {
            return Err(format!("entity `{}` stands there twice", pair.first().map_or("", |e| e.id.as_str())));
        }
        let blank = |e: &&Entity| std::iter::once(&e.name).chain(&e.aliases).any(|n| n.trim().is_empty());
        if let Some(entity) = self.entities.iter().find(blank) {
            return Err(format!("entity `{}` has an empty name", entity.id));
        }
        let known = |id: &str| self.entities.binary_search_by(|e| e.id.as_str().cmp(id)).is_ok();
        if let Some(fact) = self.facts.iter().find(|f| !known(&f.entity)) {
            return Err(format!("a fact is of `{}`, which no entity of the store is", fact.entity));
        }
        Ok(self)
    }

    /// Canonical JSON Lines: entities, facts and citations, each in order.
    #[must_use]
    pub fn json_lines(&self) -> Vec<u8> {
        let mut all = Vec::new();
        jsonl::lines(self, |line| {
            all.extend_from_slice(line.as_ref());
            all.push(b'\n');
        });
        all
    }

    /// SHA-256 over the canonical JSON Lines: the same for every form of one content.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.json_lines()).into()
    }
}

impl Store {
    /// Opens a store: SQLite when the file says so, else JSON Lines.
    ///
    /// # Errors
    /// [`StoreError`] says where and what.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let bytes = read(path)?;
        let contents = if bytes.starts_with(SQLITE) {
            sqlite::read(path).map_err(|error| StoreError::Sqlite { path: path.to_owned(), error })?
        } else {
            jsonl::read(path, &bytes)?
        };
        Self::of(path, contents, true)
    }

    /// The store of JSON Lines whose content is `bytes`. It is called `path` in messages; no file of that name is looked at.
    ///
    /// # Errors
    /// As [`Store::open`]; [`StoreError::Database`].
    pub fn from_json_lines(path: &Path, bytes: &[u8]) -> Result<Self, StoreError> {
        if bytes.starts_with(SQLITE) {
            return Err(StoreError::Database { path: path.to_owned() });
        }
        Self::of(path, jsonl::read(path, bytes)?, false)
    }

    fn of(path: &Path, contents: Contents, is_file: bool) -> Result<Self, StoreError> {
        let contents =
            contents.canonical().map_err(|problem| StoreError::Content { path: path.to_owned(), problem })?;
        let digest = contents.digest();
        let stamp = if is_file { stamp(path) } else { None };
        Ok(Self { path: path.to_owned(), contents, digest, is_file, stamp })
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds.
    #[must_use]
    pub const fn contents(&self) -> &Contents {
        &self.contents
    }

    /// SHA-256 of what it holds.
    #[must_use]
    pub const fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Whether the file has another length or time than when it was opened, and another content.
    pub(super) fn changed(&self) -> bool {
        if !self.is_file {
            return false;
        }
        let now = stamp(&self.path);
        now.is_none() || (now != self.stamp && !Self::open(&self.path).is_ok_and(|s| s.digest == self.digest))
    }
}

/// How a SQLite file begins.
const SQLITE: &[u8] = b"SQLite format 3\0";

fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    fs::read(path).map_err(|error| StoreError::Unreadable { path: path.to_owned(), error })
}

fn stamp(path: &Path) -> Option<(u64, SystemTime)> {
    let data = fs::metadata(path).ok()?;
    Some((data.len(), data.modified().ok()?))
}
