//! Findings of an audit: those of the verifier about one bundle, and those about several bundles or about the tables.

use portcullis_evidence::verify::{BundleProperty, EvidenceStatus, SeriesCode, StatusReason, VerifyReport};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// Which check made a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditFindingSource {
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
pub struct AuditFinding {
    #[serde(deserialize_with = "status")]
    pub status: EvidenceStatus,
    pub source: AuditFindingSource,
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

impl AuditFinding {
    /// The findings of a bundle's report.
    pub(crate) fn of_report(name: &str, report: &VerifyReport) -> Vec<Self> {
        let all = BundleProperty::ALL
            .into_iter()
            .flat_map(|property| report.properties.of(property).reasons.iter().map(move |reason| (property, reason)));
        all.map(|(property, reason)| Self {
            property: Some(property.name().into()),
            key: report.session.key_id.map(|key| key.to_string()),
            seat: report.session.seat,
            serial: report.session.ticket_serial,
            ..Self::of_reason(AuditFindingSource::Bundle, name, reason, reason.code.id(), reason.code.remedy())
        })
        .collect()
    }

    pub(crate) fn of_reason<C>(
        source: AuditFindingSource,
        name: &str,
        reason: &StatusReason<C>,
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
    pub fn of_fleet(
        source: AuditFindingSource,
        code: FleetCode,
        bundle: Option<&str>,
        detail: impl fmt::Display,
    ) -> Self {
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

fn status<'de, D: Deserializer<'de>>(from: D) -> Result<EvidenceStatus, D::Error> {
    let name = <Cow<'de, str>>::deserialize(from)?;
    status_of(&name).ok_or_else(|| serde::de::Error::custom(format_args!("`{name}` is not a status")))
}

/// The status with this name.
pub(crate) fn status_of(name: &str) -> Option<EvidenceStatus> {
    [EvidenceStatus::Affirmed, EvidenceStatus::Warned, EvidenceStatus::Contradicted]
        .into_iter()
        .find(|status| status.name() == name)
}

/// Codes of what an audit of several bundles finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FleetCode {
    /// `verify-series` has it, too, and it means the same there.
    Series(SeriesCode),
    /// One ticket, and two checkpoints for one place in its session.
    Fork,
    /// A ticket, a note or an entry of the public log whose session is in no bundle.
    BundleMissing,
    /// A checkpoint that a witness saw, and that the bundle of its session does not show.
    CheckpointMissing,
    /// The public log has sessions of a card and seat of which nothing is there.
    ChainMissing,
    /// A policy that another one had replaced is in force again.
    PolicyReverted,
    /// A bundle that was not finished when it was ingested.
    Unfinished,
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
type Meaning = (&'static str, EvidenceStatus, &'static str);

impl FleetCode {
    /// The codes that only an audit has.
    pub const OWN: [Self; 16] = [
        Self::Fork,
        Self::BundleMissing,
        Self::CheckpointMissing,
        Self::ChainMissing,
        Self::PolicyReverted,
        Self::Unfinished,
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

    /// The code with this id.
    #[must_use]
    pub fn of_id(id: &str) -> Option<Self> {
        let of_series = SeriesCode::ALL.iter().copied().map(Self::Series);
        Self::OWN.into_iter().chain(of_series).find(|code| code.id() == id)
    }

    const fn meaning(self) -> Meaning {
        use EvidenceStatus::{Contradicted, Warned};
        match self {
            Self::Series(code) => (code.id(), code.status(), code.remedy()),
            Self::Fork => ("fork", Contradicted, "ask the witness which history it saw, and the operator for both"),
            Self::BundleMissing => ("bundle-missing", Contradicted, "ask the operator for the bundle of this ticket"),
            Self::CheckpointMissing => (
                "checkpoint-missing",
                Contradicted,
                "ask the operator for the whole session, and the witness what it saw",
            ),
            Self::ChainMissing => {
                ("chain-missing", Warned, "ask the operator whether this card and seat belong to the fleet")
            }
            Self::PolicyReverted => {
                ("policy-reverted", Warned, "ask the approver whether the older policy was to be in force again")
            }
            Self::Unfinished => (
                SeriesCode::Unfinished.id(),
                Warned,
                "ingest it again once its session has ended; if it died, ask for `portcullis bundle finish`",
            ),
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
    pub const fn id(self) -> &'static str {
        self.meaning().0
    }

    #[must_use]
    pub const fn status(self) -> EvidenceStatus {
        self.meaning().1
    }

    /// Advice for the reader of the report: an imperative, without a full stop.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
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
        let own: BTreeSet<&str> = FleetCode::OWN.iter().map(|code| code.id()).collect();
        assert_eq!(own.len(), FleetCode::OWN.len());
        for code in FleetCode::OWN.into_iter().chain([FleetCode::Series(SeriesCode::Open)]) {
            assert_eq!(FleetCode::of_id(code.id()), Some(code));
            let finding = AuditFinding::of_fleet(AuditFindingSource::Fleet, code, Some("a"), "what");
            let json = serde_json::to_string(&finding).unwrap();
            assert_eq!(serde_json::from_str::<AuditFinding>(&json).unwrap(), finding);
        }
        assert_eq!(status_of("affirmed"), Some(EvidenceStatus::Affirmed));
        assert_eq!(status_of("fine"), None);
    }
}
