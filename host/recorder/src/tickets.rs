//! The tickets of successive sessions: a folder of files, one per session.

use crate::RecorderError;
use portcullis_evidence::ticket::Ticket;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Suffix of the name of a used ticket.
const USED: &str = "used";
/// Interval between two reads of the folder.
const LOOK: Duration = Duration::from_millis(100);

/// Takes the next ticket from a folder: the first by name for tables with this digest. The issuer adds a ticket after
/// the previous session is closed, so this function waits, at most `within`. It renames the file before the session
/// begins, so that no other session uses the ticket, even if this session fails. Returns the new path. Errors: no
/// ticket in time; the folder cannot be read; the file cannot be renamed.
pub fn next_ticket(folder: &Path, policy: [u8; 32], within: Duration) -> Result<PathBuf, RecorderError> {
    let until = Instant::now() + within;
    loop {
        let wrong = |source| RecorderError::Read { what: "folder of tickets", path: folder.to_owned(), source };
        if let Some(ticket) = first(folder, &policy).map_err(wrong)? {
            let mut used = ticket.clone().into_os_string();
            used.push(".");
            used.push(USED);
            let used = PathBuf::from(used);
            fs::rename(&ticket, &used).map_err(wrong)?;
            return Ok(used);
        }
        if Instant::now() >= until {
            let why = "no ticket for this policy came in time: issue the next one into the folder of tickets";
            return Err(RecorderError::Unfit(why));
        }
        sleep(LOOK);
    }
}

/// The first ticket for these tables. Invalid files are skipped: another program may still be writing them.
fn first(folder: &Path, policy: &[u8; 32]) -> io::Result<Option<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    let is_fit = |path: &PathBuf| {
        let ticket = fs::read(path).ok().and_then(|bytes| Ticket::parse(&bytes).ok());
        path.extension().is_none_or(|extension| extension != USED)
            && ticket.is_some_and(|ticket| ticket.content.policy == *policy)
    };
    Ok(paths.into_iter().find(is_fit))
}
