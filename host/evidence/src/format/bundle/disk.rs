//! Reserved disk space for a bundle that is being written, so that a session can end properly on a full disk.

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Name under which the file with the reserved space is created. The file is unlinked at once, but stays open.
pub(super) const RESERVE: &str = ".reserve";
/// Bytes per write where the file system does not support `fallocate`.
const CHUNK: usize = 1 << 16;

/// Reserved space in two parts. When the disk is full, the first part is freed so that the session can be closed, and
/// later the second part for the files written last. The reserving file has no name, so a crash frees its space.
#[derive(Debug, Default)]
pub(super) struct Disk(Mutex<DiskReserve>);

#[derive(Debug, Default)]
struct DiskReserve {
    file: Option<File>,
    /// Bytes reserved for closing the session.
    closing: u64,
    last: u64,
    full: bool,
}

impl Disk {
    fn state(&self) -> std::sync::MutexGuard<'_, DiskReserve> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves `closing` bytes for closing the session and `last` bytes for the files written after that.
    pub(super) fn reserve(&self, folder: &Path, closing: u64, last: u64) -> io::Result<()> {
        let path = folder.join(RESERVE);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        fs::remove_file(&path)?;
        allocate(&file, 0, closing.saturating_add(last))?;
        *self.state() = DiskReserve { file: Some(file), closing, last, full: false };
        Ok(())
    }

    /// Grows the reserve's second part to at least `last` bytes. If there is not enough room, the disk counts as full.
    pub(super) fn keep(&self, last: u64) {
        let mut state = self.state();
        let Some(file) = state.file.as_ref().filter(|_| !state.full && state.last < last) else { return };
        let more = (last - state.last).max(CHUNK as u64);
        let end = state.closing.saturating_add(state.last);
        // The file grows at its end. If that fails, cutting it to the second part's size frees the space for closing.
        match allocate(file, end, more) {
            Ok(()) => state.last += more,
            Err(_) => {
                let _ = file.set_len(state.last);
                state.full = true;
            }
        }
    }

    /// Marks the disk as full and frees the space for closing the session. Returns whether space was freed.
    fn give(&self) -> bool {
        let mut state = self.state();
        let given = !state.full && state.file.as_ref().is_some_and(|file| file.set_len(state.last).is_ok());
        state.full = true;
        given
    }

    /// Frees all reserved space, for the files written last.
    pub(super) fn give_all(&self) {
        self.state().file = None;
    }

    /// Whether the disk has been full; the session must then be closed.
    pub(super) fn is_full(&self) -> bool {
        self.state().full
    }

    /// Calls `write`. If the disk is full, frees the reserved space and calls it once more.
    pub(super) fn with_room<T>(&self, mut write: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        match write() {
            Err(error) if is_full(&error) && self.give() => write(),
            done => done,
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Allocates `length` bytes on the disk at `offset` of `file`.
fn allocate(file: &File, offset: u64, length: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::empty(), offset, length) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
        done => return Ok(done?),
    }
    let zeros = vec![0; CHUNK];
    let mut done = 0;
    while done < length {
        let bytes = zeros.len().min(usize::try_from(length - done).unwrap_or(CHUNK));
        file.write_all_at(zeros.get(..bytes).unwrap_or_default(), offset + done)?;
        done += bytes as u64;
    }
    Ok(())
}

/// A file of a bundle that grows by whole units: records, heads or lines. It never contains part of a unit, even when
/// the disk is full.
#[derive(Debug)]
pub struct GrowingFile {
    file: File,
    disk: std::sync::Arc<Disk>,
    pending: Vec<u8>,
    /// Offset in `pending` at which each unit ends.
    ends: Vec<usize>,
    written: u64,
    /// A unit was lost, so no more units may be appended.
    broken: bool,
}

/// Most bytes that are buffered before a write.
const PENDING_MAX: usize = 1 << 16;

impl GrowingFile {
    pub(super) const fn new(file: File, disk: std::sync::Arc<Disk>) -> Self {
        Self { file, disk, pending: Vec::new(), ends: Vec::new(), written: 0, broken: false }
    }

    /// Length in bytes, buffered bytes included.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a unit. Errors: those of the system. After an error, nothing more can be appended.
    pub fn push(&mut self, unit: &[u8]) -> io::Result<()> {
        self.pending.extend_from_slice(unit);
        self.ends.push(self.pending.len());
        if self.pending.len() >= PENDING_MAX { self.flush() } else { Ok(()) }
    }

    /// Writes the buffered units to the operating system, so that they survive a crash of this process. Errors: as
    /// [`GrowingFile::push`]. Units that were written completely are kept.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "an earlier write failed"));
        }
        let mut done = 0;
        while let Some(rest) = self.pending.get(done..).filter(|rest| !rest.is_empty()) {
            let (file, at) = (&self.file, self.written + done as u64);
            match self.disk.with_room(|| file.write_at(rest, at)) {
                Ok(bytes) => done += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let whole = self.ends.iter().rev().find(|end| **end <= done).copied().unwrap_or_default();
                    self.written += whole as u64;
                    self.broken = true;
                    self.file.set_len(self.written)?;
                    return Err(error);
                }
            }
        }
        self.written += done as u64;
        self.pending.clear();
        self.ends.clear();
        Ok(())
    }

    /// Writes the buffered units and syncs the file, so that they survive a loss of power. Errors: as
    /// [`GrowingFile::flush`].
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_data()
    }
}
