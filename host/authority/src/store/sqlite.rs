//! Events in an SQLite file.

use std::path::Path;

use portcullis_evidence::ticket::ChainId;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::{ChainEvent, ChainHead, EventStore, EventStoreError, Kind, checked, file, number};

/// `application_id`, "PTCT".
const APPLICATION: i32 = 0x5054_4354;
/// The tables of version 1: one row per ticket, and one card per key.
const TICKETS: &str = "
CREATE TABLE ticket (
  key BLOB NOT NULL CHECK (length(key) = 32),
  serial INTEGER NOT NULL CHECK (serial > 0),
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  cose BLOB NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('issued', 'opened', 'closed', 'abandoned')),
  opening BLOB CHECK (length(opening) = 192),
  closing BLOB CHECK (length(closing) = 192),
  remark TEXT,
  PRIMARY KEY (key, serial)
) STRICT;
";
/// The tables of version 2: events, which are only appended.
const EVENTS: &str = "
CREATE TABLE head (
  key BLOB NOT NULL CHECK (length(key) = 32),
  seat INTEGER NOT NULL CHECK (seat BETWEEN 0 AND 65535),
  size INTEGER NOT NULL,
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  PRIMARY KEY (key, seat)
) STRICT;
CREATE TABLE event (
  key BLOB NOT NULL,
  seat INTEGER NOT NULL,
  place INTEGER NOT NULL,
  serial INTEGER NOT NULL CHECK (serial > 0),
  kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3),
  ticket BLOB NOT NULL CHECK (length(ticket) = 32),
  body BLOB NOT NULL,
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  PRIMARY KEY (key, seat, place),
  FOREIGN KEY (key, seat) REFERENCES head (key, seat)
) STRICT;
CREATE UNIQUE INDEX once ON event (key, seat, serial, min(kind, 2));
CREATE INDEX of_ticket ON event (ticket);
CREATE TRIGGER kept BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'events are kept'); END;
CREATE TRIGGER unchanged BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'events do not change'); END;
";
const STEPS: [file::Step; 2] = [|work| Ok(work.execute_batch(TICKETS)?), events_of_tickets];
const COLUMNS: &str = "SELECT key, seat, serial, kind, ticket, body FROM event";

pub(crate) struct Sqlite(Connection);

impl Sqlite {
    /// Opens the store at `path`, or makes it. Errors: the file is not a store of events.
    pub(crate) fn open(path: &Path) -> Result<Self, EventStoreError> {
        Ok(Self(file::open(path, APPLICATION, &STEPS)?))
    }
}

/// Changes a store of version 1 to version 2: makes the events of each ticket.
fn events_of_tickets(work: &Transaction) -> Result<(), EventStoreError> {
    work.execute_batch(EVENTS)?;
    type Ticket = ([u8; 32], u64, [u8; 32], Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>, Option<String>);
    let query = "SELECT key, serial, digest, cose, opening, closing, remark FROM ticket ORDER BY key, serial";
    let read = |row: &Row| -> rusqlite::Result<Ticket> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
    };
    let tickets: Vec<Ticket> = work.prepare(query)?.query_map([], read)?.collect::<Result<_, _>>()?;
    for (key, serial, ticket, cose, opening, closing, remark) in tickets {
        let chain = ChainId { key, seat: 0 };
        let bodies = [Some(cose), opening, closing, remark.map(String::into_bytes)];
        for (kind, body) in Kind::ALL.into_iter().zip(bodies) {
            if let Some(body) = body {
                let before = head(work, chain)?;
                append(work, &before, &ChainEvent { chain, serial, kind, ticket, body })?;
            }
        }
    }
    Ok(work.execute_batch("DROP TABLE ticket")?)
}

fn head(work: &Connection, chain: ChainId) -> Result<ChainHead, EventStoreError> {
    let query = "SELECT size, hash FROM head WHERE key = ? AND seat = ?";
    let read = |row: &Row| Ok(ChainHead { size: row.get(0)?, hash: row.get(1)? });
    Ok(work.query_row(query, params![chain.key, chain.seat], read).optional()?.unwrap_or(ChainHead::NEW))
}

fn append(work: &Connection, before: &ChainHead, event: &ChainEvent) -> Result<(), EventStoreError> {
    let (chain, after) = (event.chain, event.head(before));
    work.execute(
        "INSERT INTO head VALUES (?, ?, ?, ?)
         ON CONFLICT (key, seat) DO UPDATE SET size = excluded.size, hash = excluded.hash",
        params![chain.key, chain.seat, number(after.size)?, after.hash],
    )?;
    work.execute(
        "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            chain.key,
            chain.seat,
            number(before.size)?,
            number(event.serial)?,
            event.kind as u8,
            event.ticket,
            event.body,
            after.hash
        ],
    )?;
    Ok(())
}

/// Reads a row of [`COLUMNS`]. The kind is returned as a number, because it can be unknown.
fn read(row: &Row) -> rusqlite::Result<(ChainEvent, i64)> {
    let kind: i64 = row.get(3)?;
    let event = ChainEvent {
        chain: ChainId { key: row.get(0)?, seat: row.get(1)? },
        serial: row.get(2)?,
        kind: Kind::Issued,
        ticket: row.get(4)?,
        body: row.get(5)?,
    };
    Ok((event, kind))
}

fn heads(work: &Connection) -> Result<Vec<(ChainId, ChainHead)>, EventStoreError> {
    let read = |row: &Row| {
        Ok((ChainId { key: row.get(0)?, seat: row.get(1)? }, ChainHead { size: row.get(2)?, hash: row.get(3)? }))
    };
    let mut query = work.prepare_cached("SELECT key, seat, size, hash FROM head ORDER BY key, seat")?;
    Ok(query.query_map([], read)?.collect::<Result<_, _>>()?)
}

fn hashed_events(
    work: &Connection,
    rest: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<(ChainEvent, [u8; 32])>, EventStoreError> {
    let query = format!("SELECT key, seat, serial, kind, ticket, body, hash FROM event {rest}");
    let mut query = work.prepare_cached(&query)?;
    let rows = query.query_map(parameters, |row| Ok((read(row)?, row.get::<_, [u8; 32]>(6)?)))?;
    rows.map(|row| {
        let ((event, kind), hash) = row?;
        Ok((ChainEvent { kind: super::kind(kind)?, ..event }, hash))
    })
    .collect()
}

impl Sqlite {
    fn events(&self, rest: &str, parameters: impl rusqlite::Params) -> Result<Vec<ChainEvent>, EventStoreError> {
        let mut query = self.0.prepare_cached(&format!("{COLUMNS} {rest}"))?;
        let rows = query.query_map(parameters, read)?;
        rows.map(|row| {
            let (event, kind) = row?;
            Ok(ChainEvent { kind: super::kind(kind)?, ..event })
        })
        .collect()
    }
}

impl EventStore for Sqlite {
    fn head(&mut self, chain: ChainId) -> Result<ChainHead, EventStoreError> {
        head(&self.0, chain)
    }

    fn newest(&mut self, chain: ChainId) -> Result<Vec<ChainEvent>, EventStoreError> {
        let newest = "WHERE key = ?1 AND seat = ?2
            AND serial = (SELECT max(serial) FROM event WHERE key = ?1 AND seat = ?2) ORDER BY place";
        self.events(newest, params![chain.key, chain.seat])
    }

    fn session(&mut self, chain: ChainId, serial: u64) -> Result<Vec<ChainEvent>, EventStoreError> {
        let Ok(serial) = number(serial) else { return Ok(Vec::new()) };
        let place = params![chain.key, chain.seat, serial];
        self.events("WHERE key = ? AND seat = ? AND serial = ? ORDER BY place", place)
    }

    fn of_ticket(&mut self, ticket: &[u8; 32]) -> Result<Vec<ChainEvent>, EventStoreError> {
        self.events("WHERE ticket = ? ORDER BY place", params![ticket])
    }

    fn events_since(&mut self, chain: ChainId, place: u64) -> Result<Vec<(ChainEvent, [u8; 32])>, EventStoreError> {
        let Ok(place) = number(place) else { return Ok(Vec::new()) };
        let place = params![chain.key, chain.seat, place];
        hashed_events(&self.0, "WHERE key = ? AND seat = ? AND place >= ? ORDER BY place", place)
    }

    fn heads(&mut self) -> Result<Vec<(ChainId, ChainHead)>, EventStoreError> {
        heads(&self.0)
    }

    fn all(&mut self) -> Result<Vec<ChainEvent>, EventStoreError> {
        let work = self.0.transaction()?;
        checked(&heads(&work)?, hashed_events(&work, "ORDER BY key, seat, place", [])?)
    }

    fn append(&mut self, after: &ChainHead, event: &ChainEvent) -> Result<bool, EventStoreError> {
        // This transaction locks out other writers, so that nothing changes between reading and writing.
        let work = self.0.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if head(&work, event.chain)? != *after {
            return Ok(false);
        }
        append(&work, after, event)?;
        work.commit()?;
        Ok(true)
    }
}
