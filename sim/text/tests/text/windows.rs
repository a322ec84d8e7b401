//! Entries in windows: writes texts into memory, describes them in entries, and computes the expected answers.

use portcullis_core::class::ClassSet;
use portcullis_core::commitment::{SpanKind, commitment};
use portcullis_lane::{EntryScan as WalkEntry, LaneScanner, ScanState, TextLaneTables};
use portcullis_test_support::random::Random;
use portcullis_text_bench::lane::{
    self, Answer, Bus, BusFault, Entry, SimulatedTextLane, TextFaultCause, TextLoadResult,
};
use portcullis_text_bench::{ENGINES, SLOTS};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};

pub(crate) const TAG: &[u8] = b"portcullis/span/1\0";
pub(crate) const CALL: &[u8] = b"portcullis/call/1\0";
/// Address of the tables.
pub(crate) const TABLES: u64 = 0x8_0000_0000;
pub(crate) const HEAD: usize = 38;
const BASE: u64 = 0x12_3456_0000;
/// Size of every window. Windows begin at multiples of 64 that are not multiples of 512, and cross pages.
pub(crate) const WINDOW_BEATS: u16 = 90;
pub(crate) const MOST_TEXT: usize = WINDOW_BEATS as usize * 64 - HEAD;

/// A fault in an entry. Where nothing else is stated, the commitment is computed over the faulty memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    Nothing,
    /// A bit of the tag is inverted, or one byte comes from the tag of the other kind.
    Tag,
    /// The length field is changed after the commitment was computed.
    Field,
    /// A bit of the memory, or of the commitment, is inverted after the commitment was computed.
    Memory,
    Commitment,
    /// The text contains a byte that is not UTF-8.
    Utf8,
    /// The text does not fit into the window; the window's address is not aligned; the window passes the last address.
    TooLong,
    Misaligned,
    Wraps,
    Outside,
    Bus(BusFault),
}

impl Lie {
    const IN_DATA: [Self; 9] = [
        Self::Tag,
        Self::Field,
        Self::Memory,
        Self::Commitment,
        Self::Utf8,
        Self::TooLong,
        Self::Misaligned,
        Self::Wraps,
        Self::Outside,
    ];
}

/// An entry that the lane has accepted, and the bytes that it must judge.
struct Pending {
    entry: Entry,
    /// The whole window.
    memory: Vec<u8>,
    faulty_bus: bool,
}

impl Pending {
    /// Length of the text, from the length field in the window.
    fn length(&self) -> u32 {
        u32::from_le_bytes(*self.memory[..HEAD].last_chunk().unwrap())
    }
}

/// The model's state of a slot.
#[derive(Clone, Copy)]
struct Slot {
    scan: ScanState,
    established: ClassSet,
}

/// The expected answer to an entry.
struct Judged {
    cause: TextFaultCause,
    classes: ClassSet,
    /// The state of the scan after the last byte of the entry.
    scan: ScanState,
    /// The slot's state once the entry is admitted.
    behind: Slot,
}

impl Judged {
    /// The answer to an entry whose text is not read to its end.
    fn unread(cause: TextFaultCause, from: Slot) -> Self {
        Self { cause, classes: ClassSet::EMPTY, scan: from.scan, behind: from }
    }
}

const NEW: Slot = Slot { scan: ScanState::START, established: ClassSet::EMPTY };

#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) causes: BTreeMap<TextFaultCause, usize>,
    pub(crate) bytes: usize,
    pub(crate) hits: usize,
    /// Number of entries for which earlier entries had established a class.
    pub(crate) established: usize,
    pub(crate) admitted: usize,
    pub(crate) read: usize,
    pub(crate) broken: usize,
}

/// Loads tables over the lane's bus.
pub(crate) fn load(lane: &mut SimulatedTextLane, encoded: &[u8]) -> TextLoadResult {
    lane.write(TABLES, encoded);
    let tables = lane::Tables { address: TABLES, bytes: encoded.len() as u32, digest: Sha256::digest(encoded).into() };
    let result = lane.load(&tables).unwrap();
    lane.reads();
    result
}

/// Number of beats that are read from a window: in the first burst, and for head and text. The second number is `None`
/// if they do not fit the window, or if nothing is read.
fn beats_read(entry: &Entry, memory: &[u8]) -> (u64, Option<u64>) {
    let end = u128::from(entry.address) + u128::from(entry.beats) * 64;
    if entry.outside || !entry.address.is_multiple_of(64) || end > 1 << 64 {
        return (0, None);
    }
    let first = (8 - entry.address / 64 % 8).min(entry.beats.into());
    let length = u32::from_le_bytes(*memory[..HEAD].last_chunk().unwrap());
    let beats = (HEAD as u64 + u64::from(length)).div_ceil(64);
    (first, Some(beats).filter(|beats| *beats <= entry.beats.into()))
}

/// A lane, its memory, and the software model of both.
pub(crate) struct Windows {
    pub(crate) lane: SimulatedTextLane,
    tables: TextLaneTables,
    walk: LaneScanner,
    slots: [Option<Slot>; SLOTS as usize],
    pending: VecDeque<Pending>,
    expected_reads: Vec<u64>,
    turn: u64,
    pub(crate) counts: Counts,
}

impl Windows {
    pub(crate) fn new(tables: &TextLaneTables) -> Self {
        let mut lane = SimulatedTextLane::default();
        assert_eq!(load(&mut lane, &tables.encode()), TextLoadResult::Good);
        Self {
            lane,
            tables: tables.clone(),
            walk: LaneScanner::new(tables.clone()).unwrap(),
            slots: [None; SLOTS as usize],
            pending: VecDeque::new(),
            expected_reads: Vec::new(),
            turn: 0,
            counts: Counts::default(),
        }
    }

    /// Enters a text, with the fault `lie` if there is one. The first entry of a slot renews the slot.
    pub(crate) fn enter(&mut self, random: &mut Random, slot: u16, text: &[u8], lie: Lie) {
        let ours = |pending: &Pending| pending.entry.slot == slot;
        if !self.pending.iter().any(ours) && (self.slots[usize::from(slot)].is_none() || random.one_in(8)) {
            self.lane.renew(slot).unwrap();
            self.slots[usize::from(slot)] = Some(NEW);
        }
        let mut text = text.to_vec();
        if lie == Lie::Utf8 {
            if text.len() < MOST_TEXT {
                text.push(b'x');
            }
            let at = random.below(text.len());
            text[at] = *random.pick(&[0xff, 0xc0, 0x80, 0xf8, 0xed]);
        }
        let salt: [u8; 16] = std::array::from_fn(|_| random.bits() as u8);
        let (kind, tag) = *random.pick(&[(SpanKind::Text, TAG), (SpanKind::Call, CALL)]);
        let mut memory = [tag, &salt, &(text.len() as u32).to_le_bytes(), &text].concat();
        if lie == Lie::Tag {
            // With one byte of the other kind's tag, the tag is that of neither kind.
            let at = random.below(TAG.len());
            let other = if kind.is_text() { CALL } else { TAG };
            memory[at] = if memory[at] == other[at] { memory[at] ^ 1 << random.below(8) } else { other[at] };
        }
        let mut committed: [u8; 32] = Sha256::digest(&memory).into();
        if matches!(lie, Lie::Nothing | Lie::Utf8) {
            assert_eq!(committed, commitment(kind, &salt, &[&text]), "the model's own form");
        }
        // The address does not depend on the slot, so two texts of one slot can wait at the same time.
        let mut address = BASE + (self.turn % 8) * (u64::from(WINDOW_BEATS) + 3) * 64 + 192;
        self.turn += 1;
        let mut beats = WINDOW_BEATS;
        match lie {
            Lie::Field => memory[34 + random.below(4)] ^= 1 << random.below(8),
            Lie::Memory => {
                // The changed bit is in the salt or the text. In the tag or the length, the cause would be another one.
                let at = 18 + random.below(memory.len() - 18 - 4);
                memory[if at < 34 { at } else { at + 4 }] ^= 1 << random.below(8);
            }
            Lie::Commitment => committed[random.below(32)] ^= 1 << random.below(8),
            Lie::TooLong => {
                let length = MOST_TEXT as u32 + 1 + *random.pick(&[0, 1, 64, 100_000, u32::MAX - 300_000]);
                memory[34..HEAD].copy_from_slice(&length.to_le_bytes());
            }
            Lie::Misaligned => address += 1 + random.below(63) as u64,
            Lie::Wraps => {
                beats = 20;
                address = 0u64.wrapping_sub(64 * (1 + random.below(19) as u64));
            }
            _ => {}
        }
        let rest = usize::from(WINDOW_BEATS) * 64 - memory.len();
        memory.extend(b"0123 behind the text ".iter().cycle().take(rest));
        self.lane.write(address, &memory);
        let outside = lie == Lie::Outside;
        let entry = Entry { address, beats, outside, commitment: committed, slot };
        let (first, all) = beats_read(&entry, &memory);
        let read = first.max(all.unwrap_or(0));
        if let Lie::Bus(fault) = lie {
            self.lane.fault_at(fault, 1 + random.below(read as usize) as u32);
        }
        self.expected_reads.extend((0..read).map(|beat| address + 64 * beat));
        self.lane.enter(&entry).unwrap();
        self.pending.push_back(Pending { entry, memory, faulty_bus: matches!(lie, Lie::Bus(_)) });
    }

    /// The slots of the entries that have no verdict yet.
    pub(crate) fn busy(&self) -> Vec<u16> {
        self.pending.iter().map(|pending| pending.entry.slot).collect()
    }

    fn judge(&self, pending: &Pending, from: Slot) -> Judged {
        let Pending { entry, memory, .. } = pending;
        let (first, beats) = beats_read(entry, memory);
        if first > 0 && pending.faulty_bus {
            return Judged::unread(TextFaultCause::Bus, from);
        }
        if beats.is_none() {
            return Judged::unread(TextFaultCause::Window, from);
        }
        let read = &memory[..HEAD + pending.length() as usize];
        let text = &read[HEAD..];
        let is_call = read[..TAG.len()] == *CALL;
        let mut scan = if is_call { ScanState::START } else { from.scan };
        let mut scanned = WalkEntry::default();
        self.walk.read(&mut scan, &mut scanned, text);
        let scanned = self.walk.end(&mut scan, scanned);
        assert_eq!(scanned.utf8, std::str::from_utf8(text).is_ok());
        let cause = if ![TAG, CALL].contains(&&read[..TAG.len()]) {
            TextFaultCause::Tag
        } else if !scanned.utf8 {
            TextFaultCause::Utf8
        } else if <[u8; 32]>::from(Sha256::digest(read)) != entry.commitment {
            TextFaultCause::Commitment
        } else {
            TextFaultCause::None
        };
        let established = from.established.union(scanned.classes);
        let behind = Slot { scan: if is_call { from.scan } else { scan }, established };
        let classes = if cause == TextFaultCause::None { scanned.classes } else { ClassSet::EMPTY };
        Judged { cause, classes, scan, behind }
    }

    /// Compares the answer to the oldest entry, and gives its verdict.
    pub(crate) fn settle(&mut self, random: &mut Random) -> Answer {
        let answer = self.lane.answer().unwrap();
        let pending = self.pending.pop_front().unwrap();
        let slot = usize::from(pending.entry.slot);
        let from = self.slots[slot].unwrap();
        let Judged { cause, classes, scan, behind } = self.judge(&pending, from);
        assert!(!pending.faulty_bus || self.lane.fault_met(), "the bus did not come to its fault");
        let place = || format!("{:?}, {} bytes: {}", pending.entry, pending.length(), pending.memory.escape_ascii());
        if !matches!(cause, TextFaultCause::Window | TextFaultCause::Bus) {
            assert_eq!(answer.length, pending.length(), "{}", place());
            assert_eq!(answer.call, pending.memory.starts_with(CALL), "{}", place());
        }
        assert_eq!(TextFaultCause::of(answer.cause), Some(cause), "{}", place());
        assert_eq!(answer.agrees, cause == TextFaultCause::None, "{}", place());
        assert_eq!(ClassSet(u128::from_le_bytes(answer.classes)), classes, "{}", place());
        let established = if answer.agrees { from.established } else { ClassSet::EMPTY };
        assert_eq!(ClassSet(u128::from_le_bytes(answer.established)), established, "{}", place());
        let admit = answer.agrees && !random.one_in(3);
        if answer.agrees {
            assert_eq!(answer.state, scan.card_form(ENGINES).unwrap(), "{}", place());
            self.counts.bytes += pending.length() as usize;
            self.counts.hits += usize::from(classes != ClassSet::EMPTY);
            self.counts.established += usize::from(established != ClassSet::EMPTY);
        }
        if random.one_in(3) {
            self.lane.idle(random.below(300) as u32).unwrap();
        }
        self.lane.settle(admit).unwrap();
        if admit {
            self.slots[slot] = Some(behind);
            self.counts.admitted += 1;
        }
        *self.counts.causes.entry(cause).or_default() += 1;
        answer
    }

    /// Answers all entries. Checks that the lane has read every beat of every text once, in order, and no other beat.
    pub(crate) fn drain(&mut self, random: &mut Random) {
        while !self.pending.is_empty() {
            self.settle(random);
        }
        let reads = self.lane.reads();
        assert_eq!(reads, self.expected_reads, "other beats were read than those of the texts");
        self.counts.read += reads.len();
        self.expected_reads.clear();
    }

    /// Enters a text over a bus with a fault, after all other entries. Any fault except an error response breaks the
    /// bus: then the lane reads nothing more until a reset.
    pub(crate) fn enter_over_faulty_bus(&mut self, random: &mut Random, slot: u16, text: &[u8], fault: BusFault) {
        self.drain(random);
        self.enter(random, slot, text, Lie::Bus(fault));
        self.settle(random);
        let reads = self.lane.reads();
        assert!(self.expected_reads.starts_with(&reads), "beats outside the text were read");
        self.expected_reads.clear();
        self.lane.fault_at(fault, 0);
        assert_eq!(self.lane.broken(), fault != BusFault::Error);
        if fault == BusFault::Error {
            return;
        }
        self.counts.broken += 1;
        self.lane.idle(100).unwrap();
        self.enter(random, slot, text, Lie::Nothing);
        self.pending.back_mut().unwrap().faulty_bus = true;
        self.lane.fault_at(fault, 0);
        let answer = self.lane.answer().unwrap();
        assert_eq!((TextFaultCause::of(answer.cause), answer.agrees), (Some(TextFaultCause::Bus), false));
        self.lane.settle(false).unwrap();
        self.pending.clear();
        self.expected_reads.clear();
        assert_eq!(self.lane.reads(), [0; 0], "a read over a broken bus");
        self.lane.reset().unwrap();
        assert_eq!(load(&mut self.lane, &self.tables.encode()), TextLoadResult::Good);
        self.slots = [None; SLOTS as usize];
    }

    /// Enters a text over a bus with random behaviour; with `lies`, the entry sometimes has a fault.
    pub(crate) fn random_entry(&mut self, random: &mut Random, text: &[u8], lies: bool) {
        if random.one_in(8) {
            let least = *random.pick(&[0, 1, 30, 200]);
            let most = least + *random.pick(&[0, 5, 300]);
            let stall_of_8 = *random.pick(&[0, 0, 2, 6]);
            self.lane.set_bus(Bus { least_latency: least, most_latency: most, stall_of_8, seed: random.bits() });
        }
        let slot = random.below(usize::from(SLOTS)) as u16;
        let busy = self.busy();
        let slot = if random.one_in(3) { busy.first().copied().unwrap_or(slot) } else { slot };
        // The lane holds three entries. An entry that waits for its slot's state blocks all entries after it.
        let waits = (1..busy.len()).any(|at| busy[..at].contains(&busy[at]));
        if waits || busy.len() == 3 {
            self.drain(random);
        }
        let lie = if lies && random.one_in(3) { *random.pick(&Lie::IN_DATA) } else { Lie::Nothing };
        self.enter(random, slot, text, lie);
        if random.one_in(2) {
            self.settle(random);
        }
    }
}
