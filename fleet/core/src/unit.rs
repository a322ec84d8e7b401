//! The unit of work: one bundle. Today's verifier and today's replay run on it, unchanged.
//!
//! A unit is a bundle and not a lane: a checkpoint signs the heads of all lanes, and heartbeats and the end of the
//! session must agree between lanes, so the verifier reads the lanes together.

use crate::finding::{AuditFinding, AuditFindingSource, FleetCode};
use crate::session::AuditedSession;
use portcullis_audit::{AuditError, EarlierBundles, ReplayReport, StreamSample};
use portcullis_core::hex::HexBytes;
use portcullis_evidence::bundle::{BundleError, BundleFiles, SnapshotFiles};
use portcullis_evidence::verify::judge::SessionFacts;
use portcullis_evidence::verify::{
    BundleProperty, ReplayCode, SeriesCode, StatusReason, TrustedParties, VerifyOptions, VerifyReport, verify_snapshot,
};
use serde::{Deserialize, Serialize};

/// Whom to trust, and how to check.
#[derive(Clone, Copy, Debug)]
pub struct BundleVerifySettings<'a> {
    pub trust: &'a TrustedParties,
    pub options: VerifyOptions,
}

/// The result of a unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerifyTaskOutcome {
    pub session: AuditedSession,
    pub findings: Vec<AuditFinding>,
    /// What is compared with other sessions; absent if the bundle is broken.
    pub facts: Option<SessionFacts>,
    /// The verifier's report, exactly as `portcullis verify --json` gives it; null if the bundle is broken.
    pub report: serde_json::Value,
}

/// A bundle that could not be read. It says nothing about the evidence, so no result is kept.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UnreadBundleError(String);

/// Verifies a bundle. A broken bundle is a finding. Errors: [`UnreadBundleError`].
pub fn verify(
    name: &str,
    id: &str,
    files: &dyn BundleFiles,
    question: BundleVerifySettings<'_>,
) -> Result<VerifyTaskOutcome, UnreadBundleError> {
    let files = SnapshotFiles::new(files);
    let report = match verify_snapshot(&files, question.trust, question.options, &mut |_| ()) {
        Ok(report) => report,
        Err(error) => return broken(name, id, &error),
    };
    let facts = SessionFacts::new(name, &report);
    let session = session(id, &facts, &report);
    let findings = AuditFinding::of_report(name, &report);
    let report = serde_json::to_value(&report).map_err(|error| UnreadBundleError(error.to_string()))?;
    Ok(VerifyTaskOutcome { session, findings, facts: Some(facts), report })
}

/// The outcome for a bundle that could not be opened or verified. Errors: [`UnreadBundleError`] if reading failed.
pub fn broken(name: &str, id: &str, error: &BundleError) -> Result<VerifyTaskOutcome, UnreadBundleError> {
    if error.is_operational() {
        Err(UnreadBundleError(error.to_string()))
    } else {
        Ok(failed(name, id, FleetCode::Series(SeriesCode::NoBundle), error))
    }
}

/// The outcome for a bundle about which only one finding is known.
#[must_use]
pub fn failed(name: &str, id: &str, code: FleetCode, detail: impl std::fmt::Display) -> VerifyTaskOutcome {
    let session = AuditedSession {
        name: name.to_owned(),
        bundle: id.to_owned(),
        status: code.status(),
        ..AuditedSession::unknown()
    };
    let findings = vec![AuditFinding::of_fleet(AuditFindingSource::Bundle, code, Some(name), detail)];
    VerifyTaskOutcome { session, findings, facts: None, report: serde_json::Value::Null }
}

fn session(id: &str, facts: &SessionFacts, report: &VerifyReport) -> AuditedSession {
    let summary = &report.session;
    let text = |digest: Option<HexBytes<32>>| digest.map(|digest| digest.to_string());
    AuditedSession {
        name: facts.name.clone(),
        bundle: id.to_owned(),
        status: report.status,
        simulated: report.simulated,
        assurance: report.assurance.map(|level| format!("{level:?}")),
        properties: BundleProperty::ALL
            .into_iter()
            .map(|property| (property.name().to_owned(), report.properties.of(property).status.name().to_owned()))
            .collect(),
        key: text(facts.key),
        seat: facts.seat,
        serial: facts.serial,
        issuer: summary.issuer.as_ref().map(|issuer| issuer.claimed.clone()),
        issuer_key: text(facts.issuer),
        self_issued: facts.is_self_issued,
        ticket: text(facts.ticket),
        policy: text(facts.policy),
        previous_close: text(facts.previous_close),
        last_checkpoint: text(facts.last_checkpoint),
        closed: facts.is_closed,
        known: facts.is_known,
        witnessed: facts.witnessed,
        lanes: summary.lanes,
        checkpoints: summary.checkpoints,
        records: summary.records,
        signed_records: summary.signed_records,
        streams: summary.counts.streams,
        continued: summary.continued,
        admits: summary.counts.admits,
        rejects: summary.counts.rejects,
        tables: None,
        replay: None,
    }
}

/// What a replay of a sample found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayOutcome {
    pub streams: u64,
    pub replayed: u64,
    /// Number of records that equal those of the replay.
    pub records: u64,
    pub findings: Vec<AuditFinding>,
}

/// A bundle of a chain.
pub struct ChainBundle<'a> {
    pub name: &'a str,
    pub files: &'a dyn BundleFiles,
    /// Whether a sample of its streams is drawn. Otherwise it is only there for the bundles after it.
    pub is_asked: bool,
}

/// Replays at most `streams` streams of each bundle that is asked about, drawn by `seed`. They may continue streams of
/// the bundles before it. Each bundle is replayed whole once at most, however many come after it. The outcomes are in
/// the order of the bundles. Errors: [`UnreadBundleError`] if a bundle could not be read, or if the replay itself
/// failed.
pub fn replay(
    chain: &[ChainBundle<'_>],
    (streams, seed): (u64, &str),
) -> Result<Vec<ReplayOutcome>, UnreadBundleError> {
    let failed = |error: AuditError| UnreadBundleError(error.to_string());
    let mut before = EarlierBundles::default();
    for bundle in chain.iter().filter(|bundle| bundle.is_asked && chain.len() > 1) {
        before.want(&SnapshotFiles::new(bundle.files)).map_err(failed)?;
    }
    let mut outcomes = Vec::new();
    for (at, bundle) in chain.iter().enumerate() {
        let files = SnapshotFiles::new(bundle.files);
        if bundle.is_asked {
            let report = before.replay(&files, Some(StreamSample { streams, seed }), &mut || ()).map_err(failed)?;
            outcomes.push(replayed(bundle.name, &report));
        }
        if at + 1 < chain.len() {
            before.add(&files, &mut || ()).map_err(failed)?;
        }
    }
    Ok(outcomes)
}

fn replayed(name: &str, report: &ReplayReport) -> ReplayOutcome {
    let finding = |reason: &StatusReason<ReplayCode>| {
        AuditFinding::of_reason(AuditFindingSource::Replay, name, reason, reason.code.id(), reason.code.remedy())
    };
    let findings = report.reasons.iter().map(finding).collect();
    ReplayOutcome { streams: report.streams, replayed: report.replayed, records: report.records, findings }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_evidence::bundle::{self, MemoryFiles};
    use portcullis_evidence::verify::EvidenceStatus;
    use portcullis_test_support::world::World;
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::io::Read;

    #[test]
    fn the_outcome_is_the_verifiers() {
        let world = World::new();
        let trust = world.trust(false);
        let question = BundleVerifySettings { trust: &trust, options: VerifyOptions::default() };
        let parts = world.honest();
        let outcome = verify("one", "id", &parts.files(), question).unwrap();
        let report = world.check(&parts.files());
        assert_eq!(outcome.report, serde_json::to_value(&report).unwrap());
        assert_eq!((outcome.session.status, outcome.findings.len()), (EvidenceStatus::Affirmed, 0));
        assert_eq!((outcome.session.serial, outcome.session.closed, outcome.session.known), (Some(1), true, true));
        let json = serde_json::to_string(&outcome).unwrap();
        assert_eq!(serde_json::from_str::<VerifyTaskOutcome>(&json).unwrap(), outcome);
    }

    #[test]
    fn a_broken_bundle_is_a_finding_and_a_missing_one_an_error() {
        let world = World::new();
        let trust = world.trust(false);
        let question = BundleVerifySettings { trust: &trust, options: VerifyOptions::default() };
        let mut files = world.honest().files();
        files.0.remove(bundle::IMAGE);
        let outcome = verify("one", "id", &files, question).unwrap();
        assert_eq!(outcome.findings[0].code, "no-bundle");
        assert_eq!(outcome.session.status, EvidenceStatus::Contradicted);
        let nowhere = bundle::DirectoryFiles::new("/nowhere/at/all");
        assert!(verify("one", "id", &nowhere, question).is_err());
        let outcome = verify("one", "id", &MemoryFiles::default(), question).unwrap();
        assert_eq!(outcome.findings[0].code, "no-bundle");
    }

    #[test]
    fn a_real_session_replays() {
        let world = World::new();
        let files = portcullis_test_sessions::session(&world, &world.card, 1).files();
        let asked = ChainBundle { name: "one", files: &files, is_asked: true };
        let replayed = replay(&[asked], (100, "seed")).unwrap();
        let [replayed] = &*replayed else { panic!("{replayed:?}") };
        assert_eq!((replayed.streams, replayed.replayed), (4, 4), "{:?}", replayed.findings);
        assert_eq!(replayed.findings, []);
    }

    /// Counts how often a file with texts is opened.
    struct Opened<'a>(&'a MemoryFiles, &'a Cell<usize>);

    impl BundleFiles for Opened<'_> {
        fn names(&self) -> Result<BTreeMap<String, u64>, BundleError> {
            self.0.names()
        }

        fn open(&self, name: &str) -> Result<Box<dyn Read + '_>, BundleError> {
            self.1.set(self.1.get() + usize::from(name.contains("inputs")));
            self.0.open(name)
        }
    }

    /// Each session continues the one before it, and no bundle is read more often because more bundles follow it.
    #[test]
    fn a_chain_is_replayed_in_linear_time() {
        let world = World::new();
        let files: Vec<MemoryFiles> =
            portcullis_test_sessions::continuing_sessions(&world, 8).iter().map(|session| session.files()).collect();
        let opens = |bundles: usize| {
            let counts: Vec<Cell<usize>> = files.iter().map(|_| Cell::new(0)).collect();
            let opened: Vec<Opened<'_>> =
                files.iter().zip(&counts).map(|(files, count)| Opened(files, count)).collect();
            let chain = opened[..bundles].iter().map(|files| ChainBundle { name: "a", files, is_asked: true });
            let replayed = replay(&chain.collect::<Vec<_>>(), (100, "seed")).unwrap();
            // The state of every stream before was there; see `continuing_sessions`.
            for (at, one) in replayed.iter().enumerate() {
                let codes: Vec<_> = one.findings.iter().map(|finding| &*finding.code).collect();
                let expected: &[&str] = if at == 0 { &[] } else { &["replay-differs"] };
                assert_eq!((one.replayed, &*codes), (4 - expected.len() as u64, expected), "{replayed:#?}");
            }
            assert_eq!(replayed.len(), bundles);
            counts[0].get()
        };
        assert!(opens(4) > 0);
        assert_eq!(opens(4), opens(8));
        // A bundle whose predecessors are not there.
        let alone = ChainBundle { name: "a", files: &files[3], is_asked: true };
        let replayed = replay(&[alone], (100, "seed")).unwrap();
        assert_eq!(replayed[0].findings[0].code, "replay-predecessor");
    }
}
