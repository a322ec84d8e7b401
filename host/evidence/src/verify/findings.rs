//! Findings, grouped by property.

use super::code::Code;
use super::property::{BundleProperty, EvidenceStatus};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Place of a record in the text of findings. The lane is left out if there is only one.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) lane: Option<u8>,
    pub(super) index: u64,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}", self.index)?;
        self.lane.map_or(Ok(()), |lane| write!(f, " of lane {lane}"))
    }
}

/// Why a property is not affirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatusReason<C = Code> {
    pub code: C,
    pub status: EvidenceStatus,
    /// Text of the first finding with this code.
    pub detail: String,
    /// Number of findings with this code.
    pub count: u64,
}

/// A property's status and reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PropertyConclusion {
    /// The worst status of the reasons.
    pub status: EvidenceStatus,
    /// Reasons, the most serious first.
    pub reasons: Vec<StatusReason>,
}

/// The five properties.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BundleConclusions {
    pub policy: PropertyConclusion,
    pub genuine: PropertyConclusion,
    pub complete: PropertyConclusion,
    pub replayable: PropertyConclusion,
    pub no_gaps: PropertyConclusion,
}

impl BundleConclusions {
    #[must_use]
    pub const fn of(&self, property: BundleProperty) -> &PropertyConclusion {
        match property {
            BundleProperty::Policy => &self.policy,
            BundleProperty::Genuine => &self.genuine,
            BundleProperty::Complete => &self.complete,
            BundleProperty::Replayable => &self.replayable,
            BundleProperty::NoGaps => &self.no_gaps,
        }
    }

    /// The worst status of the five properties.
    #[must_use]
    pub fn worst(&self) -> EvidenceStatus {
        BundleProperty::ALL
            .iter()
            .map(|property| self.of(*property).status)
            .max()
            .unwrap_or(EvidenceStatus::Contradicted)
    }
}

/// Collects findings. An empty collection means that all checks passed.
#[derive(Clone, Debug, Default)]
pub(super) struct VerifyFindings(BTreeMap<(BundleProperty, Code), StatusReason>);

impl VerifyFindings {
    /// The finding of one check; empty if the check holds.
    pub(super) fn unless(holds: bool, code: Code, detail: impl FnOnce() -> String) -> Self {
        let mut findings = Self::default();
        findings.require(holds, code, detail);
        findings
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, code: Code, detail: impl fmt::Display) {
        self.add_as(code.status(), code, detail);
    }

    /// Adds a finding with this status in place of the code's default. A finding whose code has no property is added to
    /// every property.
    pub(super) fn add_as(&mut self, status: EvidenceStatus, code: Code, detail: impl fmt::Display) {
        match code.property() {
            Some(property) => self.add_to(property, status, code, &detail),
            None => BundleProperty::ALL.into_iter().for_each(|property| self.add_to(property, status, code, &detail)),
        }
    }

    /// Adds a finding unless `holds`.
    pub(super) fn require(&mut self, holds: bool, code: Code, detail: impl FnOnce() -> String) {
        if !holds {
            self.add(code, detail());
        }
    }

    pub(super) fn append(&mut self, other: Self) {
        for (key, reason) in other.0 {
            self.0
                .entry(key)
                .and_modify(|sum| {
                    sum.count += reason.count;
                    sum.status = sum.status.max(reason.status);
                })
                .or_insert(reason);
        }
    }

    // Only the first detail of a code is kept and the others are counted, so that a hostile bundle cannot fill the
    // report.
    fn add_to(&mut self, property: BundleProperty, status: EvidenceStatus, code: Code, detail: &impl fmt::Display) {
        self.0
            .entry((property, code))
            .and_modify(|reason| {
                reason.count += 1;
                reason.status = reason.status.max(status);
            })
            .or_insert_with(|| StatusReason { code, status, detail: detail.to_string(), count: 1 });
    }

    /// The conclusions on the five properties. If a certified card did not sign the records, no property is affirmed.
    pub(super) fn conclude(mut self) -> BundleConclusions {
        let bases = [BundleProperty::Genuine, BundleProperty::Complete];
        let false_base = |((property, _), reason): (&(BundleProperty, Code), &StatusReason)| {
            bases.contains(property) && reason.status == EvidenceStatus::Contradicted
        };
        if self.0.iter().any(false_base) {
            let what = "the records are not what a certified card signed, or not all of them";
            let found: BTreeSet<BundleProperty> = self.0.keys().map(|(property, _)| *property).collect();
            for property in BundleProperty::ALL.into_iter().filter(|property| !found.contains(property)) {
                self.add_to(property, EvidenceStatus::Warned, Code::Unfounded, &what);
            }
        }
        let mut conclusions = BTreeMap::<BundleProperty, PropertyConclusion>::new();
        for ((property, _), reason) in self.0 {
            let conclusion = conclusions.entry(property).or_default();
            conclusion.status = conclusion.status.max(reason.status);
            conclusion.reasons.push(reason);
        }
        let mut take = |property| {
            let mut conclusion = conclusions.remove(&property).unwrap_or_default();
            conclusion.reasons.sort_by(|a, b| b.status.cmp(&a.status).then(a.code.id().cmp(b.code.id())));
            conclusion
        };
        BundleConclusions {
            policy: take(BundleProperty::Policy),
            genuine: take(BundleProperty::Genuine),
            complete: take(BundleProperty::Complete),
            replayable: take(BundleProperty::Replayable),
            no_gaps: take(BundleProperty::NoGaps),
        }
    }
}
