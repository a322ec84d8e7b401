//! Measures how many records per second the verifier checks: tree, log rules and manifest, without replay.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark")]

use portcullis_test_support::world;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use portcullis_core::wire::Determination;
use portcullis_evidence::verify::{VerifyOptions, verify};
use std::time::Duration;
use world::World;

const RECORDS: usize = 400_000;

fn verify_records(bench: &mut Criterion) {
    let world = World::new();
    let mut parts = world.honest();
    (parts.ticket.heartbeat_records, parts.ticket.heartbeat_ticks) = (0, 0);
    parts.open();
    parts.begin(0, "a");
    // The bundle has no texts: their number is the choice of an operator, and hashing them is not a cost of the log.
    while parts.log.lanes[0].len() < RECORDS {
        let sequence = parts.log.lanes[0].len() as u32 - 1;
        parts.log.gate(0, sequence, [7; 32], Determination::Admit);
        if parts.log.lanes[0].len().is_multiple_of(32_768) {
            parts.log.checkpoint();
        }
    }
    parts.log.close();
    let (files, trust) = (parts.files(), world.trust(false));
    let mut group = bench.benchmark_group("verify");
    group.throughput(Throughput::Elements(RECORDS as u64)).sample_size(10).measurement_time(Duration::from_secs(15));
    group.bench_function("records", |b| {
        b.iter(|| {
            let report = verify(&files, &trust, VerifyOptions::default(), &mut |_| ()).unwrap();
            assert_eq!(report.session.signed_records, parts.log.lanes[0].len() as u64);
        });
    });
    group.finish();
}

criterion_group!(benches, verify_records);
criterion_main!(benches);
