//! Throughput of the software scan with the text lane's tables for the PII policy, on one core, in bytes of text,
//! compared with the mapping's pattern scan of the same text. Also measures the time to compile the tables.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a benchmark stops at its first surprise"
)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use portcullis_core::manifest::PackageManifest;
use portcullis_lane::{LaneScanner, LaneTableLimits, ScanState, compile};
use portcullis_mapping::{TextMapper, lane_source};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;

/// About 256 KiB of sentences; `hits` of every ten sentences contain a hit of the policy.
fn corpus(hits: usize) -> String {
    let words = "the station opened again after a long winter and people came back to read their papers while the \
                 trains left on time for towns along the coast where markets sell bread fish and flowers every morning";
    let words: Vec<&str> = words.split_whitespace().collect();
    let values = ["4111 1111 1111 1111", "ana@example.org", "+1 (555) 010-9999", "DE89370400440532013000", "192.0.2.7"];
    let mut state = 1u64;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let mut text = String::new();
    while text.len() < 256 << 10 {
        for _ in 0..8 + next(10) {
            text += words[next(words.len())];
            text += " ";
        }
        if next(10) < hits {
            text += values[next(values.len())];
        }
        text += ". ";
    }
    text
}

fn walk(c: &mut Criterion) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/pii");
    let manifest: PackageManifest = toml::from_str(&std::fs::read_to_string(dir.join("policy.toml")).unwrap()).unwrap();
    let persons = std::fs::read(dir.join("vocabulary/persons.txt")).unwrap();
    let files = BTreeMap::from([("vocabulary/persons.txt".to_owned(), persons)]);
    let mapper = TextMapper::new(&manifest, &files).unwrap();
    let source = lane_source(&manifest, &files).unwrap();
    let walk = LaneScanner::new(compile(&source, &LaneTableLimits::default()).tables).unwrap();
    for (name, hits) in [("one sentence in ten holds a value", 1), ("every second sentence holds a value", 5)] {
        let text = corpus(hits);
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function("walk, one entry", |b| {
            b.iter(|| walk.scan(&mut ScanState::START.clone(), black_box(text.as_bytes())));
        });
        group.bench_function("walk, entries of 150 bytes", |b| {
            b.iter(|| {
                let mut state = ScanState::START;
                let entries = black_box(text.as_bytes()).chunks(150);
                entries.map(|entry| walk.scan(&mut state, entry).classes.0.count_ones()).sum::<u32>()
            });
        });
        group.bench_function("the mapping's hits in the same bytes", |b| b.iter(|| mapper.written(black_box(&text))));
        group.finish();
    }
    let mut group = c.benchmark_group("compile");
    group.sample_size(10);
    group.bench_function("pii", |b| b.iter(|| compile(black_box(&source), &LaneTableLimits::default())));
    group.finish();
}

criterion_group!(benches, walk);
criterion_main!(benches);
