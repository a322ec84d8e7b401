//! The unit of work: one bundle. Today's verifier and today's replay run on it, unchanged.
//!
//! A unit is a bundle and not a lane: a checkpoint signs the heads of all lanes, and heartbeats and the end of the
//! session must agree between lanes, so the verifier reads the lanes together.

use crate::finding::{Finding, FleetCode, Source};
use crate::session::Session;
use portcullis_core::hex;
use portcullis_evidence::bundle::{self, Bundle, BundleError, Files, Snapshot};
use portcullis_evidence::note::LogView;
use portcullis_evidence::ticket::{SELF_ISSUER, Ticket};
use portcullis_evidence::verify::{Code, Options, Property, Reason, ReplayCode, Report, Trust, verify_snapshot};
use portcullis_recorder::replay::{self as recorder, Sample, replay_after};
use serde::{Deserialize, Serialize};

/// Whom to trust, and how to check.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub trust: &'a Trust,
    pub options: Options,
}

/// The result of a unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub session: Session,
    pub findings: Vec<Finding>,
    /// The notes of trusted witnesses that are compared with those of other sessions.
    pub notes: Vec<LogView>,
    /// The verifier's report, exactly as `portcullis verify --json` gives it; null if the bundle is broken.
    pub report: serde_json::Value,
}

/// A bundle that could not be read. It says nothing about the evidence, so no result is kept.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unread(String);

/// Verifies a bundle. A broken bundle is a finding. Errors: [`Unread`].
pub fn verify(name: &str, id: &str, files: &dyn Files, question: Question<'_>) -> Result<Outcome, Unread> {
    let files = Snapshot::new(files);
    let report = match verify_snapshot(&files, question.trust, question.options, &mut |_| ()) {
        Ok(report) => report,
        Err(error) => return broken(name, id, &error),
    };
    let ticket = match Bundle::open(&files).and_then(|bundle| bundle.read(bundle::TICKET)) {
        Ok(ticket) => Ticket::parse(&ticket).ok(),
        Err(error) => return broken(name, id, &error),
    };
    let mut session = session(name, id, &report);
    session.ticket = ticket.map(|ticket| hex::encode(&ticket.digest));
    let findings = Finding::of_report(name, &report);
    let notes = report.session.notes.clone();
    let report = serde_json::to_value(&report).map_err(|error| Unread(error.to_string()))?;
    Ok(Outcome { session, findings, notes, report })
}

/// The outcome for a bundle that could not be opened or verified. Errors: [`Unread`] if reading failed.
pub fn broken(name: &str, id: &str, error: &BundleError) -> Result<Outcome, Unread> {
    if error.is_operational() {
        Err(Unread(error.to_string()))
    } else {
        Ok(failed(name, id, FleetCode::NoBundle, error))
    }
}

/// The outcome for a bundle about which only one finding is known.
#[must_use]
pub fn failed(name: &str, id: &str, code: FleetCode, detail: impl std::fmt::Display) -> Outcome {
    let session = Session { name: name.to_owned(), bundle: id.to_owned(), status: code.status(), ..Session::unknown() };
    let findings = vec![Finding::of_fleet(Source::Bundle, code, Some(name), detail)];
    Outcome { session, findings, notes: Vec::new(), report: serde_json::Value::Null }
}

fn session(name: &str, id: &str, report: &Report) -> Session {
    let summary = &report.session;
    let has = |code: Code| report.properties.complete.reasons.iter().any(|reason| reason.code == code);
    Session {
        name: name.to_owned(),
        bundle: id.to_owned(),
        status: report.status,
        simulated: report.simulated,
        assurance: report.assurance.map(|level| format!("{level:?}")),
        properties: Property::ALL
            .into_iter()
            .map(|property| (property.name().to_owned(), report.properties.of(property).status.name().to_owned()))
            .collect(),
        key: summary.key_id.map(|key| key.to_string()),
        seat: summary.seat,
        serial: summary.ticket_serial,
        issuer: summary.issuer.as_ref().map(|issuer| issuer.claimed.clone()),
        issuer_key: summary.issuer.as_ref().and_then(|issuer| issuer.key).map(|key| key.to_string()),
        self_issued: summary.issuer.as_ref().is_some_and(|issuer| issuer.claimed == SELF_ISSUER),
        ticket: None,
        policy: summary.policy_digest.map(|digest| digest.to_string()),
        previous_close: summary.previous_close.filter(|digest| digest.0 != [0; 32]).map(|digest| digest.to_string()),
        last_checkpoint: summary.last_checkpoint.map(|digest| digest.to_string()),
        closed: !has(Code::NotClosed),
        known: !has(Code::UnknownVersion),
        witnessed: summary.witnessed,
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
    pub findings: Vec<Finding>,
}

/// Replays at most `streams` streams of a bundle, drawn by `seed`; they may continue streams of the earlier bundles.
/// Errors: [`Unread`] if a bundle could not be read, or if the replay itself failed.
pub fn replay(
    name: &str,
    earlier: &[&dyn Files],
    files: &dyn Files,
    (streams, seed): (u64, &str),
) -> Result<ReplayOutcome, Unread> {
    let earlier: Vec<Snapshot<'_>> = earlier.iter().map(|files| Snapshot::new(*files)).collect();
    let files = Snapshot::new(files);
    let report = match replay_after(&earlier, &files, Some(Sample { streams, seed }), &mut || ()) {
        Ok(report) => report,
        Err(recorder::Error::Bundle(error)) if !error.is_operational() => recorder::ReplayReport::broken(&error),
        Err(error) => return Err(Unread(error.to_string())),
    };
    let finding = |reason: &Reason<ReplayCode>| {
        Finding::of_reason(Source::Replay, name, reason, reason.code.id(), reason.code.remedy())
    };
    let findings = report.reasons.iter().map(finding).collect();
    Ok(ReplayOutcome { streams: report.streams, replayed: report.replayed, records: report.records, findings })
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_evidence::bundle::MemoryFiles;
    use portcullis_evidence::verify::Status;
    use portcullis_test_support::world::World;

    #[test]
    fn the_outcome_is_the_verifiers() {
        let world = World::new();
        let trust = world.trust(false);
        let question = Question { trust: &trust, options: Options::default() };
        let parts = world.honest();
        let outcome = verify("one", "id", &parts.files(), question).unwrap();
        let report = world.check(&parts.files());
        assert_eq!(outcome.report, serde_json::to_value(&report).unwrap());
        assert_eq!((outcome.session.status, outcome.findings.len()), (Status::Affirmed, 0));
        assert_eq!((outcome.session.serial, outcome.session.closed, outcome.session.known), (Some(1), true, true));
        let json = serde_json::to_string(&outcome).unwrap();
        assert_eq!(serde_json::from_str::<Outcome>(&json).unwrap(), outcome);
    }

    #[test]
    fn a_broken_bundle_is_a_finding_and_a_missing_one_an_error() {
        let world = World::new();
        let trust = world.trust(false);
        let question = Question { trust: &trust, options: Options::default() };
        let mut files = world.honest().files();
        files.0.remove(bundle::IMAGE);
        let outcome = verify("one", "id", &files, question).unwrap();
        assert_eq!(outcome.findings[0].code, "no-bundle");
        assert_eq!(outcome.session.status, Status::Contradicted);
        let nowhere = bundle::Directory::new("/nowhere/at/all");
        assert!(verify("one", "id", &nowhere, question).is_err());
        let outcome = verify("one", "id", &MemoryFiles::default(), question).unwrap();
        assert_eq!(outcome.findings[0].code, "no-bundle");
    }

    #[test]
    fn a_real_session_replays() {
        let world = World::new();
        let files = portcullis_test_sessions::session(&world, &world.card, 1).files();
        let replayed = replay("one", &[], &files, (100, "seed")).unwrap();
        assert_eq!((replayed.streams, replayed.replayed), (4, 4), "{:?}", replayed.findings);
        assert_eq!(replayed.findings, []);
    }
}
