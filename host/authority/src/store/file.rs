//! SQLite files for durable state: a change that a function has committed survives a crash, and an uncommitted change
//! leaves no trace.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, Transaction};

use super::EventStoreError;

/// Longest wait for a transaction of another process.
const BUSY: Duration = Duration::from_secs(5);

/// Creates an empty file that only its user may read, if none exists. SQLite gives its other files the same mode.
fn only_the_users_own(path: &Path) -> Result<(), EventStoreError> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(EventStoreError::Make(path.to_owned(), error))
        }
        _ => Ok(()),
    }
}

/// Changes a store from one version to the next.
pub(crate) type Step = fn(&Transaction<'_>) -> Result<(), EventStoreError>;

/// Opens the store of kind `application` at `path`, or creates it. The first of `steps` makes the tables.
pub(crate) fn open(path: &Path, application: i32, steps: &[Step]) -> Result<Connection, EventStoreError> {
    only_the_users_own(path)?;
    let mut database = Connection::open(path)?;
    database.busy_timeout(BUSY)?;
    // A commit is on the disk before it returns, so that a loss of power loses nothing.
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "FULL")?;
    let work = database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let found: i32 = work.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let empty = work.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?;
    let version: usize = work.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let known = match (found, empty) {
        (0, true) => 0,
        // A store of version 1 has 0 in the field for the version.
        (found, false) if found == application => version.max(1),
        _ => return Err(EventStoreError::Kind(path.display().to_string())),
    };
    let shown = || path.display().to_string();
    let missing = steps.get(known..).ok_or_else(|| EventStoreError::Newer(shown()))?;
    if !missing.is_empty() {
        missing.iter().try_for_each(|step| step(&work))?;
        work.pragma_update(None, "application_id", application)?;
        work.pragma_update(None, "user_version", steps.len())?;
    }
    work.commit()?;
    Ok(database)
}
