//! The ticket issuer. The cards with one key have a seat each. A seat has one session at a time, and each ticket names
//! the end of the previous session.
//!
//! A ticket is first *issued*. It becomes *opened* when the opening checkpoint of its session is presented, and
//! *closed* when the closing checkpoint is presented. The issuer can make an issued or opened ticket *abandoned*. The
//! next ticket of the seat is issued only after the previous ticket is closed or abandoned. Its serial is one higher, so
//! there are no gaps. It names the digest of the previous session's closing checkpoint, or zeros after an abandoned
//! ticket.

use std::collections::BTreeSet;
use std::path::Path;

use ed25519_dalek::SigningKey;
use portcullis_core::wire::Life;
use portcullis_evidence::checkpoint::{Checkpoint, CheckpointError};
use portcullis_evidence::ticket::{Chain, SELF_ISSUER, Ticket, TicketError};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use zerocopy::IntoBytes;

use crate::ca::Window;
use crate::shown::{self, ShownError};
use crate::store::{self, StoreError};

/// `application_id`, "PTCT".
const APPLICATION: i32 = 0x5054_4354;
const VERSIONS: [&str; 2] = [FIRST, SEATS];
const FIRST: &str = "
CREATE TABLE ticket (
  key BLOB NOT NULL CHECK (length(key) = 32),
  serial INTEGER NOT NULL CHECK (serial > 0),
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  cose BLOB NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('issued', 'opened', 'closed', 'abandoned')),
  opening BLOB CHECK (length(opening) = 192),
  closing BLOB CHECK (length(closing) = 192),
  remark TEXT,
  PRIMARY KEY (key, serial),
  CHECK (state != 'issued' OR opening IS NULL),
  CHECK (state != 'opened' OR opening IS NOT NULL),
  CHECK ((state = 'closed') = (closing IS NOT NULL)),
  CHECK ((state = 'abandoned') = (remark IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX pending ON ticket (key) WHERE state IN ('issued', 'opened');
";
/// Sessions are numbered by key and seat.
const SEATS: &str = "
CREATE TABLE seated (
  key BLOB NOT NULL CHECK (length(key) = 32),
  seat INTEGER NOT NULL CHECK (seat BETWEEN 0 AND 65535),
  serial INTEGER NOT NULL CHECK (serial > 0),
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  cose BLOB NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('issued', 'opened', 'closed', 'abandoned')),
  opening BLOB CHECK (length(opening) = 192),
  closing BLOB CHECK (length(closing) = 192),
  remark TEXT,
  PRIMARY KEY (key, seat, serial),
  CHECK (state != 'issued' OR opening IS NULL),
  CHECK (state != 'opened' OR opening IS NOT NULL),
  CHECK ((state = 'closed') = (closing IS NOT NULL)),
  CHECK ((state = 'abandoned') = (remark IS NOT NULL))
) STRICT;
INSERT INTO seated SELECT key, 0, serial, digest, cose, state, opening, closing, remark FROM ticket;
DROP TABLE ticket;
ALTER TABLE seated RENAME TO ticket;
CREATE UNIQUE INDEX pending ON ticket (key, seat) WHERE state IN ('issued', 'opened');
";
const COLUMNS: &str = "SELECT key, seat, serial, digest, state, opening, closing, remark FROM ticket";

#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Ticket(#[from] TicketError),
    #[error(transparent)]
    Shown(#[from] ShownError),
    #[error("session {0} of the card is neither closed nor abandoned")]
    Pending(u64),
    #[error("the issuer has issued no such ticket")]
    Unknown,
    #[error("ticket {0} is {1}")]
    State(u64, State),
    #[error("ticket {0} was used for another session")]
    Used(u64),
    #[error("the checkpoint is not the {0} one of a session")]
    Stage(&'static str),
    /// The name `self` is reserved for tickets that an operator issues itself.
    #[error("an issuer cannot be called `{SELF_ISSUER}`")]
    Name,
    #[error("no randomness: {0}")]
    Random(#[from] getrandom::Error),
}

impl From<rusqlite::Error> for IssueError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// The state of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Issued,
    Opened,
    Closed,
    Abandoned,
}

impl State {
    const ALL: [Self; 4] = [Self::Issued, Self::Opened, Self::Closed, Self::Abandoned];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Issued => "issued",
            Self::Opened => "opened",
            Self::Closed => "closed",
            Self::Abandoned => "abandoned",
        }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A request for a ticket. The issuer determines the other fields of the ticket.
#[derive(Clone, Debug)]
pub struct Request {
    /// The card: its key and its seat.
    pub chain: Chain,
    /// SHA-256 of the table image.
    pub policy: [u8; 32],
    /// Permitted context documents; empty permits any.
    pub contexts: BTreeSet<[u8; 32]>,
    /// Permitted profiles; empty permits any.
    pub profiles: BTreeSet<[u8; 32]>,
    /// Whether the session must use a text lane.
    pub text_lane: bool,
    /// The card refuses entries after this many records without a heartbeat; 0 means no limit.
    pub heartbeat_records: u32,
    /// The card refuses entries after this many units of 2^16 clocks without a heartbeat; 0 means no limit.
    pub heartbeat_ticks: u32,
    /// When the session may run.
    pub window: Window,
}

/// Makes a self-issued ticket with serial 1, signed with a temporary key. Errors: a request for heartbeats, because no
/// witness accepts such a ticket; fields that no ticket may have.
pub fn self_issued(request: &Request) -> Result<Vec<u8>, IssueError> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)?;
    let ticket = ticket(request, SELF_ISSUER, 1, [0; 32])?;
    Ok(ticket.sign(&SigningKey::from_bytes(&seed))?)
}

fn ticket(request: &Request, issuer: &str, serial: u64, previous_close: [u8; 32]) -> Result<Ticket, IssueError> {
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce)?;
    Ok(Ticket {
        serial,
        nonce,
        key: request.chain.key,
        policy: request.policy,
        contexts: request.contexts.clone(),
        heartbeat_records: request.heartbeat_records,
        heartbeat_ticks: request.heartbeat_ticks,
        previous_close,
        not_before: request.window.not_before,
        not_after: request.window.not_after,
        issuer: issuer.to_owned(),
        seat: request.chain.seat,
        profiles: request.profiles.clone(),
        text_lane: request.text_lane,
    })
}

/// A ticket in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketRecord {
    pub chain: Chain,
    /// Number of the session among all sessions of the chain.
    pub serial: u64,
    pub digest: [u8; 32],
    pub state: State,
    /// The 192 bytes of the opening checkpoint.
    pub opening: Option<[u8; 192]>,
    /// The 192 bytes of the closing checkpoint.
    pub closing: Option<[u8; 192]>,
    pub remark: Option<String>,
}

/// An issuer with its key and its store.
pub struct Issuer {
    database: Connection,
    key: SigningKey,
    name: String,
}

impl Issuer {
    /// Opens the store at `path`, or creates it. Errors: a file that is not a ticket store; the name `self`.
    pub fn open(path: &Path, key: SigningKey, name: &str) -> Result<Self, IssueError> {
        if name == SELF_ISSUER {
            return Err(IssueError::Name);
        }
        Ok(Self { database: store::open(path, APPLICATION, &VERSIONS)?, key, name: name.to_owned() })
    }

    /// Issues the next ticket of a card; returns its COSE message. Errors: [`IssueError::Pending`] until the previous
    /// session has ended; fields that no ticket may have.
    pub fn issue(&mut self, request: &Request) -> Result<Vec<u8>, IssueError> {
        let work = begin(&mut self.database)?;
        let last = work
            .query_row(
                &format!("{COLUMNS} WHERE key = ? AND seat = ? ORDER BY serial DESC LIMIT 1"),
                params![request.chain.key, request.chain.seat],
                read,
            )
            .optional()?;
        let previous_close = match &last {
            Some(TicketRecord { state: State::Closed, closing: Some(closing), .. }) => digest(closing)?,
            None | Some(TicketRecord { state: State::Abandoned, .. }) => [0; 32],
            Some(pending) => return Err(IssueError::Pending(pending.serial)),
        };
        let serial = last.map_or(0, |last| last.serial) + 1;
        let ticket = ticket(request, &self.name, serial, previous_close)?;
        let cose = ticket.sign(&self.key)?;
        let digest = Ticket::parse(&cose)?.digest;
        work.execute(
            "INSERT INTO ticket (key, seat, serial, digest, cose, state) VALUES (?, ?, ?, ?, ?, 'issued')",
            params![ticket.key, ticket.seat, ticket.serial, digest, cose],
        )?;
        work.commit()?;
        Ok(cose)
    }

    /// Records that a ticket's session was opened. A repeated call with the same checkpoint changes nothing. Errors:
    /// [`IssueError::Used`] for a second session under the ticket; a checkpoint that is not the card's, or not an
    /// opening one.
    pub fn redeem(&mut self, opening: &[u8], public_key: &[u8; 32]) -> Result<TicketRecord, IssueError> {
        let (work, ticket, shown) = Self::shown(&mut self.database, opening, public_key)?;
        if shown.state != Life::Opening || shown.wire.serial.get() != 0 {
            return Err(IssueError::Stage("opening"));
        }
        match (ticket.state, &ticket.opening) {
            (State::Issued, _) => {
                work.execute(
                    "UPDATE ticket SET state = 'opened', opening = ? WHERE digest = ?",
                    params![shown.wire.as_bytes(), ticket.digest],
                )?;
            }
            (_, Some(known)) if known != shown.wire.as_bytes() => return Err(IssueError::Used(ticket.serial)),
            (State::Abandoned, _) => return Err(IssueError::State(ticket.serial, State::Abandoned)),
            _ => {}
        }
        finish(work, &ticket.digest)
    }

    /// Records that a ticket's session has ended. A repeated call with the same checkpoint changes nothing. Errors: a
    /// ticket that is not open; [`IssueError::Used`] for the end of another run; a checkpoint that is not the card's,
    /// or not a closing one.
    pub fn close(&mut self, closing: &[u8], public_key: &[u8; 32]) -> Result<TicketRecord, IssueError> {
        let (work, ticket, shown) = Self::shown(&mut self.database, closing, public_key)?;
        if shown.state != Life::Closing {
            return Err(IssueError::Stage("closing"));
        }
        match (ticket.state, &ticket.opening, &ticket.closing) {
            (State::Opened, Some(opening), _) => {
                if !shown::same_run(&parse(opening)?.wire, &shown.wire) {
                    return Err(IssueError::Used(ticket.serial));
                }
                work.execute(
                    "UPDATE ticket SET state = 'closed', closing = ? WHERE digest = ?",
                    params![shown.wire.as_bytes(), ticket.digest],
                )?;
            }
            (State::Closed, _, Some(known)) if known == shown.wire.as_bytes() => {}
            (State::Closed, _, _) => return Err(IssueError::Used(ticket.serial)),
            (state, _, _) => return Err(IssueError::State(ticket.serial, state)),
        }
        finish(work, &ticket.digest)
    }

    /// Abandons a ticket whose session will never present a closing checkpoint. Errors: no such ticket, or one whose
    /// session has ended.
    pub fn abandon(&mut self, chain: Chain, serial: u64, remark: &str) -> Result<TicketRecord, IssueError> {
        let work = begin(&mut self.database)?;
        let ticket = work
            .query_row(
                &format!("{COLUMNS} WHERE key = ? AND seat = ? AND serial = ?"),
                params![chain.key, chain.seat, serial],
                read,
            )
            .optional()?
            .ok_or(IssueError::Unknown)?;
        if !matches!(ticket.state, State::Issued | State::Opened) {
            return Err(IssueError::State(serial, ticket.state));
        }
        work.execute(
            "UPDATE ticket SET state = 'abandoned', remark = ? WHERE digest = ?",
            params![remark, ticket.digest],
        )?;
        finish(work, &ticket.digest)
    }

    /// All tickets, by key, seat and serial.
    pub fn list(&self) -> Result<Vec<TicketRecord>, IssueError> {
        let mut query = self.database.prepare(&format!("{COLUMNS} ORDER BY key, seat, serial"))?;
        Ok(query.query_map([], read)?.collect::<Result<_, _>>()?)
    }

    /// The COSE message of a ticket, in case it was lost. Errors: no such ticket.
    pub fn ticket(&self, chain: Chain, serial: u64) -> Result<Vec<u8>, IssueError> {
        let query = "SELECT cose FROM ticket WHERE key = ? AND seat = ? AND serial = ?";
        self.database
            .query_row(query, params![chain.key, chain.seat, serial], |row| row.get(0))
            .optional()?
            .ok_or(IssueError::Unknown)
    }

    /// The ticket that a presented checkpoint names, within a transaction.
    fn shown<'a>(
        database: &'a mut Connection,
        message: &[u8],
        public_key: &[u8; 32],
    ) -> Result<(Transaction<'a>, TicketRecord, Checkpoint), IssueError> {
        let (named, _) =
            portcullis_evidence::cose::decode(message).ok_or(ShownError::from(CheckpointError::Message))?;
        let named = parse(named)?.wire.ticket_digest;
        let work = begin(database)?;
        let ticket = by_digest(&work, &named)?.ok_or(IssueError::Unknown)?;
        let checkpoint = shown::read(message, public_key, &ticket.chain.key)?;
        Ok((work, ticket, checkpoint))
    }
}

/// Begins a transaction that locks out other writers, so that nothing changes between reading and writing.
fn begin(database: &mut Connection) -> Result<Transaction<'_>, IssueError> {
    Ok(database.transaction_with_behavior(TransactionBehavior::Immediate)?)
}

/// Commits, and returns the new state of the ticket.
fn finish(work: Transaction, digest: &[u8; 32]) -> Result<TicketRecord, IssueError> {
    let ticket = by_digest(&work, digest)?.ok_or(IssueError::Unknown)?;
    work.commit()?;
    Ok(ticket)
}

fn by_digest(work: &Transaction, digest: &[u8; 32]) -> Result<Option<TicketRecord>, IssueError> {
    Ok(work.query_row(&format!("{COLUMNS} WHERE digest = ?"), [digest], read).optional()?)
}

fn parse(bytes: &[u8; 192]) -> Result<Checkpoint, IssueError> {
    Ok(Checkpoint::parse(bytes).map_err(ShownError::from)?)
}

fn digest(bytes: &[u8; 192]) -> Result<[u8; 32], IssueError> {
    Ok(parse(bytes)?.digest())
}

fn read(row: &Row) -> rusqlite::Result<TicketRecord> {
    let state: String = row.get(4)?;
    let unknown = || rusqlite::Error::InvalidColumnType(4, state.clone(), rusqlite::types::Type::Text);
    Ok(TicketRecord {
        chain: Chain { key: row.get(0)?, seat: row.get(1)? },
        serial: row.get(2)?,
        digest: row.get(3)?,
        state: State::ALL.into_iter().find(|known| known.name() == state).ok_or_else(unknown)?,
        opening: row.get(5)?,
        closing: row.get(6)?,
        remark: row.get(7)?,
    })
}
