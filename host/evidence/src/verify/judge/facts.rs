//! What the judge compares: plain values, without the bundles, tickets, notes and logs that they come from.

use crate::format::note::{CLOCK_SKEW, LogView};
use crate::format::public_log::{LoggedSessionState, TrustedPublicLog};
use crate::format::ticket::{ChainId, SELF_ISSUER};
use crate::verify::code::Code;
use crate::verify::property::EvidenceStatus;
use crate::verify::report::{AssuranceLevel, VerifyReport};
use portcullis_core::hex::HexBytes;
use serde::{Deserialize, Serialize};

/// What the bundle of one session shows of its place among other sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionFacts {
    /// SHA-256 of the card's public key; absent if the card is not known.
    pub key: Option<HexBytes<32>>,
    pub seat: Option<u16>,
    /// Serial of the ticket.
    pub serial: Option<u64>,
    /// Name of the bundle.
    pub name: String,
    /// Digest of the ticket.
    pub ticket: Option<HexBytes<32>>,
    /// Whether the operator issued the ticket.
    pub is_self_issued: bool,
    /// SHA-256 of the issuer's key; absent if no trusted key signed the ticket.
    pub issuer: Option<HexBytes<32>>,
    /// The last checkpoint of the session before, as the ticket names it; absent if it names none.
    pub previous_close: Option<HexBytes<32>>,
    pub last_checkpoint: Option<HexBytes<32>>,
    /// Number of checkpoints.
    pub checkpoints: u64,
    /// The checkpoints; absent if they were not looked up. Only two bundles of one serial, or a bundle and a note, are
    /// compared by them.
    pub digests: Option<Vec<ShownCheckpoint>>,
    /// SHA-256 of the table image.
    pub policy: Option<HexBytes<32>>,
    pub is_closed: bool,
    /// Whether the verifier knows the version of the bundle.
    pub is_known: bool,
    /// Whether nothing contradicts that a certified card signed.
    pub is_genuine: bool,
    /// Whether the key is that of one card, and not of all cards of a design.
    pub is_own_key: bool,
    /// Unix seconds of the first and the last checkpoint that a witness saw.
    pub witnessed: Option<(u64, u64)>,
    /// Notes about the session, in their order.
    pub notes: Vec<LogView>,
}

impl SessionFacts {
    /// The facts in a report on the bundle with this name.
    #[must_use]
    pub fn new(name: &str, report: &VerifyReport) -> Self {
        let session = &report.session;
        let has = |code: Code| report.properties.complete.reasons.iter().any(|reason| reason.code == code);
        Self {
            key: session.key_id,
            seat: session.seat,
            serial: session.ticket_serial,
            name: name.to_owned(),
            ticket: session.ticket_digest,
            is_self_issued: session.issuer.as_ref().is_some_and(|issuer| issuer.claimed == SELF_ISSUER),
            issuer: session.issuer.as_ref().and_then(|issuer| issuer.key),
            previous_close: session.previous_close.filter(|digest| digest.0 != [0; 32]),
            last_checkpoint: session.last_checkpoint,
            checkpoints: session.checkpoints,
            digests: None,
            policy: session.policy_digest,
            is_closed: !has(Code::NotClosed),
            is_known: !has(Code::UnknownVersion),
            is_genuine: report.properties.genuine.status != EvidenceStatus::Contradicted,
            is_own_key: report.assurance >= Some(AssuranceLevel::L2),
            witnessed: session.witnessed,
            notes: session.notes.clone(),
        }
    }

    /// The session's chain and serial; `None` if card or ticket are not known, or if the operator issued the ticket: it
    /// numbers its own tickets freely.
    #[must_use]
    pub fn link(&self) -> Option<(ChainId, u64)> {
        let (key, serial) = (self.key?, self.serial?);
        (!self.is_self_issued).then_some((ChainId { key: key.0, seat: self.seat.unwrap_or_default() }, serial))
    }
}

/// A checkpoint that a bundle shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ShownCheckpoint {
    /// Serial of the checkpoint in its session.
    pub serial: u64,
    pub digest: HexBytes<32>,
}

/// A ticket that was given by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TicketFacts {
    /// As the ticket says; absent if it is malformed, as the next three.
    pub key: Option<HexBytes<32>>,
    pub seat: Option<u16>,
    pub serial: Option<u64>,
    /// Its digest.
    pub ticket: Option<HexBytes<32>>,
    /// Name of the file.
    pub name: String,
    /// Whether a trusted issuer signed it.
    pub is_trusted: bool,
}

/// A note that was given by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NoteFacts {
    /// As the note says; absent if it is malformed, as the next two.
    pub key: Option<HexBytes<32>>,
    pub seat: Option<u16>,
    /// Serial of the ticket.
    pub serial: Option<u64>,
    /// Name of the file.
    pub name: String,
    /// What the witness saw; absent if no trusted witness signed the note.
    pub seen: Option<SeenCheckpoint>,
}

/// A checkpoint that a witness saw.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SeenCheckpoint {
    /// Serial of the checkpoint in its session.
    pub serial: u64,
    pub digest: HexBytes<32>,
    pub view: LogView,
}

/// A session in the public log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LoggedFacts {
    pub key: HexBytes<32>,
    pub seat: u16,
    pub serial: u64,
    /// Digest of the ticket.
    pub ticket: HexBytes<32>,
    pub state: LoggedSessionState,
    /// Whether its opening checkpoint was presented.
    pub is_opened: bool,
}

impl LoggedFacts {
    /// Whether the issuer gave the ticket up before a session was reported.
    pub(super) fn is_given_up(&self) -> bool {
        self.state == LoggedSessionState::Abandoned && !self.is_opened
    }
}

/// The head of the public log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PublicLogHead {
    /// SHA-256 of the issuer's key.
    pub issuer: HexBytes<32>,
    /// The Unix second from which on a quorum of witnesses had seen the log; absent if the policy demands none.
    pub seen: Option<u64>,
}

impl PublicLogHead {
    /// The head of a log.
    #[must_use]
    pub const fn new(log: &TrustedPublicLog) -> Self {
        Self { issuer: HexBytes(log.head.key), seen: log.head.seen }
    }

    /// Whether witnesses saw the log after this second, whatever their clocks.
    pub(super) fn is_after(&self, second: u64) -> bool {
        self.seen.is_some_and(|seen| seen > second.saturating_add(CLOCK_SKEW))
    }
}

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainFact {
    Session(SessionFacts),
    Ticket(TicketFacts),
    Note(NoteFacts),
    Logged(LoggedFacts),
}

impl ChainFact {
    /// SHA-256 of the card's public key, if it is known.
    #[must_use]
    pub const fn key(&self) -> Option<HexBytes<32>> {
        match self {
            Self::Session(session) => session.key,
            Self::Ticket(ticket) => ticket.key,
            Self::Note(note) => note.key,
            Self::Logged(logged) => Some(logged.key),
        }
    }
}

/// Everything that is compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainFacts {
    pub sessions: Vec<SessionFacts>,
    pub tickets: Vec<TicketFacts>,
    pub notes: Vec<NoteFacts>,
    /// The sessions in the public log.
    pub logged: Vec<LoggedFacts>,
}

impl ChainFacts {
    /// Adds the sessions of a chain in the log.
    pub fn add_logged(&mut self, chain: ChainId, log: &TrustedPublicLog) {
        let sessions = log.sessions(&chain).into_iter().flatten();
        self.logged.extend(sessions.map(|(serial, session)| LoggedFacts {
            key: HexBytes(chain.key),
            seat: chain.seat,
            serial: *serial,
            ticket: HexBytes(session.ticket),
            state: session.state,
            is_opened: session.is_opened,
        }));
    }

    /// In one order, wherever the facts come from.
    pub(super) fn sort(&mut self) {
        self.sessions.sort();
        self.tickets.sort();
        self.notes.sort();
        self.logged.sort();
    }
}

impl FromIterator<ChainFact> for ChainFacts {
    fn from_iter<I: IntoIterator<Item = ChainFact>>(all: I) -> Self {
        let mut facts = Self::default();
        for fact in all {
            match fact {
                ChainFact::Session(session) => facts.sessions.push(session),
                ChainFact::Ticket(ticket) => facts.tickets.push(ticket),
                ChainFact::Note(note) => facts.notes.push(note),
                ChainFact::Logged(logged) => facts.logged.push(logged),
            }
        }
        facts
    }
}
