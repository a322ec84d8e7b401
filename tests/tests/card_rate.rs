//! The card's rate, from simulated clocks: in steady state a verdict takes at most its rows and 16 clocks, or what the log takes for its
//! record, whichever is more; and not a tenth more with 500 clocks of read latency. Signing does not slow it.
#![cfg(feature = "sim")]
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod card_support;

use card_support::{Rng, TestCard, World};
use portcullis_card::bench::{BenchConfig, BenchReport, run};
use portcullis_card::sim::SimCard;
use portcullis_core::wire::Row;
use portcullis_policy::image::Image;
use portcullis_sim::{ROUNDS, SimConfig, Stall};
use zerocopy::little_endian::U16;

/// An image of `rows` policy rows. What they say does not matter: every entry walks both banks.
fn image(rows: u16) -> Image {
    let world = World::random(&mut Rng::new(3), 1, 1);
    let permit = Row {
        temporal: world.header.temporal,
        domain: world.header.domain,
        audience: world.header.audience,
        register: world.header.register,
        ..World::permit()
    };
    let mut policy = vec![permit; rows.into()];
    for (rule, row) in (0..).zip(&mut policy) {
        row.rule = U16::new(rule);
    }
    Image::new(world.header, &policy, &[permit]).unwrap()
}

fn measure(latency: u32, rows: u16, verdicts: u64, attest: bool) -> BenchReport {
    let config = SimConfig { lanes: 1, read_latency: latency, write_latency: latency, stall: Stall::None, trace: None };
    let mut card = SimCard::new(config).unwrap();
    let report = run(&mut card, &image(rows), BenchConfig { verdicts, streams: 64, attest }).unwrap();
    card.assert_clean();
    let clocks = report.clocks_per_verdict_hundredths().unwrap();
    println!(
        "{rows} rows, latency {latency}: {clocks} hundredths of a clock, {} verdicts/s",
        report.verdicts_per_second()
    );
    report
}

/// Hundredths of a clock that a verdict may take: its sweep, or six blocks (four of its leaf, two of a node) with 5 % to spare. A
/// block takes 66 clocks at one round a clock.
fn bound(rows: u16) -> u64 {
    let block = 64 / ROUNDS + 2;
    u64::max((u64::from(rows) + 16) * 100, 6 * block * 105)
}

#[test]
fn a_verdict_takes_its_sweep_or_its_hashes() {
    for rows in [1, 16, 64, 256] {
        for latency in [0, 100] {
            let report = measure(latency, rows, 2_000, false);
            let hundredths = report.clocks_per_verdict_hundredths().unwrap();
            assert!(hundredths <= bound(rows), "{rows} rows: {hundredths}");
        }
    }
}

#[test]
fn latency_costs_less_than_a_tenth() {
    let report = measure(500, 256, 3_000, false);
    let hundredths = report.clocks_per_verdict_hundredths().unwrap();
    assert!(hundredths * 90 <= bound(256) * 100, "{hundredths}");
}

#[test]
fn signing_does_not_slow_verdicts() {
    // The signer has work all the time: a checkpoint is due long before the one before is signed.
    let report = measure(100, 16, 20_000, true);
    let hundredths = report.clocks_per_verdict_hundredths().unwrap();
    assert!(hundredths <= bound(16), "{hundredths}");
}
