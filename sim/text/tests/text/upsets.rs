//! Inverts bits of the scan's memories. A scan that reads a word with an inverted bit reports it; a scan that reads no
//! such word gives the result of the walk.

use crate::package::{Package, source};
use crate::stream::Streams;
use crate::{is_long, made};
use portcullis_core::class::ClassSet;
use portcullis_lane::{EntryScan, EntryScanResult, LaneSource, ScanState};
use portcullis_test_support::random::Random;
use portcullis_text_bench::{BytePace, ScanStart, SimulatedTextScan};

const ENGINES: usize = 3;
/// Banks of the next states of an engine.
const BANKS: usize = 16;

/// A memory of the scan: its instance, its name, and its size with the bits of parity.
struct Memory {
    part: String,
    name: &'static str,
    words: u32,
    bits: u32,
}

impl Memory {
    fn new(part: String, name: &'static str, words: u32, bits: u32) -> Self {
        Self { part, name, words, bits }
    }

    fn invert(&self, bench: &mut SimulatedTextScan, word: u32, bit: u32) {
        assert!(bench.upset(&self.part, self.name, word, bit), "{self}: no bit {bit} of word {word}");
    }
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.part, self.name)
    }
}

/// The memory of the classes of an automaton.
fn classes(part: &str) -> Vec<Memory> {
    vec![Memory::new(part.to_owned(), "map", 256, 7)]
}

/// The memories of next states of an engine, one a bank. Their words hold their parity.
fn wide(part: &str) -> Vec<Memory> {
    (0..BANKS).map(|bank| Memory::new(format!("{part}.g_wide.g_bank[{bank}]"), "states", 4096, 49)).collect()
}

/// The memories of the bits of next states, and the memory of their parities.
fn narrow(part: &str, words: u32, bits: u32) -> Vec<Vec<Memory>> {
    let bit = |bit| Memory::new(format!("{part}.g_narrow.g_part[0].g_bit[{bit}]"), "bits", words, 1);
    let parities = Memory::new(format!("{part}.g_narrow"), "parities", words, 1);
    (0..bits).map(bit).chain([parities]).map(|memory| vec![memory]).collect()
}

/// The memories of the scan, in groups: a text that is long enough reads a word of each group.
fn memories() -> Vec<Vec<Memory>> {
    let single = |part: &str, name, words, bits| vec![Memory::new(part.to_owned(), name, words, bits)];
    let mut groups = Vec::new();
    for engine in (0..ENGINES).map(|engine| format!("g_engine[{engine}].u_engine")) {
        groups.push(classes(&format!("{engine}.u_automaton")));
        groups.push(wide(&format!("{engine}.u_automaton.u_next")));
        groups.push(single(&engine, "row_of", 4096, 9));
        groups.push(single(&engine, "rows", 256, 51));
    }
    for unit in ["u_cards_gap", "u_accounts_gap"] {
        groups.push(classes(unit));
        groups.extend(narrow(&format!("{unit}.u_next"), 256 * 64, 8));
    }
    groups.extend(narrow("u_cards.u_prefixes", 512 * 16, 9));
    groups.push(single("u_cards", "lengths", 512, 108));
    groups.push(single("u_accounts", "left", 1024, 7));
    groups.push(single("u_classes", "ids", 64, 8));
    groups
}

/// What the scan and the walk make of one text, and whether the scan reports a change.
struct Both {
    scan: (EntryScanResult, Vec<u8>),
    walk: (EntryScanResult, Vec<u8>),
    changed: bool,
}

fn both(streams: &mut Streams, text: &[u8]) -> Both {
    let bench = &mut streams.bench;
    bench.start(ScanStart::New).unwrap();
    bench.read(text, BytePace::default()).unwrap();
    bench.end().unwrap();
    bench.drain().unwrap();
    let seen = bench.seen();
    let scan = EntryScanResult { classes: ClassSet(u128::from_le_bytes(seen.classes)), utf8: seen.utf8 };
    let (mut state, mut entry) = (ScanState::START, EntryScan::default());
    streams.walk.read(&mut state, &mut entry, text);
    let walk = streams.walk.end(&mut state, entry);
    let form = state.card_form(ENGINES).unwrap();
    Both { scan: (scan, streams.bench.state()), walk: (walk, form), changed: seen.changed }
}

fn text(random: &mut Random, source: &LaneSource) -> Vec<u8> {
    let numbers: String = (0..4).map(|_| made::number(random) + " ").collect();
    (made::text(random, source, &[]) + " GB82 4111 " + &numbers).into_bytes()
}

#[test]
fn an_inverted_bit_is_reported_by_the_scan_that_reads_it() {
    let mut random = Random::new(31);
    let (package, source) = (Package::shipped("pii"), source("pii"));
    let tables = &package.compiled.tables;
    let mut streams = Streams::new(SimulatedTextScan::default(), tables);
    let mut reported = 0;
    for mut group in memories() {
        // In each of these memories, the same bit of every word: a scan that reads any word reports it. The first bank
        // has byte classes of every automaton.
        let several = group.len() > 1;
        while !is_long() && group.len() > 4 {
            group.swap_remove(random.within(1, group.len() - 1));
        }
        let mut seen = 0;
        for memory in &group {
            let bit = random.below(memory.bits as usize) as u32;
            (0..memory.words).for_each(|word| memory.invert(&mut streams.bench, word, bit));
            let changed = (0..40).any(|_| {
                let text = text(&mut random, &source);
                let both = both(&mut streams, &text);
                assert!(both.changed || both.scan == both.walk, "{memory}, bit {bit}: {}", text.escape_ascii());
                both.changed
            });
            (0..memory.words).for_each(|word| memory.invert(&mut streams.bench, word, bit));
            assert_eq!(streams.bench.seen().changed, changed, "a report stays until the next load");
            if changed {
                streams = Streams::new(streams.bench, tables);
                assert!(!streams.bench.seen().changed);
            }
            seen += usize::from(changed);
        }
        assert!(seen == group.len() || (several && seen > 0), "{}: {seen} of {}", group[0], group.len());
        reported += seen;
    }
    eprintln!("{reported} memories with a bit inverted in every word: reported");
}

#[test]
fn an_inverted_bit_changes_no_result_without_a_report() {
    let mut random = Random::new(32);
    let (package, source) = (Package::shipped("pii"), source("pii"));
    let tables = &package.compiled.tables;
    let mut streams = Streams::new(SimulatedTextScan::default(), tables);
    let memories: Vec<Memory> = memories().into_iter().flatten().collect();
    let (mut reported, upsets) = (0, if is_long() { 20_000 } else { 300 });
    for _ in 0..upsets {
        let memory = random.pick(&memories);
        // Low words are the states near the beginning of a word of the policy: texts visit them most.
        let among = if random.one_in(2) { 32 } else { memory.words as usize };
        let word = random.below(among) as u32;
        let bit = random.below(memory.bits as usize) as u32;
        memory.invert(&mut streams.bench, word, bit);
        let text = text(&mut random, &source);
        let both = both(&mut streams, &text);
        assert!(both.changed || both.scan == both.walk, "{memory}, word {word}: {}", text.escape_ascii());
        memory.invert(&mut streams.bench, word, bit);
        if both.changed {
            reported += 1;
            streams = Streams::new(streams.bench, tables);
        }
    }
    eprintln!("{reported} of {upsets} inverted bits reported");
    assert!(reported > 0 && reported < upsets, "the test looks at too little");
}
