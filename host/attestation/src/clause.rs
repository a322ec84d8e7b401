//! The table of clauses: what regulations ask for, and which topics of a statement show it.

use crate::statement::{Clause, Shown, Source, Statement};
use portcullis_evidence::verify::{PeriodCode, Property, Status};
use serde::Deserialize;

const CLAUSES: &str = include_str!("clauses.toml");

/// A topic of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
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
pub struct Entry {
    pub name: String,
    pub topics: Vec<Topic>,
    /// What the project provides, for the documentation.
    pub provided: String,
    /// What the operator must add.
    pub operator: String,
}

#[derive(Deserialize)]
struct Table {
    clause: Vec<Entry>,
}

/// Every clause, in the order of the documentation.
///
/// # Panics
/// Never: a test reads the table, which is a part of the program.
#[must_use]
#[expect(clippy::expect_used, reason = "a test reads this constant")]
pub fn table() -> Vec<Entry> {
    toml::from_str::<Table>(CLAUSES).expect("the table of clauses is valid").clause
}

/// The clauses with what the statement shows of each.
pub(crate) fn shown(statement: &Statement) -> Vec<Clause> {
    let clause = |entry: Entry| Clause {
        clause: entry.name,
        shown: entry.topics.into_iter().map(|topic| topic.of(statement)).collect(),
        not_shown: entry.operator,
    };
    table().into_iter().map(clause).collect()
}

impl Topic {
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

    fn of(self, statement: &Statement) -> Shown {
        let (status, text) = self.shown(statement);
        Shown { topic: self.name(), status, text }
    }

    fn shown(self, statement: &Statement) -> (Status, String) {
        let totals = &statement.totals;
        let sessions = statement.sessions.len();
        let approved = statement.sessions.iter().filter(|session| session.approved).count();
        let dated = statement.sessions.iter().filter(|session| session.witnessed.is_some()).count();
        let missing = |shown: usize| if shown == sessions { Status::Affirmed } else { Status::Warned };
        match self {
            Self::Records => (
                property(statement, Property::Complete),
                format!("{} records in {} streams of {sessions} sessions", totals.records, totals.streams),
            ),
            Self::Verdicts => (
                property(statement, Property::Policy),
                format!(
                    "{} admitted, {} rejected, {} decomposed; {} rules and stages refused something",
                    totals.admitted,
                    totals.rejected,
                    totals.decomposed,
                    statement.refusals.len()
                ),
            ),
            Self::Faults => {
                let status = if totals.alarms == 0 { Status::Affirmed } else { Status::Warned };
                (status, format!("{} alarms, {} refused entries", totals.alarms, totals.refused_entries))
            }
            Self::Policies => (
                property(statement, Property::Policy),
                format!("{} policies in force, {} changes", statement.policies.len(), statement.changes.len()),
            ),
            Self::Approvals => (
                missing(approved),
                format!("{approved} of {sessions} sessions ran a policy that a trusted key approved"),
            ),
            Self::Signatures => (
                property(statement, Property::Genuine),
                format!("a signed checkpoint covers {} of {} records", totals.signed_records, totals.records),
            ),
            Self::Chains => {
                let gaps = statement.findings.iter().filter(|finding| is_about_chains(finding.source, finding.code));
                let status = gaps.map(|finding| finding.status).fold(Status::Affirmed, Status::max);
                let open = statement.chains.iter().filter(|chain| !(chain.begins && chain.ends)).count();
                let text = match status {
                    Status::Contradicted => "sessions are missing, or contradict each other".to_owned(),
                    Status::Warned if open > 0 => format!(
                        "no gap between the sessions; {open} of {} chains are open at the beginning or the end",
                        statement.chains.len()
                    ),
                    Status::Warned => "not every session has a place in a chain, or is closed".to_owned(),
                    Status::Affirmed => format!("{} chains of sessions without a gap", statement.chains.len()),
                };
                (status, text)
            }
            Self::Times => (missing(dated), format!("{dated} of {sessions} sessions have times of a witness")),
            Self::Replay => match &statement.replay {
                None => (Status::Warned, "no text was replayed".to_owned()),
                Some(replay) => (
                    replay.status,
                    format!("{} streams of a sample replay, {} records byte by byte", replay.replayed, replay.records),
                ),
            },
            Self::Withheld => {
                let streams: u64 = statement.withheld.iter().map(|withheld| withheld.streams).sum();
                (Status::Affirmed, format!("the texts of {streams} streams were removed, each with a signed reason"))
            }
        }
    }
}

fn is_about_chains(source: Source, code: &str) -> bool {
    let open = [PeriodCode::BeginningOpen, PeriodCode::EndOpen, PeriodCode::NoSession, PeriodCode::NoBundle];
    source == Source::Series || (source == Source::Period && open.iter().any(|known| known.id() == code))
}

/// The worst status of a property over the sessions of the period.
fn property(statement: &Statement, property: Property) -> Status {
    let reasons = statement.findings.iter().filter(|finding| match finding.source {
        Source::Bundle => finding.property.is_none_or(|of| of == property),
        _ => finding.code == PeriodCode::NoBundle.id() || finding.code == PeriodCode::NoSession.id(),
    });
    reasons.map(|finding| finding.status).fold(Status::Affirmed, Status::max)
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
