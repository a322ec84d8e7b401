//! Tests texts in windows: the lane's answers, its reads, the states of its slots, and its clocks per entry.

use crate::package::Package;
use crate::windows::{CALL, HEAD, Lie, MOST_TEXT, TABLES, TAG, WINDOW_BEATS, Windows, load};
use crate::{is_long, made, package};
use portcullis_core::commitment::{SpanKind, commitment};
use portcullis_lane::LaneSource;
use portcullis_test_support::random::Random;
use portcullis_text_bench::TextBenchError;
use portcullis_text_bench::lane::{self, Bus, BusFault, Entry, SimulatedTextLane, TextFaultCause, TextLoadResult};
use sha2::{Digest, Sha256};

/// Text lengths at limits of blocks and beats. With the head: 38, 39, 55, 56, 63, 64, 65, 375, 376, the largest.
const BORDERS: [usize; 10] = [0, 1, 17, 18, 25, 26, 27, 337, 338, MOST_TEXT];

/// A text of generated sentences with this length in bytes.
fn text_of(random: &mut Random, source: &LaneSource, length: usize) -> Vec<u8> {
    let mut text = Vec::new();
    while text.len() < length {
        text.extend_from_slice(made::text(random, source, &[]).as_bytes());
    }
    // Cutting may leave a part of a character, which is not UTF-8; then the last bytes are replaced.
    text.truncate(length);
    while std::str::from_utf8(&text).is_err() {
        text.pop();
    }
    text.resize(length, b'.');
    text
}

fn random_text(random: &mut Random, source: &LaneSource) -> Vec<u8> {
    let length = match random.below(8) {
        0 => *random.pick(&BORDERS),
        1 => random.within(0, MOST_TEXT),
        _ => random.within(0, 400),
    };
    text_of(random, source, length)
}

/// Enters up to three texts at once, some of them with a fault (`Lie`), over a bus with random latencies. The lane
/// answers as the model does, and reads every beat of each text once.
#[test]
fn answers_are_those_of_the_model() {
    let entries = if is_long() { 40_000 } else { 1_200 };
    let source = package::source("pii");
    let mut windows = Windows::new(&Package::shipped("pii").compiled.tables);
    let mut random = Random::new(31);
    for _ in 0..entries {
        let text = random_text(&mut random, &source);
        windows.random_entry(&mut random, &text, true);
    }
    windows.drain(&mut random);
    let counts = &windows.counts;
    eprintln!("{entries} entries: {counts:?}, {} clocks", windows.lane.clocks());
    for cause in TextFaultCause::ALL.iter().filter(|cause| **cause != TextFaultCause::Bus) {
        assert!(counts.causes.get(cause).is_some_and(|n| n * 200 > entries), "{cause:?} is not met");
    }
    assert!(counts.hits * 4 > entries && counts.established * 8 > entries && counts.admitted * 3 > entries);
}

/// Tests every length up to three blocks, and lengths near the limits of bursts.
#[test]
fn every_length() {
    let source = package::source("pii");
    let mut windows = Windows::new(&Package::shipped("pii").compiled.tables);
    let mut random = Random::new(32);
    let bursts = (1..9).flat_map(|burst| (0..3).map(move |more| burst * 512 - HEAD + more - 1));
    for length in (0..=3 * 64).chain(bursts).chain(BORDERS) {
        let text = text_of(&mut random, &source, length);
        windows.random_entry(&mut random, &text, false);
    }
    windows.drain(&mut random);
    assert!(windows.counts.causes.keys().all(|cause| *cause == TextFaultCause::None), "{:?}", windows.counts);
}

/// Error responses, bursts of another length, answers with another id, and missing answers: the lane never answers that
/// such an entry agrees. After a fault that leaves responses unaccounted for, it reads nothing more.
#[test]
fn a_faulty_bus_is_never_an_answer() {
    let rounds = if is_long() { 400 } else { 10 };
    let mut random = Random::new(33);
    let (manifest, files) = (0..)
        .map(|seed| made::package(&mut Random::new(seed)))
        .find(|(manifest, files)| {
            let made = Package::new(manifest.clone(), files.clone()).compiled.tables;
            made.encode().len() < 40_000 && made.counts().0
        })
        .unwrap();
    let source = portcullis_mapping::lane_source(&manifest, &files).unwrap();
    let mut windows = Windows::new(&Package::new(manifest, files).compiled.tables);
    for _ in 0..rounds {
        for fault in [BusFault::Error, BusFault::Place, BusFault::Stranger, BusFault::Silence, BusFault::Error] {
            for _ in 0..3 {
                let text = random_text(&mut random, &source);
                windows.random_entry(&mut random, &text, true);
            }
            let text = random_text(&mut random, &source);
            windows.enter_over_faulty_bus(&mut random, 3, &text, fault);
        }
    }
    windows.drain(&mut random);
    eprintln!("{:?}", windows.counts);
    assert_eq!(windows.counts.broken, 3 * rounds);
    assert_eq!(windows.counts.causes.get(&TextFaultCause::Bus), Some(&(5 * rounds)));
}

/// A number that is cut by two entries is found in the second entry if and only if the first entry was admitted.
#[test]
fn a_refused_entry_leaves_no_trace() {
    let mut lane = SimulatedTextLane::default();
    assert_eq!(load(&mut lane, &Package::shipped("pii").compiled.tables.encode()), TextLoadResult::Good);
    let mut found = |parts: &[(&str, SpanKind, bool)]| {
        lane.renew(5).unwrap();
        let mut last = 0;
        for (text, kind, admit) in parts {
            let tag = if kind.is_text() { TAG } else { CALL };
            let memory = [tag, &[7; 16], &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
            lane.write(0x4000, &memory);
            let entry = Entry {
                address: 0x4000,
                beats: WINDOW_BEATS,
                outside: false,
                commitment: commitment(*kind, &[7; 16], &[text.as_bytes()]),
                slot: 5,
            };
            lane.enter(&entry).unwrap();
            let answer = lane.answer().unwrap();
            assert!(answer.agrees && answer.call != kind.is_text());
            last = u128::from_le_bytes(answer.classes);
            lane.settle(*admit).unwrap();
        }
        last != 0
    };
    let text = |text, admit| (text, SpanKind::Text, admit);
    let call = |text, admit| (text, SpanKind::Call, admit);
    assert!(found(&[text("My card is 4111 1111 1111 1111. ", true)]));
    let (first, second) = (text("My card is 4111 1111 ", true), text("1111 1111. ", true));
    assert!(found(&[first, second]));
    assert!(!found(&[text("My card is 4111 1111 ", false), second]));
    // Neither a refused entry nor a tool call between two entries changes the scan of the second entry.
    assert!(found(&[first, text("and no more ", false), second]));
    assert!(!found(&[first, text("and no more ", true), second]));
    for admit in [false, true] {
        assert!(found(&[first, call("and no more ", admit), second]));
    }
    // A call is scanned alone: no value begins in a text and ends in a call, or the reverse.
    assert!(found(&[call("4111 1111 1111 1111", true)]));
    assert!(!found(&[first, call("1111 1111. ", true)]));
    assert!(!found(&[call("My card is 4111 1111 ", true), second]));
    // The slot now has another stream.
    assert!(!found(&[second]));
}

/// A slot cannot be renewed while an entry of it is being read or scanned, or has no verdict yet; other slots can.
#[test]
fn a_slot_is_not_renewed_under_an_entry() {
    let mut random = Random::new(36);
    let mut windows = Windows::new(&Package::shipped("pii").compiled.tables);
    // Slot 1 has an entry without a verdict; the entry of slot 2 is scanned, that of slot 3 waits.
    for slot in [1, 2, 3] {
        windows.enter(&mut random, slot, b"My card is 4111 1111 1111 1111.", Lie::Nothing);
    }
    for settled in 0..3 {
        assert!(windows.lane.answer().unwrap().agrees);
        windows.lane.idle(200).unwrap();
        for slot in 1..=3 {
            let free = slot <= settled;
            assert_eq!(windows.lane.renew(slot).is_ok(), free, "slot {slot}, {settled} settled");
        }
        windows.lane.settle(true).unwrap();
    }
    windows.lane.renew(3).unwrap();
}

/// Measures the clocks per entry if entries follow each other directly, the bus answers after 100 clocks (0.8 us at 125
/// MHz), and verdicts come at once.
#[test]
fn clocks_per_entry() {
    let mut lane = SimulatedTextLane::default();
    assert_eq!(load(&mut lane, &Package::shipped("pii").compiled.tables.encode()), TextLoadResult::Good);
    lane.set_bus(Bus { least_latency: 100, most_latency: 100, stall_of_8: 0, seed: 1 });
    for length in [0, 1, 17, 18, 100, 150, 250, 337, 338, 600, 1_200, 2_000, 8_000, 131_034] {
        let text = &b"Nothing in this text is a number, a name or an address. ".repeat(2_400)[..length];
        let memory = [TAG, &[0; 16], &(length as u32).to_le_bytes(), text].concat();
        let entry = |slot| Entry {
            address: 0x10_0000,
            beats: 2_048,
            outside: false,
            commitment: commitment(SpanKind::Text, &[0; 16], &[text]),
            slot,
        };
        let entries = if length > 4_000 { 4 } else { 12 };
        let mut at = Vec::new();
        (0..8).for_each(|slot| lane.renew(slot).unwrap());
        for number in 0..entries + 2 {
            let mut entry = entry(number % 8);
            entry.address += u64::from(number % 4) << 20;
            lane.write(entry.address, &memory);
            lane.enter(&entry).unwrap();
            if number >= 2 {
                assert!(lane.answer().unwrap().agrees);
                at.push(lane.clocks());
                lane.settle(true).unwrap();
            }
        }
        for _ in 0..2 {
            assert!(lane.answer().unwrap().agrees);
            lane.settle(true).unwrap();
        }
        // The first entries are left out, because they began with an empty lane.
        let clocks = (at[at.len() - 1] - at[1]) as f64 / (at.len() - 2) as f64;
        eprintln!("{length} bytes: {clocks} clocks per entry, {:.3} per byte", clocks / length as f64);
        if length <= 337 {
            assert!(clocks <= 396.0, "{length} bytes take {clocks} clocks");
        }
        if length >= 1_200 {
            assert!(clocks <= 1.1 * length as f64, "{length} bytes take {clocks} clocks");
        }
    }
}

#[test]
fn an_admitted_entry_that_does_not_agree_stops_the_model() {
    let mut random = Random::new(35);
    let mut windows = Windows::new(&Package::shipped("pii").compiled.tables);
    windows.enter(&mut random, 1, b"a text", Lie::Commitment);
    assert!(!windows.lane.answer().unwrap().agrees);
    assert!(
        matches!(windows.lane.settle(true), Err(TextBenchError::Assertion(text)) if text.contains("does not agree"))
    );
}

/// Each result of a load: good tables; a wrong digest; tables that the lane cannot use; a fault of the bus. The lane
/// takes entries only after a good load.
#[test]
fn tables_are_loaded_over_the_bus() {
    let encoded = Package::shipped("pii").compiled.tables.encode();
    let mut lane = SimulatedTextLane::default();
    let digest = |bytes: &[u8]| Sha256::digest(bytes).into();
    let at = |bytes: &[u8]| lane::Tables { address: TABLES, bytes: bytes.len() as u32, digest: digest(bytes) };
    let mut random = Random::new(37);
    for round in 0..if is_long() { 40 } else { 4 } {
        lane.set_bus(Bus { least_latency: 5, most_latency: 60, stall_of_8: round % 3, seed: random.bits() });
        // A changed bit with the digest of the unchanged tables; then damaged tables with their own digest.
        let mut changed = encoded.clone();
        changed[random.below(encoded.len())] ^= 1 << random.below(8);
        lane.write(TABLES, &changed);
        let result = lane.load(&at(&encoded)).unwrap();
        assert_eq!(result, TextLoadResult::Digest);
        let mut damaged = encoded.clone();
        damaged[14] = 1;
        assert_eq!(load(&mut lane, &damaged), TextLoadResult::Bad);
        assert!(!lane.complete() && lane.is_idle());
        let short = &encoded[..random.within(1, encoded.len() - 1)];
        assert_eq!(load(&mut lane, short), TextLoadResult::Bad);
        assert!(!lane.complete());
        for bytes in [0, 1 << 23, u32::MAX] {
            let tables = lane::Tables { bytes, ..at(&encoded) };
            assert_eq!(lane.load(&tables).unwrap(), TextLoadResult::Bad, "{bytes} bytes");
        }
        let misaligned = lane::Tables { address: TABLES + 32, ..at(&encoded) };
        assert_eq!(lane.load(&misaligned).unwrap(), TextLoadResult::Bad);
        assert_eq!(lane.reads().len(), 0, "a load that is refused reads nothing");
        let wraps = lane::Tables { address: 0u64.wrapping_sub(4096), ..at(&encoded) };
        assert_eq!(lane.load(&wraps).unwrap(), TextLoadResult::Bad);
        lane.write(TABLES, &encoded);
        lane.fault_at(BusFault::Error, 1 + random.below(encoded.len() / 64) as u32);
        assert_eq!(lane.load(&at(&encoded)).unwrap(), TextLoadResult::Bus);
        assert!(!lane.complete() && !lane.broken() && lane.fault_met());
        let clocks = lane.clocks();
        assert_eq!(load(&mut lane, &encoded), TextLoadResult::Good);
        eprintln!("{} bytes are loaded in {} clocks", encoded.len(), lane.clocks() - clocks);
        assert!(lane.complete() && lane.is_idle());
    }
    lane.write(TABLES, &encoded);
    lane.fault_at(BusFault::Silence, 100);
    assert_eq!(lane.load(&at(&encoded)).unwrap(), TextLoadResult::Bus);
    assert!(lane.broken() && !lane.complete());
    assert_eq!(load(&mut lane, &encoded), TextLoadResult::Bus);
}
