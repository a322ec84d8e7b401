//! A fixed state of a bundle, shared by all checks that read it.

use super::error::BundleError;
use super::files::BundleFiles;
use sha2::{Digest, Sha256};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::rc::Rc;

/// Files of at most this size in bytes are kept in memory, at most [`ROOM`] in total.
const KEPT_MAX: u64 = 1 << 20;
const ROOM: u64 = 32 << 20;

/// Files that are hashed as they are read. Names are listed once, and small files are read once and kept. A file that
/// is too large to keep is read again each time; [`SnapshotFiles::changed`] names a file whose content then differs. So
/// the owner of a bundle cannot have one content checked and another content used.
pub struct SnapshotFiles<'a> {
    files: &'a dyn BundleFiles,
    names: OnceCell<BTreeMap<String, u64>>,
    kept: RefCell<BTreeMap<String, Rc<[u8]>>>,
    room: Cell<u64>,
    seen: Rc<RefCell<FileDigests>>,
}

/// Digests of the files that were read to their end.
#[derive(Default)]
struct FileDigests {
    digests: BTreeMap<String, [u8; 32]>,
    changed: Option<String>,
}

impl FileDigests {
    fn add(&mut self, name: &str, digest: [u8; 32]) {
        let first = *self.digests.entry(name.to_owned()).or_insert(digest);
        if first != digest {
            self.changed.get_or_insert_with(|| name.to_owned());
        }
    }
}

impl<'a> SnapshotFiles<'a> {
    /// A snapshot of `files`; nothing is read yet.
    #[must_use]
    pub fn new(files: &'a dyn BundleFiles) -> Self {
        Self { files, names: OnceCell::new(), kept: RefCell::default(), room: Cell::new(ROOM), seen: Rc::default() }
    }

    /// Name of a file whose content had changed when it was read again; `None` if all files stayed the same.
    #[must_use]
    pub fn changed(&self) -> Option<String> {
        self.seen.borrow().changed.clone()
    }

    /// The names, which are listed once. Not a copy: each opened file looks its size up here.
    fn listed(&self) -> Result<&BTreeMap<String, u64>, BundleError> {
        match self.names.get() {
            Some(names) => Ok(names),
            None => {
                let names = self.files.names()?;
                Ok(self.names.get_or_init(|| names))
            }
        }
    }

    /// The listed size. Reading stops there, even if the file has grown.
    fn size(&self, name: &str) -> Result<u64, BundleError> {
        self.listed()?.get(name).copied().ok_or_else(|| BundleError::Missing(name.to_owned()))
    }
}

impl BundleFiles for SnapshotFiles<'_> {
    fn names(&self) -> Result<BTreeMap<String, u64>, BundleError> {
        self.listed().cloned()
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + '_>, BundleError> {
        if let Some(bytes) = self.kept.borrow().get(name) {
            return Ok(Box::new(Cursor::new(Rc::clone(bytes))));
        }
        let size = self.size(name)?;
        let mut from = HashingReader {
            name: name.to_owned(),
            from: self.files.open(name)?.take(size),
            left: size,
            hash: Some(Sha256::new()),
            seen: Rc::clone(&self.seen),
        };
        if size > KEPT_MAX || size > self.room.get() {
            return Ok(Box::new(from));
        }
        self.room.set(self.room.get() - size);
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).map_err(BundleError::io(name))?;
        let bytes: Rc<[u8]> = bytes.into();
        self.kept.borrow_mut().insert(name.to_owned(), Rc::clone(&bytes));
        Ok(Box::new(Cursor::new(bytes)))
    }
}

/// A reader that records the digest of the file at its end.
struct HashingReader<R> {
    name: String,
    from: R,
    left: u64,
    hash: Option<Sha256>,
    seen: Rc<RefCell<FileDigests>>,
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let length = self.from.read(into)?;
        if let Some(hash) = &mut self.hash {
            hash.update(into.get(..length).unwrap_or_default());
        }
        self.left = self.left.saturating_sub(length as u64);
        if (self.left == 0 || length == 0 && !into.is_empty())
            && let Some(hash) = self.hash.take()
        {
            self.seen.borrow_mut().add(&self.name, hash.finalize().into());
        }
        Ok(length)
    }
}
