//! Measures how many streams per second replay, check and attest handle, by the size of the session; the bench of the
//! same name in host/evidence measures the verifier alone. The rate of the largest size must be at least half of the
//! best rate: the cost of a stream does not depend on how many there are.
//!
//! The sessions are made here, under a policy of the test support, and no file of theirs is on a disk. Arguments are
//! numbers of streams in place of 1,000, 10,000 and 100,000.
#![allow(clippy::unwrap_used, clippy::float_arithmetic, reason = "a benchmark")]

use portcullis_attestation::{Given, Period, Question, attest, page};
use portcullis_core::hex::Hex;
use portcullis_evidence::bundle::{MemoryFiles, Snapshot};
use portcullis_evidence::verify::{Options, Status, Trust};
use portcullis_recorder::check;
use portcullis_recorder::replay::replay;
use portcullis_test_sessions::session_of;
use portcullis_test_support::cost::{are_steady, measured};
use portcullis_test_support::world::World;
use std::process::ExitCode;

/// The sessions are of texts that were complete before they were judged.
const ACCEPTING: Options = Options { allow_sim: false, allow_not_enforced: true, at: None };
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

type Reader = (&'static str, fn(&MemoryFiles, &Trust));

const READERS: [Reader; 3] = [
    ("replay", |files, _| {
        let replayed = replay(&Snapshot::new(files), None, &mut || ()).unwrap();
        assert_eq!(replayed.status, Status::Affirmed);
    }),
    ("check", |files, trust| {
        let checked = check(files, trust, ACCEPTING, &mut |_| (), &mut || ()).unwrap();
        assert_eq!(checked.status, Status::Affirmed);
    }),
    ("attest, all streams replayed", |files, trust| {
        let day = |day: &str| day.parse().unwrap();
        let question = Question {
            by: "Operator".to_owned(),
            program: "bench".to_owned(),
            period: Period::new(day("2026-09-01"), day("2026-10-30")).unwrap(),
            dated: day("2026-10-30"),
            sample: u64::MAX,
            seed: None,
        };
        let given = [Given { name: "1".to_owned(), files: Ok(Box::new(files.clone())) }];
        let statement = attest(&question, &given, trust, None, ACCEPTING, &mut |_| ()).unwrap();
        assert!(!page(&statement, &Hex([0; 32])).is_empty());
    }),
];

fn main() -> ExitCode {
    let given: Vec<usize> = std::env::args().filter_map(|size| size.parse().ok()).collect();
    let sizes = if given.is_empty() { SIZES.to_vec() } else { given };
    let world = World::new();
    let trust = world.trust(false);
    let mut rates = vec![Vec::new(); READERS.len()];
    for streams in &sizes {
        let files = session_of(&world, &world.card, *streams).files();
        println!("{streams} streams, {} files", files.0.len());
        for ((name, read), rates) in READERS.iter().zip(&mut rates) {
            let seconds = measured(|| read(&files, &trust));
            let rate = *streams as f64 / seconds;
            println!("  {name}: {seconds:.3} s, {rate:.0} streams/s");
            rates.push(rate);
        }
    }
    let rates = READERS.iter().zip(&rates).map(|((name, _), rates)| (*name, &**rates));
    if are_steady(rates) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
