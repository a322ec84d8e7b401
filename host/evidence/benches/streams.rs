//! Measures how many streams per second the verifier handles, by the size of the session, and how long it takes over a
//! bundle with 60,000 empty files. The sessions are made here, and no file of theirs is on a disk. Arguments are
//! numbers of streams in place of 1,000, 10,000 and 100,000.
#![allow(clippy::unwrap_used, clippy::float_arithmetic, reason = "a benchmark")]

use portcullis_core::wire::Determination;
use portcullis_evidence::bundle::{self, MemoryFiles};
use portcullis_evidence::extract::extract;
use portcullis_evidence::receipt::prove;
use portcullis_evidence::verify::{EvidenceStatus, VerifyOptions, verify};
use portcullis_report::evidence::{EvidencePageInputs, page};
use portcullis_test_support::cost::{Reader, measure_streams, measured};
use portcullis_test_support::world::{World, context, remanifest, sha};
use std::process::ExitCode;

/// Empty files in one bundle.
const EMPTY: u64 = 60_000;

/// A session of that many streams, each with its own context document, and one admitted text.
fn session(world: &World, streams: usize) -> MemoryFiles {
    let mut parts = world.honest();
    (parts.ticket.heartbeat_records, parts.ticket.heartbeat_ticks) = (0, 0);
    parts.ticket.contexts.clear();
    parts.open();
    parts.contexts.clear();
    for stream in 0..streams {
        let id = format!("a{stream}");
        let document = context(&id, &parts.package);
        let index = parts.log.lanes.first().map_or(0, Vec::len);
        parts.log.begin(0, sha(&document));
        parts.contexts.insert(sha(&document), document);
        parts.streams.push(serde_json::json!({"lane": 0, "index": index, "stream": stream, "id": id}));
        parts.gate(0, 1, "", "The line is closed.", Determination::Admit);
        parts.end(0, 2, "");
    }
    parts.log.close();
    parts.files()
}

fn main() -> ExitCode {
    let world = World::new();
    let trust = world.trust(false);
    let read = |files: &MemoryFiles| {
        let report = verify(files, &trust, VerifyOptions::default(), &mut |_| ()).unwrap();
        assert_eq!(report.status, EvidenceStatus::Affirmed, "{:#?}", report.properties);
        assert!(!page(&report, &EvidencePageInputs::default()).is_empty());
    };
    let take_out = |files: &MemoryFiles| {
        let folder = tempfile::tempdir().unwrap();
        extract(files, &folder.path().join("parts")).unwrap();
    };
    let readers: [Reader<'_, MemoryFiles>; 3] =
        [("verify and report", &read), ("prove", &|files| drop(prove(files, 0, 2).unwrap())), ("extract", &take_out)];
    let are_steady = measure_streams(&readers, |streams| session(&world, streams));
    for (what, name) in [("witness/", bundle::witness as fn(u64) -> String), ("contexts/", empty_context)] {
        let mut files = world.honest().files();
        files.0.extend((100..100 + EMPTY).map(|number| (name(number), Vec::new())));
        remanifest(&mut files);
        let seconds = measured(|| drop(verify(&files, &trust, VerifyOptions::default(), &mut |_| ()).unwrap()));
        println!("{EMPTY} empty files in {what}: verify {seconds:.3} s");
    }
    if are_steady { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn empty_context(number: u64) -> String {
    bundle::context(&sha(&number.to_le_bytes()))
}
