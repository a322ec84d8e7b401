//! The folder of a bundle that is being written: lock, file modes, syncing, and the manifest.

use super::error::BundleError;
use super::files::{BundleFiles as _, DirectoryFiles};
use super::manifest::BundleManifest;
use super::name::{self, cap};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Content of the bundle's README: the files of the bundle, and how to check them.
pub const README_TEXT: &str = include_str!("README.md");
/// A bundle contains texts and salts, so only its owner may read it.
pub(super) const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// Suffix of a file that is not complete yet.
pub(super) const PART: &str = ".part";

/// The lock on a bundle's folder, from [`FolderLock::take`] until it is dropped.
#[derive(Debug)]
pub(super) struct FolderLock(File);

impl FolderLock {
    /// Errors: `ResourceBusy` if another process or another value has the lock; the folder cannot be opened.
    pub(super) fn take(folder: &Path) -> io::Result<Self> {
        let file = File::open(folder)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => {
                Err(io::Error::new(io::ErrorKind::ResourceBusy, "a session is still being written there"))
            }
            // The file system does not support locks, so the bundle is used without a lock.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(Self(file)),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for FolderLock {
    /// Closing the file is not enough: a process that another thread is just starting has a copy of the file until it
    /// runs its own program, and the lock lasts as long as the copy (`flock(2)`).
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

pub(super) fn create_file(folder: &Path, name: &str) -> io::Result<File> {
    let path = folder.join(name);
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
}

/// Syncs a folder, so that the names in it survive a loss of power.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    // The parent of a relative name is empty.
    let folder = path.parent().map(|folder| if folder == Path::new("") { Path::new(".") } else { folder });
    folder.map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Syncs every file of a bundle, then every folder once, also one that holds only folders.
pub(super) fn sync(folder: &Path) -> Result<(), BundleError> {
    let mut folders = BTreeSet::from([""]);
    let names = DirectoryFiles::new(folder).names()?;
    for name in names.keys() {
        File::open(folder.join(name)).and_then(|file| file.sync_all()).map_err(BundleError::io(name))?;
        let mut rest = &**name;
        while let Some((parent, _)) = rest.rsplit_once('/') {
            if !folders.insert(parent) {
                break;
            }
            rest = parent;
        }
    }
    for name in folders {
        File::open(folder.join(name)).and_then(|file| file.sync_all()).map_err(BundleError::io(name))?;
    }
    Ok(())
}

/// Writes the manifest, which lists every other file, and syncs the bundle.
pub(super) fn seal(folder: &Path) -> Result<(), BundleError> {
    let manifest = BundleManifest::of(&DirectoryFiles::new(folder))?;
    for file in &manifest.files {
        fits(&file.path, file.size)?;
    }
    sync(folder)?;
    let json = manifest.to_json()?;
    let part = format!("{}{PART}", name::MANIFEST);
    let written = create_file(folder, &part).and_then(|mut file| {
        file.write_all(&json)?;
        file.sync_all()?;
        fs::rename(folder.join(&part), folder.join(name::MANIFEST))?;
        sync_folder(&folder.join(name::MANIFEST))
    });
    written.map_err(BundleError::io(name::MANIFEST))
}

/// Refuses a file that the verifier would refuse.
pub(super) fn fits(name: &str, size: u64) -> Result<(), BundleError> {
    match cap(name) {
        Some(cap) if size > cap => Err(BundleError::Size { name: name.to_owned(), cap }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_file_in_another_process_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let lock = FolderLock::take(folder.path()).unwrap();
        let copy = lock.0.try_clone().unwrap();
        assert_eq!(FolderLock::take(folder.path()).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        drop(lock);
        FolderLock::take(folder.path()).unwrap();
        drop(copy);
    }
}
