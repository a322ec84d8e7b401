//! A minimal driver: one ring, tables that deny everything, and entries that the test builds itself.

use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{Descriptor, IMAGE_MAGIC, ImageHeader, LAYOUT_VERSION, MAP_DIGEST, Opcode};
use portcullis_sim::{DmaRegion, SimConfig, SimulatedCard};
use sha2::{Digest, Sha256};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

pub const COMMAND: u32 = 0x040;
pub const STATUS: u32 = 0x044;
pub const FAULT: u32 = 0x048;
pub const LOAD_FAULT: u32 = 0x04c;
pub const EXPECTED_DIGEST: u32 = 0x060;
pub const SQ_TAIL: u32 = 0x100c;
pub const CQ_HEAD: u32 = 0x1018;
pub const LOG_HEAD: u32 = 0x102c;
pub const LOG_TAIL: u32 = 0x1030;
pub const CQ_TAIL: u32 = 0x1038;

/// Bits of the status register outside the field for the life state.
pub const BUSY: u32 = 1 << 5;
pub const NEEDS_RESET: u32 = 1 << 6;

pub const LIFE_RESET: u32 = 0;
pub const LIFE_LOAD: u32 = 1;
pub const LIFE_RUN: u32 = 3;
pub const LIFE_CLOSING: u32 = 4;
pub const LIFE_FAULT: u32 = 5;

/// Number of entries in the submission and completion rings.
pub const RING: usize = 32;
/// log2 of the number of records in the log ring.
pub const LOG_LOG2: u32 = 4;
/// Number of records in the log ring.
pub const LOG: usize = 1 << LOG_LOG2;

pub struct Rig {
    pub sim: SimulatedCard,
    pub sq: DmaRegion,
    pub cq: DmaRegion,
    pub log: DmaRegion,
    /// Counts since OPEN: submitted entries, then consumed completions, then consumed records.
    pub submitted: u16,
    pub completed: u16,
    pub logged: u32,
}

impl Rig {
    pub fn new(config: SimConfig) -> Self {
        let mut sim = SimulatedCard::new(config).unwrap();
        let sq = sim.map(RING * 128).unwrap();
        let cq = sim.map(RING * 64).unwrap();
        let log = sim.map(LOG * 256).unwrap();
        let mut rig = Self { sim, sq, cq, log, submitted: 0, completed: 0, logged: 0 };
        rig.open();
        rig
    }

    /// Goes from RESET to RUN, and consumes the OPEN record.
    pub fn open(&mut self) {
        self.load();
        self.sim.write32(COMMAND, 2).unwrap();
        self.await_life(LIFE_RUN);
        (self.submitted, self.completed, self.logged) = (0, 0, 0);
        self.consume_records(1);
    }

    /// Goes from RESET to LOAD, and prepares all settings for OPEN.
    pub fn load(&mut self) {
        self.sim.write32(COMMAND, 1).unwrap();
        let header = ImageHeader {
            magic: U32::new(IMAGE_MAGIC),
            version: LAYOUT_VERSION,
            policy_rows: U16::new(1),
            entropy_rows: U16::new(1),
            map_digest: MAP_DIGEST,
            ..ImageHeader::ZERO
        };
        for (n, word) in header.as_bytes().chunks_exact(4).enumerate() {
            let word = u32::from_le_bytes(word.try_into().unwrap());
            self.sim.write32(0x10000 + 4 * n as u32, word).unwrap();
        }
        // Each bank has one empty row.
        for bank in [0x40000, 0x80000] {
            for word in 0..48 {
                self.sim.write32(bank + 4 * word, 0).unwrap();
            }
        }
        // The card hashes header and rows, and compares the result with this digest.
        let digest = Sha256::new().chain_update(header.as_bytes()).chain_update([0; 2 * 192]).finalize();
        for (n, word) in digest.chunks_exact(4).enumerate() {
            let word = u32::from_le_bytes(word.try_into().unwrap());
            self.sim.write32(EXPECTED_DIGEST + 4 * n as u32, word).unwrap();
        }
        self.cq.zero(0, RING * 64).unwrap();
        for (register, region) in [(0x1000, &self.sq), (0x1010, &self.cq), (0x1020, &self.log)] {
            self.sim.write32(register, region.address() as u32).unwrap();
            self.sim.write32(register + 4, (region.address() >> 32) as u32).unwrap();
        }
        self.sim.write32(0x1008, RING.ilog2()).unwrap();
        self.sim.write32(0x1028, LOG_LOG2).unwrap();
    }

    pub fn life(&mut self) -> u32 {
        self.sim.read32(STATUS).unwrap() & 15
    }

    pub fn fault(&mut self) -> u32 {
        self.sim.read32(FAULT).unwrap()
    }

    pub fn await_life(&mut self, life: u32) {
        for _ in 0..2000 {
            if self.life() == life {
                return;
            }
            self.sim.run(50).unwrap();
        }
        panic!("life is {}, not {life}; fault {:#x}", self.life(), self.fault());
    }

    pub fn status(&mut self) -> u32 {
        self.sim.read32(STATUS).unwrap()
    }

    pub fn reset(&mut self) {
        self.sim.write32(COMMAND, 4).unwrap();
        self.await_life(LIFE_RESET);
    }

    /// Writes `n` BEGIN entries for consecutive slots from `slot` on, and rings the doorbell.
    pub fn submit(&mut self, slot: u16, n: u16) {
        for i in 0..n {
            let place = SlotSequence { slot: slot + i, sequence: 0 };
            let entry = Descriptor::entry(Opcode::Begin, place, [7; 32]).sealed();
            self.sq.write(usize::from(self.submitted) % RING * 128, entry.as_bytes()).unwrap();
            self.submitted = self.submitted.wrapping_add(1);
        }
        self.sim.write32(SQ_TAIL, u32::from(self.submitted)).unwrap();
    }

    /// The completion number `count`; `None` if it has not arrived.
    pub fn completion(&self, count: u16) -> Option<[u8; 64]> {
        let mut bytes = [0; 64];
        self.cq.read(usize::from(count) % RING * 64, &mut bytes).unwrap();
        let phase = 1 - (usize::from(count) / RING % 2) as u8;
        (bytes[2] & 1 == phase).then_some(bytes)
    }

    /// Reports to the card that `n` more records were consumed.
    pub fn consume_records(&mut self, n: u32) {
        self.logged += n;
        self.sim.write32(LOG_HEAD, self.logged).unwrap();
    }

    pub fn assert_lawful(&self) {
        assert_eq!(self.sim.violations(), None);
    }
}
