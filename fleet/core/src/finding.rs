//! Findings of an audit: those of the verifier about one bundle, and those about several bundles or about the tables.

use portcullis_evidence::verify::{PeriodCode, Property, Reason, Report, SeriesCode, Status};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// Which check made a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The verifier, about one bundle.
    Bundle,
    /// A replay of texts, about one bundle.
    Replay,
    /// A comparison of several bundles, tickets and notes.
    Fleet,
    /// A comparison of the tables with what the cards signed.
    Tables,
}

/// Something that an audit did not affirm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    #[serde(deserialize_with = "status")]
    pub status: Status,
    pub source: Source,
    /// The property of the verifier that the finding concerns.
    pub property: Option<Cow<'static, str>>,
    pub code: Cow<'static, str>,
    /// Name of the bundle, or of the file of a ticket or note; absent if the finding concerns a whole chain.
    pub bundle: Option<String>,
    /// SHA-256 of the card's public key, in hexadecimal.
    pub key: Option<String>,
    pub seat: Option<u16>,
    pub serial: Option<u64>,
    pub detail: String,
    /// Number of findings with this code in this bundle.
    pub count: u64,
    /// Advice for the reader.
    pub remedy: Cow<'static, str>,
}

impl Finding {
    /// The findings of a bundle's report.
    pub(crate) fn of_report(name: &str, report: &Report) -> Vec<Self> {
        let all = Property::ALL
            .into_iter()
            .flat_map(|property| report.properties.of(property).reasons.iter().map(move |reason| (property, reason)));
        all.map(|(property, reason)| Self {
            property: Some(property.name().into()),
            key: report.session.key_id.map(|key| key.to_string()),
            seat: report.session.seat,
            serial: report.session.ticket_serial,
            ..Self::of_reason(Source::Bundle, name, reason, reason.code.id(), reason.code.remedy())
        })
        .collect()
    }

    pub(crate) fn of_reason<C>(
        source: Source,
        name: &str,
        reason: &Reason<C>,
        code: &'static str,
        remedy: &'static str,
    ) -> Self {
        Self {
            status: reason.status,
            source,
            property: None,
            code: code.into(),
            bundle: Some(name.to_owned()),
            key: None,
            seat: None,
            serial: None,
            detail: reason.detail.clone(),
            count: reason.count,
            remedy: remedy.into(),
        }
    }

    /// A finding about a bundle, or about none.
    #[must_use]
    pub fn of_fleet(source: Source, code: FleetCode, bundle: Option<&str>, detail: impl fmt::Display) -> Self {
        Self {
            status: code.status(),
            source,
            property: None,
            code: code.id().into(),
            bundle: bundle.map(str::to_owned),
            key: None,
            seat: None,
            serial: None,
            detail: detail.to_string(),
            count: 1,
            remedy: code.remedy().into(),
        }
    }

    /// The order of reports: contradictions first, then by place.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        other
            .status
            .cmp(&self.status)
            .then_with(|| self.key.cmp(&other.key))
            .then_with(|| (self.seat, self.serial).cmp(&(other.seat, other.serial)))
            .then_with(|| self.bundle.cmp(&other.bundle))
            .then_with(|| (self.source, &self.code).cmp(&(other.source, &other.code)))
            .then_with(|| (&self.property, &self.detail).cmp(&(&other.property, &other.detail)))
    }
}

fn status<'de, D: Deserializer<'de>>(from: D) -> Result<Status, D::Error> {
    let name = <Cow<'de, str>>::deserialize(from)?;
    status_of(&name).ok_or_else(|| serde::de::Error::custom(format_args!("`{name}` is not a status")))
}

/// The status with this name.
pub(crate) fn status_of(name: &str) -> Option<Status> {
    [Status::Affirmed, Status::Warned, Status::Contradicted].into_iter().find(|status| status.name() == name)
}

/// Codes of what only an audit of several bundles can find.
///
/// Codes that `verify-series` and the statement about a period have, too, mean the same there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FleetCode {
    /// One ticket, and two checkpoints for one place in its session.
    Fork,
    /// Two tickets with one serial.
    SerialTwice,
    /// A serial for which there is neither a ticket nor a bundle.
    SerialMissing,
    /// A ticket, a note or an entry of the public log whose session is in no bundle.
    BundleMissing,
    /// A checkpoint that a witness saw, and that the bundle of its session does not show.
    CheckpointMissing,
    /// A ticket names another end of the session before it.
    PreviousClose,
    /// A ticket says that the session before it was abandoned, or its issuer gave a ticket up.
    Abandoned,
    /// The last session of a chain is not closed.
    Open,
    /// The public log has a ticket of which no session was reported yet.
    Pending,
    /// The issuer's public log is damaged, or not signed and cosigned as the policy demands.
    PublicLog,
    /// The trust folder's policy names a public log that was not given, and a session's issuer keeps it.
    LogMissing,
    /// The public log has another ticket for a session, or none although witnesses saw it later.
    LogTicket,
    /// The public log ends before a session.
    LogBehind,
    /// The public log has the end of a session, and its bundle does not.
    LogClosed,
    /// The public log calls a session abandoned, and its bundle is closed.
    LogAbandoned,
    /// The public log has sessions of a card and seat of which nothing is there.
    ChainMissing,
    /// The operator issued the ticket itself.
    SelfIssued,
    /// A bundle whose card or ticket is not known.
    Unplaced,
    /// A witness signed two histories of one log.
    WitnessFork,
    /// A note is not behind those of earlier sessions in the log of their witness.
    WitnessOrder,
    /// Two sessions of one seat ran at one time.
    SeatOverlap,
    /// A session ran before the session with the serial before.
    TimesReversed,
    /// The own key of one card was in use on two seats at one time.
    KeyTwice,
    /// One session is in two bundles.
    Doubled,
    /// A policy that another one had replaced is in force again.
    PolicyReverted,
    /// A bundle that was not finished when it was ingested.
    Unfinished,
    /// A bundle that is broken.
    NoBundle,
    /// A bundle that could not be read.
    Unread,
    /// A bundle whose content is not the one that was ingested.
    BundleChanged,
    /// A ticket that was given by itself, and that no trusted issuer signed.
    TicketUntrusted,
    /// A note that was given by itself, and that no trusted witness signed.
    NoteUntrusted,
    /// A file of the tables that cannot be read.
    TableUnread,
    /// The records in the tables have another root than the signed one.
    TableRoot,
    /// The tables lack records.
    TableMissing,
    /// The tables hold a record twice.
    TableDoubled,
    /// A decoded column differs from the record's bytes.
    TableColumns,
    /// A checkpoint in the tables is not signed by a certified card.
    TableSignature,
}

/// Id, status and advice of a code.
type Meaning = (&'static str, Status, &'static str);

impl FleetCode {
    /// Every code, in the order of the documentation.
    pub const ALL: [Self; 37] = [
        Self::Fork,
        Self::SerialTwice,
        Self::SerialMissing,
        Self::BundleMissing,
        Self::CheckpointMissing,
        Self::PreviousClose,
        Self::Abandoned,
        Self::Open,
        Self::Pending,
        Self::PublicLog,
        Self::LogMissing,
        Self::LogTicket,
        Self::LogBehind,
        Self::LogClosed,
        Self::LogAbandoned,
        Self::ChainMissing,
        Self::SelfIssued,
        Self::Unplaced,
        Self::WitnessFork,
        Self::WitnessOrder,
        Self::SeatOverlap,
        Self::TimesReversed,
        Self::KeyTwice,
        Self::Doubled,
        Self::PolicyReverted,
        Self::Unfinished,
        Self::NoBundle,
        Self::Unread,
        Self::BundleChanged,
        Self::TicketUntrusted,
        Self::NoteUntrusted,
        Self::TableUnread,
        Self::TableRoot,
        Self::TableMissing,
        Self::TableDoubled,
        Self::TableColumns,
        Self::TableSignature,
    ];

    fn meaning(self) -> Meaning {
        use Status::{Contradicted, Warned};
        let series = |code: SeriesCode| (code.id(), code.status(), code.remedy());
        let period = |code: PeriodCode| (code.id(), code.status(), code.remedy());
        match self {
            Self::Fork => ("fork", Contradicted, "ask the witness which history it saw, and the operator for both"),
            Self::SerialTwice => series(SeriesCode::SerialTwice),
            Self::SerialMissing => series(SeriesCode::SerialMissing),
            Self::BundleMissing => ("bundle-missing", Contradicted, "ask the operator for the bundle of this ticket"),
            Self::CheckpointMissing => (
                "checkpoint-missing",
                Contradicted,
                "ask the operator for the whole session, and the witness what it saw",
            ),
            Self::PreviousClose => series(SeriesCode::PreviousClose),
            Self::Abandoned => series(SeriesCode::Abandoned),
            Self::Open => series(SeriesCode::Open),
            Self::Pending => series(SeriesCode::Pending),
            Self::PublicLog => series(SeriesCode::PublicLog),
            Self::LogMissing => series(SeriesCode::LogMissing),
            Self::LogTicket => series(SeriesCode::LogTicket),
            Self::LogBehind => series(SeriesCode::LogBehind),
            Self::LogClosed => series(SeriesCode::LogClosed),
            Self::LogAbandoned => series(SeriesCode::LogAbandoned),
            Self::ChainMissing => {
                ("chain-missing", Warned, "ask the operator whether this card and seat belong to the fleet")
            }
            Self::SelfIssued => series(SeriesCode::SelfIssued),
            Self::Unplaced => series(SeriesCode::Unplaced),
            Self::WitnessFork => series(SeriesCode::WitnessFork),
            Self::WitnessOrder => series(SeriesCode::WitnessOrder),
            Self::SeatOverlap => series(SeriesCode::SeatOverlap),
            Self::TimesReversed => series(SeriesCode::TimesReversed),
            Self::KeyTwice => series(SeriesCode::KeyTwice),
            Self::Doubled => series(SeriesCode::Doubled),
            Self::PolicyReverted => {
                ("policy-reverted", Warned, "ask the approver whether the older policy was to be in force again")
            }
            Self::Unfinished => (
                SeriesCode::Unfinished.id(),
                Warned,
                "ingest it again once its session has ended; if it died, ask for `portcullis bundle finish`",
            ),
            Self::NoBundle => period(PeriodCode::NoBundle),
            Self::Unread => ("unread", Contradicted, "make the bundle readable, and audit again"),
            Self::BundleChanged => (
                "bundle-changed",
                Contradicted,
                "ask who changed the bundle; if it may be so, ingest it again with `--replace`",
            ),
            Self::TicketUntrusted => {
                ("ticket-untrusted", Contradicted, "ask the issuer for its tickets, or add its key to the trust folder")
            }
            Self::NoteUntrusted => {
                ("note-untrusted", Contradicted, "ask the witness for its notes, or add its key to the trust folder")
            }
            Self::TableUnread => (
                "table-unread",
                Contradicted,
                "if the file is there and can be opened, it is damaged: ingest into new tables, and audit those",
            ),
            Self::TableRoot => ("table-root", Contradicted, INGEST_AGAIN),
            Self::TableMissing => ("table-missing", Contradicted, INGEST_AGAIN),
            Self::TableDoubled => ("table-doubled", Contradicted, INGEST_AGAIN),
            Self::TableColumns => ("table-columns", Contradicted, INGEST_AGAIN),
            Self::TableSignature => ("table-signature", Contradicted, INGEST_AGAIN),
        }
    }

    /// The code in reports: kebab-case.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.meaning().0
    }

    #[must_use]
    pub fn status(self) -> Status {
        self.meaning().1
    }

    /// Advice for the reader of the report: an imperative, without a full stop.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        self.meaning().2
    }
}

const INGEST_AGAIN: &str =
    "do not rely on the tables; if the verifier affirms the bundle, ingest it into new tables, else see its findings";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_distinct_and_findings_survive_json() {
        let ids: BTreeSet<&str> = FleetCode::ALL.iter().map(|code| code.id()).collect();
        assert_eq!(ids.len(), FleetCode::ALL.len());
        for code in FleetCode::ALL {
            let finding = Finding::of_fleet(Source::Fleet, code, Some("a"), "what");
            let json = serde_json::to_string(&finding).unwrap();
            assert_eq!(serde_json::from_str::<Finding>(&json).unwrap(), finding);
        }
        assert_eq!(status_of("affirmed"), Some(Status::Affirmed));
        assert_eq!(status_of("fine"), None);
    }
}
