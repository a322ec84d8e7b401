//! The card's rate, from simulated clocks: at most rows / rows per clock + 16 a verdict in steady state, and above 90 % of that
//! rate with 500 clocks of read latency.
#![cfg(feature = "sim")]
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod card_support;

use card_support::{Rng, TestCard, World};
use portcullis_card::bench::{BenchConfig, BenchReport, run};
use portcullis_card::sim::SimCard;
use portcullis_core::wire::Row;
use portcullis_policy::image::Image;
use portcullis_sim::{SimConfig, Stall};
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

fn measure(latency: u32, rows: u16, verdicts: u64) -> BenchReport {
    let config = SimConfig { read_latency: latency, write_latency: latency, stall: Stall::None, trace: None };
    let mut card = SimCard::new(config).unwrap();
    let report = run(&mut card, &image(rows), BenchConfig { verdicts, streams: 64 }).unwrap();
    card.assert_clean();
    let clocks = report.clocks_per_verdict_hundredths().unwrap();
    println!(
        "{rows} rows, latency {latency}: {clocks} hundredths of a clock, {} verdicts/s",
        report.verdicts_per_second()
    );
    report
}

#[test]
fn a_verdict_takes_its_rows_and_at_most_sixteen_clocks() {
    for rows in [1, 16, 64, 256] {
        for latency in [0, 100] {
            let report = measure(latency, rows, 2_000);
            let hundredths = report.clocks_per_verdict_hundredths().unwrap();
            assert!(hundredths <= (u64::from(rows) + 16) * 100, "{rows} rows: {hundredths}");
        }
    }
}

#[test]
fn latency_costs_less_than_a_tenth() {
    let report = measure(500, 256, 3_000);
    let hundredths = report.clocks_per_verdict_hundredths().unwrap();
    assert!(hundredths * 90 <= (256 + 16) * 100 * 100, "{hundredths}");
}
