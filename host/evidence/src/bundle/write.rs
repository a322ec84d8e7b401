//! Writes a bundle into a new folder.

use super::name::{self, cap};
use super::{BundleError, Directory, Manifest};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A bundle that is being written. It is whole once [`Writer::finish`] returned.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
}

impl Writer {
    /// A bundle in a new folder.
    ///
    /// # Errors
    /// [`BundleError::Io`], a folder that exists already included.
    pub fn create(folder: impl Into<PathBuf>) -> Result<Self, BundleError> {
        let folder = folder.into();
        fs::create_dir(&folder).map_err(BundleError::io(&folder.to_string_lossy()))?;
        Ok(Self { folder })
    }

    /// Folder of the bundle.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A new file, to be streamed into.
    ///
    /// # Errors
    /// [`BundleError`]: `Name` for a name that no bundle has, `Io`.
    pub fn file(&self, name: &str) -> Result<BufWriter<File>, BundleError> {
        if cap(name).is_none() || name == name::MANIFEST {
            return Err(BundleError::Name(name.to_owned()));
        }
        self.create_file(name).map(BufWriter::new).map_err(BundleError::io(name))
    }

    /// A new file with this content.
    ///
    /// # Errors
    /// As [`Writer::file`], and `Size` for content that no bundle may hold under this name.
    pub fn put(&self, name: &str, content: &[u8]) -> Result<(), BundleError> {
        fits(name, content.len() as u64)?;
        let mut file = self.file(name)?;
        file.write_all(content).and_then(|()| file.flush()).map_err(BundleError::io(name))
    }

    /// Writes the manifest over every file, and what was written to the disk.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn finish(self) -> Result<(), BundleError> {
        let manifest = Manifest::of(&Directory::new(&self.folder))?;
        for file in &manifest.files {
            fits(&file.path, file.size)?;
            let synced = File::open(self.folder.join(&file.path)).and_then(|file| file.sync_all());
            synced.map_err(BundleError::io(&file.path))?;
        }
        let json = manifest.to_json()?;
        let written = self.create_file(name::MANIFEST).and_then(|mut file| {
            file.write_all(&json)?;
            file.sync_all()
        });
        written.map_err(BundleError::io(name::MANIFEST))
    }

    fn create_file(&self, name: &str) -> io::Result<File> {
        let path = self.folder.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        File::create_new(path)
    }
}

/// A bundle that a verifier would refuse is not finished.
fn fits(name: &str, size: u64) -> Result<(), BundleError> {
    match cap(name) {
        Some(cap) if size > cap => Err(BundleError::Size { name: name.to_owned(), cap }),
        _ => Ok(()),
    }
}
