//! Events in a PostgreSQL database.
//!
//! The role of the issuer can read everything, and append an event through a function that locks the row of the chain's
//! head, compares it, and computes the hash itself. The role cannot change or remove an event; triggers prevent that
//! other roles do so by mistake. A commit is on the database's disk before the call returns.

use std::error::Error as _;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use portcullis_evidence::ticket::ChainId;
use postgres::config::Host;
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls, Row};

use super::{ChainEvent, ChainHead, EventStore, EventStoreError, checked, kind, number};

/// Version of the schema below.
const VERSION: i32 = 1;
const SCHEMA: &str = "
CREATE SCHEMA portcullis;
CREATE TABLE portcullis.version (version int NOT NULL);
INSERT INTO portcullis.version VALUES (1);
CREATE TABLE portcullis.head (
  key bytea NOT NULL CHECK (length(key) = 32),
  seat int NOT NULL CHECK (seat BETWEEN 0 AND 65535),
  size bigint NOT NULL,
  hash bytea NOT NULL CHECK (length(hash) = 32),
  PRIMARY KEY (key, seat)
);
CREATE TABLE portcullis.event (
  key bytea NOT NULL,
  seat int NOT NULL,
  place bigint NOT NULL,
  serial bigint NOT NULL CHECK (serial > 0),
  kind int NOT NULL CHECK (kind BETWEEN 0 AND 3),
  ticket bytea NOT NULL CHECK (length(ticket) = 32),
  body bytea NOT NULL,
  hash bytea NOT NULL CHECK (length(hash) = 32),
  PRIMARY KEY (key, seat, place),
  FOREIGN KEY (key, seat) REFERENCES portcullis.head
);
CREATE UNIQUE INDEX once ON portcullis.event (key, seat, serial, least(kind, 2));
CREATE INDEX of_ticket ON portcullis.event (ticket);
CREATE FUNCTION portcullis.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'events are kept as they are';
END $$;
CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON portcullis.event FOR EACH ROW EXECUTE FUNCTION portcullis.refuse();
CREATE TRIGGER not_emptied BEFORE TRUNCATE ON portcullis.event
  FOR EACH STATEMENT EXECUTE FUNCTION portcullis.refuse();
CREATE FUNCTION portcullis.append(
  own_key bytea, own_seat int, own_place bigint, before bytea, own_serial bigint, own_kind int, own_ticket bytea,
  own_body bytea
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  known portcullis.head;
  newest bigint;
  made bytea;
BEGIN
  INSERT INTO portcullis.head VALUES (own_key, own_seat, 0, decode(repeat('00', 32), 'hex')) ON CONFLICT DO NOTHING;
  SELECT * INTO known FROM portcullis.head WHERE key = own_key AND seat = own_seat FOR UPDATE;
  IF known.size <> own_place OR known.hash <> before THEN
    RETURN false;
  END IF;
  SELECT coalesce(max(serial), 0) INTO newest FROM portcullis.event WHERE key = own_key AND seat = own_seat;
  IF own_serial <> newest + (own_kind = 0)::int THEN
    RAISE EXCEPTION 'session % is not the newest one or the next', own_serial;
  END IF;
  made := sha256('\\x01'::bytea || before || own_key || int4send(own_seat) || int8send(own_place)
    || int8send(own_serial) || substring(int4send(own_kind) FROM 4) || own_ticket || own_body);
  INSERT INTO portcullis.event
    VALUES (own_key, own_seat, own_place, own_serial, own_kind, own_ticket, own_body, made);
  UPDATE portcullis.head SET size = own_place + 1, hash = made WHERE key = own_key AND seat = own_seat;
  RETURN true;
END $$;
REVOKE ALL ON FUNCTION portcullis.append FROM PUBLIC;
";
const COLUMNS: &str = "SELECT key, seat, serial, kind, ticket, body, hash FROM portcullis.event";
const HEADS: &str = "SELECT key, seat, size, hash FROM portcullis.head ORDER BY key, seat";

/// The message of an error of the database or of the connection.
pub(crate) fn reason(error: &postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(error), _) => error.message().to_owned(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

/// The longest wait for one attempt of a call, with all its steps. The server's own limits are shorter, but they do not
/// bound a commit that waits for a standby, or a connection that stalls.
const PATIENCE: Duration = Duration::from_secs(20);

type Job = Box<dyn FnOnce(&mut Client) + Send>;

/// A connection, and the thread that uses it.
struct PostgresConnection {
    jobs: mpsc::Sender<Job>,
}

impl PostgresConnection {
    fn open(config: &Config) -> Result<Self, EventStoreError> {
        let (jobs, given) = mpsc::channel::<Job>();
        let (say, opened) = mpsc::channel();
        let config = config.clone();
        std::thread::spawn(move || match connect(&config) {
            Ok(mut client) => {
                let _ = say.send(Ok(()));
                given.into_iter().for_each(|job| job(&mut client));
            }
            Err(error) => drop(say.send(Err(error))),
        });
        opened.recv_timeout(PATIENCE).map_err(|_| EventStoreError::NoAnswer)??;
        Ok(Self { jobs })
    }

    /// Runs `work` on the connection. Errors: those of `work`; no answer in time. In the second case, the thread ends
    /// after `work` returns, if it ever does.
    fn run<T: Send + 'static>(&self, work: Work<T>) -> Result<T, EventStoreError> {
        let (say, done) = mpsc::channel();
        let job: Job = Box::new(move |client| drop(say.send(work(client))));
        self.jobs.send(job).map_err(|_| EventStoreError::NoAnswer)?;
        done.recv_timeout(PATIENCE).map_err(|_| EventStoreError::NoAnswer)?
    }
}

type Work<T> = Arc<dyn Fn(&mut Client) -> Result<T, EventStoreError> + Send + Sync>;

pub(crate) struct Postgres {
    config: Config,
    /// `None` after the connection was lost or gave no answer in time.
    connection: Option<PostgresConnection>,
}

impl Postgres {
    /// Connects to the store. Errors: no such store; the database is not reachable; the host is not this machine, which
    /// is refused because the connection is not encrypted.
    pub(crate) fn open(url: &str) -> Result<Self, EventStoreError> {
        let config = config(url)?;
        let connection = Some(PostgresConnection::open(&config)?);
        Ok(Self { config, connection })
    }

    /// Makes the schema, and allows `role` to read it and to append events. Errors: as [`Postgres::open`]; a store
    /// exists already; no such role.
    pub(crate) fn make(url: &str, role: &str) -> Result<(), EventStoreError> {
        let mut client = config(url)?.connect(NoTls)?;
        let mut work = client.transaction()?;
        work.batch_execute(SCHEMA)?;
        let role: String = work.query_one("SELECT quote_ident($1)", &[&role])?.get(0);
        work.batch_execute(&format!(
            "GRANT USAGE ON SCHEMA portcullis TO {role};
             GRANT SELECT ON ALL TABLES IN SCHEMA portcullis TO {role};
             GRANT EXECUTE ON FUNCTION portcullis.append TO {role};"
        ))?;
        Ok(work.commit()?)
    }

    /// Runs `work`. If the connection is lost, runs it once more on a new connection.
    fn run<T: Send + 'static>(
        &mut self,
        work: impl Fn(&mut Client) -> Result<T, EventStoreError> + Send + Sync + 'static,
    ) -> Result<T, EventStoreError> {
        let work: Work<T> = Arc::new(work);
        let mut again = true;
        loop {
            let connection = match self.connection.take() {
                Some(connection) => connection,
                None => PostgresConnection::open(&self.config)?,
            };
            match connection.run(Arc::clone(&work)) {
                Err(EventStoreError::Postgres(error)) if is_lost(&error) => {
                    if !std::mem::replace(&mut again, false) {
                        return Err(error.into());
                    }
                }
                // The database may or may not execute the request. The next call uses a new connection.
                Err(EventStoreError::NoAnswer) => return Err(EventStoreError::NoAnswer),
                done => {
                    self.connection = Some(connection);
                    return done;
                }
            }
        }
    }
}

/// Whether this error shows that the connection is lost: it failed, or the server ended it.
fn is_lost(error: &postgres::Error) -> bool {
    let ends = [&SqlState::ADMIN_SHUTDOWN, &SqlState::CRASH_SHUTDOWN];
    error.code().is_none_or(|code| ends.contains(&code))
}

fn config(url: &str) -> Result<Config, EventStoreError> {
    let mut config = Config::from_str(url)?;
    let is_here = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()),
    };
    let addresses = config.get_hostaddrs().iter().all(IpAddr::is_loopback);
    if config.get_hosts().is_empty() || !config.get_hosts().iter().all(is_here) || !addresses {
        return Err(EventStoreError::NotHere);
    }
    // These options bound each wait, and make each commit durable whatever the server's default is.
    config.connect_timeout(Duration::from_secs(5)).application_name("portcullis");
    config.options("-c statement_timeout=10s -c lock_timeout=5s -c synchronous_commit=on");
    Ok(config)
}

fn connect(config: &Config) -> Result<Client, EventStoreError> {
    let mut client = config.connect(NoTls)?;
    let database = || config.get_dbname().unwrap_or_default().to_owned();
    let missing = [&SqlState::UNDEFINED_TABLE, &SqlState::INVALID_SCHEMA_NAME, &SqlState::INSUFFICIENT_PRIVILEGE];
    match client.query_one("SELECT version FROM portcullis.version", &[]) {
        Ok(row) if row.get::<_, i32>(0) == VERSION => Ok(client),
        Ok(row) if row.get::<_, i32>(0) > VERSION => Err(EventStoreError::Newer(database())),
        Ok(_) => Err(EventStoreError::Kind(database())),
        Err(error) if error.code().is_some_and(|code| missing.contains(&code)) => {
            Err(EventStoreError::NotMade(database()))
        }
        Err(error) => Err(error.into()),
    }
}

fn hash(row: &Row, column: usize) -> Result<[u8; 32], EventStoreError> {
    row.try_get::<_, &[u8]>(column)?.try_into().map_err(|_| EventStoreError::Damaged("a hash of another length"))
}

fn unsigned<T: TryFrom<i64>>(value: i64) -> Result<T, EventStoreError> {
    T::try_from(value).map_err(|_| EventStoreError::Damaged("a number out of range"))
}

fn chain(row: &Row) -> Result<ChainId, EventStoreError> {
    Ok(ChainId { key: hash(row, 0)?, seat: unsigned(row.try_get::<_, i32>(1)?.into())? })
}

/// A row of [`COLUMNS`], with its hash.
fn event(row: &Row) -> Result<(ChainEvent, [u8; 32]), EventStoreError> {
    let event = ChainEvent {
        chain: chain(row)?,
        serial: unsigned(row.try_get(2)?)?,
        kind: kind(row.try_get::<_, i32>(3)?.into())?,
        ticket: hash(row, 4)?,
        body: row.try_get(5)?,
    };
    Ok((event, hash(row, 6)?))
}

fn events(rows: &[Row]) -> Result<Vec<ChainEvent>, EventStoreError> {
    rows.iter().map(|row| Ok(event(row)?.0)).collect()
}

/// The rows of [`HEADS`].
fn heads(rows: &[Row]) -> Result<Vec<(ChainId, ChainHead)>, EventStoreError> {
    rows.iter()
        .map(|row| Ok((chain(row)?, ChainHead { size: unsigned(row.try_get(2)?)?, hash: hash(row, 3)? })))
        .collect()
}

fn head(client: &mut Client, chain: ChainId) -> Result<ChainHead, EventStoreError> {
    let query = "SELECT size, hash FROM portcullis.head WHERE key = $1 AND seat = $2";
    let row = client.query_opt(query, &[&chain.key.as_slice(), &i32::from(chain.seat)])?;
    row.map_or(Ok(ChainHead::NEW), |row| Ok(ChainHead { size: unsigned(row.try_get(0)?)?, hash: hash(&row, 1)? }))
}

impl EventStore for Postgres {
    fn head(&mut self, chain: ChainId) -> Result<ChainHead, EventStoreError> {
        self.run(move |client| head(client, chain))
    }

    fn newest(&mut self, chain: ChainId) -> Result<Vec<ChainEvent>, EventStoreError> {
        let query = format!(
            "{COLUMNS} WHERE key = $1 AND seat = $2
             AND serial = (SELECT max(serial) FROM portcullis.event WHERE key = $1 AND seat = $2) ORDER BY place"
        );
        self.run(move |client| events(&client.query(&query, &[&chain.key.as_slice(), &i32::from(chain.seat)])?))
    }

    fn session(&mut self, chain: ChainId, serial: u64) -> Result<Vec<ChainEvent>, EventStoreError> {
        let Ok(serial) = number(serial) else { return Ok(Vec::new()) };
        let query = format!("{COLUMNS} WHERE key = $1 AND seat = $2 AND serial = $3 ORDER BY place");
        self.run(move |client| {
            events(&client.query(&query, &[&chain.key.as_slice(), &i32::from(chain.seat), &serial])?)
        })
    }

    fn of_ticket(&mut self, ticket: &[u8; 32]) -> Result<Vec<ChainEvent>, EventStoreError> {
        let (query, ticket) = (format!("{COLUMNS} WHERE ticket = $1 ORDER BY place"), *ticket);
        self.run(move |client| events(&client.query(&query, &[&ticket.as_slice()])?))
    }

    fn events_since(&mut self, chain: ChainId, place: u64) -> Result<Vec<(ChainEvent, [u8; 32])>, EventStoreError> {
        let Ok(place) = number(place) else { return Ok(Vec::new()) };
        let query = format!("{COLUMNS} WHERE key = $1 AND seat = $2 AND place >= $3 ORDER BY place");
        self.run(move |client| {
            let rows = client.query(&query, &[&chain.key.as_slice(), &i32::from(chain.seat), &place])?;
            rows.iter().map(event).collect()
        })
    }

    fn heads(&mut self) -> Result<Vec<(ChainId, ChainHead)>, EventStoreError> {
        self.run(|client| heads(&client.query(HEADS, &[])?))
    }

    fn all(&mut self) -> Result<Vec<ChainEvent>, EventStoreError> {
        self.run(|client| {
            // This isolation level reads heads and events as of the same moment.
            let mut work =
                client.build_transaction().isolation_level(postgres::IsolationLevel::RepeatableRead).start()?;
            let heads = heads(&work.query(HEADS, &[])?)?;
            let rows = work.query(&format!("{COLUMNS} ORDER BY key, seat, place"), &[])?;
            checked(&heads, rows.iter().map(event).collect::<Result<_, _>>()?)
        })
    }

    fn append(&mut self, after: &ChainHead, event: &ChainEvent) -> Result<bool, EventStoreError> {
        let (place, serial) = (number(after.size)?, number(event.serial)?);
        let (next, after, event) = (event.head(after), *after, event.clone());
        self.run(move |client| {
            let appended = client.query_one(
                "SELECT portcullis.append($1, $2, $3, $4, $5, $6, $7, $8)",
                &[
                    &event.chain.key.as_slice(),
                    &i32::from(event.chain.seat),
                    &place,
                    &after.hash.as_slice(),
                    &serial,
                    &(event.kind as i32),
                    &event.ticket.as_slice(),
                    &event.body,
                ],
            )?;
            // If the connection was lost after the commit, the event is there already.
            Ok(appended.try_get(0)? || head(client, event.chain)? == next)
        })
    }
}
