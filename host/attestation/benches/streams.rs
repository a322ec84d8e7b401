//! Measures how many streams per second replay, check and attest handle, by the size of the session; the bench of the
//! same name in host/evidence measures the verifier alone. The sessions are made here, under a policy of the test
//! support, and no file of theirs is on a disk. Arguments are numbers of streams in place of 1,000, 10,000 and 100,000.
#![allow(clippy::unwrap_used, reason = "a benchmark")]

use portcullis_attestation::{AttestationPeriod, AttestationRequest, NamedBundle, attest, page};
use portcullis_audit::{check, replay};
use portcullis_core::hex::HexBytes;
use portcullis_evidence::bundle::{MemoryFiles, SnapshotFiles};
use portcullis_evidence::verify::{EvidenceStatus, VerifyOptions};
use portcullis_test_sessions::session_of;
use portcullis_test_support::cost::{Reader, measure_streams};
use portcullis_test_support::world::World;
use std::process::ExitCode;

/// The sessions are of texts that were complete before they were judged.
const ACCEPTING: VerifyOptions = VerifyOptions { allow_sim: false, allow_not_enforced: true, at: None };

fn main() -> ExitCode {
    let world = World::new();
    let trust = world.trust(false);
    let replay = |files: &MemoryFiles| {
        let replayed = replay(&SnapshotFiles::new(files), None, &mut || ()).unwrap();
        assert_eq!(replayed.status, EvidenceStatus::Affirmed);
    };
    let check = |files: &MemoryFiles| {
        let checked = check(files, &trust, ACCEPTING, &mut |_| (), &mut || ()).unwrap();
        assert_eq!(checked.status, EvidenceStatus::Affirmed);
    };
    let attest = |files: &MemoryFiles| {
        let day = |day: &str| day.parse().unwrap();
        let question = AttestationRequest {
            by: "Operator".to_owned(),
            program: "bench".to_owned(),
            period: AttestationPeriod::new(day("2026-09-01"), day("2026-10-30")).unwrap(),
            dated: day("2026-10-30"),
            sample: u64::MAX,
            seed: None,
        };
        let given = [NamedBundle { name: "1".to_owned(), files: Ok(Box::new(files.clone())) }];
        let statement = attest(&question, &given, &trust, None, ACCEPTING, &mut |_| ()).unwrap();
        assert!(!page(&statement, &HexBytes([0; 32])).is_empty());
    };
    let readers: [Reader<'_, MemoryFiles>; 3] =
        [("replay", &replay), ("check", &check), ("attest, all streams replayed", &attest)];
    let are_steady = measure_streams(&readers, |streams| session_of(&world, &world.card, streams).files());
    if are_steady { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
