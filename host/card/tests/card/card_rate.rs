//! The card's rate in simulated clocks. In steady state, a verdict takes at most one clock per row plus 16, or the time
//! to log its record if that is longer. With a read latency of 500 clocks, it takes at most a tenth more. Signing does
//! not slow it down.
#![cfg(feature = "sim")]

use crate::card_support;

use card_support::{Random, TestCard, World};
use portcullis_card::diagnostics::bench::{BenchConfig, BenchReport, run};
use portcullis_card::transport::sim::SimCard;
use portcullis_card::{CardError, CardTransport, forward_card};
use portcullis_core::wire::Row;
use portcullis_image::TableImage;
use portcullis_sim::{BusStall, LANES, ROUNDS, SimConfig};
use zerocopy::little_endian::U16;

/// An image of `rows` policy rows. Their content is irrelevant, because both banks sweep all rows for every entry.
fn image(rows: u16) -> TableImage {
    let world = World::random(&mut Random::new(3), 1, 1);
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
    TableImage::new(world.header, &policy, &[permit]).unwrap()
}

fn measure(latency: u32, rows: u16, verdicts: u64, attest: bool) -> BenchReport {
    measure_lanes(1, latency, rows, verdicts, attest).0
}

/// Runs the benchmark; returns its report and the numbers of register accesses.
fn measure_lanes(lanes: u32, latency: u32, rows: u16, verdicts: u64, attest: bool) -> (BenchReport, Touched) {
    let config = SimConfig { lanes, read_latency: latency, write_latency: latency, stall: BusStall::None, trace: None };
    let mut card = Counting { card: SimCard::new(config).unwrap(), touched: Touched::default() };
    let report = run(&mut card, &image(rows), BenchConfig { verdicts, streams: 64, attest }).unwrap();
    card.card.assert_clean();
    assert_eq!(report.lanes.len() as u32, lanes);
    let clocks = report.clocks_per_verdict_hundredths().unwrap();
    println!(
        "{lanes} lanes, {rows} rows, latency {latency}: {clocks} hundredths of a clock, {} verdicts/s",
        report.verdicts_per_second()
    );
    (report, card.touched)
}

#[derive(Debug, Default, Clone, Copy)]
struct Touched {
    reads: u64,
    doorbells: u64,
}

struct Counting {
    card: SimCard,
    touched: Touched,
}

impl CardTransport for Counting {
    forward_card!(card: describe, allocate, release, dma_read, dma_write, wait, quantum, patience, clocks);

    fn read32(&mut self, address: u32) -> Result<u32, CardError> {
        self.touched.reads += 1;
        self.card.read32(address)
    }
    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        // The register `sq_tail` of a lane.
        self.touched.doorbells += u64::from((0x1000..0x1800).contains(&address) && address & 0xff == 0x0c);
        self.card.write32(address, value)
    }
}

/// Limit per verdict in hundredths of a clock: the sweep, or six hash blocks (four for the leaf, two for a node), plus
/// 5 %. A block takes 66 clocks at one round per clock.
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
    // The signer always has work: each checkpoint is due long before the previous checkpoint is signed.
    let report = measure(100, 16, 20_000, true);
    let hundredths = report.clocks_per_verdict_hundredths().unwrap();
    assert!(hundredths <= bound(16), "{hundredths}");
}

/// Lanes work in parallel: together they reach at least 15/16 of the rate of that many cards.
#[test]
fn lanes_multiply_the_rate() {
    let clocks =
        |lanes, verdicts| measure_lanes(lanes, 500, 256, verdicts, false).0.clocks_per_verdict_hundredths().unwrap();
    let (one, all) = (clocks(1, 3_000), clocks(LANES, 3_000 * u64::from(LANES)));
    assert!(one * 16 >= all * u64::from(LANES) * 15, "{one} with one lane, {all} with {LANES}");
}

/// Under load, one write of a submission doorbell announces at least 16 entries, and the driver reads no register.
#[test]
fn verdicts_cost_few_register_accesses() {
    for lanes in [1, LANES] {
        let touched = |verdicts| measure_lanes(lanes, 100, 64, verdicts, false).1;
        // Both reports include opening, first entries and end, so their difference is the cost of the further verdicts.
        let (few, more) = (4_000, 12_000);
        let (short, long) = (touched(few), touched(more));
        let doorbells = long.doorbells - short.doorbells;
        assert!(doorbells * 16 <= more - few, "{lanes} lanes: {doorbells} for {}", more - few);
        assert!(long.reads <= short.reads + 16, "{lanes} lanes: {short:?}, {long:?}");
    }
}
