//! The table of clauses: what regulations ask for, and which topics of a statement show it.

use crate::statement::{AttestationFindingSource, AttestedClause, AttestedTopic, PeriodStatement};
use portcullis_evidence::verify::{BundleProperty, EvidenceStatus, PeriodCode};
use serde::Deserialize;

const CLAUSES: &str = include_str!("clauses.toml");

/// A topic of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegulationTopic {
    Records,
    Verdicts,
    Faults,
    Policies,
    Approvals,
    Signatures,
    Chains,
    Times,
    Replay,
    Withheld,
}

/// A clause of a regulation, as `clauses.toml` has it.
#[derive(Clone, Debug, Deserialize)]
pub struct RegulationClause {
    pub name: String,
    /// To whom the clause applies, and from which day on, for the documentation.
    pub applies: String,
    pub topics: Vec<RegulationTopic>,
    /// What the project provides, for the documentation.
    pub provided: String,
    /// What the operator must add.
    pub operator: String,
}

#[derive(Deserialize)]
struct RegulationTable {
    clause: Vec<RegulationClause>,
}

/// Every clause, in the order of the documentation.
///
/// # Panics
/// Never: a test reads the table, which is a part of the program.
#[must_use]
#[expect(clippy::expect_used, reason = "a test reads this constant")]
pub fn table() -> Vec<RegulationClause> {
    toml::from_str::<RegulationTable>(CLAUSES).expect("the table of clauses is valid").clause
}

/// The clauses with what the statement shows of each.
pub(crate) fn shown(statement: &PeriodStatement) -> Vec<AttestedClause> {
    let clause = |entry: RegulationClause| AttestedClause {
        clause: entry.name,
        shown: entry.topics.into_iter().map(|topic| topic.of(statement)).collect(),
        not_shown: entry.operator,
    };
    table().into_iter().map(clause).collect()
}

impl RegulationTopic {
    const fn name(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Verdicts => "verdicts",
            Self::Faults => "faults",
            Self::Policies => "policies",
            Self::Approvals => "approvals",
            Self::Signatures => "signatures",
            Self::Chains => "chains",
            Self::Times => "times",
            Self::Replay => "replay",
            Self::Withheld => "withheld",
        }
    }

    fn of(self, statement: &PeriodStatement) -> AttestedTopic {
        let (status, text) = self.shown(statement);
        AttestedTopic { topic: self.name(), status, text }
    }

    /// The status of the topic, and what the statement shows of it. Without a session, or with a bundle that could not
    /// be read, no topic is affirmed.
    fn shown(self, statement: &PeriodStatement) -> (EvidenceStatus, String) {
        let totals = &statement.totals;
        let sessions = statement.sessions.len();
        let of = |properties: &[BundleProperty]| {
            properties.iter().map(|property| worst(statement, *property)).fold(absent(statement), EvidenceStatus::max)
        };
        let unless = |holds: bool| if holds { EvidenceStatus::Affirmed } else { EvidenceStatus::Warned };
        let (status, text) = match self {
            Self::Records => (
                of(&[BundleProperty::Complete, BundleProperty::Genuine]),
                format!("{} records in {} streams of {sessions} sessions", totals.records, totals.streams),
            ),
            Self::Verdicts => (
                of(&[BundleProperty::Complete, BundleProperty::Genuine, BundleProperty::Policy]),
                format!(
                    "{} admitted, {} rejected, {} decomposed; {} rules and stages refused something",
                    totals.admitted,
                    totals.rejected,
                    totals.decomposed,
                    statement.refusals.len()
                ),
            ),
            Self::Faults => (
                unless(totals.alarms == 0).max(of(&[BundleProperty::Complete, BundleProperty::Genuine])),
                format!("{} alarms, {} refused entries", totals.alarms, totals.refused_entries),
            ),
            Self::Policies => (
                of(&[BundleProperty::Policy, BundleProperty::Genuine]),
                format!("{} policies in force, {} changes", statement.policies.len(), statement.changes.len()),
            ),
            Self::Approvals => {
                let approved = statement.sessions.iter().filter(|session| session.approved).count();
                (unless(approved == sessions), format!("{approved} of {sessions} sessions ran an approved policy"))
            }
            Self::Signatures => (
                unless(totals.signed_records == totals.records)
                    .max(of(&[BundleProperty::Genuine, BundleProperty::Complete])),
                format!("a signed checkpoint covers {} of {} records", totals.signed_records, totals.records),
            ),
            Self::Chains => chains(statement),
            Self::Times => {
                let dated = statement.sessions.iter().filter(|session| session.witnessed.is_some()).count();
                let undated = statement.findings.iter().any(|finding| finding.code == PeriodCode::Undated.id());
                (
                    unless(dated == sessions && !undated),
                    format!("{dated} of {sessions} sessions have times of a witness"),
                )
            }
            Self::Replay => match &statement.replay {
                None => (EvidenceStatus::Warned, "no text was replayed".to_owned()),
                Some(replay) => (
                    replay.status.max(unless(replay.replayed > 0)),
                    format!("{} streams of a sample replay, {} records byte by byte", replay.replayed, replay.records),
                ),
            },
            Self::Withheld => {
                let streams: u64 = statement.withheld.iter().map(|withheld| withheld.streams).sum();
                (
                    of(&[BundleProperty::Replayable]),
                    format!("the texts of {streams} streams were removed with a signed reason"),
                )
            }
        };
        (status.max(absent(statement)), text)
    }
}

/// Warned without a session or with a bundle that is not finished, contradicted with one that could not be read.
fn absent(statement: &PeriodStatement) -> EvidenceStatus {
    let absent = [PeriodCode::NoSession, PeriodCode::Unfinished, PeriodCode::NoBundle];
    let found = statement.findings.iter().filter(|finding| absent.iter().any(|code| code.id() == finding.code));
    found.map(|finding| finding.status).fold(EvidenceStatus::Affirmed, EvidenceStatus::max)
}

/// The worst status of a property over the sessions of the period.
fn worst(statement: &PeriodStatement, property: BundleProperty) -> EvidenceStatus {
    let found = statement.findings.iter().filter(|finding| finding.property == Some(property));
    found.map(|finding| finding.status).fold(EvidenceStatus::Affirmed, EvidenceStatus::max)
}

/// The order of the sessions.
fn chains(statement: &PeriodStatement) -> (EvidenceStatus, String) {
    let of_period = [PeriodCode::BeginningOpen, PeriodCode::EndOpen];
    let found = statement.findings.iter().filter(|finding| {
        finding.source == AttestationFindingSource::Series || of_period.iter().any(|code| code.id() == finding.code)
    });
    let status =
        found.map(|finding| finding.status).fold(worst(statement, BundleProperty::NoGaps), EvidenceStatus::max);
    let chains = statement.chains.len();
    let open = statement.chains.iter().filter(|chain| !chain.begins || chain.next.is_none()).count();
    let text = match status {
        EvidenceStatus::Contradicted => "sessions are missing, or contradict each other".to_owned(),
        EvidenceStatus::Warned => format!("{chains} chains, of which {open} are open at the beginning or at the end"),
        EvidenceStatus::Affirmed => format!("{chains} chains of sessions without a gap"),
    };
    (status, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        let clauses = table();
        assert!(clauses.len() >= 7);
        assert!(clauses.iter().all(|clause| !clause.topics.is_empty() && clause.operator.ends_with('.')));
    }
}
