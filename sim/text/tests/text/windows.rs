//! Entries in windows: writes texts into memory, describes them in entries, and computes the expected answers.

use portcullis_core::class::ClassSet;
use portcullis_core::commitment::{SpanKind, commitment};
use portcullis_lane::{Entry as WalkEntry, ScanState, Tables, Walk};
use portcullis_test_support::random::Random;
use portcullis_text_bench::lane::{Answer, Bus, BusFault, Cause, Entry, Lane};
use portcullis_text_bench::{ENGINES, SLOTS};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};

pub(crate) const TAG: &[u8] = b"portcullis/span/1\0";
pub(crate) const HEAD: usize = 38;
const BASE: u64 = 0x12_3456_0000;
/// Size of every window. Windows begin at multiples of 64 that are not multiples of 512, and cross pages.
pub(crate) const WINDOW_BEATS: u16 = 90;
pub(crate) const MOST_TEXT: usize = WINDOW_BEATS as usize * 64 - HEAD;

/// A fault in an entry. Where nothing else is stated, the commitment is computed over the faulty memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    Nothing,
    /// The tag is that of a tool call, or has a wrong bit.
    Tag,
    /// The descriptor declares a wrong length (`Declared`), or the length field in memory is wrong (`Field`).
    Declared,
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
    Bus(BusFault),
}

impl Lie {
    const IN_DATA: [Self; 9] = [
        Self::Tag,
        Self::Declared,
        Self::Field,
        Self::Memory,
        Self::Commitment,
        Self::Utf8,
        Self::TooLong,
        Self::Misaligned,
        Self::Wraps,
    ];
}

/// An entry that the lane has accepted, and the bytes that it must judge.
struct Pending {
    entry: Entry,
    memory: Vec<u8>,
    faulty_bus: bool,
}

/// The model's state of a slot.
#[derive(Clone, Copy)]
struct Slot {
    scan: ScanState,
    established: ClassSet,
}

const NEW: Slot = Slot { scan: ScanState::START, established: ClassSet::EMPTY };

#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) causes: BTreeMap<Cause, usize>,
    pub(crate) bytes: usize,
    pub(crate) hits: usize,
    /// Number of entries for which earlier entries had established a class.
    pub(crate) established: usize,
    pub(crate) admitted: usize,
    pub(crate) read: usize,
    pub(crate) broken: usize,
}

/// A lane, its memory, and the software model of both.
pub(crate) struct Windows {
    pub(crate) lane: Lane,
    tables: Tables,
    walk: Walk,
    slots: [Option<Slot>; SLOTS as usize],
    pending: VecDeque<Pending>,
    expected_reads: Vec<u64>,
    turn: u64,
    pub(crate) counts: Counts,
}

impl Windows {
    pub(crate) fn new(tables: &Tables) -> Self {
        let mut lane = Lane::default();
        lane.load(&tables.encode()).unwrap();
        Self {
            lane,
            tables: tables.clone(),
            walk: Walk::new(tables.clone()).unwrap(),
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
        let mut length = text.len() as u32;
        let mut memory = [TAG, &salt, &length.to_le_bytes(), &text].concat();
        match lie {
            Lie::Tag if random.one_in(2) => memory[..TAG.len()].copy_from_slice(b"portcullis/call/1\0"),
            Lie::Tag => memory[random.below(TAG.len())] ^= 1 << random.below(8),
            Lie::Field => memory[34 + random.below(4)] ^= 1 << random.below(8),
            _ => {}
        }
        let mut committed: [u8; 32] = Sha256::digest(&memory).into();
        if matches!(lie, Lie::Nothing | Lie::Utf8) {
            assert_eq!(committed, commitment(SpanKind::Text, &salt, &[&text]), "the model's own form");
        }
        // The address does not depend on the slot, so two texts of one slot can wait at the same time.
        let mut address = BASE + (self.turn % 8) * (u64::from(WINDOW_BEATS) + 3) * 64 + 192;
        self.turn += 1;
        let mut beats = WINDOW_BEATS;
        match lie {
            Lie::Declared if length > 0 && random.one_in(2) => length -= 1,
            // The declared length is too large by one, so the hash includes the byte after the text.
            Lie::Declared => length += 1,
            Lie::Memory => {
                let at = random.below(memory.len() - 20);
                // The changed bit is in the salt or in the text. In the tag or the length field, it would have another
                // cause.
                let at = if at < 16 { at + 18 } else { at - 16 + HEAD };
                if at < memory.len() {
                    memory[at] ^= 1 << random.below(8);
                } else {
                    memory[18] ^= 1;
                }
            }
            Lie::Commitment => committed[random.below(32)] ^= 1 << random.below(8),
            Lie::TooLong => {
                length = (usize::from(beats) * 64 - HEAD) as u32
                    + 1
                    + *random.pick(&[0, 1, 64, 100_000, u32::MAX - 300_000]);
            }
            Lie::Misaligned => address += 1 + random.below(63) as u64,
            Lie::Wraps => {
                beats = 20;
                address = 0u64.wrapping_sub(64 * (1 + random.below(19) as u64));
            }
            _ => {}
        }
        self.lane.write(address, &memory);
        let entry = Entry { address, beats, length, commitment: committed, slot, fresh: random.one_in(12) };
        let beats = (HEAD as u64 + u64::from(length)).div_ceil(64);
        if let Lie::Bus(fault) = lie {
            self.lane.fault_at(fault, 1 + random.below(beats as usize) as u32);
        }
        if beats <= u64::from(entry.beats) && address.is_multiple_of(64) && lie != Lie::Wraps {
            self.expected_reads.extend((0..beats).map(|beat| address + 64 * beat));
        }
        self.lane.enter(&entry).unwrap();
        self.pending.push_back(Pending { entry, memory, faulty_bus: matches!(lie, Lie::Bus(_)) });
    }

    /// The slots of the entries that have no verdict yet.
    pub(crate) fn busy(&self) -> Vec<u16> {
        self.pending.iter().map(|pending| pending.entry.slot).collect()
    }

    /// The expected cause and classes, and the slot's state after the entry.
    fn judge(&self, pending: &Pending, from: Slot) -> (Cause, ClassSet, Slot) {
        let Pending { entry, memory, .. } = pending;
        let total = HEAD as u64 + u64::from(entry.length);
        let beats = total.div_ceil(64);
        let end = u128::from(entry.address) + u128::from(entry.beats) * 64;
        if beats > u64::from(entry.beats) || !entry.address.is_multiple_of(64) || end > 1 << 64 {
            return (Cause::Window, ClassSet::EMPTY, from);
        }
        if pending.faulty_bus {
            return (Cause::Bus, ClassSet::EMPTY, from);
        }
        let read = &memory[..memory.len().min(total as usize)];
        let text = &read[HEAD..];
        let mut scan = from.scan;
        let mut scanned = WalkEntry::default();
        self.walk.read(&mut scan, &mut scanned, text);
        let scanned = self.walk.end(&mut scan, scanned);
        assert_eq!(scanned.utf8, std::str::from_utf8(text).is_ok());
        let cause = if &read[..TAG.len()] != TAG {
            Cause::Tag
        } else if read[34..HEAD] != entry.length.to_le_bytes() {
            Cause::Length
        } else if <[u8; 32]>::from(Sha256::digest(read)) != entry.commitment || read.len() as u64 != total {
            Cause::Commitment
        } else if !scanned.utf8 {
            Cause::Utf8
        } else {
            Cause::None
        };
        let behind = Slot { scan, established: from.established.union(scanned.classes) };
        (cause, if cause == Cause::None { scanned.classes } else { ClassSet::EMPTY }, behind)
    }

    /// Compares the answer to the oldest entry, and gives its verdict.
    pub(crate) fn settle(&mut self, random: &mut Random) -> Answer {
        let answer = self.lane.answer().unwrap();
        let pending = self.pending.pop_front().unwrap();
        let slot = usize::from(pending.entry.slot);
        let kept = self.slots[slot].unwrap();
        let from = if pending.entry.fresh { NEW } else { kept };
        let (cause, classes, behind) = self.judge(&pending, from);
        assert!(!pending.faulty_bus || self.lane.fault_met(), "the bus did not come to its fault");
        let place =
            || format!("{:?}, {} bytes: {}", pending.entry, pending.memory.len(), pending.memory.escape_ascii());
        assert_eq!(Cause::of(answer.cause), Some(cause), "{}", place());
        assert_eq!(answer.agrees, cause == Cause::None, "{}", place());
        assert_eq!(ClassSet(u128::from_le_bytes(answer.classes)), classes, "{}", place());
        let established = if answer.agrees { from.established } else { ClassSet::EMPTY };
        assert_eq!(ClassSet(u128::from_le_bytes(answer.established)), established, "{}", place());
        let admit = answer.agrees && !random.one_in(3);
        if answer.agrees {
            assert_eq!(answer.state, behind.scan.card_form(ENGINES).unwrap(), "{}", place());
            self.counts.bytes += pending.memory.len() - HEAD;
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
        assert_eq!((Cause::of(answer.cause), answer.agrees), (Some(Cause::Bus), false));
        self.lane.settle(false).unwrap();
        self.pending.clear();
        self.expected_reads.clear();
        assert_eq!(self.lane.reads(), [0; 0], "a read over a broken bus");
        self.lane.reset().unwrap();
        self.lane.load(&self.tables.encode()).unwrap();
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
