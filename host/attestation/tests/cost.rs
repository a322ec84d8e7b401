//! The cost of evidence grows with its files and records, and not faster: twice the streams, twice the work. `cargo
//! xtask bench evidence` measures the time.
#![cfg(test)]

use portcullis_attestation::{AttestationPeriod, AttestationRequest, NamedBundle, PeriodStatement, attest, page};
use portcullis_audit::{check, replay};
use portcullis_core::hex::HexBytes;
use portcullis_evidence::bundle::{MemoryFiles, SnapshotFiles};
use portcullis_evidence::verify::{EvidenceStatus, TrustedParties, VerifyOptions};
use portcullis_test_sessions as real;
use portcullis_test_support::cost::{Counting, assert_linear};
use portcullis_test_support::world::{Parts, World};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The sessions are of texts that were complete before they were judged.
const ACCEPTING: VerifyOptions = VerifyOptions { allow_sim: false, allow_not_enforced: true, at: None };

const SIZES: [usize; 3] = [128, 256, 512];

/// Sessions of that many streams, each with its own context document; and the trust in their card.
fn sessions() -> ([MemoryFiles; 3], TrustedParties) {
    let world = World::new();
    let made = SIZES.map(|streams| real::session_of(&world, &world.card, streams).files());
    (made, world.trust(false))
}

#[test]
fn replay_and_check_are_linear_in_the_streams() {
    let (made, trust) = sessions();
    assert_linear("replay", &made, |files| {
        let report = replay(&SnapshotFiles::new(files), None, &mut || ()).unwrap();
        assert_eq!((report.status, report.replayed), (EvidenceStatus::Affirmed, report.streams));
    });
    assert_linear("check", &made, |files| {
        let report = check(files, &trust, ACCEPTING, &mut |_| (), &mut || ()).unwrap();
        assert_eq!(report.status, EvidenceStatus::Affirmed);
    });
}

#[test]
fn a_statement_is_linear_in_the_streams() {
    let (made, trust) = sessions();
    assert_linear("attest", &made, |files| {
        let statement = about(std::slice::from_ref(files), &trust);
        assert!(
            !page(&statement, &HexBytes([0; 32])).is_empty()
                && statement.replay.is_some_and(|replay| replay.replayed > 0)
        );
    });
}

/// Each session continues a stream of the session before, so each bundle needs all bundles before it.
#[test]
fn a_statement_is_linear_in_the_bundles() {
    let world = World::new();
    let sessions: Vec<MemoryFiles> = real::continuing_sessions(&world, 16).iter().map(Parts::files).collect();
    let trust = world.trust(false);
    assert_linear("attest a chain", &[&sessions[..4], &sessions[..8], &sessions], |bundles| {
        let statement = about(bundles, &trust);
        let replay = statement.replay.as_ref().unwrap();
        let (all, first) = (4 * bundles.len() as u64, 1);
        let continued = bundles.len() as u64 - first;
        assert_eq!((replay.streams, replay.replayed), (all, all - continued), "{:#?}", statement.findings);
        // The state of every stream before was there.
        let codes: Vec<_> = statement.findings.iter().map(|finding| finding.code).collect();
        assert!(!codes.contains(&"replay-predecessor"), "{:#?}", statement.findings);
        assert_eq!(codes.iter().filter(|code| **code == "replay-differs").count() as u64, continued);
    });
}

/// The statement about these bundles, with every stream replayed.
fn about(bundles: &[MemoryFiles], trust: &TrustedParties) -> PeriodStatement {
    let day = |day: &str| day.parse().unwrap();
    let question = AttestationRequest {
        by: "Operator".to_owned(),
        program: "test".to_owned(),
        period: AttestationPeriod::new(day("2026-09-01"), day("2026-10-30")).unwrap(),
        dated: day("2026-10-30"),
        sample: u64::MAX,
        seed: None,
    };
    let given = |(number, files): (usize, &MemoryFiles)| NamedBundle {
        name: number.to_string(),
        files: Ok(Box::new(files.clone())),
    };
    let given: Vec<NamedBundle> = bundles.iter().enumerate().map(given).collect();
    attest(&question, &given, trust, None, ACCEPTING, &mut |_| ()).unwrap()
}
