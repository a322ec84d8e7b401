//! Requirement C5: an invalid entry gets the right fault, changes no state, and is never admitted.

use crate::card_support;

use card_support::{TestCard, World, on_all_and_lanes, placed, small};
use portcullis_card::{CardSession, CompletedEntry, EntryOutcome};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{Descriptor, Fault, Opcode, RecordType, StageOutcome};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{I32, U16, U32, U128};

on_all_and_lanes!(
    every_field_of_a_gate_is_checked,
    the_first_fault_in_order_is_reported,
    digest_entries_carry_nothing_else,
    slots_and_sequences_are_kept,
    a_stream_keeps_the_context_of_its_first_gate,
    a_refused_entry_moves_nothing,
    a_zeroed_table_denies_everything,
);

/// Declares two values of each enumeration, four classes and one quantity.
fn world() -> World {
    let mut world = World::permitting();
    let header = &mut world.header;
    for mask in [&mut header.temporal, &mut header.domain, &mut header.audience, &mut header.register] {
        *mask = U32::new(0b11);
    }
    header.classes = U128::new(0b1111);
    header.quantities = 1;
    header.max_depth = 3;
    world
}

fn good() -> Descriptor {
    Descriptor {
        uncertainty: U16::new(10_000),
        quantity_present: 1,
        quantities: [I32::new(-5), I32::new(0), I32::new(0), I32::new(0)],
        validation_outcome: StageOutcome::Pass.into(),
        lineage_outcome: StageOutcome::Pass.into(),
        ..Descriptor::entry(Opcode::Gate, SlotSequence { slot: 0, sequence: 0 }, [0xa5; 32])
    }
}

fn assert_refused(completed: &CompletedEntry, fault: Fault, what: &str) {
    assert_eq!(completed.outcome, EntryOutcome::Fault(fault), "{what}");
    assert!(!completed.outcome.is_admit());
    let record = completed.record.unwrap();
    assert_eq!(record.answer.record_type, RecordType::Refused as u8, "{what}");
    assert_eq!(record.answer.fault.get(), u16::from(fault), "{what}");
    assert_eq!(record.answer.determination, 0, "{what}");
    assert_eq!(record.descriptor.as_bytes(), completed.entry.as_bytes(), "{what}");
}

type Break = (&'static str, Fault, fn(&mut Descriptor));

/// Each change breaks one field: it gives the field its first invalid value.
const BROKEN: &[Break] = &[
    ("version 0", Fault::Version, |d| d.version = 0),
    ("version 2", Fault::Version, |d| d.version = 2),
    ("opcode 0", Fault::Opcode, |d| d.opcode = 0),
    ("opcode 5", Fault::Opcode, |d| d.opcode = 5),
    ("a reserved byte", Fault::Reserved, |d| d.reserved_10 = [0, 1]),
    ("a reserved flag", Fault::Reserved, |d| d.flags = 4),
    ("a reserved field", Fault::Reserved, |d| d.fields_touched = 0x80),
    ("category", Fault::Enumeration, |d| d.category = 6),
    ("granularity", Fault::Enumeration, |d| d.granularity = 3),
    ("epistemic mode", Fault::Enumeration, |d| d.epistemic = 3),
    ("anchor", Fault::Enumeration, |d| d.anchor = 4),
    ("temporal", Fault::Enumeration, |d| d.temporal = 2),
    ("domain", Fault::Enumeration, |d| d.domain = 2),
    ("audience", Fault::Enumeration, |d| d.audience = 2),
    ("register", Fault::Enumeration, |d| d.register = 2),
    ("domain 32, which is no bit", Fault::Enumeration, |d| d.domain = 32),
    ("register 255", Fault::Enumeration, |d| d.register = 255),
    ("a class", Fault::Class, |d| d.classes = U128::new(1 << 4)),
    ("the last class", Fault::Class, |d| d.classes = U128::new(1 << 127)),
    ("an established class", Fault::Class, |d| d.established = U128::new(1 << 4)),
    ("novelty", Fault::BasisPoints, |d| d.novelty = U16::new(10_001)),
    ("certainty", Fault::BasisPoints, |d| d.certainty = U16::new(10_001)),
    ("content deviation", Fault::BasisPoints, |d| d.content_deviation = U16::new(u16::MAX)),
    ("certainty divergence", Fault::BasisPoints, |d| d.certainty_divergence = U16::new(10_001)),
    ("register divergence", Fault::BasisPoints, |d| d.register_divergence = U16::new(10_001)),
    ("known uncertainty", Fault::BasisPoints, |d| (d.flags, d.uncertainty) = (2, U16::new(10_001))),
    ("unknown uncertainty below one", Fault::BasisPoints, |d| d.uncertainty = U16::new(9_999)),
    ("a value in an absent slot", Fault::Quantity, |d| d.quantities[1] = I32::new(1)),
    ("a value in a slot that is not present", Fault::Quantity, |d| d.quantity_present = 0),
    ("an undeclared slot", Fault::Quantity, |d| d.quantity_present = 3),
    ("a slot that does not exist", Fault::Quantity, |d| d.quantity_present = 0x11),
    ("stage 2 outcome 0", Fault::StageCode, |d| d.validation_outcome = 0),
    ("stage 2 outcome 4", Fault::StageCode, |d| d.validation_outcome = 4),
    ("a reason beside a pass", Fault::StageCode, |d| d.validation_reason = 1),
    ("stage 3 outcome 255", Fault::StageCode, |d| d.lineage_outcome = 255),
    ("a lineage reason beside a pass", Fault::StageCode, |d| d.lineage_reason = 1),
];

/// Valid values at the limits of their ranges.
const EDGES: &[fn(&mut Descriptor)] = &[
    |d| d.flags = 1,
    |d| (d.flags, d.uncertainty) = (2, U16::new(0)),
    |d| (d.flags, d.uncertainty) = (3, U16::new(10_000)),
    |d| d.fields_touched = 0x7f,
    |d| (d.category, d.granularity, d.epistemic, d.anchor) = (5, 2, 2, 3),
    |d| (d.temporal, d.domain, d.audience, d.register) = (1, 1, 1, 1),
    |d| (d.classes, d.established) = (U128::new(0b1111), U128::new(0b1111)),
    |d| (d.novelty, d.certainty, d.register_divergence) = (U16::new(10_000), U16::new(10_000), U16::new(10_000)),
    |d| (d.trust_slope, d.length) = (U16::new(u16::MAX), U16::new(u16::MAX)),
    |d| (d.depth, d.alternatives, d.correction) = (255, 255, 255),
    |d| d.quantities[0] = I32::new(i32::MIN),
    |d| (d.quantity_present, d.quantities[0]) = (0, I32::new(0)),
];

fn every_field_of_a_gate_is_checked<C: TestCard>() {
    let mut card = C::fresh();
    let world = world();
    let mut session = CardSession::open_tables(&mut card, &world.tables(), small(1)).unwrap();
    let (stream, _) = session.begin([0; 32]).unwrap();
    for (what, fault, change) in BROKEN {
        let mut entry = good();
        change(&mut entry);
        let completed = session.gate_descriptor(&stream, entry).unwrap();
        assert_refused(&completed, *fault, what);
        // The sequence has not moved, so a valid entry with the same sequence is admitted.
        assert!(session.gate_descriptor(&stream, good()).unwrap().outcome.is_admit(), "after {what}");
    }
    for (i, change) in EDGES.iter().enumerate() {
        let mut entry = good();
        change(&mut entry);
        let (stream, _) = session.begin([0; 32]).unwrap();
        assert!(session.gate_descriptor(&stream, entry).unwrap().outcome.is_admit(), "edge {i}");
    }
    // The CRC covers every bit of an entry.
    let place = session.place(&stream).unwrap();
    let sealed = placed(good(), place.slot, place.sequence);
    for bit in 0..Descriptor::BYTES * 8 {
        let mut entry = sealed;
        entry.as_mut_bytes()[bit / 8] ^= 1 << (bit % 8);
        session.submit_raw(&[entry]).unwrap();
        let completed = session.wait().unwrap().remove(0);
        assert_refused(&completed, Fault::Crc, &format!("bit {bit}"));
    }
    assert_eq!(session.place(&stream).unwrap(), place);
    session.close().unwrap();
    card.assert_clean();
}

fn the_first_fault_in_order_is_reported<C: TestCard>() {
    let mut card = C::fresh();
    let world = world();
    let mut session = CardSession::open_tables(&mut card, &world.tables(), small(2)).unwrap();
    let (stream, _) = session.begin([0; 32]).unwrap();
    // Each step repairs the first fault of the previous step's entry.
    let mut broken: Vec<Break> = vec![
        ("version", Fault::Version, |d| d.version = 9),
        ("opcode", Fault::Opcode, |d| d.opcode = 9),
        ("reserved", Fault::Reserved, |d| d.flags |= 0x80),
        ("enumeration", Fault::Enumeration, |d| d.category = 9),
        ("class", Fault::Class, |d| d.classes = U128::new(1 << 9)),
        ("basis points", Fault::BasisPoints, |d| d.novelty = U16::new(10_001)),
        ("quantity", Fault::Quantity, |d| d.quantity_present = 0xf0),
        ("stage code", Fault::StageCode, |d| d.lineage_outcome = 0),
        ("slot", Fault::Slot, |d| d.slot = U16::new(1024)),
        ("sequence", Fault::Sequence, |d| d.sequence = U32::new(77)),
        ("context", Fault::Context, |d| d.domain = 1),
    ];
    assert!(session.gate_descriptor(&stream, good()).unwrap().outcome.is_admit());
    while !broken.is_empty() {
        let mut entry = good();
        for (_, _, change) in &broken {
            change(&mut entry);
        }
        if entry.slot.get() == 0 {
            entry.slot = U16::new(stream.slot());
        }
        if entry.sequence.get() == 0 {
            entry.sequence = U32::new(2);
        }
        session.submit_raw(&[entry]).unwrap();
        assert_refused(&session.wait().unwrap().remove(0), Fault::Crc, broken[0].0);
        session.submit_raw(&[entry.sealed()]).unwrap();
        let completed = session.wait().unwrap().remove(0);
        assert_refused(&completed, broken[0].1, broken[0].0);
        broken.remove(0);
    }
    session.close().unwrap();
    card.assert_clean();
}

fn digest_entries_carry_nothing_else<C: TestCard>() {
    let mut card = C::fresh();
    let world = world();
    let mut session = CardSession::open_tables(&mut card, &world.tables(), small(3)).unwrap();
    let (stream, _) = session.begin([0; 32]).unwrap();
    let place = session.place(&stream).unwrap();
    let free = SlotSequence { slot: place.slot + 1, sequence: 0 };
    for (opcode, place) in [(Opcode::Begin, free), (Opcode::Note, place), (Opcode::End, place)] {
        for byte in 8..92 {
            let mut entry = Descriptor::entry(opcode, place, [1; 32]);
            entry.as_mut_bytes()[byte] = 1;
            session.submit_raw(&[entry.sealed()]).unwrap();
            let completed = session.wait().unwrap().remove(0);
            assert_refused(&completed, Fault::Reserved, &format!("{} byte {byte}", opcode.name()));
        }
    }
    session.close().unwrap();
    card.assert_clean();
}

fn slots_and_sequences_are_kept<C: TestCard>() {
    let mut card = C::fresh();
    let world = world();
    let mut session = CardSession::open_tables(&mut card, &world.tables(), small(4)).unwrap();
    let last = (session.info().max_streams - 1) as u16;
    let entry = |opcode, slot, sequence| {
        let place = SlotSequence { slot, sequence };
        match opcode {
            Opcode::Gate => placed(good(), slot, sequence),
            _ => Descriptor::entry(opcode, place, [0; 32]).sealed(),
        }
    };
    let ok = Fault::None;
    let script = [
        (Opcode::Gate, 3, 0, Fault::Slot),
        (Opcode::Note, 3, 0, Fault::Slot),
        (Opcode::End, 3, 1, Fault::Slot),
        (Opcode::Begin, 3, 1, Fault::Sequence),
        (Opcode::Begin, last + 1, 0, Fault::Slot),
        (Opcode::Begin, u16::MAX, 0, Fault::Slot),
        (Opcode::Begin, last, 0, ok),
        (Opcode::Begin, 3, 0, ok),
        (Opcode::Begin, 3, 0, Fault::Slot),
        (Opcode::Begin, 3, 1, Fault::Slot),
        (Opcode::Gate, 3, 0, Fault::Sequence),
        (Opcode::Gate, 3, 2, Fault::Sequence),
        (Opcode::Gate, 3, u32::MAX, Fault::Sequence),
        (Opcode::Gate, 3, 1, ok),
        (Opcode::Gate, 3, 1, Fault::Sequence),
        (Opcode::Note, 3, 1, Fault::Sequence),
        (Opcode::Note, 3, 2, ok),
        (Opcode::Gate, last, 3, Fault::Sequence),
        (Opcode::Gate, last, 1, ok),
        (Opcode::End, 3, 2, Fault::Sequence),
        (Opcode::End, 3, 4, Fault::Sequence),
        (Opcode::End, 3, 3, ok),
        (Opcode::End, 3, 4, Fault::Slot),
        (Opcode::Gate, 3, 4, Fault::Slot),
        (Opcode::Begin, 3, 0, ok),
        (Opcode::Gate, 3, 1, ok),
    ];
    // All entries are submitted at once; the driver leaves all checks to the card.
    let entries: Vec<_> = script.iter().map(|(opcode, slot, sequence, _)| entry(*opcode, *slot, *sequence)).collect();
    session.submit_raw(&entries).unwrap();
    for (completed, (opcode, slot, sequence, fault)) in session.drain().unwrap().iter().zip(script) {
        let what = format!("{} slot {slot} sequence {sequence}", opcode.name());
        match (fault, opcode) {
            (Fault::None, Opcode::Gate) => assert!(completed.outcome.is_admit(), "{what}: {:?}", completed.outcome),
            (Fault::None, _) => assert_eq!(completed.outcome, EntryOutcome::Accepted, "{what}"),
            (fault, _) => assert_refused(completed, fault, &what),
        }
    }
    session.close().unwrap();
    card.assert_clean();
}

/// The first GATE that is judged, whatever its verdict, fixes the stream's domain, audience, register and epistemic
/// mode. Other fields may change, and each stream has its own context.
fn a_stream_keeps_the_context_of_its_first_gate<C: TestCard>() {
    type Change = fn(&mut Descriptor);
    const FIXED: &[(&str, Change)] = &[
        ("domain", |d| d.domain = 0),
        ("audience", |d| d.audience = 0),
        ("register", |d| d.register = 0),
        ("epistemic mode", |d| d.epistemic = 0),
        ("all four", |d| (d.domain, d.audience, d.register, d.epistemic) = (0, 0, 0, 2)),
    ];
    const FREE: &[Change] = &[
        |d| d.temporal = 1,
        |d| (d.category, d.granularity, d.anchor) = (5, 2, 3),
        |d| (d.depth, d.alternatives, d.correction) = (3, 4, 5),
        |d| d.fields_touched = 0x7f,
    ];
    let first = |d: Descriptor| Descriptor { domain: 1, audience: 1, register: 1, epistemic: 1, ..d };
    let mut card = C::fresh();
    let world = world();
    let mut session = CardSession::open_tables(&mut card, &world.tables(), small(7)).unwrap();
    let (stream, _) = session.begin([0; 32]).unwrap();
    let (other, _) = session.begin([0; 32]).unwrap();
    assert_eq!(session.note(&stream, [1; 32]).unwrap().outcome, EntryOutcome::Accepted);
    // A refused entry does not fix the context, but a rejected one does.
    let undeclared = Descriptor { classes: U128::new(1 << 4), ..good() };
    assert_refused(&session.gate_descriptor(&stream, undeclared).unwrap(), Fault::Class, "class");
    let rejected = Descriptor { validation_outcome: StageOutcome::Reject.into(), ..first(good()) };
    assert!(session.gate_descriptor(&stream, rejected).unwrap().outcome.verdict().is_some());
    assert!(session.gate_descriptor(&other, good()).unwrap().outcome.is_admit());
    for (what, change) in FIXED {
        let mut entry = first(good());
        change(&mut entry);
        let place = session.place(&stream).unwrap();
        assert_refused(&session.gate_descriptor(&stream, entry).unwrap(), Fault::Context, what);
        assert_eq!(session.place(&stream).unwrap(), place);
        // A NOTE between the two entries has no effect on the context.
        assert_eq!(session.note(&stream, [2; 32]).unwrap().outcome, EntryOutcome::Accepted);
        assert_refused(&session.gate_descriptor(&stream, entry).unwrap(), Fault::Context, what);
        assert!(session.gate_descriptor(&stream, first(good())).unwrap().outcome.is_admit(), "after {what}");
        assert_refused(&session.gate_descriptor(&other, first(good())).unwrap(), Fault::Context, what);
    }
    for (i, change) in FREE.iter().enumerate() {
        let mut entry = first(good());
        change(&mut entry);
        assert!(session.gate_descriptor(&stream, entry).unwrap().outcome.is_admit(), "{i}");
    }
    // The next stream in this slot can have another context.
    let slot = stream.slot();
    session.end(stream, [0; 32]).unwrap();
    let begin = Descriptor::entry(Opcode::Begin, SlotSequence { slot, sequence: 0 }, [0; 32]).sealed();
    session.submit_raw(&[begin, placed(good(), slot, 1), placed(first(good()), slot, 2)]).unwrap();
    let answered = session.drain().unwrap();
    assert!(answered[1].outcome.is_admit());
    assert_refused(&answered[2], Fault::Context, "the next stream");
    session.close().unwrap();
    card.assert_clean();
}

fn a_refused_entry_moves_nothing<C: TestCard>() {
    let mut card = C::fresh();
    let world = world();
    let mut session = CardSession::open_tables(&mut card, &world.tables(), small(5)).unwrap();
    session
        .submit_raw(&[Descriptor::entry(Opcode::Begin, SlotSequence { slot: 0, sequence: 0 }, [0; 32]).sealed()])
        .unwrap();
    // One invalid entry of each kind, each between two valid entries. All of them are in the ring at once.
    let mut expected = vec![true];
    for (sequence, (_, _, change)) in (1..).zip(BROKEN) {
        let mut bad = placed(good(), 0, sequence);
        change(&mut bad);
        let corrupted = Descriptor { crc: U32::new(bad.crc.get() ^ 0x8000_0000), ..bad };
        while session.room() < 3 {
            let ready = session.wait().unwrap();
            for completed in ready {
                assert_eq!(completed.outcome.fault().is_none(), expected.remove(0), "{:?}", completed.outcome);
            }
        }
        session.submit_raw(&[bad.sealed(), corrupted, placed(good(), 0, sequence)]).unwrap();
        expected.extend([false, false, true]);
    }
    for completed in session.drain().unwrap() {
        assert_eq!(completed.outcome.fault().is_none(), expected.remove(0), "{:?}", completed.outcome);
    }
    assert!(expected.is_empty());
    session.close().unwrap();
    card.assert_clean();
}

/// Requirement P6: a zeroed table denies every descriptor.
fn a_zeroed_table_denies_everything<C: TestCard>() {
    let mut card = C::fresh();
    let mut random = card_support::Random::new(8);
    let mut world = World::random(&mut random, 4, 4);
    world.policy.fill(portcullis_core::wire::Row::ZERO);
    world.entropy.fill(portcullis_core::wire::Row::ZERO);
    let mut session = CardSession::open_tables(&mut card, &world.tables(), small(6)).unwrap();
    let (stream, _) = session.begin([0; 32]).unwrap();
    for _ in 0..100 {
        let completed = session.gate_descriptor(&stream, card_support::gate(&mut random, &world.header)).unwrap();
        let verdict = completed.outcome.verdict().unwrap();
        assert_eq!(verdict.determination, portcullis_core::wire::Determination::Reject);
        assert_eq!((verdict.policy_row, verdict.entropy_row), (None, None));
    }
    session.close().unwrap();
    card.assert_clean();
}
