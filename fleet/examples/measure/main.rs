//! Measures the audit on generated evidence: `cargo run --release --example measure -- RECORDS`. With the feature
//! `cluster`, it also measures a cluster of two executor processes.
//!
//! The records are those of two sessions of a card in software, whose checkpoints its key signs. Their texts are not
//! disclosed, so the sessions are warned of, and not contradicted.
#![allow(
    clippy::expect_used,
    clippy::float_arithmetic,
    clippy::unwrap_used,
    reason = "a measurement that fails must stop, and rates are not decisions"
)]

#[cfg(feature = "cluster")]
mod cluster;

use portcullis_core::wire::Determination;
use portcullis_evidence::bundle::{self, MemoryFiles};
use portcullis_evidence::tree::{leaf, root};
use portcullis_evidence::verify::{EvidenceStatus, VerifyOptions, verify};
use portcullis_fleet::{
    AuditOptions, AuditStep, FleetTableStore, IngestInput, QueryPlace, SqlEngine, TrustFolder, audit, ingest,
    rows_as_json,
};
use portcullis_fleet_core::{AuditAnswer, WorkFolder};
use portcullis_test_support::world::{self, Parts, START, World, sha};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use zerocopy::IntoBytes;

/// Judged entries of one stream.
const ENTRIES: u32 = 48;
const CHECKPOINTS: usize = 8;

fn main() {
    #[cfg(feature = "cluster")]
    if cluster::is_process() {
        return;
    }
    let records: usize = std::env::args().nth(1).map_or(2_000_000, |count| count.parse().expect("a number of records"));
    let folder = tempfile::tempdir().unwrap();
    let world = World::new();
    world::write(folder.path(), &world.trust(false), &world, &MemoryFiles::default());
    let trust = TrustFolder::load(&folder.path().join("trust"), false).unwrap();
    let (mut inputs, mut roots, mut previous, mut all) = (Vec::new(), Vec::new(), [0; 32], 0);
    let mut witness_log = Vec::new();
    for serial in 1..=2 {
        let mut session = world.session(&world.card, serial, previous);
        session.witness_time = START + (serial - 1) * 100_000;
        session.witness_log = std::mem::take(&mut witness_log);
        fill(&mut session, records / 2);
        previous = sha(session.log.checkpoints.last().unwrap().as_bytes());
        witness_log = session.witness_leaves();
        let lane = session.log.lanes.first().unwrap();
        all += lane.len();
        roots.push(root(lane.iter().map(|record| leaf(record.as_bytes()))));
        inputs.push(write(&folder.path().join(format!("session {serial}")), &session.files()));
    }
    println!("{all} records in 2 bundles");

    let place = folder.path().join("tables").display().to_string();
    let tables = FleetTableStore::create(&place).unwrap();
    let begin = Instant::now();
    for input in &inputs {
        on(1, ingest(&tables, input, &mut |_| ())).unwrap();
    }
    rate("ingest, one thread", all, begin.elapsed());
    let bytes = size(&folder.path().join("tables/records"));
    println!("Parquet: {:.1} bytes per record", bytes as f64 / all as f64);

    for jobs in [1, 2] {
        let query = "SELECT serial, tree_root(tree(record)) AS root FROM records GROUP BY serial ORDER BY serial";
        let (found, time) = on(jobs, async {
            let engine = SqlEngine::new(&FleetTableStore::open(&place).await.unwrap(), jobs).await.unwrap();
            let begin = Instant::now();
            let rows = engine.query(query).await.unwrap();
            (rows_as_json(&rows).unwrap(), begin.elapsed())
        });
        assert!(roots.iter().all(|root| found.contains(&portcullis_core::hex::encode(root))), "{found}");
        rate(&format!("tree aggregate, {jobs} threads"), all, time);
    }

    let begin = Instant::now();
    for input in &inputs {
        let IngestInput::Bundle(path) = input else { continue };
        let report = verify(&*bundle::at(path).unwrap(), trust.trust(), VerifyOptions::default(), &mut |_| ()).unwrap();
        assert_ne!(report.status, EvidenceStatus::Contradicted, "{:#?}", report.properties);
    }
    rate("single verifier", all, begin.elapsed());

    let mut embedded = None;
    for jobs in [1, 2] {
        let (answer, whole, verified) = audited(&place, &trust, jobs, QueryPlace::Here);
        rate(&format!("audit, {jobs} threads: verification"), all, verified);
        rate(&format!("audit, {jobs} threads: all of it"), all, whole);
        embedded = Some((answer, whole));
    }
    #[cfg(feature = "cluster")]
    cluster::measure(&place, &trust, all, &embedded.unwrap());
    #[cfg(not(feature = "cluster"))]
    drop(embedded);
}

/// An audit, the time that it took, and the time until the last bundle was verified.
fn audited(tables: &str, trust: &TrustFolder, jobs: usize, place: QueryPlace) -> (AuditAnswer, Duration, Duration) {
    let times = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&times);
    let options = AuditOptions {
        trust: trust.clone(),
        options: VerifyOptions::default(),
        public_log: None,
        work: WorkFolder::default(),
        program: "measure".to_owned(),
        sample: 0,
        seed: None,
        jobs,
        place,
        progress: Arc::new(move |step| {
            seen.lock().unwrap().push((step, Instant::now()));
            Ok(())
        }),
    };
    let begin = Instant::now();
    let answer = on(jobs, async { audit(&FleetTableStore::open(tables).await.unwrap(), &options).await.unwrap() });
    let whole = begin.elapsed();
    assert_ne!(answer.status, EvidenceStatus::Contradicted, "{:#?}", answer.findings);
    let times = times.lock().unwrap();
    let verified = times.iter().filter(|(step, _)| *step == AuditStep::Verified).map(|(_, at)| *at).max();
    (answer, whole, verified.unwrap().duration_since(begin))
}

/// Gives a session about this many records.
fn fill(session: &mut Parts, records: usize) {
    (session.ticket.heartbeat_records, session.ticket.heartbeat_ticks) = (0, 0);
    session.open();
    let context = sha(session.contexts.values().next().unwrap());
    let mut count = 0u64;
    for part in 1..=CHECKPOINTS {
        while session.log.lanes.first().unwrap().len() < records * part / CHECKPOINTS {
            let slot = (count % 64) as u16;
            session.log.begin(slot, context);
            for sequence in 1..=ENTRIES {
                count += 1;
                let text = sha(&count.to_le_bytes());
                let admit = if text.first().is_some_and(|byte| byte % 8 == 0) {
                    Determination::Reject
                } else {
                    Determination::Admit
                };
                session.log.gate(slot, sequence, text, admit);
                session.log.describe(slot, 20 + u16::from(text.last().copied().unwrap_or_default()), false);
            }
            session.log.end(slot, ENTRIES + 1, sha(b"end"));
        }
        if part == CHECKPOINTS {
            session.log.close();
        } else {
            session.log.checkpoint();
        }
    }
}

fn write(folder: &Path, files: &MemoryFiles) -> IngestInput {
    for (name, content) in &files.0 {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    IngestInput::Bundle(folder.to_owned())
}

fn on<T>(threads: usize, future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap();
    runtime.block_on(future)
}

fn rate(what: &str, records: usize, time: Duration) {
    println!("{what}: {:.2} M records/s ({:.2} s)", records as f64 / time.as_secs_f64() / 1e6, time.as_secs_f64());
}

/// Bytes of all files below a folder.
fn size(folder: &Path) -> u64 {
    let of = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() { size(&entry.path()) } else { entry.metadata().unwrap().len() }
    };
    fs::read_dir(folder).unwrap().map(of).sum()
}
