//! The ledger: an append-only file with all events of governed streams, from which a run can be inspected without the
//! model.
//!
//! A file is the magic `PTCLEDG1`, then frames. A frame is the length of the payload (u32), a CRC-32 (IEEE 802.3) over
//! length and payload (u32), and the payload. Integers are little-endian. The first payload is a [`LedgerHeader`],
//! every other payload is an [`LedgerEntry`]. Both are JSON.

mod read;
mod write;

pub use read::{LedgerReader, LedgerTail, recover};
pub use write::{FsyncMode, LedgerSink, LedgerWriter};

use crate::event::StreamEvent;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// First bytes of a ledger.
pub const MAGIC: &[u8; 8] = b"PTCLEDG1";
/// Longest payload, in bytes.
pub const FRAME_MAX: u32 = 256 << 20;

/// The head of a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerHeader {
    pub version: u32,
    /// Name and version of the policy package.
    pub policy: String,
    /// SHA-256 of the package, hexadecimal.
    pub package_digest: String,
    /// SHA-256 of the package's table image, hexadecimal.
    pub image_digest: String,
    /// Thresholds of the trust slope (warning, correction, halt), in basis points; 65535 is never reached.
    pub thresholds: [u16; 3],
    pub card: String,
    /// Host time in milliseconds since 1970, unverified.
    pub host_time_unverified: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// Host time in milliseconds since 1970, unverified.
    pub host_time_unverified: u64,
    #[serde(flatten)]
    pub event: StreamEvent,
}

#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("the ledger `{}` cannot be written: {error}; nothing further is released", path.display())]
    Write { path: PathBuf, error: std::io::Error },
    #[error("the ledger `{}` failed before; nothing further is released", path.display())]
    Poisoned { path: PathBuf },
    #[error("the ledger `{}` cannot be read: {error}", path.display())]
    Read { path: PathBuf, error: std::io::Error },
    #[error("`{}` is not a ledger: {what}", path.display())]
    NoLedger { path: PathBuf, what: String },
    /// A frame before the last one is damaged. Unlike a torn tail, this is not repaired.
    #[error("the ledger `{}` is damaged at byte {offset}: {what}; what stands before it can be read", path.display())]
    Damaged { path: PathBuf, offset: u64, what: String },
}

/// Length, checksum and payload in one buffer.
fn frame(payload: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(payload.len()).ok().filter(|l| *l <= FRAME_MAX)?.to_le_bytes();
    Some([&length, &checksum(length, payload).to_le_bytes(), payload].concat())
}

fn checksum(length: [u8; 4], payload: &[u8]) -> u32 {
    let mut hash = crc32fast::Hasher::new();
    hash.update(&length);
    hash.update(payload);
    hash.finalize()
}

fn host_time() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
