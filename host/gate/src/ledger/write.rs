//! Appends to a ledger.

use super::{LedgerEntry, LedgerError, LedgerHeader, LedgerReader, MAGIC, frame, host_time, recover};
use crate::event::{StreamEvent, StreamEventKind};
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// When written entries are flushed to the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FsyncMode {
    /// Never: entries survive a crash of the process, but not a loss of power.
    Never,
    /// Before bytes are released.
    #[default]
    Released,
    /// After each entry.
    Always,
}

/// The destination of a ledger's bytes.
pub trait LedgerSink: Write + Send {
    /// Flushes all written data to the disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl LedgerSink for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// An open ledger.
pub struct LedgerWriter {
    path: PathBuf,
    sink: Box<dyn LedgerSink>,
    fsync: FsyncMode,
    poisoned: bool,
}

impl LedgerWriter {
    /// Starts a ledger in a new file. Errors: the file exists, or cannot be written.
    pub fn create(path: &Path, header: &LedgerHeader, fsync: FsyncMode) -> Result<Self, LedgerError> {
        // A ledger contains texts and salts, so only its user may read it.
        let open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = open.map_err(|error| LedgerError::Write { path: path.to_owned(), error })?;
        Self::start(path, Box::new(file), header, fsync)
    }

    /// Opens a ledger to continue it, and removes a torn tail. Starts a new ledger if there is none. Errors: the file
    /// is not a ledger, is damaged, belongs to another policy, or cannot be written.
    pub fn append_to(path: &Path, header: &LedgerHeader, fsync: FsyncMode) -> Result<Self, LedgerError> {
        if !path.exists() {
            return Self::create(path, header, fsync);
        }
        recover(path)?;
        let held = LedgerReader::open(path)?.header().clone();
        if (&held.package_digest, &held.image_digest) != (&header.package_digest, &header.image_digest) {
            let what = format!("it is of the policy {} ({})", held.policy, held.package_digest);
            return Err(LedgerError::NoLedger { path: path.to_owned(), what });
        }
        let open = OpenOptions::new().append(true).open(path);
        let file = open.map_err(|error| LedgerError::Write { path: path.to_owned(), error })?;
        Ok(Self { path: path.to_owned(), sink: Box::new(file), fsync, poisoned: false })
    }

    /// Starts a ledger in any sink; `path` is its name in errors. Errors: those of the sink.
    pub fn start(
        path: &Path,
        sink: Box<dyn LedgerSink>,
        header: &LedgerHeader,
        fsync: FsyncMode,
    ) -> Result<Self, LedgerError> {
        let mut ledger = Self { path: path.to_owned(), sink, fsync, poisoned: false };
        let written = ledger.sink.write_all(MAGIC);
        ledger.wrote(written)?;
        ledger.put(header)?;
        ledger.sync()?;
        Ok(ledger)
    }

    /// Appends an event. The bytes of a [`StreamEventKind::Released`] may leave the gate only after this function
    /// returns. Errors: those of the sink; every further append then fails.
    pub fn append(&mut self, event: &StreamEvent) -> Result<(), LedgerError> {
        #[derive(Serialize)]
        struct EntryRef<'a> {
            host_time_unverified: u64,
            #[serde(flatten)]
            event: &'a StreamEvent,
        }
        self.put(&EntryRef { host_time_unverified: host_time(), event })?;
        let force = match self.fsync {
            FsyncMode::Never => false,
            FsyncMode::Released => matches!(event.what, StreamEventKind::Released { .. }),
            FsyncMode::Always => true,
        };
        if force { self.sync() } else { Ok(()) }
    }

    fn put(&mut self, payload: &impl Serialize) -> Result<(), LedgerError> {
        if self.poisoned {
            return Err(LedgerError::Poisoned { path: self.path.clone() });
        }
        let bytes = serde_json::to_vec(payload).map_err(io::Error::from);
        let framed = bytes.and_then(|b| frame(&b).ok_or_else(|| io::Error::other("an entry is over 256 MiB")));
        let written = framed.and_then(|f| self.sink.write_all(&f));
        self.wrote(written)
    }

    fn sync(&mut self) -> Result<(), LedgerError> {
        let synced = self.sink.sync();
        self.wrote(synced)
    }

    fn wrote(&mut self, result: io::Result<()>) -> Result<(), LedgerError> {
        result.map_err(|error| {
            self.poisoned = true;
            LedgerError::Write { path: self.path.clone(), error }
        })
    }
}

impl LedgerHeader {
    /// The header of a ledger that starts at the current time.
    #[must_use]
    pub fn now(
        policy: String,
        package_digest: String,
        image_digest: String,
        thresholds: [u16; 3],
        card: String,
    ) -> Self {
        Self { version: 1, policy, package_digest, image_digest, thresholds, card, host_time_unverified: host_time() }
    }
}

impl LedgerEntry {
    #[must_use]
    pub fn now(event: StreamEvent) -> Self {
        Self { host_time_unverified: host_time(), event }
    }
}
