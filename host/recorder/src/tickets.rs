//! The tickets of sessions that follow each other: a folder of files, each for one session.

use crate::RecorderError;
use portcullis_evidence::ticket::Ticket;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Appended to the name of a used ticket.
const USED: &str = "used";
/// How often the folder is looked into.
const LOOK: Duration = Duration::from_millis(100);

/// Takes the next ticket of a folder: the first by its name that is for tables of this digest. An issuer gives it once
/// the session before is closed, so it is waited for, at most `within`. The file is renamed before the session begins,
/// so that no other session takes it, whatever becomes of this one. Gives its new path. Errors: none came in time; the
/// folder cannot be read, or the file not be renamed.
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

/// The first ticket for these tables. A file that is not a ticket is still being written, or is of another kind.
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
