//! Where an outside party keeps its state.
//!
//! The issuer's state is a list of [`ChainEvent`]s for each [`ChainId`]; events are only appended. The hash of an event
//! covers the hash of the event before it, so that a changed or lost event is found. [`EventStore`] is the interface of
//! the store: an SQLite file ([`sqlite`]) or a PostgreSQL database ([`postgres`]). The witness has its own SQLite file
//! ([`file`]).

pub(crate) mod file;
pub(crate) mod postgres;
pub(crate) mod sqlite;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

pub(crate) use portcullis_evidence::public_log::PublicLogEventKind as Kind;
use portcullis_evidence::ticket::ChainId;
use sha2::{Digest, Sha256};

#[derive(Debug, thiserror::Error)]
pub enum EventStoreError {
    #[error("the store: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the store: {}", postgres::reason(.0))]
    Postgres(#[from] ::postgres::Error),
    #[error("cannot make `{0}`: {1}")]
    Make(PathBuf, io::Error),
    #[error("`{0}` is a database, but not a store of this kind and version")]
    Kind(String),
    #[error("`{0}` is a store of a newer version of this program")]
    Newer(String),
    #[error("`{0}` has no store: make it with `ticket store`")]
    NotMade(String),
    #[error(
        "the connection to the database is not encrypted, so its host must be this machine: name a socket, or `localhost` \
         and a tunnel"
    )]
    NotHere,
    #[error("the database did not answer in time; it is not known whether it has done what was asked")]
    NoAnswer,
    #[error("the store is damaged: {0}")]
    Damaged(&'static str),
    #[error("the store is in use by too many others")]
    Busy,
}

/// The place of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// An SQLite file.
    File(PathBuf),
    /// `postgres://user:password@host:port/database`; with `?host=/folder`, over the socket in this folder.
    Postgres(String),
}

impl FromStr for StoreUrl {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let postgres = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        Ok(if postgres { Self::Postgres(text.to_owned()) } else { Self::File(text.into()) })
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Postgres(url) => f.write_str(url),
        }
    }
}

/// The kind of event with this number in a store.
fn kind(number: i64) -> Result<Kind, EventStoreError> {
    u8::try_from(number).ok().and_then(Kind::of).ok_or(EventStoreError::Damaged("an event of an unknown kind"))
}

/// The end of a chain: the number of its events, and the hash of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChainHead {
    pub(crate) size: u64,
    pub(crate) hash: [u8; 32],
}

impl ChainHead {
    /// The head of a chain without an event.
    pub(crate) const NEW: Self = Self { size: 0, hash: [0; 32] };

    /// Whether a chain with this head can have an earlier head `end`.
    pub(crate) fn has(&self, end: &Self) -> bool {
        self.size > end.size || self == end
    }
}

/// An event of a chain.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ChainEvent {
    pub(crate) chain: ChainId,
    /// Number of the session in the chain.
    pub(crate) serial: u64,
    pub(crate) kind: Kind,
    /// Digest of the session's ticket.
    pub(crate) ticket: [u8; 32],
    /// The ticket's COSE message, the opening checkpoint, the closing checkpoint, or the issuer's remark, by kind.
    pub(crate) body: Vec<u8>,
}

impl fmt::Debug for ChainEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of session {} at seat {}", self.kind, self.serial, self.chain.seat)
    }
}

impl ChainEvent {
    /// The head of the chain after this event is appended to a chain with the head `before`.
    ///
    /// The hash is SHA-256 over the byte 01, the hash in `before`, key, seat u32, place of the event u64, serial u64,
    /// kind u8, ticket digest and body; integers are big-endian, as PostgreSQL sends them.
    pub(crate) fn head(&self, before: &ChainHead) -> ChainHead {
        let hash = Sha256::new()
            .chain_update([1])
            .chain_update(before.hash)
            .chain_update(self.chain.key)
            .chain_update(u32::from(self.chain.seat).to_be_bytes())
            .chain_update(before.size.to_be_bytes())
            .chain_update(self.serial.to_be_bytes())
            .chain_update([self.kind as u8])
            .chain_update(self.ticket)
            .chain_update(&self.body);
        ChainHead { size: before.size + 1, hash: hash.finalize().into() }
    }
}

/// A store of events. Each call is one transaction.
pub(crate) trait EventStore: Send {
    fn head(&mut self, chain: ChainId) -> Result<ChainHead, EventStoreError>;

    /// The events of the chain's newest session, in order; empty if the chain has no session.
    fn newest(&mut self, chain: ChainId) -> Result<Vec<ChainEvent>, EventStoreError>;

    /// The events of a session, in order; empty if the session is unknown.
    fn session(&mut self, chain: ChainId, serial: u64) -> Result<Vec<ChainEvent>, EventStoreError>;

    /// The events of the session with this ticket, in order; empty if the ticket is unknown.
    fn of_ticket(&mut self, ticket: &[u8; 32]) -> Result<Vec<ChainEvent>, EventStoreError>;

    /// The events of the chain from this place on, in order, with their hashes. The hashes are not checked.
    fn events_since(&mut self, chain: ChainId, place: u64) -> Result<Vec<(ChainEvent, [u8; 32])>, EventStoreError>;

    /// The heads of all chains, sorted by chain.
    fn heads(&mut self) -> Result<Vec<(ChainId, ChainHead)>, EventStoreError>;

    /// All events, sorted by chain and place. Errors: [`EventStoreError::Damaged`] if a hash does not cover the hash
    /// before it, or if the last hash of a chain is not that of its head.
    fn all(&mut self) -> Result<Vec<ChainEvent>, EventStoreError>;

    /// If the head of the event's chain is still `after`, appends the event durably and returns `true`.
    fn append(&mut self, after: &ChainHead, event: &ChainEvent) -> Result<bool, EventStoreError>;
}

/// Opens the store. An SQLite file is made if it is not there.
pub(crate) fn open(url: &StoreUrl) -> Result<Box<dyn EventStore>, EventStoreError> {
    Ok(match url {
        StoreUrl::File(path) => Box::new(sqlite::Sqlite::open(path)?),
        StoreUrl::Postgres(url) => Box::new(postgres::Postgres::open(url)?),
    })
}

/// Checks the hash of each event of a chain, and that the last one is the hash of `head`.
fn check(chain: ChainId, events: &[(ChainEvent, [u8; 32])], head: &ChainHead) -> Result<(), EventStoreError> {
    let mut before = ChainHead::NEW;
    for (event, hash) in events {
        before = event.head(&before);
        if event.chain != chain || before.hash != *hash {
            return Err(EventStoreError::Damaged("the hash of an event is wrong"));
        }
    }
    if before == *head { Ok(()) } else { Err(EventStoreError::Damaged("a chain does not end where its head says")) }
}

/// Checks the hashes of all chains, and returns the events without them. `heads` and `events` are sorted by chain.
fn checked(
    heads: &[(ChainId, ChainHead)],
    events: Vec<(ChainEvent, [u8; 32])>,
) -> Result<Vec<ChainEvent>, EventStoreError> {
    let mut rest = events.as_slice();
    for (chain, head) in heads {
        let count = rest.iter().take_while(|(event, _)| event.chain == *chain).count();
        let (own, others) = rest.split_at(count);
        check(*chain, own, head)?;
        rest = others;
    }
    if !rest.is_empty() {
        return Err(EventStoreError::Damaged("events without a head"));
    }
    Ok(events.into_iter().map(|(event, _)| event).collect())
}

/// Converts a number for a store, because SQL has no unsigned integers.
fn number(value: u64) -> Result<i64, EventStoreError> {
    i64::try_from(value).map_err(|_| EventStoreError::Damaged("a number beyond 2^63"))
}
