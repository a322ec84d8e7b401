//! Benchmark of a span's whole path: mapping, validation, lineage, the software model of the card, commit, and ledger
//! without fsync. Criterion's "element" is a span. The three lengths of lineage show whether the cost per span grows
//! with the lineage.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark stops at its first surprise"
)]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use portcullis_card::{CardChoice, CardSession, SessionConfig, SessionError};
use portcullis_core::state::StreamTask;
use portcullis_gate::ledger::{FsyncMode, LedgerHeader, LedgerWriter};
use portcullis_gate::{GatePolicy, GateSettings, SaltKey, StreamEventKind, StreamGovernor, StreamInput};
use portcullis_policy::PolicyPackage;
use portcullis_test_support::random::Random;
use std::path::Path;
use std::sync::Arc;

const NOUNS: &[&str] =
    &["harbour", "letter", "engine", "garden", "market", "river", "teacher", "window", "council", "bridge"];
const VERBS: &[&str] = &["carried", "opened", "described", "followed", "repaired", "painted", "measured", "crossed"];

fn prose(sentences: usize) -> String {
    let mut random = Random::new(7);
    let mut pick = |list: &[&'static str]| *random.pick(list);
    let sentence =
        |_| format!("The {} {} the old {} near the {} in spring. ", pick(NOUNS), pick(VERBS), pick(NOUNS), pick(NOUNS));
    (0..sentences).map(sentence).collect()
}

fn path(c: &mut Criterion) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let package = PolicyPackage::load(&root.join("policies/pii")).unwrap();
    let compiled = package.compile().unwrap();
    let settings = GateSettings::new(SaltKey::from_bytes([7; 32]));
    let policy = Arc::new(GatePolicy::new(package, compiled).unwrap());
    let governor = Arc::new(StreamGovernor::new(Arc::clone(&policy), settings).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut group = c.benchmark_group("whole path, by length of the lineage");
    group.sample_size(10);
    for spans in [10, 1_000, 100_000] {
        let text = prose(spans);
        group.throughput(Throughput::Elements(spans as u64));
        group.bench_function(spans.to_string(), |b| {
            let setup = || {
                let card = CardChoice::Model.open().unwrap();
                let session = CardSession::open(card, &policy.compiled.image, SessionConfig::default()).unwrap();
                let file = folder.path().join("ledger");
                let _ = std::fs::remove_file(&file);
                let header = LedgerHeader::now(String::new(), String::new(), String::new(), [0; 3], String::new());
                let ledger = LedgerWriter::create(&file, &header, FsyncMode::Never).unwrap();
                let item = StreamInput::Text { id: "a".into(), text: text.clone(), task: StreamTask::default() };
                (session, ledger, item)
            };
            let run = |(mut session, mut ledger, item): (CardSession<_>, LedgerWriter, StreamInput)| {
                let mut judged = 0;
                let sink = |event: portcullis_gate::StreamEvent| -> Result<(), SessionError> {
                    judged += usize::from(matches!(event.what, StreamEventKind::Determined(_)));
                    ledger.append(&event).unwrap();
                    Ok(())
                };
                governor.govern(&mut session, [item], sink).unwrap();
                assert_eq!(judged, spans);
            };
            b.iter_batched(setup, run, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, path);
criterion_main!(benches);
