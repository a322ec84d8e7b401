//! What the judge finds.

use crate::verify::code::SeriesCode;
use portcullis_core::hex::HexBytes;
use std::fmt;

/// A finding about a chain of sessions, its tickets or the public log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainFinding {
    pub fault: ChainFault,
    /// SHA-256 of the card's public key, seat, and serial of the ticket, as far as they are known.
    pub key: Option<HexBytes<32>>,
    pub seat: Option<u16>,
    pub serial: Option<u64>,
    /// Name of the bundle, ticket or note that shows it. For sessions of the public log behind the last bundle, the
    /// name of that bundle; absent if nothing that was given shows it.
    pub name: Option<String>,
}

/// What is wrong, or is not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainFault {
    /// Card or ticket of the bundle are not known.
    Unplaced,
    /// The operator issued the ticket.
    SelfIssued,
    /// Several tickets of one serial.
    SerialTwice(ConflictingBundles),
    /// Several histories of one ticket.
    Fork {
        several: ConflictingBundles,
        /// Serial of the first checkpoint that differs; absent if only the last ones were compared.
        place: Option<u64>,
    },
    /// Several bundles of one history, by name.
    Doubled(Vec<String>),
    /// Serials without a bundle.
    Gap(SerialGap),
    /// The ticket names an end of the session before, which the public log calls abandoned.
    AbandonedClose,
    /// The ticket says that the session before was abandoned, and a bundle shows its end.
    DeniedClose,
    /// The ticket names another end of the session before than each bundle of it shows.
    OtherClose,
    /// The session before was abandoned.
    Abandoned,
    /// The session before is of an unknown version.
    UnknownVersion,
    /// The last session of the chain is not closed.
    Open,
    /// The public log has another ticket of the serial.
    OtherTicket,
    /// Witnesses saw the public log after the session began, and it does not have the ticket.
    NoTicket,
    /// The public log ends before the session, at this serial.
    LogBehind(u64),
    /// The public log has the session's end, and the bundle does not.
    LogClosed,
    /// The public log calls the session abandoned, and the bundle is closed.
    LogAbandoned,
    /// A ticket that the issuer gave up before a session was reported.
    GivenUp,
    /// A ticket in the public log of which no session was reported.
    Pending,
    /// A session behind the last bundle that is open in the public log.
    OpenInLog,
    /// A session that was opened and is over, by the public log, and that is in no bundle.
    Unshown,
    /// Number of opened sessions in the public log, of a card and seat of which nothing is given.
    ChainMissing(u64),
    /// A ticket by itself, whose session is in no bundle.
    TicketUnused,
    /// A ticket by itself that no trusted issuer signed.
    TicketUntrusted,
    /// A note by itself that no trusted witness signed.
    NoteUntrusted,
    /// A witness saw a session that is in no bundle.
    SeenNowhere,
    /// A witness saw another checkpoint with this serial than each bundle of the session shows.
    SeenOther(u64),
    /// A witness saw the checkpoint with this serial, and each bundle of the session ends before.
    SeenLater(u64),
    /// The policy of the session with this serial is in force again, after another one.
    PolicyReverted(u64),
    /// Times, keys and notes that cannot all be true, in words.
    Conflict(SeriesCode, String),
}

/// Bundles and tickets that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictingBundles {
    /// All names, in their order.
    pub names: Vec<String>,
    /// The bundles that differ from the one before them.
    pub later: Vec<String>,
}

/// Serials without a bundle, before a session or behind the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SerialGap {
    /// First and last serial.
    pub first: u64,
    pub last: u64,
    /// Ranges of serials without a bundle and a ticket, with both ends. Each ends before a serial that is known.
    pub missing: Vec<(u64, u64)>,
    /// Number of tickets that the issuer gave up before a session was reported.
    pub given_up: u64,
}

impl SerialGap {
    /// Number of the missing serials.
    #[must_use]
    pub fn missing(&self) -> u64 {
        let lengths = self.missing.iter().map(|(first, last)| last.saturating_sub(*first).saturating_add(1));
        lengths.fold(0, u64::saturating_add)
    }
}

impl ChainFault {
    /// The code of `verify-series`; `None` for what only an audit of many cards finds.
    #[must_use]
    pub const fn code(&self) -> Option<SeriesCode> {
        Some(match self {
            Self::Unplaced => SeriesCode::Unplaced,
            Self::SelfIssued => SeriesCode::SelfIssued,
            Self::SerialTwice(_) | Self::Fork { .. } => SeriesCode::SerialTwice,
            Self::Doubled(_) => SeriesCode::Doubled,
            Self::Gap(_) | Self::Unshown => SeriesCode::SerialMissing,
            Self::AbandonedClose | Self::DeniedClose | Self::OtherClose => SeriesCode::PreviousClose,
            Self::Abandoned | Self::GivenUp => SeriesCode::Abandoned,
            Self::UnknownVersion => SeriesCode::UnknownVersion,
            Self::Open | Self::OpenInLog => SeriesCode::Open,
            Self::OtherTicket | Self::NoTicket => SeriesCode::LogTicket,
            Self::LogBehind(_) => SeriesCode::LogBehind,
            Self::LogClosed => SeriesCode::LogClosed,
            Self::LogAbandoned => SeriesCode::LogAbandoned,
            Self::Pending => SeriesCode::Pending,
            Self::Conflict(code, _) => *code,
            Self::ChainMissing(_)
            | Self::TicketUnused
            | Self::TicketUntrusted
            | Self::NoteUntrusted
            | Self::SeenNowhere
            | Self::SeenOther(_)
            | Self::SeenLater(_)
            | Self::PolicyReverted(_) => return None,
        })
    }
}

/// The finding in words, as an audit of many cards says it.
impl fmt::Display for ChainFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let serial = self.serial.unwrap_or_default();
        match &self.fault {
            ChainFault::Unplaced => f.write_str("its card or ticket is not known: it has no place in a chain"),
            ChainFault::SelfIssued => f.write_str("the operator issued its ticket: it is in no chain"),
            ChainFault::SerialTwice(several) => {
                write!(f, "one serial, and more than one ticket: {}", several.names.join(", "))
            }
            ChainFault::Fork { several, place } => {
                f.write_str("one ticket, and two histories")?;
                place.map_or(Ok(()), |place| write!(f, " from checkpoint {place} on"))?;
                write!(f, ": {}", several.names.join(", "))
            }
            ChainFault::Doubled(names) => write!(f, "one session in several bundles: {}", names.join(", ")),
            ChainFault::Gap(gap) => write!(f, "sessions {} to {} are missing", gap.first, gap.last),
            ChainFault::AbandonedClose => f.write_str(
                "its ticket names an end of the session before, and the public log says that it was abandoned",
            ),
            ChainFault::DeniedClose => {
                f.write_str("its ticket says that the session before was abandoned, but that was closed")
            }
            ChainFault::OtherClose => {
                f.write_str("its ticket names another end of the session before than that bundle shows")
            }
            ChainFault::Abandoned => f.write_str("the session before it was abandoned"),
            ChainFault::UnknownVersion => f.write_str(
                "the session before it is of a version that this program does not know: how it ended cannot be read",
            ),
            ChainFault::Open => write!(f, "session {serial} is the last of its chain and is not closed"),
            ChainFault::OtherTicket => f.write_str("the public log has another ticket of this serial"),
            ChainFault::NoTicket => {
                f.write_str("witnesses saw the public log after this session began, and its ticket was not in it")
            }
            ChainFault::LogBehind(_) => f.write_str("the public log has no session of this serial"),
            ChainFault::LogClosed => f.write_str("the public log says that the session was closed"),
            ChainFault::LogAbandoned => {
                f.write_str("the public log says that the session was abandoned, and its bundle is closed")
            }
            ChainFault::GivenUp => {
                f.write_str("the public log says that the issuer gave this ticket up before a session was reported")
            }
            ChainFault::Pending => {
                f.write_str("the public log says that this ticket was issued, and that no session was reported")
            }
            ChainFault::OpenInLog => f.write_str("this session is in no bundle; it is open in the public log"),
            ChainFault::Unshown => {
                f.write_str("the public log says that this session was opened, and it is in no bundle")
            }
            ChainFault::ChainMissing(opened) => {
                write!(f, "the public log has {opened} opened sessions of this card and seat")
            }
            ChainFault::TicketUnused => f.write_str("an issuer gave this ticket, and its session is in no bundle"),
            ChainFault::TicketUntrusted => f.write_str("no trusted issuer signed this ticket"),
            ChainFault::NoteUntrusted => f.write_str("no trusted witness signed this note"),
            ChainFault::SeenNowhere => f.write_str("a witness saw this session, and it is in no bundle"),
            ChainFault::SeenOther(checkpoint) => {
                write!(f, "a witness saw another checkpoint {checkpoint} than the bundle shows")
            }
            ChainFault::SeenLater(checkpoint) => {
                write!(f, "a witness saw checkpoint {checkpoint}, and the bundle ends before it")
            }
            ChainFault::PolicyReverted(first) => {
                write!(f, "the policy of session {first} is in force again, after another policy")
            }
            ChainFault::Conflict(_, detail) => f.write_str(detail),
        }
    }
}
