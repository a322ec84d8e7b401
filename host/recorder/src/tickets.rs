//! The tickets of successive sessions: a folder of files, one per session.

use crate::RecorderError;
use portcullis_evidence::ticket::SessionTicket;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Suffix of the name of a used ticket.
const USED: &str = "used";
/// Interval between two reads of the folder.
const LOOK: Duration = Duration::from_millis(100);

/// A folder of tickets: the first by name for the session's tables is the next.
#[derive(Clone, Debug)]
pub struct TicketFolder {
    pub path: PathBuf,
    /// Longest wait for a ticket. The issuer adds one after the previous session is closed.
    pub within: Duration,
    /// The ticket must be valid for longer than this.
    pub lasting: Duration,
    /// Ends the wait when it becomes true.
    pub stop: Arc<AtomicBool>,
}

/// A ticket that no session has claimed yet.
pub(crate) struct TicketClaim(PathBuf);

impl TicketFolder {
    /// The next ticket for tables with this digest. It stays in the folder until [`TicketClaim::take`]. Errors: no
    /// ticket in time; one that ends too soon; the folder cannot be read; the wait was ended.
    pub(crate) fn next(&self, policy: [u8; 32]) -> Result<(Vec<u8>, TicketClaim), RecorderError> {
        let until = Instant::now() + self.within;
        loop {
            if let Some((path, bytes, ticket)) =
                first(&self.path, &policy).map_err(|source| wrong(&self.path, source))?
            {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
                let (left, needed) = (ticket.not_after.saturating_sub(now), self.lasting.as_secs());
                if left <= needed {
                    return Err(RecorderError::TicketEnds { path, serial: ticket.serial, left, needed });
                }
                return Ok((bytes, TicketClaim(path)));
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(RecorderError::Ended);
            }
            if Instant::now() >= until {
                let why = "no ticket for this policy came in time: issue the next one into the folder of tickets";
                return Err(RecorderError::Unfit(why));
            }
            sleep(LOOK);
        }
    }
}

impl TicketClaim {
    /// Renames the file before the session begins, so that no other session uses the ticket, even if this session
    /// fails. Errors: the file cannot be renamed, perhaps because another session has claimed it.
    pub(crate) fn take(self) -> Result<(), RecorderError> {
        let mut used = self.0.clone().into_os_string();
        used.push(".");
        used.push(USED);
        fs::rename(&self.0, used).map_err(|source| wrong(&self.0, source))
    }
}

fn wrong(path: &Path, source: io::Error) -> RecorderError {
    RecorderError::Read { what: "ticket", path: path.to_owned(), source }
}

/// The first ticket for these tables. Invalid files are skipped: another program may still be writing them.
fn first(folder: &Path, policy: &[u8; 32]) -> io::Result<Option<(PathBuf, Vec<u8>, SessionTicket)>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    let fit = |path: PathBuf| {
        let bytes = fs::read(&path).ok().filter(|_| path.extension().is_none_or(|extension| extension != USED))?;
        let ticket = SessionTicket::parse(&bytes).ok()?.content;
        if ticket.policy != *policy {
            return None;
        }
        Some((path, bytes, ticket))
    };
    Ok(paths.into_iter().find_map(fit))
}
