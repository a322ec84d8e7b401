//! The folder `NAME.part`: a copy of a bundle is made there before it takes the name NAME.
//!
//! The process can be killed while it makes the copy, or while it removes the bundle that the copy replaced. The folder
//! then remains, perhaps with texts that were to be erased. The next command on the bundle removes it. To tell such a
//! folder from any other, the session's ticket is the first file that is written into it, and the last one that is
//! removed.

use super::disk::RESERVE;
use super::error::BundleError;
use super::files::DEPTH_MAX;
use super::folder::{self, FolderLock, PART, sync_folder};
use super::name::{self, cap};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The folder in which a copy is made; locked until this is dropped.
pub(super) struct Staging {
    path: PathBuf,
    _lock: FolderLock,
}

impl Staging {
    /// Creates the folder for a copy that will stand at `target`, and writes the ticket into it.
    pub(super) fn create(target: &Path, ticket: &[u8]) -> Result<Self, BundleError> {
        let path = path_of(target);
        let created = DirBuilder::new().mode(folder::FOLDER_MODE).create(&path).and_then(|()| {
            let lock = FolderLock::take(&path)?;
            let mut file = folder::create_file(&path, name::TICKET)?;
            io::Write::write_all(&mut file, ticket)?;
            file.sync_all()?;
            sync_folder(&path.join(name::TICKET))?;
            Ok(lock)
        });
        let lock = created.map_err(BundleError::io(&path.to_string_lossy()))?;
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the copy, which is complete and synced, the name of a new folder.
    pub(super) fn place(&self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        sync_folder(target)
    }

    /// Exchanges the copy with the bundle at `target`, and removes that bundle.
    pub(super) fn replace(&self, target: &Path) -> io::Result<()> {
        let cwd = rustix::fs::CWD;
        let exchanged = rustix::fs::renameat_with(cwd, &self.path, cwd, target, rustix::fs::RenameFlags::EXCHANGE);
        exchanged.map_err(|error| {
            let _ = self.remove();
            io::Error::from(error)
        })?;
        // Without this, a loss of power could undo the exchange after files of the old bundle are gone.
        sync_folder(target)?;
        self.remove()
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        remove(&self.path)
    }
}

/// What a stopped command left beside the bundle whose ticket is `ticket`, and which stands, or will stand, at
/// `target`. With `dry`, it stays there. Returns a line about it; `None` if there is nothing. Errors: [`BundleError`]:
/// `Foreign` if the folder holds anything else, `Io` also if a command still works there.
pub(super) fn clear(target: &Path, ticket: &[u8], dry: bool) -> Result<Option<String>, BundleError> {
    let path = path_of(target);
    let shown = path.to_string_lossy().into_owned();
    match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(BundleError::io(&shown)(error)),
        Ok(about) if !about.is_dir() => return Err(BundleError::Foreign(shown)),
        Ok(_) => {}
    }
    let _lock = FolderLock::take(&path).map_err(BundleError::io(&shown))?;
    if !is_leftover(&path, ticket).map_err(BundleError::io(&shown))? {
        return Err(BundleError::Foreign(shown));
    }
    if dry {
        return Ok(Some(format!("`{shown}` was left by a `bundle withhold` that was stopped: to be removed")));
    }
    remove(&path).map_err(BundleError::io(&shown))?;
    Ok(Some(format!("`{shown}` was left by a `bundle withhold` that was stopped: removed")))
}

fn path_of(target: &Path) -> PathBuf {
    // Without a slash at its end, after which the suffix would be a name in the folder.
    let mut path = target.components().collect::<PathBuf>().into_os_string();
    path.push(PART);
    path.into()
}

/// Whether a folder holds nothing, or only files of a bundle under this ticket. The ticket may be incomplete.
fn is_leftover(path: &Path, ticket: &[u8]) -> io::Result<bool> {
    match fs::read(path.join(name::TICKET)) {
        Ok(found) => Ok(ticket.starts_with(&found) && is_of_bundle(path, "", 0)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(fs::read_dir(path)?.next().is_none()),
        Err(error) => Err(error),
    }
}

/// Whether every file below a folder has the name of a bundle's file, or of one that is not complete.
fn is_of_bundle(folder: &Path, prefix: &str, depth: usize) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let about = entry.metadata()?;
        let known = if about.is_dir() {
            depth < DEPTH_MAX && is_of_bundle(&entry.path(), &format!("{name}/"), depth + 1)?
        } else {
            let whole = name.strip_suffix(PART).unwrap_or(&name);
            about.is_file() && (cap(whole).is_some() || name == RESERVE)
        };
        if !known {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes the folder, its ticket last.
fn remove(path: &Path) -> io::Result<()> {
    let ticket = path.join(name::TICKET);
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.path() == ticket {
            continue;
        }
        if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) }?;
    }
    File::open(path)?.sync_all()?;
    match fs::remove_file(ticket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::remove_dir(path)?;
    sync_folder(path)
}
