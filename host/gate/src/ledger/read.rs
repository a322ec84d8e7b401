//! Reads a ledger, and repairs a ledger whose last write was incomplete.

use super::{FRAME_MAX, LedgerEntry, LedgerError, LedgerHeader, MAGIC, checksum};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// How a ledger ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerTail {
    Whole,
    /// The last frame is incomplete. The value is the length of its written part, in bytes.
    Torn(u64),
}

/// Reads the entries of a ledger in order.
pub struct LedgerReader {
    path: PathBuf,
    file: BufReader<File>,
    header: LedgerHeader,
    offset: u64,
    length: u64,
    tail: LedgerTail,
    done: bool,
}

enum LedgerFrame {
    Payload(Vec<u8>),
    End,
    Torn,
}

impl LedgerReader {
    /// Opens a ledger and reads its header. Errors: the file cannot be read, or is not a ledger.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        let unreadable = |error| LedgerError::Read { path: path.to_owned(), error };
        let no_ledger = |what: &str| LedgerError::NoLedger { path: path.to_owned(), what: what.to_owned() };
        let file = File::open(path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        let mut file = BufReader::new(file);
        let mut magic = [0; MAGIC.len()];
        if file.read_exact(&mut magic).is_err() || magic != *MAGIC {
            return Err(no_ledger("it does not begin with PTCLEDG1"));
        }
        let header = LedgerHeader {
            version: 0,
            policy: String::new(),
            package_digest: String::new(),
            image_digest: String::new(),
            thresholds: [0; 3],
            card: String::new(),
            host_time_unverified: 0,
        };
        let offset = MAGIC.len() as u64;
        let mut reader =
            Self { path: path.to_owned(), file, header, offset, length, tail: LedgerTail::Whole, done: false };
        reader.header = match reader.frame()? {
            LedgerFrame::Payload(payload) => serde_json::from_slice(&payload).map_err(|e| no_ledger(&e.to_string()))?,
            LedgerFrame::End | LedgerFrame::Torn => return Err(no_ledger("its header was cut short")),
        };
        if reader.header.version != 1 {
            return Err(no_ledger(&format!("its layout is version {}, this program reads 1", reader.header.version)));
        }
        Ok(reader)
    }

    #[must_use]
    pub const fn header(&self) -> &LedgerHeader {
        &self.header
    }

    /// How the ledger ends; valid after the last entry was read.
    #[must_use]
    pub const fn tail(&self) -> LedgerTail {
        self.tail
    }

    fn damaged(&self, what: impl Into<String>) -> LedgerError {
        LedgerError::Damaged { path: self.path.clone(), offset: self.offset, what: what.into() }
    }

    fn frame(&mut self) -> Result<LedgerFrame, LedgerError> {
        let left = self.length.saturating_sub(self.offset);
        if left == 0 {
            return Ok(LedgerFrame::End);
        }
        let unreadable = |error| LedgerError::Read { path: self.path.clone(), error };
        let mut head = [0; 8];
        if left < 8 {
            return Ok(LedgerFrame::Torn);
        }
        self.file.read_exact(&mut head).map_err(unreadable)?;
        let [a, b, c, d, e, f, g, h] = head;
        let (length, sum) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        if u64::from(length) > left - 8 {
            return Ok(LedgerFrame::Torn);
        }
        if length > FRAME_MAX {
            return Err(self.damaged("a frame is over 256 MiB"));
        }
        let mut payload = vec![0; length as usize];
        self.file.read_exact(&mut payload).map_err(unreadable)?;
        let whole = left == 8 + u64::from(length);
        if checksum(length.to_le_bytes(), &payload) != sum {
            // The last frame may have its full length although not all of its data was written.
            return if whole { Ok(LedgerFrame::Torn) } else { Err(self.damaged("the checksum of a frame is wrong")) };
        }
        self.offset += 8 + u64::from(length);
        Ok(LedgerFrame::Payload(payload))
    }

    fn entry(&mut self) -> Result<Option<LedgerEntry>, LedgerError> {
        match self.frame()? {
            LedgerFrame::End => Ok(None),
            LedgerFrame::Torn => {
                self.tail = LedgerTail::Torn(self.length - self.offset);
                Ok(None)
            }
            LedgerFrame::Payload(payload) => {
                serde_json::from_slice(&payload).map(Some).map_err(|e| self.damaged(e.to_string()))
            }
        }
    }
}

impl Iterator for LedgerReader {
    type Item = Result<LedgerEntry, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let entry = self.entry().transpose();
        self.done = !matches!(entry, Some(Ok(_)));
        entry
    }
}

/// Removes a torn tail and returns its length in bytes. Errors: the file is not a ledger, cannot be read or written, or
/// is damaged before its last frame, which is not repaired.
pub fn recover(path: &Path) -> Result<u64, LedgerError> {
    let mut reader = LedgerReader::open(path)?;
    for entry in reader.by_ref() {
        entry?;
    }
    let LedgerTail::Torn(bytes) = reader.tail() else { return Ok(0) };
    let write = |error| LedgerError::Write { path: path.to_owned(), error };
    let file = OpenOptions::new().write(true).open(path).map_err(write)?;
    file.set_len(reader.offset).and_then(|()| file.sync_all()).map_err(write)?;
    Ok(bytes)
}
