//! The answer of an audit: contradictions first, then what is affirmed for each card, seat, day and session.

use crate::finding::AuditFinding;
use crate::session::AuditedSession;
use crate::unit::VerifyTaskOutcome;
use portcullis_evidence::verify::series::CheckedPublicLog;
use portcullis_evidence::verify::{Code, EvidenceStatus, TrustFile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The sessions of one card and seat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditedChain {
    pub key: String,
    pub seat: u16,
    /// Serial of the first and the last session.
    pub first: u64,
    pub last: u64,
    pub totals: SessionTotals,
    pub days: Vec<ChainDay>,
}

/// The sessions of one card and seat that began on one day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainDay {
    /// Absent if no witness saw these sessions.
    pub day: Option<String>,
    pub totals: SessionTotals,
}

/// Sums over sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTotals {
    pub sessions: u64,
    pub affirmed: u64,
    pub warned: u64,
    pub contradicted: u64,
    pub streams: u64,
    pub records: u64,
    pub signed_records: u64,
    pub admits: u64,
    pub rejects: u64,
}

impl SessionTotals {
    fn add(&mut self, session: &AuditedSession) {
        self.sessions += 1;
        match session.status {
            EvidenceStatus::Affirmed => self.affirmed += 1,
            EvidenceStatus::Warned => self.warned += 1,
            EvidenceStatus::Contradicted => self.contradicted += 1,
        }
        self.streams = self.streams.saturating_add(session.streams);
        self.records = self.records.saturating_add(session.records);
        self.signed_records = self.signed_records.saturating_add(session.signed_records);
        self.admits = self.admits.saturating_add(session.admits);
        self.rejects = self.rejects.saturating_add(session.rejects);
    }
}

/// The answer of an audit. Equal evidence gives an equal answer, wherever and in whatever order it was computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditAnswer {
    #[serde(deserialize_with = "crate::session::status")]
    pub status: EvidenceStatus,
    /// As for `portcullis verify`: 3 contradicted, else 10 simulated or not enforced, else 5 warned, else 0.
    pub exit_code: u8,
    /// Everything that is not affirmed, contradictions first.
    pub findings: Vec<AuditFinding>,
    pub totals: SessionTotals,
    pub chains: Vec<AuditedChain>,
    /// Sessions, by card, seat and serial.
    pub sessions: Vec<AuditedSession>,
    /// The issuer's public log, if one was given and can be trusted.
    pub public_log: Option<CheckedPublicLog>,
    /// The files of the trust folder, with their SHA-256.
    pub trust: BTreeMap<String, String>,
    /// The largest number of streams that were replayed per session; 0 means that nothing was replayed.
    pub sample: u64,
}

impl AuditAnswer {
    /// Joins the outcomes of all units with the findings about several bundles and about the tables. An audit without
    /// any bundle affirms nothing.
    #[must_use]
    pub fn new(
        outcomes: Vec<VerifyTaskOutcome>,
        mut findings: Vec<AuditFinding>,
        trust: &[TrustFile],
        sample: u64,
    ) -> Self {
        let mut sessions = Vec::new();
        for outcome in outcomes {
            findings.extend(outcome.findings);
            sessions.push(outcome.session);
        }
        let place = |session: &AuditedSession| (session.key.clone(), session.seat, session.serial);
        sessions.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| (&a.name, &a.bundle).cmp(&(&b.name, &b.bundle))));
        findings.sort_by(AuditFinding::compare);
        let least = if sessions.is_empty() { EvidenceStatus::Warned } else { EvidenceStatus::Affirmed };
        let all = sessions.iter().map(|session| session.status).chain(findings.iter().map(|finding| finding.status));
        let status = all.fold(least, EvidenceStatus::max);
        let not_enforced = Code::NotEnforced.id();
        let simulated = sessions.iter().any(|session| session.simulated);
        let mut totals = SessionTotals::default();
        sessions.iter().for_each(|session| totals.add(session));
        Self {
            status,
            exit_code: status.exit_code(simulated || findings.iter().any(|finding| finding.code == not_enforced)),
            findings,
            totals,
            chains: chains(&sessions),
            sessions,
            public_log: None,
            trust: trust.iter().map(|file| (file.name.clone(), file.digest.to_string())).collect(),
            sample,
        }
    }
}

/// The chains of sessions that are sorted by card, seat and serial. Sessions with a ticket of the operator are in no
/// chain.
fn chains(sessions: &[AuditedSession]) -> Vec<AuditedChain> {
    let mut chains: BTreeMap<(&str, u16), AuditedChain> = BTreeMap::new();
    let mut days: BTreeMap<(&str, u16), BTreeMap<Option<String>, SessionTotals>> = BTreeMap::new();
    for session in sessions.iter().filter(|session| !session.self_issued) {
        let (Some(key), Some(seat), Some(serial)) = (&session.key, session.seat, session.serial) else { continue };
        let empty = || AuditedChain {
            key: key.clone(),
            seat,
            first: serial,
            last: serial,
            totals: SessionTotals::default(),
            days: Vec::new(),
        };
        let chain = chains.entry((key, seat)).or_insert_with(empty);
        chain.last = serial;
        chain.totals.add(session);
        days.entry((key, seat)).or_default().entry(session.day()).or_default().add(session);
    }
    for (place, days) in days {
        if let Some(chain) = chains.get_mut(&place) {
            chain.days = days.into_iter().map(|(day, totals)| ChainDay { day, totals }).collect();
        }
    }
    chains.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{AuditFindingSource, FleetCode};
    use crate::unit::{BundleVerifySettings, failed, verify};
    use portcullis_evidence::verify::{SeriesCode, VerifyOptions};
    use portcullis_test_support::world::World;

    #[test]
    fn of_two_sessions_and_a_broken_bundle() {
        let world = World::new();
        let trust = world.trust(false);
        let question = BundleVerifySettings { trust: &trust, options: VerifyOptions::default() };
        let outcome = |serial| {
            let files = world.session(&world.card, serial, [u8::from(serial > 1); 32]).files();
            verify(&format!("session {serial}"), "id", &files, question).unwrap()
        };
        let outcomes = vec![outcome(2), outcome(1)];
        let answer = AuditAnswer::new(outcomes.clone(), Vec::new(), &[], 0);
        assert_eq!((answer.status, answer.exit_code, answer.totals.affirmed), (EvidenceStatus::Affirmed, 0, 2));
        let serials: Vec<_> = answer.sessions.iter().map(|session| session.serial).collect();
        assert_eq!(serials, [Some(1), Some(2)]);
        let [chain] = &answer.chains[..] else { panic!("one chain") };
        assert_eq!((chain.first, chain.last, chain.seat), (1, 2, 0));
        assert_eq!(chain.days, [ChainDay { day: Some("2026-09-21".to_owned()), totals: answer.totals }]);
        let json = serde_json::to_string(&answer).unwrap();
        assert_eq!(serde_json::from_str::<AuditAnswer>(&json).unwrap(), answer);

        let warned =
            AuditFinding::of_fleet(AuditFindingSource::Fleet, FleetCode::Series(SeriesCode::Open), None, "open");
        let mut more = outcomes;
        more.insert(1, failed("broken", "id", FleetCode::Series(SeriesCode::NoBundle), "no file"));
        let answer = AuditAnswer::new(more, vec![warned], &[], 0);
        let codes: Vec<&str> = answer.findings.iter().map(|finding| &*finding.code).collect();
        assert_eq!((codes, answer.exit_code), (vec!["no-bundle", "open"], 3));
        assert_eq!(AuditAnswer::new(Vec::new(), Vec::new(), &[], 0).exit_code, 5);
    }
}
