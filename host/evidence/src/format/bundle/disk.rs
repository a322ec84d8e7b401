//! The disk under a bundle that is being written, and the space on it that is kept back for the end of the session.

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The file that holds the space for an instant, until it has no name any more.
pub(super) const RESERVE: &str = ".reserve";
/// Bytes that are written at once where the file system cannot set space aside.
const CHUNK: usize = 1 << 16;

/// Space in two parts. The first is given to the session when the disk is full, so that it can be closed; the second to
/// the files that are written last. It is a file without a name: a process that dies gives everything back.
#[derive(Debug, Default)]
pub(super) struct Disk(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    file: Option<File>,
    /// Bytes for the end of the session.
    closing: u64,
    last: u64,
    full: bool,
}

impl Disk {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps space back: `closing` bytes for the end of the session, `last` bytes for what is written after it.
    pub(super) fn reserve(&self, folder: &Path, closing: u64, last: u64) -> io::Result<()> {
        let path = folder.join(RESERVE);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        fs::remove_file(&path)?;
        allocate(&file, 0, closing.saturating_add(last))?;
        *self.state() = State { file: Some(file), closing, last, full: false };
        Ok(())
    }

    /// Reserves at least `last` bytes for the end of the session. If there is no room, the disk is full.
    pub(super) fn keep(&self, last: u64) {
        let mut state = self.state();
        let Some(file) = state.file.as_ref().filter(|_| !state.full && state.last < last) else { return };
        // In large steps, so that it happens rarely.
        let more = (last - state.last).max(CHUNK as u64);
        let end = state.closing.saturating_add(state.last);
        // The space for the end of the session is at the start of the file; the other part is cut off at its end.
        match allocate(file, end, more) {
            Ok(()) => state.last += more,
            Err(_) => {
                let _ = file.set_len(state.last);
                state.full = true;
            }
        }
    }

    /// The disk is full: gives back what was kept for the end of the session. Whether there was any.
    fn give(&self) -> bool {
        let mut state = self.state();
        let given = !state.full && state.file.as_ref().is_some_and(|file| file.set_len(state.last).is_ok());
        state.full = true;
        given
    }

    /// Gives everything back, for what is written last.
    pub(super) fn give_all(&self) {
        self.state().file = None;
    }

    /// Whether the disk was full once: no session may continue then.
    pub(super) fn is_full(&self) -> bool {
        self.state().full
    }

    /// Does what needs space, once more with the space that was kept back.
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

/// Takes `length` bytes of the disk after the first `offset` bytes of `file`.
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

/// A file of a bundle that grows by whole units: records, heads or lines. None is ever there in part, however full the
/// disk is.
#[derive(Debug)]
pub struct GrowingFile {
    file: File,
    disk: std::sync::Arc<Disk>,
    pending: Vec<u8>,
    /// Where in `pending` each unit ends.
    ends: Vec<usize>,
    written: u64,
    /// A unit was lost: nothing may follow it.
    broken: bool,
}

/// Bytes that wait in memory, at most, before they are written.
const PENDING_MAX: usize = 1 << 16;

impl GrowingFile {
    pub(super) const fn new(file: File, disk: std::sync::Arc<Disk>) -> Self {
        Self { file, disk, pending: Vec::new(), ends: Vec::new(), written: 0, broken: false }
    }

    /// Bytes so far, those that wait included.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a unit. Errors: the system's. Nothing can be added after one.
    pub fn push(&mut self, unit: &[u8]) -> io::Result<()> {
        self.pending.extend_from_slice(unit);
        self.ends.push(self.pending.len());
        if self.pending.len() >= PENDING_MAX { self.flush() } else { Ok(()) }
    }

    /// Hands what was added to the system: it survives this process. Errors: as [`GrowingFile::push`]. Whole units that
    /// had room are kept.
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

    /// Forces what was added to the disk: it survives a loss of power. Errors: as [`GrowingFile::flush`].
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_data()
    }
}
