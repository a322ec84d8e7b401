//! Runs the scan and the software walk over the same entries.

use crate::package::{Package, SHIPPED};
use crate::stream::{Counts, Streams};
use crate::{is_long, made, package};
use portcullis_core::class::ClassSet;
use portcullis_lane::{LaneSource, TextLaneTables};
use portcullis_mapping::lane_source;
use portcullis_test_support::random::Random;
use portcullis_text_bench::{BytePace, ScanStart, SimulatedTextScan, TextBenchError};

/// Reads generated texts in entries that are cut at any byte. Some entries have invalid UTF-8, some are empty.
fn read_made_texts(streams: &mut Streams, random: &mut Random, source: &LaneSource, texts: usize) {
    for _ in 0..texts {
        let mut text = made::text(random, source, &[]).into_bytes();
        if random.one_in(6) && !text.is_empty() {
            let at = random.below(text.len());
            text[at] = random.bits() as u8;
        }
        streams.entries(random, &text);
    }
}

fn report(name: &str, counts: &Counts, clocks: u64) {
    eprintln!("{name}: {counts:?}, {clocks} clocks");
    assert!(counts.hits * 20 > counts.entries && counts.not_utf8 > 0, "{name}: the test looks at too little");
    assert!(counts.bytes > counts.entries && counts.paced > counts.entries && counts.resumed * 4 > counts.entries);
}

#[test]
fn made_packages() {
    let (packages, texts) = if is_long() { (1_000, 500) } else { (24, 50) };
    let mut bench = SimulatedTextScan::default();
    let mut all = Counts::default();
    let (mut with_cards, mut with_accounts) = (0, 0);
    for seed in 0..packages {
        let mut random = Random::new(seed);
        let (manifest, files) = made::package(&mut random);
        let source = lane_source(&manifest, &files).unwrap();
        let package = Package::new(manifest, files);
        let (cards, accounts) = package.compiled.tables.counts();
        with_cards += usize::from(cards);
        with_accounts += usize::from(accounts);
        let mut streams = Streams::new(bench, &package.compiled.tables);
        read_made_texts(&mut streams, &mut random, &source, texts);
        let Streams { bench: next, counts, .. } = streams;
        bench = next;
        all.entries += counts.entries;
        all.bytes += counts.bytes;
        all.paced += counts.paced;
        all.hits += counts.hits;
        all.not_utf8 += counts.not_utf8;
        all.resumed += counts.resumed;
    }
    eprintln!("{with_cards} packages with card numbers, {with_accounts} with account numbers");
    assert!(with_cards > 2 && with_accounts > 0);
    report("made packages", &all, bench.clocks());
}

#[test]
fn shipped_policies() {
    let texts = if is_long() { 20_000 } else { 150 };
    for name in SHIPPED {
        let package = Package::shipped(name);
        let mut streams = Streams::new(SimulatedTextScan::default(), &package.compiled.tables);
        let mut random = Random::new(11);
        read_made_texts(&mut streams, &mut random, &package::source(name), texts);
        report(name, &streams.counts, streams.bench.clocks());
    }
}

/// A number of 14 or 15 digits with a valid check digit, in groups of four, of six, and of the remaining digits.
fn four_six_and_the_rest(random: &mut Random) -> String {
    let (prefix, length) = *random.pick(&[("37", 15), ("30", 14), ("4", 15)]);
    let body: String = (prefix.len()..length - 1).map(|_| char::from(b'0' + random.below(10) as u8)).collect();
    let sum: u32 = format!("{prefix}{body}")
        .bytes()
        .rev()
        .zip([2, 1].iter().cycle())
        .map(|(byte, factor)| {
            let value = u32::from(byte - b'0') * factor;
            value / 10 + value % 10
        })
        .sum();
    let number = format!("{prefix}{body}{}", (10 - sum % 10) % 10);
    let mark = *random.pick(&[" ", "-", " - "]);
    format!("{}{mark}{}{mark}{}", &number[..4], &number[4..10], &number[10..])
}

/// Reads many grouped card and account numbers, one after the other, so that the units are busy in every byte.
/// Makes the automaton of gaps of the unit for card numbers dead after every digit. Compiled tables have no such
/// automaton, but the format allows it.
fn dead_after_digits(tables: &TextLaneTables) -> TextLaneTables {
    let mut bytes = tables.encode();
    let number = |bytes: &[u8], at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let automaton = |bytes: &[u8], at: usize| {
        let (states, shift) = (number(bytes, at), number(bytes, at + 4));
        (at + 8 + 256, states, shift, (at + 8 + 256 + (states << shift) * 2).next_multiple_of(8))
    };
    let mut at = 48;
    for _ in 0..bytes[12] {
        let (_, states, _, reports) = automaton(&bytes, at);
        at = (reports + 20 + states + number(&bytes, reports + 2) * 6).next_multiple_of(8);
    }
    let (next, states, shift, _) = automaton(&bytes, at);
    for (digit, state) in (b'0'..=b'9').flat_map(|digit| (0..states).map(move |state| (digit, state))) {
        let class = usize::from(bytes[at + 8 + usize::from(digit)]);
        let entry = next + ((state << shift) + class) * 2;
        bytes[entry..entry + 2].fill(0);
    }
    TextLaneTables::decode(&bytes).unwrap()
}

#[test]
fn digits_after_which_no_gap_goes_on() {
    let tables = dead_after_digits(&Package::shipped("pii").compiled.tables);
    let mut streams = Streams::new(SimulatedTextScan::default(), &tables);
    let mut random = Random::new(13);
    for _ in 0..200 {
        // This also fails if a change of a memory is reported.
        let number = made::number(&mut random);
        streams.entries(&mut random, number.as_bytes());
    }
}

#[test]
fn numbers() {
    let numbers = if is_long() { 100_000 } else { 1_500 };
    let package = Package::shipped("pii");
    let mut streams = Streams::new(SimulatedTextScan::default(), &package.compiled.tables);
    let mut random = Random::new(12);
    let mut text = String::new();
    for _ in 0..numbers {
        // The text has many beginnings of account numbers, so that as many as possible are read at once.
        let heads = if random.one_in(4) { random.within(1, 12) } else { 0 };
        (0..heads).for_each(|_| text += *random.pick(&["LC32", "MT84", "NO93"]));
        if random.one_in(6) {
            text += &four_six_and_the_rest(&mut random);
        } else if random.one_in(8) {
            // Repeating one digit gives a valid check digit at some lengths, but does not count as a number.
            let digit = ["0", "1", "4", "5", "9"][random.below(5)];
            text += &digit.repeat(random.within(10, 22));
        } else {
            text += &made::number(&mut random);
        }
        text += *random.pick(&["", "", " ", "-", ", ", "DE", "x"]);
        if random.one_in(3) {
            streams.entries(&mut random, text.as_bytes());
            text.clear();
        }
    }
    let counts = streams.counts;
    eprintln!("numbers: {counts:?}, {} clocks", streams.bench.clocks());
    let header = package.compiled.tables.encode();
    for unit in [&header[16..32], &header[32..48]] {
        let classes = ClassSet(u128::from_le_bytes(unit.try_into().unwrap()));
        assert_eq!(counts.found.union(classes), counts.found, "the test finds no number of a unit");
    }
    assert!(counts.hits * 10 > counts.entries, "the test looks at too little");
}

/// A valid account number is found while the unit reads up to two others that go on, and a number with another last
/// digit is not. If three others go on, either is reported.
#[test]
fn account_numbers_inside_others() {
    let tables = Package::shipped("pii").compiled.tables;
    let accounts = u128::from_le_bytes(tables.encode()[32..48].try_into().unwrap());
    let mut bench = Streams::new(SimulatedTextScan::default(), &tables).bench;
    let valid = "DE89370400440532013000";
    for (heads, others) in ["", "LC32", "LC32MT84", "LC32MT84LC32"].into_iter().enumerate() {
        for last in '0'..='9' {
            let text = format!("{others}{}{last}.", &valid[..valid.len() - 1]);
            bench.start(ScanStart::New).unwrap();
            bench.read(text.as_bytes(), BytePace::default()).unwrap();
            bench.end().unwrap();
            bench.drain().unwrap();
            let found = u128::from_le_bytes(bench.seen().classes) & accounts != 0;
            assert_eq!(found, heads == 3 || valid.ends_with(last), "{text}");
        }
    }
}

/// Reads every pair of bytes, alone and after every lead byte of a three-byte character.
#[test]
fn utf8_is_that_of_the_standard_library() {
    let mut bench = Streams::new(SimulatedTextScan::default(), &Package::shipped("pii").compiled.tables).bench;
    let edges = [0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed];
    let edges: Vec<u8> = edges.into_iter().chain([0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff]).collect();
    let mut read = |bytes: &[u8]| {
        bench.start(ScanStart::New).unwrap();
        bench.read(bytes, BytePace::default()).unwrap();
        bench.end().unwrap();
        bench.drain().unwrap();
        assert_eq!(bench.seen().utf8, std::str::from_utf8(bytes).is_ok(), "{bytes:x?}");
    };
    for first in 0..=u8::MAX {
        for second in &edges {
            read(&[first, *second]);
            for third in &edges {
                read(&[first, *second, *third, 0x80][..if first < 0xf0 { 3 } else { 4 }]);
            }
        }
    }
}

/// At full rate, the scan needs one clock per byte, and eight clocks after the last byte.
#[test]
fn one_byte_a_clock() {
    let mut bench = Streams::new(SimulatedTextScan::default(), &Package::shipped("pii").compiled.tables).bench;
    let text = b"Nothing in this text is a number, a name or an address. ".repeat(100);
    bench.start(ScanStart::New).unwrap();
    let begin = bench.clocks();
    bench.read(&text, BytePace::default()).unwrap();
    bench.end().unwrap();
    assert_eq!(bench.clocks() - begin, text.len() as u64 + 1);
    assert_eq!(bench.drain().unwrap(), 8);
    assert_eq!(bench.seen().classes, [0; 16]);
}

#[test]
fn a_scan_without_locked_tables_stops_the_model() {
    let mut bench = SimulatedTextScan::default();
    assert!(
        matches!(bench.start(ScanStart::New), Err(TextBenchError::Assertion(text)) if text.contains("complete and locked"))
    );
}
