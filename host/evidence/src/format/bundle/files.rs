//! Sources of a bundle's files.

use super::error::BundleError;
use super::name;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Greatest depth of folders in a bundle.
pub(super) const DEPTH_MAX: usize = 12;
const BUFFER: u64 = 1 << 18;

pub trait BundleFiles {
    /// Names and sizes in bytes; `/` separates folders. Errors: [`BundleError`]: `Io`, `Kind`, `Name`, `Size`.
    fn names(&self) -> Result<BTreeMap<String, u64>, BundleError>;

    /// Opens a file for reading from its start.
    fn open(&self, name: &str) -> Result<Box<dyn Read + '_>, BundleError>;
}

/// The files below a folder.
#[derive(Clone, Debug)]
pub struct DirectoryFiles(PathBuf);

impl DirectoryFiles {
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    fn list(
        &self,
        folder: &Path,
        prefix: &str,
        depth: usize,
        into: &mut BTreeMap<String, u64>,
    ) -> Result<(), BundleError> {
        let at = folder.to_string_lossy();
        let before = into.len();
        for entry in fs::read_dir(folder).map_err(BundleError::io(&at))? {
            let entry = entry.map_err(BundleError::io(&at))?;
            let file_name = entry.file_name();
            let name = format!("{prefix}{}", file_name.to_string_lossy());
            if file_name.to_str().is_none() || depth > DEPTH_MAX || into.len() >= name::FILES_MAX {
                return Err(BundleError::Name(name));
            }
            if name::is_litter(&file_name.to_string_lossy()) {
                return Err(BundleError::Litter(name));
            }
            // Metadata of the entry itself: symbolic links are not followed.
            let about = entry.metadata().map_err(BundleError::io(&name))?;
            if about.is_dir() {
                self.list(&entry.path(), &format!("{name}/"), depth + 1, into)?;
            } else if about.is_file() {
                into.insert(name, about.len());
            } else {
                return Err(BundleError::Kind(name));
            }
        }
        // A bundle contains no empty folders.
        if into.len() == before && !prefix.is_empty() {
            return Err(BundleError::Name(prefix.to_owned()));
        }
        Ok(())
    }
}

impl BundleFiles for DirectoryFiles {
    fn names(&self) -> Result<BTreeMap<String, u64>, BundleError> {
        let nothing = |what: &str| BundleError::Nothing { path: self.0.clone(), what: what.to_owned() };
        match fs::metadata(&self.0) {
            Err(error) => return Err(nothing(&error.to_string())),
            Ok(about) if !about.is_dir() => return Err(nothing("it is not a folder")),
            Ok(_) => {}
        }
        let mut names = BTreeMap::new();
        self.list(&self.0, "", 0, &mut names)?;
        if names.is_empty() {
            return Err(nothing("the folder is empty"));
        }
        Ok(names)
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + '_>, BundleError> {
        let file = File::open(self.0.join(name)).map_err(BundleError::io(name))?;
        Ok(Box::new(file))
    }
}

#[derive(Clone, Debug, Default)]
pub struct MemoryFiles(pub BTreeMap<String, Vec<u8>>);

impl BundleFiles for MemoryFiles {
    fn names(&self) -> Result<BTreeMap<String, u64>, BundleError> {
        Ok(self.0.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect())
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + '_>, BundleError> {
        let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let bytes = self.0.get(name).ok_or_else(missing).map_err(BundleError::io(name))?;
        Ok(Box::new(&**bytes))
    }
}

/// A buffered reader of a file of `size` bytes. The buffer is not larger than the file, since most files are small.
pub(super) fn buffered<'a>(from: Box<dyn Read + 'a>, size: u64) -> Box<dyn BufRead + 'a> {
    let capacity = usize::try_from(size.clamp(1, BUFFER)).unwrap_or(1);
    Box::new(BufReader::with_capacity(capacity, from.take(size)))
}

/// SHA-256 of a file's content.
pub(super) fn digest(name: &str, from: &mut dyn BufRead) -> Result<[u8; 32], BundleError> {
    let mut hash = Sha256::new();
    loop {
        let bytes = from.fill_buf().map_err(BundleError::io(name))?;
        if bytes.is_empty() {
            return Ok(hash.finalize().into());
        }
        hash.update(bytes);
        let length = bytes.len();
        from.consume(length);
    }
}
