//! The ticket issuer. Several cards can share a key; each of them has a seat. A seat has one session at a time.
//!
//! A ticket is first *issued*. It becomes *opened* when the opening checkpoint of its session is presented, and
//! *closed* when the closing checkpoint is presented. The issuer can make an issued or opened ticket *abandoned*. The
//! next ticket of the seat is issued only after the previous ticket is closed or abandoned. Its serial is one higher,
//! so there are no gaps. The ticket contains the digest of the seat's previous closing checkpoint, or zeros after an
//! abandoned ticket.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ed25519_dalek::SigningKey;
use portcullis_core::wire::Life;
use portcullis_evidence::checkpoint::{CheckpointError, ParsedCheckpoint};
use portcullis_evidence::public_log::LogPolicy;
use portcullis_evidence::signing::{SigningError, StatementKey};
use portcullis_evidence::ticket::{ChainId, SELF_ISSUER, SessionTicket, TicketError};
use sha2::{Digest, Sha256};
use zerocopy::IntoBytes;

use crate::ca::CertificateValidity;
use crate::keys::AuthorityKey;
use crate::public_log::{PublicLogEntry, PublicLogError, PublicLogWriter, entry};
use crate::shown::{self, ShownError};
use crate::store::postgres::Postgres;
use crate::store::{self, ChainEvent, ChainHead, EventStore, EventStoreError, Kind, StoreUrl};

#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    #[error(transparent)]
    Store(#[from] EventStoreError),
    #[error(transparent)]
    PublicLog(#[from] PublicLogError),
    #[error(transparent)]
    Ticket(#[from] TicketError),
    #[error(transparent)]
    Shown(#[from] ShownError),
    #[error("session {0} of the card is neither closed nor abandoned")]
    Pending(u64),
    #[error("the issuer has issued no such ticket")]
    Unknown,
    #[error("ticket {0} is {1}")]
    State(u64, TicketState),
    #[error("ticket {0} was used for another session")]
    Used(u64),
    #[error("the checkpoint is not the {0} one of a session")]
    Stage(&'static str),
    /// The name `self` is reserved for tickets that an operator issues itself.
    #[error("an issuer cannot be called `{SELF_ISSUER}`")]
    Name,
    #[error("no randomness: {0}")]
    Random(#[from] getrandom::Error),
    #[error(transparent)]
    Signing(#[from] SigningError),
}

/// The state of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketState {
    Issued,
    Opened,
    Closed,
    Abandoned,
}

impl TicketState {
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

impl std::fmt::Display for TicketState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A request for a ticket. The issuer determines the other fields of the ticket.
#[derive(Clone, Debug)]
pub struct IssueRequest {
    /// The card: its key and its seat.
    pub chain: ChainId,
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
    pub window: CertificateValidity,
}

/// Makes a self-issued ticket with serial 1, signed with a temporary key. Errors: a request for heartbeats, because no
/// witness accepts such a ticket; fields that no ticket may have.
pub fn self_issued(request: &IssueRequest) -> Result<Vec<u8>, IssueError> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)?;
    let ticket = ticket(request, SELF_ISSUER, 1, [0; 32], random_nonce()?);
    Ok(ticket.sign(&SigningKey::from_bytes(&seed))?)
}

fn random_nonce() -> Result<Nonce, IssueError> {
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce)?;
    Ok(nonce)
}

fn ticket(request: &IssueRequest, issuer: &str, serial: u64, previous_close: [u8; 32], nonce: Nonce) -> SessionTicket {
    SessionTicket {
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
    }
}

/// A ticket in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketRecord {
    pub chain: ChainId,
    /// Number of the session among all sessions of the chain.
    pub serial: u64,
    pub digest: [u8; 32],
    pub state: TicketState,
    /// The 192 bytes of the opening checkpoint.
    pub opening: Option<[u8; 192]>,
    /// The 192 bytes of the closing checkpoint.
    pub closing: Option<[u8; 192]>,
    pub remark: Option<String>,
}

/// The nonce of a ticket.
type Nonce = [u8; 16];

/// The tickets of a chain that this issuer has read from the store.
#[derive(Default)]
struct KnownTickets {
    /// Number of events that were read.
    events: u64,
    /// Serials by nonce.
    serials: BTreeMap<Nonce, u64>,
}

/// Largest number of attempts to append an event while other processes change the same chain.
const ATTEMPTS: usize = 64;

/// An issuer with its key and its store.
pub struct Issuer {
    store: Box<dyn EventStore>,
    key: AuthorityKey,
    name: String,
    log: Option<PublicLogWriter>,
    known: BTreeMap<ChainId, KnownTickets>,
}

impl Issuer {
    /// Opens the store; a missing SQLite file is made. Errors: not a ticket store; `name` is the reserved name `self`.
    pub fn open(store: &StoreUrl, key: impl Into<AuthorityKey>, name: &str) -> Result<Self, IssueError> {
        if name == SELF_ISSUER {
            return Err(IssueError::Name);
        }
        Ok(Self {
            store: store::open(store)?,
            key: key.into(),
            name: name.to_owned(),
            log: None,
            known: BTreeMap::new(),
        })
    }

    /// From now on, publishes every event in the log in `folder` before the issuer answers; with `policy`, only with
    /// the cosignatures that it demands. Appends the events that the log lacks. Errors: [`PublicLogError::Behind`] if
    /// the store lacks an event of the log; errors of the log.
    pub fn publish(&mut self, folder: &Path, policy: Option<LogPolicy>) -> Result<(), IssueError> {
        let mut log = PublicLogWriter::new(folder, &self.name, self.key.clone())?;
        if let Some(policy) = policy {
            log = log.demand(policy)?;
        }
        // Even if this fails, nothing is issued from now on that is not in the log.
        let Self { store, log: own, .. } = self;
        let mut locked = own.insert(log).lock()?;
        // The store is read after the log is locked. So an event that another issuer publishes is in the store, too.
        let mut stored = BTreeMap::new();
        let mut head = ChainHead::NEW;
        let mut chain = None;
        for event in store.all()? {
            if chain.replace(event.chain) != Some(event.chain) {
                head = ChainHead::NEW;
            }
            let place = head.size;
            head = event.head(&head);
            stored.insert((event.chain, place), entry(&event, place, head.hash));
        }
        for entry in locked.entries() {
            let PublicLogEntry { chain, place, serial, .. } = *entry;
            if stored.remove(&(chain, place)) != Some(*entry) {
                return Err(PublicLogError::Behind { seat: chain.seat, place, serial }.into());
            }
        }
        Ok(locked.append(&stored.into_values().collect::<Vec<_>>())?)
    }

    /// Publishes the log again, so that its cosignatures are of now. Errors: as [`Issuer::publish`].
    pub fn refresh(&mut self) -> Result<(), IssueError> {
        match &mut self.log {
            Some(log) => Ok(log.lock()?.refresh()?),
            None => Ok(()),
        }
    }

    /// Checks that the store answers, and that it has every event of the public log. Errors: it does not answer;
    /// [`PublicLogError::Behind`]; errors of the log.
    pub fn check(&mut self) -> Result<(), IssueError> {
        // The log is read first: meanwhile, other issuers can only add events to the store.
        let locked = self.log.as_mut().map(PublicLogWriter::lock).transpose()?;
        let ends = locked.as_ref().map(|log| log.ends().clone()).unwrap_or_default();
        drop(locked);
        let heads: BTreeMap<_, _> = self.store.heads()?.into_iter().collect();
        for (chain, end) in ends {
            check_has(self.log.as_ref(), chain, heads.get(&chain).unwrap_or(&ChainHead::NEW), &end)?;
        }
        Ok(())
    }

    /// The key by which readers check the public log; `None` if the issuer has no public log.
    #[must_use]
    pub fn log_key(&self) -> Option<String> {
        self.log.as_ref().map(|log| log.verifier_key().to_string())
    }

    /// Issues the next ticket of a card; returns its COSE message. Errors: [`IssueError::Pending`] until the previous
    /// session has ended; `request` has a field that a ticket may not have.
    pub fn issue(&mut self, request: &IssueRequest) -> Result<Vec<u8>, IssueError> {
        self.append(request.chain, |issuer| issuer.next(request, random_nonce()?))
    }

    /// Like [`Issuer::issue`], but a repeated call gets the same ticket, also from another issuer with this key and
    /// store. `asked` is all that the client has sent, with a random number of the client. Errors: as
    /// [`Issuer::issue`]; [`IssueError::TicketState`] if the session of the ticket has ended.
    pub fn issue_once(&mut self, request: &IssueRequest, asked: &[u8]) -> Result<Vec<u8>, IssueError> {
        // The ticket itself tells for which request it was issued. Signatures of Ed25519 are deterministic, and clients
        // cannot predict them.
        let asked = [b"portcullis ticket request\0", asked].concat();
        let hash: [u8; 32] = Sha256::digest(self.key.signature(&asked)?.to_bytes()).into();
        let mut nonce: Nonce = [0; 16];
        nonce.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        self.append(request.chain, |issuer| {
            let Some(serial) = issuer.serial_of(request.chain, &nonce)? else { return issuer.next(request, nonce) };
            let events = issuer.store.session(request.chain, serial)?;
            match (TicketRecord::of(&events)?, events.into_iter().next()) {
                (Some(TicketRecord { state: TicketState::Issued | TicketState::Opened, .. }), Some(issued)) => {
                    Ok((None, issued.body))
                }
                (Some(ended), _) => Err(IssueError::State(serial, ended.state)),
                (None, _) => Err(EventStoreError::Damaged("a session has disappeared").into()),
            }
        })
    }

    /// The event and the ticket of the next session.
    fn next(&mut self, request: &IssueRequest, nonce: Nonce) -> Result<(Option<ChainEvent>, Vec<u8>), IssueError> {
        let last = TicketRecord::of(&self.store.newest(request.chain)?)?;
        let previous_close = match &last {
            Some(TicketRecord { state: TicketState::Closed, closing: Some(closing), .. }) => digest(closing)?,
            None | Some(TicketRecord { state: TicketState::Abandoned, .. }) => [0; 32],
            Some(pending) => return Err(IssueError::Pending(pending.serial)),
        };
        let serial = last.map_or(0, |last| last.serial) + 1;
        let cose = ticket(request, &self.name, serial, previous_close, nonce).sign(&self.key)?;
        let digest = SessionTicket::parse(&cose)?.digest;
        let issued =
            ChainEvent { chain: request.chain, serial, kind: Kind::Issued, ticket: digest, body: cose.clone() };
        Ok((Some(issued), cose))
    }

    /// The serial of the chain's ticket with this nonce. Reads the events that are new since the last call.
    fn serial_of(&mut self, chain: ChainId, nonce: &Nonce) -> Result<Option<u64>, IssueError> {
        let known = self.known.entry(chain).or_default();
        for (event, _) in self.store.events_since(chain, known.events)? {
            if event.kind == Kind::Issued {
                known.serials.insert(SessionTicket::parse(&event.body)?.content.nonce, event.serial);
            }
            known.events += 1;
        }
        Ok(known.serials.get(nonce).copied())
    }

    /// Records that a ticket's session was opened. A repeated call with the same checkpoint changes nothing. Errors:
    /// [`IssueError::Used`] for a second session under the ticket; a checkpoint that is not the card's, or not an
    /// opening one.
    pub fn redeem(&mut self, opening: &[u8], public_key: &[u8; 32]) -> Result<TicketRecord, IssueError> {
        let (ticket, shown) = self.shown(opening, public_key)?;
        if shown.state != Life::Opening || shown.wire.serial.get() != 0 {
            return Err(IssueError::Stage("opening"));
        }
        self.change(&ticket, |ticket| match (ticket.state, &ticket.opening) {
            (TicketState::Issued, _) => Ok(Some((Kind::Opened, shown.wire.as_bytes().to_vec()))),
            (_, Some(known)) if known != shown.wire.as_bytes() => Err(IssueError::Used(ticket.serial)),
            (TicketState::Abandoned, _) => Err(IssueError::State(ticket.serial, TicketState::Abandoned)),
            _ => Ok(None),
        })
    }

    /// Records that a ticket's session has ended. A repeated call with the same checkpoint changes nothing. Errors: a
    /// ticket that is not open; [`IssueError::Used`] for the end of another run; a checkpoint that is not the card's,
    /// or not a closing one.
    pub fn close(&mut self, closing: &[u8], public_key: &[u8; 32]) -> Result<TicketRecord, IssueError> {
        let (ticket, shown) = self.shown(closing, public_key)?;
        if shown.state != Life::Closing {
            return Err(IssueError::Stage("closing"));
        }
        self.change(&ticket, |ticket| match (ticket.state, &ticket.opening, &ticket.closing) {
            (TicketState::Opened, Some(opening), _) => {
                if !shown::same_run(&parse(opening)?.wire, &shown.wire) {
                    return Err(IssueError::Used(ticket.serial));
                }
                Ok(Some((Kind::Closed, shown.wire.as_bytes().to_vec())))
            }
            (TicketState::Closed, _, Some(known)) if known == shown.wire.as_bytes() => Ok(None),
            (TicketState::Closed, _, _) => Err(IssueError::Used(ticket.serial)),
            (state, _, _) => Err(IssueError::State(ticket.serial, state)),
        })
    }

    /// Abandons a ticket whose session will never present a closing checkpoint. Errors: no such ticket, or one whose
    /// session has ended.
    pub fn abandon(&mut self, chain: ChainId, serial: u64, remark: &str) -> Result<TicketRecord, IssueError> {
        let ticket = TicketRecord::of(&self.store.session(chain, serial)?)?.ok_or(IssueError::Unknown)?;
        self.change(&ticket, |ticket| match ticket.state {
            TicketState::Issued | TicketState::Opened => Ok(Some((Kind::Abandoned, remark.as_bytes().to_vec()))),
            ended => Err(IssueError::State(serial, ended)),
        })
    }

    /// All tickets, sorted by key, seat and serial. Checks the hash of every event. Errors: the store is damaged.
    pub fn list(&mut self) -> Result<Vec<TicketRecord>, IssueError> {
        let mut events = self.store.all()?;
        events.sort_by_key(|event| (event.chain, event.serial));
        let sessions = events.chunk_by(|a, b| (a.chain, a.serial) == (b.chain, b.serial));
        Ok(sessions.map(TicketRecord::of).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// The COSE message of a ticket, in case it was lost. Errors: no such ticket.
    pub fn ticket(&mut self, chain: ChainId, serial: u64) -> Result<Vec<u8>, IssueError> {
        let issued = self.store.session(chain, serial)?.into_iter().next();
        issued.map(|issued| issued.body).ok_or(IssueError::Unknown)
    }

    /// Checks a presented checkpoint; returns it with the ticket whose digest it contains.
    fn shown(&mut self, message: &[u8], public_key: &[u8; 32]) -> Result<(TicketRecord, ParsedCheckpoint), IssueError> {
        let (named, _) =
            portcullis_evidence::cose::decode(message).ok_or(ShownError::from(CheckpointError::Message))?;
        let named = parse(named)?.wire.ticket_digest;
        let ticket = TicketRecord::of(&self.store.of_ticket(&named)?)?.ok_or(IssueError::Unknown)?;
        let checkpoint = shown::read(message, public_key, &ticket.chain.key)?;
        Ok((ticket, checkpoint))
    }

    /// Appends the event that `decide` makes from the present state of a ticket, if any; returns the new state.
    fn change(
        &mut self,
        of: &TicketRecord,
        decide: impl Fn(&TicketRecord) -> Result<Option<(Kind, Vec<u8>)>, IssueError>,
    ) -> Result<TicketRecord, IssueError> {
        let (chain, serial) = (of.chain, of.serial);
        self.append(chain, |issuer| {
            let mut events = issuer.store.session(chain, serial)?;
            let ticket = TicketRecord::of(&events)?.ok_or(IssueError::Unknown)?;
            let Some((kind, body)) = decide(&ticket)? else { return Ok((None, ticket)) };
            let event = ChainEvent { chain, serial, kind, ticket: ticket.digest, body };
            events.push(event.clone());
            Ok((Some(event), TicketRecord::of(&events)?.ok_or(IssueError::Unknown)?))
        })
    }

    /// Appends the event that `decide` makes from the store's present state, if any. If another process changes the
    /// chain meanwhile, calls `decide` again. All events of the chain are in the public log when it returns `Ok`.
    fn append<T>(
        &mut self,
        chain: ChainId,
        decide: impl Fn(&mut Self) -> Result<(Option<ChainEvent>, T), IssueError>,
    ) -> Result<T, IssueError> {
        // A store that lacks events gets no further ones.
        self.publish_chain(chain)?;
        for _ in 0..ATTEMPTS {
            let head = self.store.head(chain)?;
            if let Some(log) = &self.log {
                check_has(Some(log), chain, &head, &log.end(chain))?;
            }
            let (event, result) = decide(self)?;
            let is_done = match &event {
                Some(event) => self.store.append(&head, event)?,
                None => true,
            };
            if is_done {
                self.publish_chain(chain)?;
                return Ok(result);
            }
        }
        Err(EventStoreError::Busy.into())
    }

    /// Publishes the chain's events that the log lacks: the newest one, and those of an issuer that has crashed. If
    /// there are any, the events that other issuers have stored meanwhile are published in the same write, so that
    /// these issuers find them in the log. Errors: the store lacks an event of the log; errors of the log.
    fn publish_chain(&mut self, chain: ChainId) -> Result<(), IssueError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        let mut log = log.lock()?;
        let store = self.store.as_mut();
        let mut missing = missing(store, chain, &log.end(chain))?.ok_or_else(|| {
            let last = log.end(chain).size.saturating_sub(1);
            log.behind(chain, last)
        })?;
        if missing.is_empty() {
            // An earlier event may still wait for its cosignatures.
            return Ok(log.append(&[])?);
        }
        for (other, head) in store.heads()? {
            let end = log.end(other);
            if other != chain && head.size > end.size {
                // An error of another chain is that chain's: whoever works on it gets it.
                missing.extend(self::missing(store, other, &end).ok().flatten().unwrap_or_default());
            }
        }
        Ok(log.append(&missing)?)
    }
}

/// The entries of a chain behind its `end` in the log; `None` if the store lacks an event of the log.
fn missing(
    store: &mut dyn EventStore,
    chain: ChainId,
    end: &ChainHead,
) -> Result<Option<Vec<PublicLogEntry>>, IssueError> {
    // The last event of the log is read, too, to compare its hash.
    let mut events = store.events_since(chain, end.size.saturating_sub(1))?.into_iter();
    if end.size > 0 && events.next().is_none_or(|(_, hash)| hash != end.hash) {
        return Ok(None);
    }
    let (mut head, mut missing) = (*end, Vec::new());
    for (event, hash) in events {
        let place = head.size;
        head = event.head(&head);
        if head.hash != hash {
            return Err(EventStoreError::Damaged("the hash of an event is wrong").into());
        }
        missing.push(entry(&event, place, hash));
    }
    Ok(Some(missing))
}

/// Checks that a store whose chain has this head has the events of the log up to `end`.
fn check_has(
    log: Option<&PublicLogWriter>,
    chain: ChainId,
    head: &ChainHead,
    end: &ChainHead,
) -> Result<(), IssueError> {
    match log {
        Some(log) if !head.has(end) => Err(log.behind(chain, head.size.min(end.size.saturating_sub(1))).into()),
        _ => Ok(()),
    }
}

impl TicketRecord {
    /// The state of a ticket after these events of its session; `None` if there are no events.
    fn of(events: &[ChainEvent]) -> Result<Option<Self>, EventStoreError> {
        let Some(issued) = events.first() else { return Ok(None) };
        let mut ticket = Self {
            chain: issued.chain,
            serial: issued.serial,
            digest: issued.ticket,
            state: TicketState::Issued,
            opening: None,
            closing: None,
            remark: None,
        };
        let checkpoint = |event: &ChainEvent| {
            let bytes = event.body.as_slice().try_into();
            bytes.map(Some).map_err(|_| EventStoreError::Damaged("a checkpoint of another length"))
        };
        for event in events.iter().skip(1) {
            match (ticket.state, event.kind) {
                (TicketState::Issued, Kind::Opened) => {
                    (ticket.state, ticket.opening) = (TicketState::Opened, checkpoint(event)?)
                }
                (TicketState::Opened, Kind::Closed) => {
                    (ticket.state, ticket.closing) = (TicketState::Closed, checkpoint(event)?)
                }
                (TicketState::Issued | TicketState::Opened, Kind::Abandoned) => {
                    ticket.state = TicketState::Abandoned;
                    ticket.remark = Some(String::from_utf8_lossy(&event.body).into_owned());
                }
                _ => return Err(EventStoreError::Damaged("an event that cannot follow the one before it")),
            }
        }
        if issued.kind != Kind::Issued {
            return Err(EventStoreError::Damaged("a session without its ticket"));
        }
        Ok(Some(ticket))
    }
}

/// Makes the schema of a store in a PostgreSQL database, as its owner, and allows `role` to read it and to append
/// events. Errors: the database is not on this machine; a store exists already; no such role.
pub fn make_store(url: &str, role: &str) -> Result<(), IssueError> {
    Ok(Postgres::make(url, role)?)
}

fn parse(bytes: &[u8; 192]) -> Result<ParsedCheckpoint, IssueError> {
    Ok(ParsedCheckpoint::parse(bytes).map_err(ShownError::from)?)
}

fn digest(bytes: &[u8; 192]) -> Result<[u8; 32], IssueError> {
    Ok(parse(bytes)?.digest())
}
