//! Inverts random bits of the card's memories, one at a time, while it judges entries. The card never gives an ADMIT
//! that it would not have given without this: it stops, refuses, or the bit did not matter.
//!
//! CI inverts a part; `PORTCULLIS_LONG=1` inverts 10,000 bits.
#![cfg(feature = "sim")]

use crate::card_support;

use card_support::{Kept, Random, World, gate, keeping, long, open_row, placed, small};
use portcullis_card::driver::CardStreamHandle;
use portcullis_card::transport::sim::SimCard;
use portcullis_card::{CardSession, CardTables, CardTransport, CompletedEntry, EntryOutcome, SessionError, TextTables};
use portcullis_core::class::ClassId;
use portcullis_core::commitment::{SpanKind, preimage};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{
    Descriptor, Determination, Fault, ImageText, Life, Opcode, Record, RecordType, StageOutcome, image_parts,
};
use portcullis_lane::{ClassForm, ClassSource, FormBorder, LaneSource, LaneTableLimits, MatchRelation, compile};
use portcullis_sim::{BusStall, LaneRam, SimConfig, TableBit};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use zerocopy::little_endian::{U16, U32, U128};

const POLICY_ROWS: u32 = 9;
const ENTROPY_ROWS: u32 = 3;
const STREAMS: u16 = 24;
/// Bits that are inverted before a new session begins, if none of them stopped the card.
const IN_ONE_SESSION: usize = 6;

/// A memory: the words that a session uses, and their bits.
type Memory = (LaneRam, u32, u32);

/// The memories of a session without texts.
const MEMORIES: [Memory; 9] = [
    (LaneRam::Policy, POLICY_ROWS, 1536),
    (LaneRam::PolicyParities, POLICY_ROWS, 1),
    (LaneRam::Entropy, ENTROPY_ROWS, 1536),
    (LaneRam::EntropyParities, ENTROPY_ROWS, 1),
    (LaneRam::Streams, 2 * STREAMS as u32, 67),
    (LaneRam::DescriptorsLow, 64, 512),
    (LaneRam::DescriptorsHigh, 64, 512),
    (LaneRam::Completions, 32, 224),
    (LaneRam::CompletionParities, 32, 1),
];

/// The memories that a session with texts has beside them.
const TEXT_MEMORIES: [Memory; 6] = [
    (LaneRam::Scans, TEXT_STREAMS as u32, SCAN_BITS),
    (LaneRam::Established, TEXT_STREAMS as u32, 130),
    (LaneRam::Streams, TEXT_STREAMS as u32, 67),
    (LaneRam::CompletionClasses, 32, 128),
    (LaneRam::ByteClasses, 128, 7),
    (LaneRam::Texts, 16, 512),
];
const TEXT_STREAMS: u16 = 4;
/// Three engines, the units of cards and accounts, the mark of a renewed slot, and the parity.
const SCAN_BITS: u32 = 564;

fn any_bit((table, words, bits): Memory, random: &mut Random) -> TableBit {
    TableBit { lane: 0, table, row: random.below(words as usize) as u32, bit: random.below(bits as usize) as u32 }
}

fn card() -> SimCard {
    SimCard::new(SimConfig { lanes: 1, read_latency: 20, write_latency: 20, stall: BusStall::None, trace: None })
        .unwrap()
}

/// What became of the bits.
#[derive(Debug, Default)]
struct Seen {
    upsets: BTreeMap<String, (usize, usize)>,
    admits: usize,
    /// Entries that the card without the upset would not admit.
    others: usize,
}

impl Seen {
    fn count(&mut self, table: LaneRam, stopped: bool) {
        let (all, stops) = self.upsets.entry(format!("{table:?}")).or_default();
        *all += 1;
        *stops += usize::from(stopped);
    }

    fn upsets(&self) -> usize {
        self.upsets.values().map(|(all, _)| all).sum()
    }
}

/// What the card without the upset answers to each entry, by the entry's commitment, which is unique.
type Expected = BTreeMap<[u8; 32], EntryOutcome>;

/// Every ADMIT, as completion and as record, is one that the card without the upset gives.
fn check(completed: &[CompletedEntry], kept: &Kept, expected: &Expected, seen: &mut Seen, bit: TableBit) {
    for completed in completed {
        let Some(right) = expected.get(&completed.entry.commitment) else { continue };
        if completed.outcome.is_admit() {
            assert!(right.is_admit(), "{bit:?}: an admit of {:?}, which is {right:?}", completed.entry);
            seen.admits += 1;
        }
        seen.others += usize::from(!right.is_admit());
    }
    for record in kept.lock().unwrap().iter().filter(|record| admits(record)) {
        let right = expected.get(&record.descriptor.commitment);
        assert!(right.is_some_and(EntryOutcome::is_admit), "{bit:?}: a record admits {record:?}");
    }
}

fn admits(record: &Record) -> bool {
    let answer = record.answer;
    answer.record_type == RecordType::Verdict as u8 && answer.determination == Determination::Admit as u8
}

fn is_stopped(session: &mut CardSession<SimCard>) -> bool {
    const STATUS: u32 = 0x44;
    session.card_mut().read32(STATUS).unwrap() & 15 == Life::Fault as u32
}

/// An entry and what the card answers to it while its memories stand. Some entries must be refused by what the slot
/// holds: they have a wrong sequence, another context, or no open stream.
fn entry(random: &mut Random, world: &World, slot: u16, sequence: &mut u32) -> (Descriptor, EntryOutcome) {
    let evaluator = world.evaluator();
    // Without conditions, validation and lineage pass, so that many entries are admitted.
    let mut entry = gate(random, &world.header);
    if random.one_in(2) {
        entry.validation_outcome = StageOutcome::Pass.into();
        (entry.validation_reason, entry.lineage_reason) = (0, 0);
        entry.lineage_outcome = StageOutcome::Pass.into();
    }
    if *sequence > 1 && random.one_in(4) {
        let wrong = *sequence ^ (1 << random.below(20));
        return (placed(entry, slot, wrong), EntryOutcome::Fault(Fault::Sequence));
    }
    if *sequence > 1 && random.one_in(4) {
        entry.epistemic = (entry.epistemic + 1) % 3;
        return (placed(entry, slot, *sequence), EntryOutcome::Fault(Fault::Context));
    }
    if random.one_in(8) {
        let closed = STREAMS + slot;
        return (placed(entry, closed, random.below(3) as u32), EntryOutcome::Fault(Fault::Slot));
    }
    let entry = placed(entry, slot, *sequence);
    *sequence += 1;
    (entry, EntryOutcome::Judged(evaluator.judge(&entry)))
}

/// One session with up to [`IN_ONE_SESSION`] upsets.
fn session(random: &mut Random, seen: &mut Seen) -> Result<(), SessionError> {
    let mut world = World::random(random, POLICY_ROWS as usize, ENTROPY_ROWS as usize);
    // In half of the worlds, everything is permitted but for the rows that forbid.
    if random.one_in(2) {
        world.policy[0] = open_row(1);
        world.entropy[0] = open_row(1);
    }
    let (config, kept) = keeping(portcullis_card::SessionConfig { ring_log2: 6, log_log2: 7, ..small(1) });
    let mut session = CardSession::open_tables(card(), &world.tables(), config)?;
    let begins: Vec<_> = (0..STREAMS)
        .map(|slot| Descriptor::entry(Opcode::Begin, SlotSequence { slot, sequence: 0 }, [0; 32]).sealed())
        .collect();
    session.submit(&begins)?;
    session.drain()?;
    let mut sequences = [1u32; STREAMS as usize];
    let mut expected = Expected::new();
    let mut used = Vec::new();
    for _ in 0..IN_ONE_SESSION {
        let mut batch = Vec::new();
        for slot in 0..STREAMS {
            let (entry, outcome) = entry(random, &world, slot, &mut sequences[usize::from(slot)]);
            expected.insert(entry.commitment, outcome);
            batch.push(entry);
        }
        let bit = any_bit(*random.pick(&MEMORIES), random);
        // Two inverted bits of one word have a parity again; the pages say so.
        if used.contains(&(bit.table, bit.row)) {
            continue;
        }
        used.push((bit.table, bit.row));
        let early = random.one_in(2);
        if early {
            session.card_mut().sim().upset_table(bit).unwrap();
        }
        let submitted = session.submit(&batch);
        if !early {
            session.card_mut().sim().run(random.bits() % 1500).unwrap();
            session.card_mut().sim().upset_table(bit).unwrap();
        }
        let answered = submitted.and_then(|_| session.drain());
        let stopped = is_stopped(&mut session);
        seen.count(bit.table, stopped);
        check(answered.as_deref().unwrap_or_default(), &kept, &expected, seen, bit);
        // A refusal that would have been an acceptance moves the expected sequences, so the session ends here.
        let differs = answered
            .map_or(true, |all| all.iter().any(|completed| expected[&completed.entry.commitment] != completed.outcome));
        if stopped || differs {
            break;
        }
    }
    Ok(())
}

/// The policy of the sessions with texts, and the lane's tables: the word SECRET is forbidden.
struct Lane {
    world: World,
    part: ImageText,
    encoded: Vec<u8>,
}

impl Lane {
    fn new() -> Self {
        let hir = regex_syntax::parse("SECRET").unwrap();
        let form = ClassForm {
            name: "secret".to_owned(),
            hir,
            border: FormBorder::Free,
            check: None,
            relation: MatchRelation::Equal,
        };
        let class = ClassSource {
            id: ClassId::try_from(0).unwrap(),
            name: "secret".to_owned(),
            forms: vec![form],
            left_out: Vec::new(),
            view: false,
            domains: Vec::new(),
        };
        let source = LaneSource { classes: vec![class], ..LaneSource::default() };
        let encoded = compile(&source, &LaneTableLimits::default()).tables.encode();
        let digest = Sha256::digest(&encoded).into();
        let part = ImageText { digest, bytes: U32::new(encoded.len() as u32), ..ImageText::ZERO };
        let mut world = World::permitting();
        world.header.classes = U128::new(1);
        world.header.parts = image_parts::TEXT as u8;
        let mut secret = World::permit();
        (secret.kind, secret.classes_any) = (2, U128::new(1));
        world.policy = vec![World::permit(), secret];
        world.header.policy_rows = U16::new(2);
        Self { world, part, encoded }
    }

    fn open(&self) -> (CardSession<SimCard>, Kept, Vec<CardStreamHandle>) {
        let text = TextTables { part: &self.part, encoded: &self.encoded };
        let tables = CardTables { text: Some(text), ..self.world.tables() };
        let (config, kept) = keeping(small(2));
        let mut session = CardSession::open_tables(card(), &tables, config).unwrap();
        let streams = (0..TEXT_STREAMS).map(|_| session.begin([1; 32]).unwrap().0).collect();
        (session, kept, streams)
    }
}

/// Submits one text and waits for its answer.
fn gate_text(
    session: &mut CardSession<SimCard>,
    stream: &CardStreamHandle,
    salt: [u8; 16],
    text: &str,
) -> Result<CompletedEntry, SessionError> {
    let bytes = preimage(SpanKind::Text, &salt, &[text.as_bytes()]);
    session.present_text(stream.slot(), &bytes)?;
    let entry = Descriptor {
        uncertainty: U16::new(10_000),
        length: U16::new(text.len() as u16),
        validation_outcome: StageOutcome::Pass.into(),
        lineage_outcome: StageOutcome::Pass.into(),
        ..Descriptor::entry(Opcode::Gate, SlotSequence { slot: 0, sequence: 0 }, Sha256::digest(&bytes).into())
    };
    session.gate_descriptor(stream, entry)
}

/// The streams of a session contain the word in pieces. Whether a piece completes it depends on the pieces that were
/// admitted before, so on the memory of the slots.
fn text_session(random: &mut Random, lane: &Lane, seen: &mut Seen) {
    const PIECES: [&str; 6] = ["SEC", "RET", "SECR", "ET", "a SEC", "fine "];
    let (mut session, kept, streams) = lane.open();
    // The admitted text of each stream, as the card without the upset has it.
    let mut so_far = vec![String::new(); streams.len()];
    let mut expected = Expected::new();
    let mut used = Vec::new();
    for _ in 0..IN_ONE_SESSION {
        let bit = any_bit(*random.pick(&TEXT_MEMORIES), random);
        if used.contains(&(bit.table, bit.row)) {
            continue;
        }
        used.push((bit.table, bit.row));
        session.card_mut().sim().upset_table(bit).unwrap();
        for _ in 0..8 {
            let at = random.below(streams.len());
            let text = *random.pick(&PIECES);
            let salt = std::array::from_fn(|_| random.bits() as u8);
            let whole = format!("{}{text}", so_far[at]);
            let secret = whole.match_indices("SECRET").any(|(start, word)| start + word.len() > so_far[at].len());
            let right = !secret;
            let answered = gate_text(&mut session, &streams[at], salt, text);
            let commitment: [u8; 32] = Sha256::digest(preimage(SpanKind::Text, &salt, &[text.as_bytes()])).into();
            let admitted = answered.as_ref().is_ok_and(|completed| completed.outcome.is_admit());
            assert!(right || !admitted, "{bit:?}: `{text}` is admitted after `{}`", so_far[at]);
            if right {
                so_far[at] = whole;
                expected.insert(commitment, answered.as_ref().map_or(EntryOutcome::Accepted, |c| c.outcome));
            }
            seen.admits += usize::from(admitted);
            seen.others += usize::from(!right);
            let records = kept.lock().unwrap();
            let allowed = records
                .iter()
                .filter(|record| admits(record))
                .all(|record| expected.contains_key(&record.descriptor.commitment));
            drop(records);
            assert!(allowed, "{bit:?}: a record admits what holds the word");
            if is_stopped(&mut session) || admitted != right {
                seen.count(bit.table, true);
                return;
            }
        }
        seen.count(bit.table, false);
    }
}

/// The numbers of upsets: in CI, and in a long run.
fn upsets(ci: usize, all: usize) -> usize {
    if long() { all } else { ci }
}

fn report(seen: &Seen) {
    for (table, (all, stopped)) in &seen.upsets {
        println!("{table}: {all} upsets, {stopped} stopped the card");
    }
    println!("{} upsets; {} admits; {} entries that must not be admitted", seen.upsets(), seen.admits, seen.others);
}

#[test]
fn an_upset_never_admits() {
    let mut random = Random::new(31);
    let mut seen = Seen::default();
    while seen.upsets() < upsets(150, 6_000) {
        session(&mut random, &mut seen).unwrap();
    }
    report(&seen);
    assert!(seen.admits > 0 && seen.others > 0, "the test looks at too little");
    assert_eq!(seen.upsets.len(), MEMORIES.len(), "a memory was left out");
}

#[test]
fn an_upset_beside_texts_never_admits() {
    let mut random = Random::new(32);
    let mut seen = Seen::default();
    let lane = Lane::new();
    while seen.upsets() < upsets(100, 4_000) {
        text_session(&mut random, &lane, &mut seen);
    }
    report(&seen);
    assert!(seen.admits > 0 && seen.others > 0, "the test looks at too little");
    assert_eq!(seen.upsets.len(), TEXT_MEMORIES.len(), "a memory was left out");
}

/// The mark of a renewed slot hides the text of the stream so far. Every bit of the state of a slot is found.
#[test]
fn the_state_of_a_stream_is_read_with_its_parity() {
    let lane = Lane::new();
    for (table, bit) in [
        (LaneRam::Scans, SCAN_BITS - 2),
        (LaneRam::Scans, SCAN_BITS - 1),
        (LaneRam::Scans, 0),
        (LaneRam::Established, 128),
    ] {
        let (mut session, _, streams) = lane.open();
        assert!(gate_text(&mut session, &streams[2], [1; 16], "a SEC").unwrap().outcome.is_admit());
        session.card_mut().sim().upset_table(TableBit { lane: 0, table, row: 2, bit }).unwrap();
        assert!(gate_text(&mut session, &streams[1], [2; 16], "RET").unwrap().outcome.is_admit(), "another slot");
        let answered = gate_text(&mut session, &streams[2], [3; 16], "RET x");
        assert!(!answered.is_ok_and(|completed| completed.outcome.is_admit()), "{table:?}, bit {bit}");
        assert_eq!(session.close().unwrap().cause, Fault::TableChanged, "{table:?}, bit {bit}");
    }
}

/// Each bit of a row counts, also one that no condition reads, and also the row's validity.
#[test]
fn a_row_is_read_with_its_parity() {
    let mut world = World::permitting();
    world.policy = vec![World::permit(), open_row(0)];
    world.header.policy_rows = U16::new(2);
    for (table, row, bit) in [
        (LaneRam::Policy, 0, 16),
        (LaneRam::Policy, 1, 1535),
        (LaneRam::PolicyParities, 1, 0),
        (LaneRam::Entropy, 0, 700),
        (LaneRam::EntropyParities, 0, 0),
    ] {
        let mut session = CardSession::open_tables(card(), &world.tables(), small(3)).unwrap();
        let stream = session.begin([1; 32]).unwrap().0;
        let entry = gate(&mut Random::new(1), &world.header);
        let entry =
            Descriptor { validation_outcome: 1, validation_reason: 0, lineage_outcome: 1, lineage_reason: 0, ..entry };
        assert!(session.gate_descriptor(&stream, entry).unwrap().outcome.is_admit());
        session.card_mut().sim().upset_table(TableBit { lane: 0, table, row, bit }).unwrap();
        let answered = session.gate_descriptor(&stream, entry);
        assert!(!answered.is_ok_and(|completed| completed.outcome.is_admit()), "{table:?}, row {row}, bit {bit}");
        assert_eq!(session.close().unwrap().cause, Fault::TableChanged, "{table:?}, row {row}, bit {bit}");
    }
}

/// Refused entries wait for their completions while the bus writes their records. Then each waiting answer becomes an
/// ADMIT: the determinations are inverted in all places.
#[test]
fn an_answer_that_waits_is_read_with_its_parity() {
    let mut world = World::permitting();
    world.policy[0] = open_row(2);
    let (config, kept) = keeping(small(4));
    let mut session = CardSession::open_tables(card(), &world.tables(), config).unwrap();
    let begins: Vec<_> = (0..4)
        .map(|slot| Descriptor::entry(Opcode::Begin, SlotSequence { slot, sequence: 0 }, [0; 32]).sealed())
        .collect();
    session.submit(&begins).unwrap();
    session.drain().unwrap();
    session.card_mut().sim().set_bus(20, 1_000, BusStall::None).unwrap();
    let entries: Vec<_> = (0..4).map(|slot| placed(gate(&mut Random::new(1), &world.header), slot, 1)).collect();
    session.submit(&entries).unwrap();
    session.card_mut().sim().run(800).unwrap();
    // The determination stands in bits 200 to 207 of an answer.
    let between = Determination::Admit as u8 ^ Determination::Reject as u8;
    for row in 0..32 {
        for bit in (0..8).filter(|bit| between >> bit & 1 == 1) {
            let bit = TableBit { lane: 0, table: LaneRam::Completions, row, bit: 200 + bit };
            session.card_mut().sim().upset_table(bit).unwrap();
        }
    }
    let answered = session.drain();
    assert!(answered.is_err() || answered.unwrap().iter().all(|completed| !completed.outcome.is_admit()));
    assert!(!kept.lock().unwrap().iter().any(admits));
    let stopped = is_stopped(&mut session);
    assert!(stopped, "the card did not stop");
}
