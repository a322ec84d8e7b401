//! The witness: an outside party that stores the checkpoints that it accepts, so that a session has only one history.
//!
//! It accepts checkpoint `k` of a ticket's session only once, only after checkpoint `k - 1`, and only under the newest
//! ticket of the card. Both checkpoints must come from the same run of the card, and the logs must continue the earlier
//! logs (RFC 9162, 2.1.4). The witness appends each accepted checkpoint to its own log of the card, and returns a note
//! with the nonce of the next heartbeat (`portcullis_evidence::note`). A repeated post of the same checkpoint gives the
//! same note again, so a client can retry after a lost answer.
//!
//! The witness gives a nonce while the session runs and the ticket is valid by the witness's clock. Therefore a card
//! whose ticket requires heartbeats stops soon after the ticket expires, even if its host is hostile.
//!
//! The state is one SQLite file; an answer is sent only after the change is on the disk. Two checkpoints with the same
//! serial, both signed by the card, prove a reset. The second checkpoint is stored, and [`CheckpointWitness::forks`]
//! lists both.

pub mod client;
mod cosign;
mod http;
mod log;
mod marks;
mod post;
pub mod server;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ed25519_dalek::VerifyingKey;
use portcullis_core::wire::{LaneHead, Life};
use portcullis_evidence::checkpoint::{ParsedCheckpoint, root_of_heads};
use portcullis_evidence::note::{self, ORIGIN};
use portcullis_evidence::note::{LogKey, LogTreeHead, NoteError, WitnessEntry, WitnessKey, WitnessProof};
use portcullis_evidence::signing::StatementKey;
use portcullis_evidence::ticket::{ChainId, SessionTicket, SignedTicket, TicketError, TicketIssuer};
use portcullis_evidence::tree::{self, Hash};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use zerocopy::{FromBytes, IntoBytes};

use crate::keys::AuthorityKey;
use crate::shown::{self, ShownError};
use crate::store::{EventStoreError, file};
pub use cosign::{AddCheckpoint, CosignRefusal, LogSplitView};
pub use http::HttpError;
use log::WitnessLog;
use marks::HighWaterMarks;
pub use post::{CheckpointPost, LanePost, MAX_BODY};

/// `application_id`, "PTCX". Stores of the older version ("PTCW") contain the root of one lane; stores of this version
/// contain the heads of all lanes.
const APPLICATION: i32 = 0x5054_4358;
const STEPS: [file::Step; 3] = [
    |work| Ok(work.execute_batch(FIRST)?),
    |work| Ok(work.execute_batch(SEATS)?),
    |work| Ok(work.execute_batch(cosign::TABLES)?),
];
const FIRST: &str = "
CREATE TABLE log (
  key BLOB PRIMARY KEY CHECK (length(key) = 32),
  size INTEGER NOT NULL,
  peaks BLOB NOT NULL,
  time INTEGER NOT NULL
) STRICT;
CREATE TABLE session (
  key BLOB NOT NULL REFERENCES log (key),
  ticket INTEGER NOT NULL,
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  checkpoint BLOB NOT NULL CHECK (length(checkpoint) = 192),
  heads BLOB NOT NULL CHECK (length(heads) IN (48, 96, 192, 384)),
  PRIMARY KEY (key, ticket)
) STRICT;
CREATE TABLE entry (
  key BLOB NOT NULL REFERENCES log (key),
  number INTEGER NOT NULL,
  ticket INTEGER NOT NULL,
  serial INTEGER NOT NULL,
  checkpoint BLOB NOT NULL CHECK (length(checkpoint) = 32),
  message BLOB NOT NULL,
  note TEXT NOT NULL,
  PRIMARY KEY (key, number),
  UNIQUE (key, ticket, serial)
) STRICT;
CREATE TABLE fork (
  key BLOB NOT NULL,
  ticket INTEGER NOT NULL,
  serial INTEGER NOT NULL,
  message BLOB NOT NULL,
  PRIMARY KEY (key, ticket, serial)
) STRICT;
";
/// The step to a store in which each log has a key and a seat.
const SEATS: &str = "
ALTER TABLE log RENAME TO old_log;
ALTER TABLE session RENAME TO old_session;
ALTER TABLE entry RENAME TO old_entry;
ALTER TABLE fork RENAME TO old_fork;
CREATE TABLE log (
  key BLOB NOT NULL CHECK (length(key) = 32),
  seat INTEGER NOT NULL CHECK (seat BETWEEN 0 AND 65535),
  size INTEGER NOT NULL,
  peaks BLOB NOT NULL,
  time INTEGER NOT NULL,
  PRIMARY KEY (key, seat)
) STRICT;
CREATE TABLE session (
  key BLOB NOT NULL,
  seat INTEGER NOT NULL,
  ticket INTEGER NOT NULL,
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  checkpoint BLOB NOT NULL CHECK (length(checkpoint) = 192),
  heads BLOB NOT NULL CHECK (length(heads) IN (48, 96, 192, 384)),
  PRIMARY KEY (key, seat, ticket),
  FOREIGN KEY (key, seat) REFERENCES log (key, seat)
) STRICT;
CREATE TABLE entry (
  key BLOB NOT NULL,
  seat INTEGER NOT NULL,
  number INTEGER NOT NULL,
  ticket INTEGER NOT NULL,
  serial INTEGER NOT NULL,
  checkpoint BLOB NOT NULL CHECK (length(checkpoint) = 32),
  message BLOB NOT NULL,
  note TEXT NOT NULL,
  PRIMARY KEY (key, seat, number),
  UNIQUE (key, seat, ticket, serial),
  FOREIGN KEY (key, seat) REFERENCES log (key, seat)
) STRICT;
CREATE TABLE fork (
  key BLOB NOT NULL,
  seat INTEGER NOT NULL,
  ticket INTEGER NOT NULL,
  serial INTEGER NOT NULL,
  message BLOB NOT NULL,
  PRIMARY KEY (key, seat, ticket, serial)
) STRICT;
INSERT INTO log SELECT key, 0, size, peaks, time FROM old_log;
INSERT INTO session SELECT key, 0, ticket, digest, checkpoint, heads FROM old_session;
INSERT INTO entry SELECT key, 0, number, ticket, serial, checkpoint, message, note FROM old_entry;
INSERT INTO fork SELECT key, 0, ticket, serial, message FROM old_fork;
DROP TABLE old_fork;
DROP TABLE old_entry;
DROP TABLE old_session;
DROP TABLE old_log;
";

#[derive(Debug, thiserror::Error)]
pub enum PostRefusal {
    #[error("the request {0}")]
    Malformed(&'static str),
    #[error(transparent)]
    Ticket(#[from] TicketError),
    #[error("the ticket is the operator's own")]
    SelfIssued,
    #[error(transparent)]
    Shown(#[from] ShownError),
    #[error("the ticket is valid from second {0} to second {1}: compare the clocks of issuer and witness")]
    Validity(u64, u64),
    #[error(transparent)]
    Conflict(#[from] PostConflict),
    /// The log does not match the checkpoint, or does not continue the log of the last accepted checkpoint.
    #[error("the log is not shown to go on from the last checkpoint")]
    Inconsistent,
    #[error("the witness cannot answer")]
    Internal(#[from] InternalError),
}

/// The ways in which a post can contradict an accepted post.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostConflict {
    #[error("another checkpoint {0} of the session was accepted before")]
    Fork(u64),
    #[error("checkpoint {0} is next")]
    Gap(u64),
    /// A proof does not start at the size of its lane under the last checkpoint. The value lists this size for each
    /// lane.
    #[error("the last checkpoint has {} records", spaced(.0))]
    Size(Vec<u64>),
    #[error("the session is closed")]
    Closed,
    #[error("ticket {0} of the card is in use")]
    Superseded(u64),
    #[error("another ticket of this serial is in use")]
    OtherTicket,
    #[error("the checkpoint is of another run of the card")]
    OtherRun,
    #[error("the log went backwards")]
    Backwards,
    #[error("the checkpoint's state does not follow the last one's")]
    State,
    #[error("the policy in force is not the ticket's")]
    Policy,
}

fn spaced(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

/// An error inside the witness. The witness's operator sees the details; the client does not.
#[derive(Debug, thiserror::Error)]
pub enum InternalError {
    #[error(transparent)]
    Store(#[from] EventStoreError),
    #[error(transparent)]
    Note(#[from] NoteError),
    #[error("no randomness: {0}")]
    Random(#[from] getrandom::Error),
    #[error(
        "the store is an old copy: its log `{origin}` has not the head of {size} entries that `{}` has. A witness that \
         goes on from it signs a second history. Start it with its newest store; if that is lost, start a new witness \
         with a new key, new marks and an empty store",
        mark.display()
    )]
    Behind { origin: String, size: u64, mark: PathBuf },
}

impl From<rusqlite::Error> for InternalError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<rusqlite::Error> for PostRefusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Internal(error.into())
    }
}

/// Two checkpoints that the card signed for the same serial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFork {
    pub chain: ChainId,
    pub ticket: u64,
    /// Serial of both checkpoints.
    pub serial: u64,
    /// COSE message of the accepted checkpoint.
    pub accepted: Vec<u8>,
    /// COSE message of the first refused checkpoint.
    pub refused: Vec<u8>,
}

/// A witness with its key and its state.
pub struct CheckpointWitness {
    database: Mutex<Connection>,
    key: AuthorityKey,
    name: WitnessKey,
    issuers: Vec<VerifyingKey>,
    /// Other logs that the witness cosigns.
    logs: Vec<LogKey>,
    marks: Option<HighWaterMarks>,
}

struct CheckedPost {
    ticket: SignedTicket<SessionTicket>,
    checkpoint: ParsedCheckpoint,
    digest: Hash,
    /// Serials of ticket and checkpoint, in SQLite's integer type.
    ticket_serial: i64,
    serial: i64,
}

/// A session in the store.
struct WitnessedSession {
    ticket: i64,
    checkpoint: ParsedCheckpoint,
    heads: Vec<LaneHead>,
}

impl CheckpointWitness {
    /// Opens the state at `path`, or creates it. Only tickets of `issuers` are accepted. Errors: a file that is not a
    /// witness's state; an invalid key name.
    pub fn open(
        path: &Path,
        key: impl Into<AuthorityKey>,
        name: &str,
        issuers: Vec<VerifyingKey>,
    ) -> Result<Self, InternalError> {
        let key = key.into();
        let name = WitnessKey::new(name, key.verifying_key())?;
        let database = Mutex::new(file::open(path, APPLICATION, &STEPS)?);
        Ok(Self { database, key, name, issuers, logs: Vec::new(), marks: None })
    }

    /// The same witness, which keeps the newest heads of its logs in the folder `marks`, outside its store. Errors:
    /// [`InternalError::Behind`] if the store lacks one of these heads; reading failed.
    pub fn marked_in(self, marks: &Path) -> Result<Self, InternalError> {
        let marks = HighWaterMarks::open(marks, &self.lock())?;
        Ok(Self { marks: Some(marks), ..self })
    }

    /// The same witness, which also cosigns these logs. Errors: as [`CheckpointWitness::may_cosign`].
    pub fn cosigner_of(self, logs: Vec<LogKey>) -> Result<Self, NoteError> {
        logs.iter().try_for_each(Self::may_cosign)?;
        Ok(Self { logs, ..self })
    }

    /// Whether a witness may cosign this log. Errors: it has the name of a card's log. Only the witness itself keeps
    /// such logs, and whoever could sign in their name could say what the witness saw.
    pub fn may_cosign(log: &LogKey) -> Result<(), NoteError> {
        if log.name().starts_with(ORIGIN) {
            return Err(NoteError::Key(log.name().to_owned(), "name of a log other than those of cards"));
        }
        Ok(())
    }

    /// Name and public key, for trust stores.
    pub const fn public(&self) -> &WitnessKey {
        &self.name
    }

    /// Accepts a checkpoint at the Unix second `now`; returns its note. Errors: the reason to refuse it. A refusal does
    /// not affect later posts.
    pub fn add(&self, post: &CheckpointPost, now: u64) -> Result<String, PostRefusal> {
        // Signatures are slow to check, so they are checked before the state is locked.
        let checked = self.check(post)?;
        let chain = checked.ticket.content.chain();
        let mut database = self.lock();
        let work = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if ticket_in_use(&work, &checked)?.is_some_and(|digest| digest != checked.ticket.digest) {
            return Err(PostConflict::OtherTicket.into());
        }
        if let Some((known, note)) = known(&work, &checked)? {
            if known == checked.digest {
                return self.mark(note);
            }
            work.execute(
                "INSERT OR IGNORE INTO fork VALUES (?, ?, ?, ?, ?)",
                params![chain.key, chain.seat, checked.ticket_serial, checked.serial, post.checkpoint],
            )?;
            work.commit()?;
            return Err(PostConflict::Fork(checked.checkpoint.wire.serial.get()).into());
        }
        let log = WitnessLog::load(&work, chain)?;
        if let Some(marks) = &self.marks {
            marks.check(&LogTreeHead::of_chain(chain, log.size, Hash::default()).origin, log.size)?;
        }
        // Even if the clock was set back, a later note does not get an earlier time.
        let time = now.max(log.time);
        match latest(&work, chain)? {
            Some(last) if last.ticket > checked.ticket_serial => {
                return Err(PostConflict::Superseded(last.ticket.unsigned_abs()).into());
            }
            Some(last) if last.ticket == checked.ticket_serial => follow(&last, &checked, post)?,
            _ => open(&checked, post, time)?,
        }
        let note = self.append(&work, log, &checked, post, time)?;
        work.commit()?;
        self.mark(note)
    }

    /// Marks the head in a note before the note leaves.
    fn mark(&self, note: String) -> Result<String, PostRefusal> {
        if let Some(marks) = &self.marks {
            let damaged = || InternalError::from(EventStoreError::Damaged("a note does not parse"));
            marks.set(marks::head_of(&note).ok_or_else(damaged)?)?;
        }
        Ok(note)
    }

    /// All forks: each proves a reset, or a second card with the same key.
    pub fn forks(&self) -> Result<Vec<CheckpointFork>, InternalError> {
        let database = self.lock();
        let mut query = database.prepare(
            "SELECT key, seat, ticket, serial, entry.message, fork.message
             FROM fork JOIN entry USING (key, seat, ticket, serial) ORDER BY key, seat, ticket, serial",
        )?;
        let read = |row: &rusqlite::Row| {
            Ok(CheckpointFork {
                chain: ChainId { key: row.get(0)?, seat: row.get(1)? },
                ticket: row.get(2)?,
                serial: row.get(3)?,
                accepted: row.get(4)?,
                refused: row.get(5)?,
            })
        };
        Ok(query.query_map([], read)?.collect::<Result<_, _>>()?)
    }

    /// All notes of a card's log, in order.
    pub fn notes(&self, chain: ChainId) -> Result<Vec<String>, InternalError> {
        let database = self.lock();
        let mut query = database.prepare("SELECT note FROM entry WHERE key = ? AND seat = ? ORDER BY number")?;
        Ok(query.query_map(params![chain.key, chain.seat], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // If a thread panics, its transaction is rolled back, so the state is intact.
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, post: &CheckpointPost) -> Result<CheckedPost, PostRefusal> {
        let ticket = SessionTicket::parse(&post.ticket)?;
        if ticket.verify(&self.issuers)? == TicketIssuer::SelfIssued {
            return Err(PostRefusal::SelfIssued);
        }
        let checkpoint = shown::read(&post.checkpoint, &post.public_key, &ticket.content.key)?;
        let wire = &checkpoint.wire;
        if wire.ticket_digest != ticket.digest {
            return Err(PostRefusal::Malformed("holds the checkpoint of another ticket"));
        }
        let size = post.lanes.iter().try_fold(0u64, |sum, lane| sum.checked_add(lane.size));
        let lanes = post.lanes.len() == usize::from(wire.lanes);
        if !lanes || size != Some(wire.size.get()) || root_of_heads(&post.heads()) != wire.root {
            return Err(PostRefusal::Inconsistent);
        }
        let number = |value| i64::try_from(value).map_err(|_| PostRefusal::Malformed("holds a serial beyond 2^63"));
        let (ticket_serial, serial) = (number(ticket.content.serial)?, number(wire.serial.get())?);
        Ok(CheckedPost { digest: checkpoint.digest(), ticket, checkpoint, ticket_serial, serial })
    }

    /// Appends the entry of an accepted checkpoint to the log of its card; returns the note.
    fn append(
        &self,
        work: &Transaction,
        mut log: WitnessLog,
        checked: &CheckedPost,
        post: &CheckpointPost,
        time: u64,
    ) -> Result<String, PostRefusal> {
        let ticket = &checked.ticket.content;
        let running = matches!(checked.checkpoint.state, Life::Opening | Life::Run);
        let nonce = if running && time <= ticket.not_after { Some(nonce()?) } else { None };
        let entry = WitnessEntry {
            ticket: ticket.serial,
            serial: checked.checkpoint.wire.serial.get(),
            checkpoint: checked.digest,
            nonce,
        };
        let index = log.size;
        let (path, root) = log.append(tree::leaf(&entry.to_bytes()));
        log.time = time;
        let text = LogTreeHead::of_chain(ticket.chain(), log.size, root).text();
        let signature = note::cosign(&text, self.name.name(), &self.key, time).map_err(InternalError::from)?;
        let note = WitnessProof { entry, index, path, note: format!("{text}\n{signature}") }.text();

        log.store(work, ticket.chain())?;
        work.execute(
            "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)
             ON CONFLICT (key, seat, ticket) DO UPDATE SET checkpoint = excluded.checkpoint, heads = excluded.heads",
            params![
                ticket.key,
                ticket.seat,
                checked.ticket_serial,
                checked.ticket.digest,
                checked.checkpoint.wire.as_bytes(),
                post.heads().as_bytes()
            ],
        )?;
        work.execute(
            "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                ticket.key,
                ticket.seat,
                index,
                checked.ticket_serial,
                checked.serial,
                checked.digest,
                post.checkpoint,
                note
            ],
        )?;
        Ok(note)
    }
}

/// Digest of the ticket under which the session with this serial was opened.
fn ticket_in_use(work: &Transaction, checked: &CheckedPost) -> Result<Option<Hash>, PostRefusal> {
    let query = "SELECT digest FROM session WHERE key = ? AND seat = ? AND ticket = ?";
    let chain = checked.ticket.content.chain();
    let place = params![chain.key, chain.seat, checked.ticket_serial];
    Ok(work.query_row(query, place, |row| row.get(0)).optional()?)
}

/// Digest and note of the accepted checkpoint with the serial of this post; `None` if none was accepted.
fn known(work: &Transaction, checked: &CheckedPost) -> Result<Option<(Hash, String)>, PostRefusal> {
    let chain = checked.ticket.content.chain();
    let place = params![chain.key, chain.seat, checked.ticket_serial, checked.serial];
    let query = "SELECT checkpoint, note FROM entry WHERE key = ? AND seat = ? AND ticket = ? AND serial = ?";
    Ok(work.query_row(query, place, |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

/// The newest session of a card.
fn latest(work: &Transaction, chain: ChainId) -> Result<Option<WitnessedSession>, PostRefusal> {
    let query = "SELECT ticket, checkpoint, heads FROM session WHERE key = ? AND seat = ? ORDER BY ticket DESC LIMIT 1";
    let place = params![chain.key, chain.seat];
    let row = work.query_row(query, place, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
    let Some((ticket, checkpoint, heads)) = row else { return Ok(None) };
    let (checkpoint, heads): ([u8; 192], Vec<u8>) = (checkpoint, heads);
    let heads = <[LaneHead]>::ref_from_bytes(&heads).map_err(|_| EventStoreError::Damaged("lane heads do not parse"));
    let heads = heads.map_err(InternalError::from)?.to_vec();
    let damaged = |_| InternalError::from(EventStoreError::Damaged("a checkpoint does not parse"));
    Ok(Some(WitnessedSession { ticket, checkpoint: ParsedCheckpoint::parse(&checkpoint).map_err(damaged)?, heads }))
}

fn open(checked: &CheckedPost, post: &CheckpointPost, time: u64) -> Result<(), PostRefusal> {
    let (ticket, checkpoint) = (&checked.ticket.content, &checked.checkpoint);
    if checked.serial != 0 {
        return Err(PostConflict::Gap(0).into());
    }
    if checkpoint.state != Life::Opening {
        return Err(PostConflict::State.into());
    }
    if checkpoint.wire.policy_digest != ticket.policy {
        return Err(PostConflict::Policy.into());
    }
    if post.lanes.iter().any(|lane| lane.old != 0) {
        return Err(PostConflict::Size(vec![0; post.lanes.len()]).into());
    }
    if post.lanes.iter().any(|lane| !lane.proof.is_empty()) {
        return Err(PostRefusal::Inconsistent);
    }
    if time < ticket.not_before || time > ticket.not_after {
        return Err(PostRefusal::Validity(ticket.not_before, ticket.not_after));
    }
    Ok(())
}

/// Checks that the post has the next checkpoint of an open session.
fn follow(last: &WitnessedSession, checked: &CheckedPost, post: &CheckpointPost) -> Result<(), PostRefusal> {
    if last.checkpoint.state == Life::Closing {
        return Err(PostConflict::Closed.into());
    }
    let (before, after) = (&last.checkpoint.wire, &checked.checkpoint.wire);
    let next = before.serial.get().saturating_add(1);
    if after.serial.get() != next {
        return Err(PostConflict::Gap(next).into());
    }
    if !shown::same_run(before, after) {
        return Err(PostConflict::OtherRun.into());
    }
    // The number of lanes does not change during a run of a card.
    if post.lanes.len() != last.heads.len() {
        return Err(PostConflict::OtherRun.into());
    }
    let mut lanes = last.heads.iter().zip(&post.lanes);
    if after.tick < before.tick || lanes.clone().any(|(last, lane)| lane.size < last.size.get()) {
        return Err(PostConflict::Backwards.into());
    }
    let follows = match checked.checkpoint.state {
        Life::Run => last.checkpoint.state != Life::Fault,
        Life::Fault | Life::Closing => true,
        _ => false,
    };
    if !follows {
        return Err(PostConflict::State.into());
    }
    if lanes.clone().any(|(last, lane)| lane.old != last.size.get()) {
        return Err(PostConflict::Size(last.heads.iter().map(|head| head.size.get()).collect()).into());
    }
    let goes_on = |(last, lane): (&LaneHead, &LanePost)| {
        tree::verify_consistency(lane.old, lane.size, &lane.proof, &last.root, &lane.root)
    };
    if lanes.all(goes_on) { Ok(()) } else { Err(PostRefusal::Inconsistent) }
}

/// A random number that is never zero, since zero means "no nonce".
fn nonce() -> Result<u64, InternalError> {
    loop {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes)?;
        if bytes != [0; 8] {
            return Ok(u64::from_le_bytes(bytes));
        }
    }
}
