//! What a statement says about a period, with honest sessions and with operators who hide some.
//!
//! Session n of the card runs on a day of its own: 1 on 21 September 2026, then 22, 23, 25, 26 and 27 September.
#![cfg(test)]

use ed25519_dalek::SigningKey;
use portcullis_attestation::{
    AttestationFindingSource, AttestationPeriod, AttestationRequest, NamedBundle, PeriodStatement, attest, page,
};
use portcullis_core::hex::HexBytes;
use portcullis_core::wire::Determination;
use portcullis_evidence::bundle::{self, BundleError, BundleManifest, MemoryFiles};
use portcullis_evidence::certificate::key_id;
use portcullis_evidence::public_log::{HeadError, LogPolicy, PublicLogEventKind, ReadError, TrustedPublicLog};
use portcullis_evidence::ticket::ChainId;
use portcullis_evidence::verify::series::{ChainStart, GivenLog, join};
use portcullis_evidence::verify::{EvidenceStatus, SeriesCode, VerifyOptions};
use portcullis_test_support::world::lies::{events, lies};
use portcullis_test_support::world::{END, Parts, START, World, log_policy, sha, write_log};
use std::collections::BTreeSet;

/// The sessions 2, 3 and 4.
const PERIOD: (&str, &str) = ("2026-09-22", "2026-09-25");

struct Scene {
    world: World,
    sessions: Vec<Parts>,
}

impl Scene {
    /// Six sessions, each of which names the end of the one before.
    fn new() -> Self {
        Self::of_seat(0)
    }

    fn of_seat(seat: u16) -> Self {
        let world = World::new();
        let (mut sessions, mut previous): (Vec<Parts>, _) = (Vec::new(), [0; 32]);
        for serial in 1..=6 {
            let mut session = world.session(&world.card, serial, previous);
            session.witness_log = sessions.last().map(Parts::witness_leaves).unwrap_or_default();
            session.witness_time = START + (serial - 1) * 100_000;
            session.ticket.seat = seat;
            session.play();
            previous = session.closed_by();
            sessions.push(session);
        }
        Self { world, sessions }
    }

    fn session(&self, serial: usize) -> MemoryFiles {
        self.sessions[serial - 1].files()
    }

    /// The statement about these bundles.
    fn about(&self, bundles: Vec<(&str, MemoryFiles)>) -> PeriodStatement {
        let given =
            |(name, files): (&str, MemoryFiles)| NamedBundle { name: name.to_owned(), files: Ok(Box::new(files)) };
        self.of(bundles.into_iter().map(given).collect())
    }

    fn of(&self, bundles: Vec<NamedBundle>) -> PeriodStatement {
        self.beside(bundles, None)
    }

    /// The statement about these sessions, beside a public log with the first sessions that witnesses saw at `seen`.
    fn logged(&self, serials: &[usize], logged: usize, seen: u64) -> PeriodStatement {
        self.logged_as(serials, logged, seen, |session| sha(&session.ticket_bytes()))
    }

    /// As [`Scene::logged`], with these tickets in the log.
    fn logged_as(
        &self,
        serials: &[usize],
        logged: usize,
        seen: u64,
        ticket: fn(&Parts) -> [u8; 32],
    ) -> PeriodStatement {
        let folder = tempfile::tempdir().unwrap();
        let chain = ChainId { key: key_id(&self.world.card.key.public_key()), seat: 0 };
        let events = self.sessions[..logged].iter().flat_map(|session| {
            let ticket = ticket(session);
            let kinds = [PublicLogEventKind::Issued, PublicLogEventKind::Opened, PublicLogEventKind::Closed];
            kinds.map(|kind| (chain, session.ticket.serial, kind, ticket))
        });
        write_log(folder.path(), &self.world, &events.collect::<Vec<_>>(), seen);
        let policy = LogPolicy::parse(&log_policy(&self.world)).unwrap();
        let log = GivenLog::new(Some(TrustedPublicLog::read(folder.path(), &policy)), &policy);
        let given =
            |serial: &usize| NamedBundle { name: serial.to_string(), files: Ok(Box::new(self.session(*serial))) };
        self.beside(serials.iter().map(given).collect(), Some(&log))
    }

    fn beside(&self, bundles: Vec<NamedBundle>, log: Option<&GivenLog>) -> PeriodStatement {
        let (from, to) = PERIOD;
        let question = AttestationRequest {
            by: "Operator".to_owned(),
            program: "test".to_owned(),
            period: AttestationPeriod::new(from.parse().unwrap(), to.parse().unwrap()).unwrap(),
            dated: to.parse().unwrap(),
            // The package of these bundles is not one that a replay could use.
            sample: 0,
            seed: None,
        };
        attest(&question, &bundles, &self.world.trust(false), log, VerifyOptions::default(), &mut |_| ()).unwrap()
    }

    fn given(&self, serials: &[usize]) -> PeriodStatement {
        let names = ["1", "2", "3", "4", "5", "6"];
        self.about(serials.iter().map(|serial| (names[serial - 1], self.session(*serial))).collect())
    }
}

/// The findings, without the one about the replay, which no test here asks for.
fn codes(statement: &PeriodStatement) -> Vec<&'static str> {
    let codes = statement.findings.iter().map(|finding| finding.code);
    codes.filter(|code| *code != "not-replayed").collect()
}

#[track_caller]
fn contradicted(statement: &PeriodStatement, code: &str) {
    assert_eq!((statement.status, statement.exit_code), (EvidenceStatus::Contradicted, 3), "{statement:#?}");
    let found = statement.findings.iter().find(|finding| finding.code == code);
    assert_eq!(
        found.map(|finding| finding.status),
        Some(EvidenceStatus::Contradicted),
        "{code}: {:#?}",
        statement.findings
    );
    assert_eq!(statement.findings[0].status, EvidenceStatus::Contradicted, "what is contradicted comes first");
}

#[test]
fn a_whole_period() {
    let scene = Scene::new();
    let statement = scene.given(&[6, 5, 4, 3, 2, 1]);
    assert_eq!((codes(&statement), statement.exit_code), (vec![], 5), "{:#?}", statement.findings);
    let chain = &statement.chains[0];
    assert_eq!((chain.first, chain.last, chain.sessions, chain.begins, chain.next), (2, 4, 3, true, Some(5)));
    let serials: Vec<_> = statement.sessions.iter().map(|session| session.serial).collect();
    assert_eq!((serials, statement.outside), (vec![Some(2), Some(3), Some(4)], 3));
    assert_eq!(statement.totals.streams, 6);
    // The order in which bundles are given changes nothing, nor do bundles far away.
    let json =
        |statement: &PeriodStatement| format!("{:?}", (&statement.sessions, &statement.totals, &statement.clauses));
    assert_eq!(json(&statement), json(&scene.given(&[1, 2, 3, 4, 5])));
    for clause in &statement.clauses {
        let open: Vec<_> = clause.shown.iter().filter(|shown| shown.status != EvidenceStatus::Affirmed).collect();
        let expected = |topic: &str| topic == "replay" || topic == "approvals";
        assert!(open.iter().all(|shown| expected(shown.topic)), "{clause:#?}");
    }
}

/// No session of the period is given, and those on both sides of it show that some are missing.
#[test]
fn all_sessions_of_a_chain_are_left_out() {
    let scene = Scene::new();
    contradicted(&scene.given(&[1, 5, 6]), "serial-missing");
    contradicted(&scene.given(&[1, 6]), "serial-missing");
    // Beside a card of which everything is given.
    let other = Scene::of_seat(1);
    let whole = || ["a", "b", "c", "d", "e", "f"].into_iter().zip((1..=6).map(|serial| other.session(serial)));
    let alone = scene.about(whole().collect());
    assert_eq!((codes(&alone), alone.exit_code), (vec![], 5), "{:#?}", alone.findings);
    let beside = whole().chain([("1", scene.session(1)), ("5", scene.session(5))]);
    contradicted(&scene.about(beside.collect()), "serial-missing");
    // Only one side is given.
    let before = scene.given(&[1]);
    assert_eq!(codes(&before), ["no-session", "end-open"], "{:#?}", before.findings);
    let after = scene.given(&[5, 6]);
    assert_eq!(codes(&after), ["no-session", "beginning-open"], "{:#?}", after.findings);
    // The log says that the first session was the last one.
    let last = scene.logged(&[1], 1, END);
    assert_eq!(codes(&last), ["no-session"], "{:#?}", last.findings);
}

/// Witnesses who saw the public log after the period show that no later ticket was given in it.
#[test]
fn the_public_log_shows_the_end() {
    let scene = Scene::new();
    let last = scene.sessions[3].witness_time;
    let after = last + 100_000;
    let shown = scene.logged(&[1, 2, 3, 4], 4, after);
    assert_eq!((codes(&shown), shown.exit_code), (vec![], 5), "{:#?}", shown.findings);
    let chain = &shown.chains[0];
    assert_eq!((chain.last, chain.next, chain.ends), (4, None, true));
    assert_eq!(shown.public_log.as_ref().map(|log| (log.entries, log.seen)), Some((12, Some(after))));
    assert!(page(&shown, &HexBytes([0; 32])).contains("the last ticket in the public log"));
    // Seen within the period, it says nothing about the rest; with a later session, it may be one of the period.
    assert_eq!(codes(&scene.logged(&[1, 2, 3, 4], 4, last)), ["end-open"]);
    assert_eq!(codes(&scene.logged(&[1, 2, 3, 4], 5, after)), ["end-open"]);
    assert_eq!(codes(&scene.logged(&[1, 2, 3, 4, 5], 6, after)), [""; 0]);
    // A session of the period that the log has, and that is not given.
    contradicted(&scene.logged(&[1, 2, 4], 4, after), "serial-missing");
    // A session whose ticket the log lacks.
    contradicted(&scene.logged(&[1, 2, 3, 4], 3, after), "log-ticket");
    // A log with other tickets does not show the end.
    let other = scene.logged_as(&[1, 2, 3, 4], 4, after, |_| [9; 32]);
    assert!(codes(&other).contains(&"end-open"), "{:#?}", other.findings);
    contradicted(&other, "log-ticket");
    // A log of others shows nothing, and is named.
    let none = GivenLog::new(Some(Err(ReadError::Head(HeadError::Log))), &LogPolicy::default());
    let given =
        || [1, 2, 3, 4].map(|n| NamedBundle { name: n.to_string(), files: Ok(Box::new(scene.session(n))) }).into();
    let untrusted = scene.beside(given(), Some(&none));
    contradicted(&untrusted, "public-log");
    assert!(codes(&untrusted).contains(&"end-open") && untrusted.public_log.is_none());
}

#[test]
fn ends_that_are_not_shown_are_open() {
    let scene = Scene::new();
    let open = scene.given(&[2, 3, 4]);
    assert_eq!(codes(&open), ["beginning-open", "end-open"]);
    assert_eq!((open.chains[0].begins, open.chains[0].next), (false, None));
    assert_eq!(codes(&scene.given(&[1, 2, 3, 4])), ["end-open"]);
    assert_eq!(codes(&scene.given(&[2, 3, 4, 5])), ["beginning-open"]);
    let open = scene.given(&[2, 3, 4]).clauses;
    let chains = open.iter().flat_map(|clause| &clause.shown).find(|shown| shown.topic == "chains").unwrap();
    assert_eq!(chains.status, EvidenceStatus::Warned);
    assert_eq!(codes(&scene.given(&[1])), ["no-session", "end-open"]);
    assert_eq!(codes(&scene.about(Vec::new())), ["no-session"]);
}

#[test]
fn a_missing_session_is_found() {
    let scene = Scene::new();
    // In the middle; the last one of the period, which the one after it shows; the first one.
    for left_out in [3, 4, 2] {
        let given: Vec<_> = (1..=6).filter(|serial| *serial != left_out).collect();
        contradicted(&scene.given(&given), "serial-missing");
    }
}

/// A bundle outside the period counts as outside only if its time and its place are proved.
#[test]
fn a_session_cannot_be_moved_out_of_the_period() {
    let scene = Scene::new();
    let others = |serial: usize| -> Vec<(&str, MemoryFiles)> {
        let all = [("1", 1), ("2", 2), ("3", 3), ("4", 4), ("5", 5), ("6", 6)];
        all.into_iter().filter(|(_, n)| *n != serial).map(|(name, n)| (name, scene.session(n))).collect()
    };
    let with = |serial: usize, files: MemoryFiles| {
        let mut given = others(serial);
        given.push(("changed", files));
        scene.about(given)
    };
    // Notes were left out, so that only one note of another time would be left.
    for note in [0, 2] {
        let mut files = scene.session(3);
        assert!(files.0.remove(&bundle::witness(note)).is_some());
        let manifest = BundleManifest::of(&files).unwrap().to_json().unwrap();
        files.0.insert(bundle::MANIFEST.to_owned(), manifest);
        let statement = with(3, files);
        assert!(codes(&statement).contains(&"undated"), "{:#?}", statement.findings);
        assert_eq!(statement.sessions.len(), 3);
    }
    // The witness saw it later than the session after it: it stays in the period, and the order is contradicted.
    let mut late = scene.sessions[2].clone();
    late.witness_time = START + 700_000;
    let statement = with(3, late.files());
    contradicted(&statement, "times-reversed");
    assert_eq!(statement.sessions.len(), 3);
    // A made session after the period, whose ticket no trusted issuer signed, shows nothing about the end.
    let mut made = scene.sessions[4].clone();
    made.issuer = SigningKey::from_bytes(&[9; 32]);
    made.play();
    let statement = scene.about(vec![("3", scene.session(3)), ("4", scene.session(4)), ("made", made.files())]);
    contradicted(&statement, "ticket-issuer");
    assert_eq!(statement.chains[0].next, None);
    // A contradicted session counts wherever it claims to be.
    let mut wrong = scene.sessions[5].clone();
    wrong.log.lanes[0][3].answer.determination ^= 1;
    let statement = with(6, wrong.files());
    contradicted(&statement, "checkpoint-root");
    assert_eq!(statement.sessions.len(), 4);
}

#[test]
fn two_histories_of_one_session_are_found() {
    let scene = Scene::new();
    let mut twin = scene.sessions[2].clone();
    twin.open();
    twin.begin(0, "a");
    twin.gate(0, 1, "", "Another text.", Determination::Admit);
    twin.end(0, 2, "");
    twin.log.close();
    // The twin claims to be of a time before the period.
    twin.witness_time = START + 50_000;
    let mut given: Vec<_> = [("1", 1), ("2", 2), ("3", 3), ("4", 4), ("5", 5)]
        .into_iter()
        .map(|(name, serial)| (name, scene.session(serial)))
        .collect();
    given.push(("twin", twin.files()));
    contradicted(&scene.about(given), "serial-twice");
    // One bundle under two names.
    let twice = vec![("3", scene.session(3)), ("4", scene.session(4)), ("4 again", scene.session(4))];
    contradicted(&scene.about(twice), "doubled");
}

#[test]
fn a_broken_bundle_is_a_finding() {
    let scene = Scene::new();
    let mut files = scene.session(3);
    files.0.remove(bundle::IMAGE);
    contradicted(&scene.about(vec![("2", scene.session(2)), ("3", files)]), "no-bundle");
    // A session that runs has no manifest yet.
    let running = NamedBundle { name: "3".to_owned(), files: Err(BundleError::unfinished()) };
    let open = scene.of(vec![running]);
    assert_eq!((codes(&open), open.exit_code), (vec!["no-session", "unfinished"], 5), "{:#?}", open.findings);
    // Beside a whole period, too, no topic is affirmed.
    let given = [1, 2, 3, 4, 5]
        .map(|serial| NamedBundle { name: serial.to_string(), files: Ok(Box::new(scene.session(serial))) });
    let running = NamedBundle { name: "9".to_owned(), files: Err(BundleError::unfinished()) };
    let beside = scene.of(given.into_iter().chain([running]).collect());
    assert_eq!(codes(&beside), ["unfinished"]);
    let mut topics = beside.clauses.iter().flat_map(|clause| &clause.shown);
    assert!(topics.all(|shown| shown.status == EvidenceStatus::Warned), "{:#?}", beside.clauses);
}

/// The statement finds each lie that `verify-series` finds, and both name the same bundle. Every code about several
/// sessions is there.
#[test]
fn what_several_bundles_show_is_found() {
    let scene = Scene::new();
    let policy = LogPolicy::parse(&log_policy(&scene.world)).unwrap();
    let mut codes = BTreeSet::new();
    for lie in lies(&scene.world) {
        let folder = tempfile::tempdir().unwrap();
        let log = lie.log.as_ref().map(|log| {
            write_log(folder.path(), &scene.world, &log.events, log.seen);
            GivenLog::new(Some(TrustedPublicLog::read(folder.path(), &policy)), &policy)
        });
        let files: Vec<_> = lie.bundles.iter().map(|(name, parts)| (name.clone(), parts.files())).collect();
        let reports = files.iter().map(|(name, files)| (name.clone(), scene.world.check(files))).collect();
        let series = join(reports, ChainStart::First, log.as_ref());
        let of_series: BTreeSet<_> =
            series.findings.iter().map(|found| (found.name.as_deref().unwrap_or_default(), found.code.id())).collect();
        assert_eq!(of_series, lie.found, "{}", lie.what);
        let statuses = series.sessions.iter().map(|session| session.status);
        let worst = series
            .findings
            .iter()
            .map(|found| found.status)
            .chain(statuses)
            .fold(EvidenceStatus::Affirmed, EvidenceStatus::max);
        assert_eq!(series.exit_code, worst.exit_code(false), "{}", lie.what);
        codes.extend(series.findings.iter().map(|found| found.code));
        let given = files.into_iter().map(|(name, files)| NamedBundle { name, files: Ok(Box::new(files)) }).collect();
        let statement = scene.beside(given, log.as_ref());
        let of_statement: BTreeSet<_> = (statement.findings.iter())
            .filter(|found| found.source == AttestationFindingSource::Series)
            .map(|found| (found.session.as_deref().unwrap_or_default(), found.code))
            .collect();
        assert_eq!(of_statement, &lie.found - &lie.not_of_period, "{}", lie.what);
    }
    // These are not about several sessions, or about a log that cannot be used.
    let others = [SeriesCode::PublicLog, SeriesCode::LogMissing, SeriesCode::NoBundle, SeriesCode::Unfinished];
    codes.extend(others);
    assert!(SeriesCode::ALL.iter().all(|code| codes.contains(code)), "{codes:?}");
}

/// Tickets behind a session that is after the period are not of the period.
#[test]
fn later_tickets_do_not_concern_an_earlier_period() {
    let scene = Scene::new();
    let mut log = events(&scene.sessions);
    log.push((scene.sessions[0].ticket.chain(), 7, PublicLogEventKind::Issued, [7; 32]));
    let folder = tempfile::tempdir().unwrap();
    write_log(folder.path(), &scene.world, &log, END);
    let policy = LogPolicy::parse(&log_policy(&scene.world)).unwrap();
    let log = GivenLog::new(Some(TrustedPublicLog::read(folder.path(), &policy)), &policy);
    let given = |n: usize| NamedBundle { name: n.to_string(), files: Ok(Box::new(scene.session(n))) };
    assert_eq!(codes(&scene.beside((1..=6).map(given).collect(), Some(&log))), [""; 0]);
}
