//! Runs streams in the bench and in the software walk, side by side.

use portcullis_core::class::ClassSet;
use portcullis_lane::{EntryScan, EntryScanResult, LaneScanner, ScanState, TextLaneTables};
use portcullis_test_support::random::Random;
use portcullis_text_bench::{BytePace, ENGINES, SLOTS, ScanStart, Seen, SimulatedTextScan};

/// The bench and the software walk, with the same tables.
pub(crate) struct Streams {
    pub(crate) bench: SimulatedTextScan,
    pub(crate) walk: LaneScanner,
    /// The walk's saved state for each slot; `None` before the slot's first entry.
    slots: [Option<ScanState>; SLOTS as usize],
    pub(crate) counts: Counts,
}

/// How much was compared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) entries: usize,
    /// Number of bytes after which all results were compared.
    pub(crate) bytes: usize,
    /// Number of bytes of those entries whose results were compared only after the entry's last byte.
    pub(crate) paced: usize,
    /// Number of entries in which a class was found.
    pub(crate) hits: usize,
    /// All classes found so far.
    pub(crate) found: ClassSet,
    pub(crate) not_utf8: usize,
    /// Number of entries that continued the stream of an earlier entry.
    pub(crate) resumed: usize,
}

pub(crate) fn pace(random: &mut Random) -> BytePace {
    BytePace { idle_of_8: *random.pick(&[0, 0, 3, 6]), seed: random.bits() }
}

impl Streams {
    /// Loads tables into a bench, and locks them.
    pub(crate) fn new(mut bench: SimulatedTextScan, tables: &TextLaneTables) -> Self {
        bench.lock(false);
        bench.clear().unwrap();
        let seen = bench.load(&tables.encode(), BytePace::default()).unwrap();
        assert!(seen.complete && !seen.bad, "the tables are not taken");
        bench.lock(true);
        let walk = LaneScanner::new(tables.clone()).unwrap();
        Self { bench, walk, slots: [None; SLOTS as usize], counts: Counts::default() }
    }

    /// Reads bytes as entries of one slot, cut at any byte; some entries are empty.
    pub(crate) fn entries(&mut self, random: &mut Random, bytes: &[u8]) {
        let slot = random.below(usize::from(SLOTS));
        let mut rest = bytes;
        loop {
            let length = if random.one_in(2) { rest.len() } else { random.within(0, rest.len()) };
            let (entry, after) = rest.split_at(length);
            self.entry(random, slot, entry);
            rest = after;
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Reads an entry, and then admits or refuses it at random.
    fn entry(&mut self, random: &mut Random, slot: usize, bytes: &[u8]) {
        let resumed = self.slots[slot].filter(|_| !random.one_in(16));
        let mut state = resumed.unwrap_or(ScanState::START);
        let start = if resumed.is_some() { ScanStart::Slot(slot as u16) } else { ScanStart::New };
        self.bench.start(start).unwrap();
        self.bench.drain().unwrap();
        assert_eq!(self.bench.state(), form(&state), "behind the start");

        let mut entry = EntryScan::default();
        if random.one_in(2) {
            for (at, byte) in bytes.iter().enumerate() {
                self.bench.read(&[*byte], BytePace::default()).unwrap();
                self.walk.read(&mut state, &mut entry, &[*byte]);
                self.bench.drain().unwrap();
                self.compare(&state, entry.so_far(), || format!("byte {at} of {}", bytes.escape_ascii()));
            }
            self.counts.bytes += bytes.len();
        } else {
            self.bench.read(bytes, pace(random)).unwrap();
            self.walk.read(&mut state, &mut entry, bytes);
            self.counts.paced += bytes.len();
        }
        let scanned = self.walk.end(&mut state, entry);
        self.bench.end().unwrap();
        self.bench.drain().unwrap();
        self.compare(&state, scanned, || format!("the end of {}", bytes.escape_ascii()));

        self.counts.entries += 1;
        self.counts.hits += usize::from(scanned.classes != ClassSet::EMPTY);
        self.counts.found = self.counts.found.union(scanned.classes);
        self.counts.not_utf8 += usize::from(!scanned.utf8);
        self.counts.resumed += usize::from(resumed.is_some());
        if !random.one_in(4) {
            self.bench.save(slot as u16).unwrap();
            self.slots[slot] = Some(state);
        }
        // Compares the slot of the entry and another slot.
        for slot in [slot, random.below(usize::from(SLOTS))] {
            if let Some(kept) = &self.slots[slot] {
                assert_eq!(self.bench.saved(slot as u16).unwrap(), form(kept), "slot {slot}");
            }
        }
    }

    fn compare(&self, state: &ScanState, scanned: EntryScanResult, place: impl Fn() -> String) {
        let Seen { classes, utf8, changed, .. } = self.bench.seen();
        assert!(!changed, "a change of a memory is reported behind {}", place());
        let seen = EntryScanResult { classes: ClassSet(u128::from_le_bytes(classes)), utf8 };
        assert_eq!(seen, scanned, "behind {}", place());
        assert_eq!(self.bench.state(), form(state), "behind {}: {state:?}", place());
    }
}

fn form(state: &ScanState) -> Vec<u8> {
    state.card_form(ENGINES).unwrap()
}
