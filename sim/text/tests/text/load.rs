//! The tables that the card accepts. Once they are locked, nothing changes them.

use crate::package::Package;
use crate::stream::{Streams, pace};
use crate::{is_long, made, package};
use portcullis_lane::{TablesError, TextLaneTables};
use portcullis_test_support::random::Random;
use portcullis_text_bench::{BytePace, ENGINES, SimulatedTextScan};

/// Tables of policies that are small enough to be loaded many times, and of a generated policy that uses both units.
fn small_tables() -> Vec<Vec<u8>> {
    let mut tables = vec![TextLaneTables::empty().encode()];
    let (mut cards, mut accounts) = (false, false);
    for seed in 0.. {
        let (manifest, files) = made::package(&mut Random::new(seed));
        let made = Package::new(manifest, files).compiled.tables;
        let counts = made.counts();
        let bytes = made.encode();
        if bytes.len() < 60_000 && (counts.0 && !cards || counts.1 && !accounts) {
            cards |= counts.0;
            accounts |= counts.1;
            tables.push(bytes);
        }
        if cards && accounts {
            return tables;
        }
    }
    tables
}

/// Whether only the software refuses tables with this error, because the scan ignores the flags of next states.
fn is_left_to_software(error: &TablesError) -> bool {
    matches!(error, TablesError::Field { field: "flag of a next state", .. })
}

/// Tables with a unit for card numbers that finds nothing. Its automata have these numbers of states.
fn card_tables(gap_states: u16, digit_states: u16) -> Vec<u8> {
    let pad = |bytes: &mut Vec<u8>| bytes.resize(bytes.len().next_multiple_of(8), 0);
    let mut bytes = [&b"PCTLANE2"[..], &[0; 4], &[0, 1, 0, 0], &[0; 32]].concat();
    [gap_states, 1, 0, 0].iter().for_each(|size| bytes.extend(size.to_le_bytes()));
    bytes.extend(vec![0; 256 + 2 * usize::from(gap_states)]);
    pad(&mut bytes);
    [digit_states, 0, 0, 0].iter().for_each(|size| bytes.extend(size.to_le_bytes()));
    bytes.extend(vec![0; (32 + 12) * usize::from(digit_states)]);
    pad(&mut bytes);
    let length = (bytes.len() as u32).to_le_bytes();
    bytes[8..12].copy_from_slice(&length);
    bytes
}

/// Card and software have the same limits for a unit's states, and both refuse classes of a unit that the tables lack.
#[test]
fn sizes_of_units_are_those_of_software() {
    let mut bench = SimulatedTextScan::default();
    let sizes =
        [(256, 512, true), (257, 512, false), (256, 513, false), (0, 512, false), (256, 0, false), (1, 1, true)];
    let without = |at: usize| {
        let mut tables = TextLaneTables::empty().encode();
        tables[at] = 1;
        (tables, false)
    };
    let cases = sizes.map(|(gap, digits, fits)| (card_tables(gap, digits), fits));
    for (number, (tables, fits)) in cases.into_iter().chain([16, 31, 32, 47].map(without)).enumerate() {
        bench.clear().unwrap();
        let seen = bench.load(&tables, BytePace::default()).unwrap();
        assert_eq!((seen.complete, seen.bad), (fits, !fits), "case {number}");
        assert_eq!(TextLaneTables::decode(&tables).is_ok(), fits, "case {number}");
    }
}

#[test]
fn changed_tables_are_refused_as_by_software() {
    let changes = if is_long() { 5_000 } else { 60 };
    let mut bench = SimulatedTextScan::default();
    let mut random = Random::new(21);
    let (mut refused, mut taken, mut left) = (0, 0, 0);
    for tables in small_tables() {
        for _ in 0..changes {
            let mut bytes = tables.clone();
            // Half of the changes are in the sizes at the beginning of the tables.
            let reach = if random.one_in(2) { bytes.len().min(80) } else { bytes.len() };
            let at = random.below(reach);
            match random.below(6) {
                0 => bytes.truncate(at),
                1 => bytes.push(random.bits() as u8),
                2 => bytes[at] = random.bits() as u8,
                _ => bytes[at] ^= 1 << random.below(8),
            }
            bench.lock(false);
            bench.clear().unwrap();
            let seen = bench.load(&bytes, BytePace::default()).unwrap();
            assert!(!(seen.complete && seen.bad));
            match TextLaneTables::decode(&bytes) {
                Ok(_) => {
                    assert!(seen.complete, "byte {at}: only the card refuses");
                    taken += 1;
                }
                Err(error) if is_left_to_software(&error) => left += 1,
                Err(error) => {
                    assert!(!seen.complete, "byte {at}: the card takes what is refused: {error}");
                    refused += 1;
                }
            }
        }
    }
    eprintln!("{refused} refused by both, {taken} taken by both, {left} left to software");
    assert!(refused > 20 && taken > 5);
}

#[test]
fn more_engines_than_the_card_has_are_refused() {
    let tables = package::source("pii");
    let limits = portcullis_lane::LaneTableLimits {
        engines: ENGINES + 1,
        states: 700,
        ..portcullis_lane::LaneTableLimits::default()
    };
    let bytes = portcullis_lane::compile(&tables, &limits).tables.encode();
    assert_eq!(usize::from(bytes[12]), ENGINES + 1);
    let mut bench = SimulatedTextScan::default();
    let seen = bench.load(&bytes, BytePace::default()).unwrap();
    assert!(seen.bad && !seen.complete);
}

/// Once the tables are locked, neither loading other tables nor clearing, at any time, changes anything.
#[test]
fn nothing_is_written_behind_the_lock() {
    let package = Package::shipped("pii");
    let source = package::source("pii");
    let other = Package::shipped("privilege").compiled.tables.encode();
    let mut streams = Streams::new(SimulatedTextScan::default(), &package.compiled.tables);
    let mut random = Random::new(22);
    for _ in 0..if is_long() { 500 } else { 12 } {
        if random.one_in(2) {
            streams.bench.clear().unwrap();
        }
        let from = random.below(other.len());
        let seen = streams.bench.load(&other[if random.one_in(2) { 0 } else { from }..], pace(&mut random)).unwrap();
        assert!(seen.complete && !seen.bad);
        for _ in 0..10 {
            let text = made::text(&mut random, &source, &[]);
            streams.entries(&mut random, text.as_bytes());
        }
    }
    assert!(streams.counts.hits > 20);
}

/// If the lock comes during a load, the rest is not accepted, and the tables stay incomplete.
#[test]
fn a_load_that_is_cut_by_the_lock_stays_incomplete() {
    let bytes = Package::shipped("pii").compiled.tables.encode();
    let mut bench = SimulatedTextScan::default();
    for at in [0, 1, 47, 48, 300, bytes.len() / 2, bytes.len() - 1] {
        bench.lock(false);
        bench.clear().unwrap();
        bench.load(&bytes[..at], BytePace::default()).unwrap();
        bench.lock(true);
        let seen = bench.load(&bytes[at..], BytePace::default()).unwrap();
        assert!(!seen.complete && !seen.bad, "locked behind {at} bytes");
    }
}
