//! What was found, by property.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A property of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// One policy was in force from OPEN to CLOSE, and it is the one in the bundle.
    Policy,
    /// A certified card made this evidence.
    Genuine,
    /// Nothing was dropped, reordered or forged.
    Complete,
    /// Everything that a replay needs is there.
    Replayable,
    /// No session, no part of one, is missing.
    NoGaps,
}

impl Property {
    /// The five, in the order of reports.
    pub const ALL: [Self; 5] = [Self::Policy, Self::Genuine, Self::Complete, Self::Replayable, Self::NoGaps];

    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Genuine => "genuine",
            Self::Complete => "complete",
            Self::Replayable => "replayable",
            Self::NoGaps => "no_gaps",
        }
    }

    /// What it says when it is affirmed.
    #[must_use]
    pub const fn claim(self) -> &'static str {
        match self {
            Self::Policy => {
                "one policy was in force from the first record to the last, and it is the one in this bundle"
            }
            Self::Genuine => "a certified card made this evidence",
            Self::Complete => "no record was dropped, reordered or forged",
            Self::Replayable => "everything that a replay of text to verdict needs is in this bundle",
            Self::NoGaps => "a trusted issuer opened the session, a witness saw it, and no part of it is missing",
        }
    }
}

/// Where a property stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Everything that was checked holds.
    #[default]
    Affirmed,
    /// Something could not be checked, or is missing.
    Warned,
    /// Something is false.
    Contradicted,
}

impl Status {
    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Affirmed => "affirmed",
            Self::Warned => "warned",
            Self::Contradicted => "contradicted",
        }
    }

    /// Exit code of what ends with it: simulated evidence is never 0.
    #[must_use]
    pub const fn exit_code(self, simulated: bool) -> u8 {
        match (self, simulated) {
            (Self::Contradicted, _) => 3,
            (_, true) => 10,
            (Self::Warned, false) => 5,
            (Self::Affirmed, false) => 0,
        }
    }
}

/// Why a property is not affirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Reason code: stable, kebab-case.
    pub code: &'static str,
    /// How much it weighs.
    pub status: Status,
    /// The first finding, in words.
    pub detail: String,
    /// How often it was found.
    pub count: u64,
}

/// A property's status and reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Conclusion {
    /// The worst of the reasons.
    pub status: Status,
    /// Reasons, the heaviest first.
    pub reasons: Vec<Reason>,
}

/// The five properties.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Properties {
    /// Policy in force.
    pub policy: Conclusion,
    /// Genuine gate.
    pub genuine: Conclusion,
    /// Complete.
    pub complete: Conclusion,
    /// Replayable.
    pub replayable: Conclusion,
    /// No gaps.
    pub no_gaps: Conclusion,
}

impl Properties {
    /// The conclusion about `property`.
    #[must_use]
    pub const fn of(&self, property: Property) -> &Conclusion {
        match property {
            Property::Policy => &self.policy,
            Property::Genuine => &self.genuine,
            Property::Complete => &self.complete,
            Property::Replayable => &self.replayable,
            Property::NoGaps => &self.no_gaps,
        }
    }

    /// The worst status of the five.
    #[must_use]
    pub fn worst(&self) -> Status {
        Property::ALL.iter().map(|property| self.of(*property).status).max().unwrap_or(Status::Contradicted)
    }
}

/// Findings as they are made.
#[derive(Clone, Debug, Default)]
pub struct Findings(BTreeMap<(Property, &'static str), Reason>);

impl Findings {
    /// Something is false.
    pub fn contradict(&mut self, property: Property, code: &'static str, detail: impl ToString) {
        self.add(property, code, Status::Contradicted, detail);
    }

    /// Something is missing, or could not be checked.
    pub fn warn(&mut self, property: Property, code: &'static str, detail: impl ToString) {
        self.add(property, code, Status::Warned, detail);
    }

    /// `contradict` unless `holds`.
    pub fn require(&mut self, holds: bool, property: Property, code: &'static str, detail: impl ToString) {
        if !holds {
            self.contradict(property, code, detail);
        }
    }

    // The first detail of a code is kept and the rest counted: a hostile bundle cannot make the report long.
    fn add(&mut self, property: Property, code: &'static str, status: Status, detail: impl ToString) {
        self.0
            .entry((property, code))
            .and_modify(|reason| {
                reason.count += 1;
                reason.status = reason.status.max(status);
            })
            .or_insert_with(|| Reason { code, status, detail: detail.to_string(), count: 1 });
    }

    /// The five properties. None is affirmed on records that are not what a certified card signed.
    #[must_use]
    pub fn conclude(mut self) -> Properties {
        let bases = [Property::Genuine, Property::Complete];
        let false_base = |((property, _), reason): (&(Property, &str), &Reason)| {
            bases.contains(property) && reason.status == Status::Contradicted
        };
        if self.0.iter().any(false_base) {
            let what = "the records are not what a certified card signed, or not all of them";
            let found: BTreeSet<Property> = self.0.keys().map(|(property, _)| *property).collect();
            for property in Property::ALL.into_iter().filter(|property| !found.contains(property)) {
                self.warn(property, "unfounded", what);
            }
        }
        let mut conclusions = BTreeMap::<Property, Conclusion>::new();
        for ((property, _), reason) in self.0 {
            let conclusion = conclusions.entry(property).or_default();
            conclusion.status = conclusion.status.max(reason.status);
            conclusion.reasons.push(reason);
        }
        let mut take = |property| {
            let mut conclusion = conclusions.remove(&property).unwrap_or_default();
            conclusion.reasons.sort_by(|a, b| b.status.cmp(&a.status).then(a.code.cmp(b.code)));
            conclusion
        };
        Properties {
            policy: take(Property::Policy),
            genuine: take(Property::Genuine),
            complete: take(Property::Complete),
            replayable: take(Property::Replayable),
            no_gaps: take(Property::NoGaps),
        }
    }
}
