//! The card's text lane, over the bus: the tables and windows that OPEN accepts, the texts of GATE and END, the classes
//! that the banks compare, and the state of a slot. One card with one lane, driven register by register.
#![cfg(test)]

#[allow(unreachable_pub, dead_code, reason = "shared by tests that each use a part")]
mod rig;

use portcullis_core::commitment::{SpanKind, commitment};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{
    Descriptor, Determination, Fault, IMAGE_MAGIC, ImageHeader, ImageText, LAYOUT_VERSION, MAP_DIGEST, Opcode, Record,
    Row, RowKind, StageOutcome, flags,
};
use portcullis_lane::{ClassForm, ClassSource, FormBorder, LaneSource, LaneTableLimits, MatchRelation, compile};
use portcullis_sim::{BusStall, DmaRegion, SimConfig};
use regex_syntax::hir::Hir;
use rig::{COMMAND, EXPECTED_DIGEST, FAULT, LIFE_FAULT, LIFE_LOAD, LIFE_RUN, LOAD_FAULT, LOG, RING, Rig, SQ_TAIL};
use sha2::{Digest, Sha256};
use zerocopy::little_endian::{I32, U16, U32, U128};
use zerocopy::{FromBytes, IntoBytes};

const CAPABILITIES: u32 = 0x008;
const TEXT_LIMITS: u32 = 0x01c;
const TABLES: u32 = 0x170;
const STRIDE: u32 = 0x178;
const BLOCKS: u32 = 0x2000;
const BLOCK: usize = 2 << 20;

/// A class that closes a gate, and a class that opens one.
const SECRET: u128 = 1 << 1;
const CONSENT: u128 = 1 << 2;

/// What OPEN is given.
#[derive(Clone, Debug)]
struct Plan {
    tables: Vec<u8>,
    digest: [u8; 32],
    bytes: u32,
    parts: u8,
    address: Option<u64>,
    stride_log2: u32,
    block_offset: u64,
    lost_word: bool,
}

fn tables() -> Vec<u8> {
    let class = |id: u8, word: &str| ClassSource {
        id: id.try_into().unwrap(),
        name: word.to_owned(),
        forms: vec![ClassForm {
            name: word.to_owned(),
            hir: Hir::literal(word.as_bytes().to_vec()),
            border: FormBorder::Free,
            check: None,
            relation: MatchRelation::Equal,
        }],
        left_out: Vec::new(),
        view: false,
        domains: Vec::new(),
    };
    let source = LaneSource { classes: vec![class(1, "secret"), class(2, "consent")], ..LaneSource::default() };
    compile(&source, &LaneTableLimits::default()).tables.encode()
}

impl Plan {
    fn new() -> Self {
        let tables = tables();
        Self {
            digest: Sha256::digest(&tables).into(),
            bytes: tables.len() as u32,
            tables,
            parts: 1,
            address: None,
            stride_log2: 11,
            block_offset: 0,
            lost_word: false,
        }
    }
}

/// A row that every entry matches.
fn any_row(kind: RowKind) -> Row {
    let range = |low: u16, high: u16| [U16::new(low), U16::new(high)];
    let mut row = Row {
        kind: kind.into(),
        small_enums: U16::new(u16::MAX),
        depth: [0, 255],
        alternatives: [0, 255],
        correction: [0, 255],
        temporal: U32::new(1),
        domain: U32::new(1),
        audience: U32::new(1),
        register: U32::new(1),
        ..Row::ZERO
    };
    for pair in row.scalars.chunks_exact_mut(2) {
        pair.copy_from_slice(&range(0, u16::MAX));
    }
    for pair in row.quantities.chunks_exact_mut(2) {
        pair.copy_from_slice(&[I32::new(i32::MIN), I32::new(i32::MAX)]);
    }
    row
}

struct TextRig {
    rig: Rig,
    tables: DmaRegion,
    windows: DmaRegion,
    sequence: u32,
    slot: u16,
}

impl TextRig {
    fn new(config: SimConfig, plan: &Plan) -> Self {
        let mut rig = Rig::new(config);
        let tables = rig.sim.map(plan.tables.len().next_multiple_of(4096)).unwrap();
        let windows = rig.sim.map(BLOCK).unwrap();
        rig.reset();
        let mut text = Self { rig, tables, windows, sequence: 0, slot: 0 };
        text.ask(plan);
        text
    }

    /// Sends LOAD, writes everything for OPEN, and sends OPEN. Does not wait for the end of OPEN.
    fn ask(&mut self, plan: &Plan) {
        let sim = &mut self.rig;
        sim.load();
        self.tables.write(0, &plan.tables).unwrap();
        let header = ImageHeader {
            magic: U32::new(IMAGE_MAGIC),
            version: LAYOUT_VERSION,
            parts: plan.parts,
            policy_rows: U16::new(3),
            entropy_rows: U16::new(1),
            temporal: U32::new(1),
            domain: U32::new(1),
            audience: U32::new(1),
            register: U32::new(1),
            classes: U128::new(SECRET | CONSENT),
            map_digest: MAP_DIGEST,
            ..ImageHeader::ZERO
        };
        let part = ImageText {
            digest: plan.digest,
            opening: U128::new(CONSENT),
            bytes: U32::new(plan.bytes),
            ..ImageText::ZERO
        };
        let secret = Row { classes_any: U128::new(SECRET), ..any_row(RowKind::ForbidReject) };
        // Category 1 needs consent.
        let consent = Row {
            classes_none: U128::new(CONSENT),
            small_enums: U16::new(!0x3f | 2),
            ..any_row(RowKind::ForbidReject)
        };
        let rows = [secret, consent, any_row(RowKind::Permit), any_row(RowKind::Permit)];
        let head = [header.as_bytes(), part.as_bytes()].concat();
        for (n, word) in head.chunks_exact(4).enumerate() {
            if plan.lost_word && n == 40 {
                continue;
            }
            sim.sim.write32(0x10000 + 4 * n as u32, u32::from_le_bytes(word.try_into().unwrap())).unwrap();
        }
        for (base, row) in [(0x40000, 0), (0x40100, 1), (0x40200, 2), (0x80000, 3)] {
            for (n, word) in rows[row].as_bytes().chunks_exact(4).enumerate() {
                sim.sim.write32(base + 4 * n as u32, u32::from_le_bytes(word.try_into().unwrap())).unwrap();
            }
        }
        let mut digest = Sha256::new().chain_update(header.as_bytes());
        if plan.parts & 1 != 0 {
            digest.update(part.as_bytes());
        }
        rows.iter().for_each(|row| digest.update(row.as_bytes()));
        for (n, word) in digest.finalize().chunks_exact(4).enumerate() {
            let word = u32::from_le_bytes(word.try_into().unwrap());
            sim.sim.write32(EXPECTED_DIGEST + 4 * n as u32, word).unwrap();
        }
        let address = plan.address.unwrap_or(self.tables.address());
        let block = self.windows.address() + plan.block_offset;
        for (register, value) in [(TABLES, address), (BLOCKS, block)] {
            sim.sim.write32(register, value as u32).unwrap();
            sim.sim.write32(register + 4, (value >> 32) as u32).unwrap();
        }
        sim.sim.write32(STRIDE, plan.stride_log2).unwrap();
        assert_eq!(sim.sim.read32(BLOCKS).unwrap(), block as u32);
        assert_eq!(sim.sim.read32(BLOCKS + 4).unwrap(), (block >> 32) as u32);
        assert_eq!(sim.sim.read32(BLOCKS + 8).unwrap(), 0);
        sim.sim.write32(COMMAND, 2).unwrap();
    }

    fn open(config: SimConfig) -> Self {
        let mut rig = Self::new(config, &Plan::new());
        rig.rig.await_life(LIFE_RUN);
        (rig.rig.submitted, rig.rig.completed, rig.rig.logged) = (0, 0, 0);
        rig.rig.consume_records(1);
        rig
    }

    /// Writes a text into the slot's window; returns the commitment to it.
    fn put(&self, kind: SpanKind, text: &[u8]) -> [u8; 32] {
        let tag: &[u8] = if kind.is_text() { b"portcullis/span/1\0" } else { b"portcullis/call/1\0" };
        let bytes = [tag, &[9; 16], &(text.len() as u32).to_le_bytes(), text].concat();
        self.windows.write(usize::from(self.slot) << 11, &bytes).unwrap();
        commitment(kind, &[9; 16], &[text])
    }

    /// Submits an entry of the slot, and returns its record. Checks that the completion has the same classes.
    fn submit(&mut self, entry: Descriptor) -> Record {
        let rig = &mut self.rig;
        let count = rig.submitted;
        rig.sq.write(usize::from(count) % RING * 128, entry.sealed().as_bytes()).unwrap();
        rig.submitted += 1;
        rig.sim.write32(SQ_TAIL, u32::from(rig.submitted)).unwrap();
        for _ in 0..200 {
            if rig.completion(count).is_some() {
                break;
            }
            rig.sim.run(100).unwrap();
        }
        let completion = rig.completion(count).expect("a completion");
        let mut record = [0; 192];
        rig.log.read(rig.logged as usize % LOG * 256, &mut record).unwrap();
        rig.consume_records(1);
        rig.sim.write32(rig::CQ_HEAD, u32::from(rig.submitted)).unwrap();
        let record = Record::read_from_bytes(&record).unwrap();
        assert_eq!(record.descriptor, entry.sealed(), "the record has the entry as it was fetched");
        assert_eq!(&completion[32..48], record.answer.text_classes.as_bytes());
        assert_eq!(&completion[60..], crc32fast::hash(&completion[..60]).to_le_bytes(), "CRC");
        if record.answer.fault.get() == 0 {
            self.sequence += 1;
        } else {
            assert_eq!((record.answer.text_classes.get(), record.answer.text_established.get()), (0, 0));
            assert_eq!(record.answer.determination, u8::from(Determination::None));
        }
        record
    }

    fn begin(&mut self, slot: u16) {
        (self.slot, self.sequence) = (slot, 0);
        let place = SlotSequence { slot, sequence: 0 };
        assert_eq!(fault(&self.submit(Descriptor::entry(Opcode::Begin, place, [7; 32]))), Fault::None);
    }

    fn end(&mut self, text: &str) -> Fault {
        self.end_of(SpanKind::Text, text)
    }

    fn end_of(&mut self, kind: SpanKind, text: &str) -> Fault {
        let committed = self.put(kind, text.as_bytes());
        let place = SlotSequence { slot: self.slot, sequence: self.sequence };
        fault(&self.submit(Descriptor::entry(Opcode::End, place, committed)))
    }

    /// Writes `text` into the window; returns a GATE of it, in which the host describes the classes `host`.
    fn gate(&self, text: &str, host: u128) -> Descriptor {
        let committed = self.put(SpanKind::Text, text.as_bytes());
        self.gate_of(committed, text.len(), host)
    }

    fn gate_of(&self, committed: [u8; 32], length: usize, host: u128) -> Descriptor {
        let place = SlotSequence { slot: self.slot, sequence: self.sequence };
        Descriptor {
            uncertainty: U16::new(10_000),
            length: U16::new(length as u16),
            classes: U128::new(host),
            validation_outcome: StageOutcome::Pass.into(),
            lineage_outcome: StageOutcome::Pass.into(),
            ..Descriptor::entry(Opcode::Gate, place, committed)
        }
    }

    /// Writes a tool call into the window; returns a GATE of it with the flag `call`.
    fn call(&mut self, text: &[u8], host: u128) -> Descriptor {
        let committed = self.put(SpanKind::Call, text);
        Descriptor { flags: flags::CALL as u8, ..self.gate_of(committed, text.len(), host) }
    }

    fn judged(&mut self, entry: Descriptor) -> (bool, u128, u128) {
        let record = self.submit(entry);
        assert_eq!(fault(&record), Fault::None, "{record:?}");
        let admits = record.answer.determination == u8::from(Determination::Admit);
        (admits, record.answer.text_classes.get(), record.answer.text_established.get())
    }
}

fn fault(record: &Record) -> Fault {
    Fault::try_from(record.answer.fault.get()).unwrap()
}

fn refused(plan: &Plan) -> Fault {
    let mut rig = TextRig::new(SimConfig::default(), plan);
    rig.rig.await_life(LIFE_LOAD);
    Fault::try_from(rig.rig.sim.read32(LOAD_FAULT).unwrap() as u16).unwrap()
}

#[test]
fn open_reads_the_tables() {
    let mut rig = TextRig::new(SimConfig::default(), &Plan::new());
    assert_eq!(rig.rig.sim.read32(CAPABILITIES).unwrap() >> 19 & 1, 1);
    assert_eq!(rig.rig.sim.read32(TEXT_LIMITS).unwrap().to_le_bytes(), [3, 12, 64, 32]);
    rig.rig.await_life(LIFE_RUN);
    let mut record = [0; 192];
    rig.rig.log.read(0, &mut record).unwrap();
    assert_eq!(u16::from_le_bytes([record[118], record[119]]), 1, "features");
    // In a session whose image has no text part, an entry needs no text.
    rig.rig.reset();
    rig.ask(&Plan { parts: 0, ..Plan::new() });
    rig.rig.await_life(LIFE_RUN);
    (rig.rig.submitted, rig.rig.completed, rig.rig.logged) = (0, 0, 0);
    rig.rig.consume_records(1);
    rig.rig.log.read(0, &mut record).unwrap();
    assert_eq!(u16::from_le_bytes([record[118], record[119]]), 0, "features");
    rig.begin(3);
    assert_eq!(rig.judged(rig.gate_of([1; 32], 5, CONSENT)), (true, 0, 0));
    rig.rig.assert_lawful();
}

#[test]
fn open_refuses_other_tables_and_places() {
    let plan = Plan::new();
    assert_eq!(refused(&Plan { digest: [3; 32], ..plan.clone() }), Fault::ImageDigest);
    assert_eq!(refused(&Plan { stride_log2: 10, ..plan.clone() }), Fault::RingConfig);
    assert_eq!(refused(&Plan { stride_log2: 18, ..plan.clone() }), Fault::RingConfig);
    assert_eq!(refused(&Plan { block_offset: 64, ..plan.clone() }), Fault::RingConfig);
    assert_eq!(refused(&Plan { address: Some(32), ..plan.clone() }), Fault::RingConfig);
    assert_eq!(refused(&Plan { parts: 3, ..plan.clone() }), Fault::ImageHeader);
    assert_eq!(refused(&Plan { lost_word: true, ..plan.clone() }), Fault::ImageIncomplete);
    let mut damaged = plan.tables.clone();
    damaged[15] = 7;
    let digest = Sha256::digest(&damaged).into();
    assert_eq!(refused(&Plan { tables: damaged, digest, ..plan.clone() }), Fault::ImageHeader);
    let mut short = plan.clone();
    short.bytes -= 64;
    short.digest = Sha256::digest(&short.tables[..short.bytes as usize]).into();
    assert_eq!(refused(&short), Fault::ImageHeader);
    // A read from memory that is not mapped is a fault of the bus.
    let mut rig = TextRig::new(SimConfig::default(), &Plan { address: Some(64), ..plan });
    rig.rig.await_life(LIFE_FAULT);
    assert_eq!(rig.rig.sim.read32(FAULT).unwrap(), u32::from(u16::from(Fault::ReadResponse)));
    rig.rig.reset();
    rig.ask(&Plan::new());
    rig.rig.await_life(LIFE_RUN);
    rig.rig.assert_lawful();
}

#[test]
fn the_card_finds_what_the_host_does_not_say() {
    for stall in [BusStall::None, BusStall::Random(5)] {
        let mut rig = TextRig::open(SimConfig { stall, ..SimConfig::default() });
        rig.begin(5);
        assert_eq!(rig.judged(rig.gate("a plain text", 0)), (true, 0, 0));
        assert_eq!(rig.judged(rig.gate("a secret text", 0)), (false, SECRET, 0));
        assert_eq!(rig.judged(rig.gate("said by the host alone", SECRET)), (false, 0, 0));
        // The secret is divided over two spans. A refused span does not change the state of the scan.
        assert_eq!(rig.judged(rig.gate("a sec", 0)), (true, 0, 0));
        assert_eq!(rig.judged(rig.gate("ret", 0)), (false, SECRET, 0));
        assert_eq!(rig.judged(rig.gate("urity", 0)), (true, 0, 0));
        // A reserved flag is refused, as in sessions without the lane.
        let reserved = Descriptor { flags: 8, ..rig.gate("a sec", 0) };
        assert_eq!(fault(&rig.submit(reserved)), Fault::Reserved);
        // The flag `call` must fit the tag, and a call has no held bytes before it.
        let call = rig.call(b"ret", 0);
        let prefixed = Descriptor { flags: call.flags | flags::INERT_PREFIX as u8, ..call };
        assert_eq!(fault(&rig.submit(prefixed)), Fault::Reserved);
        let as_text = Descriptor { flags: 0, ..rig.call(b"ret", 0) };
        assert_eq!(fault(&rig.submit(as_text)), Fault::TextForm);
        let as_call = Descriptor { flags: flags::CALL as u8, ..rig.gate("ret", 0) };
        assert_eq!(fault(&rig.submit(as_call)), Fault::TextForm);
        // A call is scanned alone, and the scan of the text continues after the call.
        assert_eq!(rig.judged(rig.gate("a sec", 0)), (true, 0, 0));
        let call = rig.call(b"ret", 0);
        assert_eq!(rig.judged(call), (true, 0, 0));
        assert_eq!(rig.judged(rig.gate("ret", 0)), (false, SECRET, 0));
        assert_eq!(rig.judged(rig.gate("ond", 0)), (true, 0, 0));
        // Consent needs both.
        let needs = |entry: Descriptor| Descriptor { category: 1, ..entry };
        assert_eq!(rig.judged(needs(rig.gate("I give my word", CONSENT))), (false, 0, 0));
        assert_eq!(rig.judged(needs(rig.gate("with my consent", 0))), (false, CONSENT, 0));
        assert_eq!(rig.judged(needs(rig.gate("with my consent", CONSENT))), (true, CONSENT, 0));
        assert_eq!(rig.judged(rig.gate("more", 0)), (true, 0, CONSENT));
        // A tool call is searched as a text is.
        let call = rig.call(b"send(secret)", 0);
        assert_eq!(rig.judged(call), (false, SECRET, CONSENT));
        assert_eq!(rig.end_of(SpanKind::Call, ""), Fault::TextForm);
        assert_eq!(rig.end_of(SpanKind::Call, "a secret end"), Fault::TextForm);
        assert_eq!(rig.end("a secret end"), Fault::TextEnd);
        assert_eq!(rig.end(" consent"), Fault::None);
        // A new stream in the slot begins with a new state. A call changes only the established classes.
        rig.begin(5);
        assert_eq!(rig.judged(rig.gate("more", 0)), (true, 0, 0));
        assert_eq!(rig.judged(rig.gate("a sec", 0)), (true, 0, 0));
        assert_eq!(rig.end("ond end"), Fault::None);
        rig.begin(5);
        let call = rig.call(b"ask(consent, sec", CONSENT);
        assert_eq!(rig.judged(call), (true, CONSENT, 0));
        assert_eq!(rig.judged(rig.gate("ret", 0)), (true, 0, CONSENT));
        rig.rig.assert_lawful();
        assert_eq!(rig.rig.life(), LIFE_RUN);
    }
}

#[test]
fn an_entry_without_its_text_is_refused() {
    let mut rig = TextRig::open(SimConfig::default());
    // The block has room for exactly 1,024 windows of 2 KiB.
    rig.begin(1_023);
    assert_eq!(rig.judged(rig.gate("the last window", 0)), (true, 0, 0));
    rig.begin(7);
    let good = "a good text";
    assert_eq!(rig.judged(rig.gate(good, 0)), (true, 0, 0));
    let other = rig.gate("another text", 0).commitment;
    let committed = rig.put(SpanKind::Text, good.as_bytes());
    assert_eq!(fault(&rig.submit(rig.gate_of(other, good.len(), 0))), Fault::TextCommitment);
    assert_eq!(fault(&rig.submit(rig.gate_of(committed, good.len() - 1, 0))), Fault::TextForm);
    assert_eq!(fault(&rig.submit(rig.gate_of(committed, good.len() + 1, 0))), Fault::TextForm);
    let prefixed = |length| Descriptor { flags: flags::INERT_PREFIX as u8, ..rig.gate_of(committed, length, 0) };
    let (within, beyond) = (prefixed(4), prefixed(good.len() + 1));
    assert_eq!(fault(&rig.submit(beyond)), Fault::TextForm);
    assert!(rig.judged(within).0);
    // The length 65535 is allowed for any text if validation refuses the entry, and only then.
    rig.put(SpanKind::Text, good.as_bytes());
    for flags in [0, flags::INERT_PREFIX as u8] {
        for (length, outcome, judged) in [
            (65_535, StageOutcome::Reject, true),
            (65_535, StageOutcome::Decompose, true),
            (65_535, StageOutcome::Pass, false),
            (65_534, StageOutcome::Reject, false),
        ] {
            let entry = Descriptor {
                flags,
                validation_outcome: outcome.into(),
                validation_reason: u8::from(outcome != StageOutcome::Pass),
                ..rig.gate_of(committed, length, 0)
            };
            let record = rig.submit(entry);
            assert_eq!(fault(&record), if judged { Fault::None } else { Fault::TextForm }, "{length} {outcome:?}");
            assert_ne!(record.answer.determination, u8::from(Determination::Admit));
        }
    }
    let place = usize::from(rig.slot) << 11;
    rig.put(SpanKind::Text, good.as_bytes());
    rig.windows.write(place, b"Portcullis").unwrap();
    assert_eq!(fault(&rig.submit(rig.gate_of(committed, good.len(), 0))), Fault::TextForm);
    let invalid = rig.put(SpanKind::Text, b"not \xff UTF-8");
    assert_eq!(fault(&rig.submit(rig.gate_of(invalid, 11, 0))), Fault::TextForm);
    assert_eq!(fault(&rig.submit(rig.gate_of(committed, 11, 0))), Fault::TextForm, "form before commitment");
    rig.put(SpanKind::Text, good.as_bytes());
    rig.windows.write(place + 34, &2_011u32.to_le_bytes()).unwrap();
    assert_eq!(fault(&rig.submit(rig.gate_of(committed, good.len(), 0))), Fault::TextWindow);
    let longest = "x".repeat(2_048 - 38);
    assert_eq!(rig.judged(rig.gate(&longest, 0)), (true, 0, 0));
    assert_eq!(rig.end(good), Fault::None);
    rig.rig.assert_lawful();
}

#[test]
fn a_slot_without_a_window_has_no_text() {
    let mut rig = TextRig::new(SimConfig::default(), &Plan { stride_log2: 17, ..Plan::new() });
    rig.rig.await_life(LIFE_RUN);
    (rig.rig.submitted, rig.rig.completed, rig.rig.logged) = (0, 0, 0);
    rig.rig.consume_records(1);
    // The first block has room for 16 windows of 128 KiB. The other blocks are at address 0, which is not mapped, and
    // slots from 512 on are outside the blocks.
    for slot in [16, 511, 512, 1_023] {
        rig.begin(slot);
        assert_eq!(fault(&rig.submit(rig.gate_of([1; 32], 5, 0))), Fault::TextWindow, "slot {slot}");
    }
    assert_eq!(rig.rig.life(), LIFE_RUN);
    rig.rig.assert_lawful();
}

/// The END of a stream, the BEGIN of the next stream in its slot and two GATEs of it are in the ring at once. The card
/// requests the text of the first GATE only after the BEGIN is decided.
#[test]
fn a_stream_begins_ahead_of_its_texts() {
    for stall in [BusStall::None, BusStall::Random(7)] {
        let mut rig = TextRig::open(SimConfig { stall, ..SimConfig::default() });
        rig.begin(5);
        assert_eq!(rig.judged(rig.gate("with my consent", CONSENT)), (true, CONSENT, 0));
        for established in [CONSENT, 0, 0] {
            let committed = rig.put(SpanKind::Text, b"more");
            let place = |sequence| SlotSequence { slot: 5, sequence };
            let gate = |rig: &mut TextRig, sequence| {
                rig.sequence = sequence;
                rig.gate_of(committed, 4, 0)
            };
            let entries = [
                Descriptor::entry(Opcode::End, place(rig.sequence), committed),
                Descriptor::entry(Opcode::Begin, place(0), [7; 32]),
                gate(&mut rig, 1),
                gate(&mut rig, 2),
            ];
            for entry in entries {
                let place = usize::from(rig.rig.submitted) % RING * 128;
                rig.rig.sq.write(place, entry.sealed().as_bytes()).unwrap();
                rig.rig.submitted += 1;
            }
            rig.sequence = 3;
            rig.rig.sim.write32(SQ_TAIL, u32::from(rig.rig.submitted)).unwrap();
            for _ in 0..200 {
                rig.rig.sim.run(100).unwrap();
            }
            assert!(rig.rig.completion(rig.rig.submitted - 1).is_some(), "the entries are answered");
            for entry in entries {
                let mut record = [0; 192];
                rig.rig.log.read(rig.rig.logged as usize % LOG * 256, &mut record).unwrap();
                rig.rig.consume_records(1);
                let record = Record::read_from_bytes(&record).unwrap();
                assert_eq!((fault(&record), record.descriptor), (Fault::None, entry.sealed()));
                let before = if entry.opcode == u8::from(Opcode::End) { established } else { 0 };
                assert_eq!(record.answer.text_established.get(), before);
            }
            rig.rig.sim.write32(rig::CQ_HEAD, u32::from(rig.rig.submitted)).unwrap();
        }
        rig.rig.assert_lawful();
    }
}

/// Entries of several slots at once, as fast as the card takes them: each has the classes of its own text, and each
/// verdict saves its own slot. Prints the clocks per round.
#[test]
fn entries_follow_each_other() {
    const SLOTS: u16 = 8;
    let mut rig = TextRig::open(SimConfig::default());
    (0..SLOTS).for_each(|slot| rig.begin(slot));
    let mut sequences = [1; SLOTS as usize];
    let mut clocks = Vec::new();
    for round in 0..6usize {
        let start = rig.rig.sim.stats().clocks;
        let first = rig.rig.submitted;
        // Streams of odd slots divide a secret between two entries; the first of these entries is admitted.
        let texts: Vec<_> = (0..SLOTS)
            .map(|slot| match (slot % 2, round % 3) {
                (0, _) => format!("nothing of slot {slot} in round {round}"),
                (_, 0) => "it is a sec".to_owned(),
                (_, 1) => "ret".to_owned(),
                _ => "more".to_owned(),
            })
            .collect();
        for (slot, text) in (0..SLOTS).zip(&texts) {
            (rig.slot, rig.sequence) = (slot, sequences[usize::from(slot)]);
            let entry = rig.gate(text, 0).sealed();
            let place = usize::from(rig.rig.submitted) % RING * 128;
            rig.rig.sq.write(place, entry.as_bytes()).unwrap();
            rig.rig.submitted += 1;
            sequences[usize::from(slot)] += 1;
        }
        rig.rig.sim.write32(SQ_TAIL, u32::from(rig.rig.submitted)).unwrap();
        while rig.rig.completion(rig.rig.submitted - 1).is_none() {
            rig.rig.sim.run(20).unwrap();
        }
        clocks.push(rig.rig.sim.stats().clocks - start);
        for slot in 0..SLOTS {
            let mut record = [0; 192];
            rig.rig.log.read(rig.rig.logged as usize % LOG * 256, &mut record).unwrap();
            rig.rig.consume_records(1);
            let record = Record::read_from_bytes(&record).unwrap();
            let found = if slot % 2 == 1 && round % 3 == 1 { SECRET } else { 0 };
            assert_eq!((fault(&record), record.descriptor.slot.get()), (Fault::None, slot));
            assert_eq!(record.answer.text_classes.get(), found, "slot {slot} in round {round}");
            let determination = if found == 0 { Determination::Admit } else { Determination::Reject };
            assert_eq!(record.answer.determination, u8::from(determination));
        }
        rig.rig.sim.write32(rig::CQ_HEAD, u32::from(rig.rig.submitted)).unwrap();
        assert_eq!(rig.rig.submitted, first + SLOTS);
    }
    eprintln!("{SLOTS} entries of one block in {clocks:?} clocks");
    rig.rig.assert_lawful();
}

/// A reset ends at any time, also while a text or the tables are read, and the next OPEN works.
#[test]
fn a_session_ends_while_a_text_is_read() {
    let mut rig = TextRig::open(SimConfig { stall: BusStall::Random(3), ..SimConfig::default() });
    for clocks in (0..1_400).step_by(100) {
        rig.begin(9);
        let text = "y".repeat(1_500);
        let entry = rig.gate(&text, 0).sealed();
        let count = rig.rig.submitted;
        rig.rig.sq.write(usize::from(count) % RING * 128, entry.as_bytes()).unwrap();
        rig.rig.sim.write32(SQ_TAIL, u32::from(count) + 1).unwrap();
        rig.rig.sim.run(clocks).unwrap();
        rig.rig.reset();
        rig.ask(&Plan::new());
        rig.rig.sim.run(clocks).unwrap();
        rig.rig.reset();
        rig.ask(&Plan::new());
        rig.rig.await_life(LIFE_RUN);
        (rig.rig.submitted, rig.rig.completed, rig.rig.logged) = (0, 0, 0);
        rig.rig.consume_records(1);
    }
    rig.rig.assert_lawful();
}
