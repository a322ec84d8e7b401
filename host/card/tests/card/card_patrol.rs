//! In RUN, the card hashes its tables again. A flipped bit in a table causes a fault without CLOSE within a bounded
//! time, whatever the host requests. With intact tables, the hash affects no verdict, checkpoint or session.
#![cfg(feature = "sim")]

use crate::card_support;

use card_support::{Random, TestCard, World, gate, placed, small};
use portcullis_card::driver::CheckpointConfig;
use portcullis_card::transport::sim::SimCard;
use portcullis_card::{CardSession, CardTransport, EntryOutcome, SessionConfig, SessionError};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{Descriptor, Fault, Opcode, RecordType};
use portcullis_sim::{BusStall, LANES, LaneRam, PATROL_CLOCKS, ROUNDS, SimConfig, TableBit};

const POLICY_ROWS: usize = 9;
const ENTROPY_ROWS: usize = 3;
const ROW_BITS: usize = 8 * 192;
/// Clocks per block in the hash core, including overhead.
const BLOCK: u64 = 64 / ROUNDS + 4;
/// The status register, the mask of its life state, and the value of FAULT.
const STATUS: u32 = 0x44;
const LIFE: u32 = 15;
const FAULT: u32 = 5;

fn card(lanes: u32, stall: BusStall) -> SimCard {
    SimCard::new(SimConfig { lanes, read_latency: 20, write_latency: 20, stall, trace: None }).unwrap()
}

/// Clocks to hash the tables of all lanes: header, rows and end. Each row may wait for one sweep, and needs a few
/// clocks for reading a window.
fn hash_clocks(lanes: u32) -> u64 {
    let rows = (POLICY_ROWS + ENTROPY_ROWS) as u64;
    u64::from(lanes) * ((2 + 3 * rows + 1) * BLOCK + rows * (POLICY_ROWS as u64 + 16))
}

/// Largest number of clocks from an upset to its fault: the rest of a hash that misses it, a pause, the next hash.
fn bound(lanes: u32) -> u64 {
    PATROL_CLOCKS + 2 * hash_clocks(lanes)
}

fn any_bit(random: &mut Random, lanes: u32) -> TableBit {
    let (table, rows) = *random.pick(&[(LaneRam::Policy, POLICY_ROWS), (LaneRam::Entropy, ENTROPY_ROWS)]);
    TableBit {
        lane: random.below(lanes as usize) as u32,
        table,
        row: random.below(rows) as u32,
        bit: random.below(ROW_BITS) as u32,
    }
}

/// Runs the clock and reads the status until the card is in FAULT. Returns the number of clocks; `None` if there are
/// `bound` or more.
fn clocks_to_fault(session: &mut CardSession<&mut SimCard>, bound: u64) -> Option<u64> {
    let start = session.card().clocks().unwrap();
    loop {
        let life = session.card_mut().read32(STATUS).unwrap() & LIFE;
        let passed = session.card().clocks().unwrap() - start;
        if life == FAULT {
            return Some(passed);
        }
        if passed > bound {
            return None;
        }
        session.card_mut().sim().run(97).unwrap();
    }
}

fn is_table_changed(error: &SessionError) -> bool {
    matches!(error, SessionError::Faulted(Fault::TableChanged))
}

#[test]
fn an_upset_in_run_is_a_fault_without_close() {
    let mut random = Random::new(701);
    for lanes in [1, LANES] {
        for round in 0..4 {
            let mut card = card(lanes, BusStall::None);
            let world = World::random(&mut random, POLICY_ROWS, ENTROPY_ROWS);
            let mut session = CardSession::open_tables(&mut card, &world.tables(), small(round)).unwrap();
            // The upset happens at any time during a pause or a hash.
            session.card_mut().sim().run(random.bits() % (PATROL_CLOCKS + 3 * hash_clocks(lanes))).unwrap();
            let bit = any_bit(&mut random, lanes);
            session.card_mut().sim().upset_table(bit).unwrap();
            let clocks = clocks_to_fault(&mut session, bound(lanes) + 1000);
            assert!(clocks.is_some_and(|clocks| clocks <= bound(lanes)), "{bit:?}: {clocks:?}");
            println!("{lanes} lanes, {bit:?}: fault after {clocks:?} clocks");
            // The log ends with an ALARM that contains the cause, and the card judges no more entries.
            let entry = Descriptor::entry(Opcode::Begin, SlotSequence { slot: 0, sequence: 0 }, [0; 32]).sealed();
            let error = session.submit(&[entry]).and_then(|_| session.drain()).map(|answered| answered[0].outcome);
            match error {
                Ok(outcome) => assert_eq!(outcome, EntryOutcome::Fault(Fault::TableChanged)),
                Err(error) => assert!(is_table_changed(&error), "{error}"),
            }
            assert_eq!(session.alarm().map(|alarm| alarm.answer.record_type), Some(RecordType::Alarm as u8));
            assert_eq!(session.close().unwrap().cause, Fault::TableChanged);
            card.assert_clean();
        }
    }
}

/// An upset in a row beyond the image's row count affects neither the digest nor a verdict.
#[test]
fn an_upset_of_a_row_that_does_not_count_is_none() {
    let mut random = Random::new(702);
    let mut card = card(1, BusStall::None);
    let world = World::random(&mut random, POLICY_ROWS, ENTROPY_ROWS);
    let mut session = CardSession::open_tables(&mut card, &world.tables(), small(1)).unwrap();
    let (policy, entropy) = (LaneRam::Policy, LaneRam::Entropy);
    for (table, row) in [(policy, POLICY_ROWS as u32), (entropy, ENTROPY_ROWS as u32), (policy, 255), (entropy, 63)] {
        session.card_mut().sim().upset_table(TableBit { lane: 0, table, row, bit: 5 }).unwrap();
    }
    assert!(session.card_mut().sim().upset_table(TableBit { lane: 0, table: policy, row: 256, bit: 0 }).is_err());
    assert!(session.card_mut().sim().upset_table(TableBit { lane: 1, table: policy, row: 0, bit: 0 }).is_err());
    assert_eq!(clocks_to_fault(&mut session, 3 * bound(1)), None);
    assert_eq!(session.close().unwrap().cause, Fault::None);
}

/// Submits GATEs for this many clocks and checks each answer. Returns the error if the session ends earlier.
fn judged(
    session: &mut CardSession<&mut SimCard>,
    world: &World,
    random: &mut Random,
    clocks: u64,
) -> Result<(), SessionError> {
    const STREAMS: u16 = 32;
    let evaluator = world.evaluator();
    let begins: Vec<_> = (0..STREAMS)
        .map(|slot| Descriptor::entry(Opcode::Begin, SlotSequence { slot, sequence: 0 }, [0; 32]).sealed())
        .collect();
    session.submit(&begins)?;
    session.drain()?;
    let mut idle: Vec<(u16, u32)> = (0..STREAMS).map(|slot| (slot, 1)).collect();
    let mut awaited = std::collections::BTreeMap::new();
    let end = session.card().clocks().unwrap() + clocks;
    while session.card().clocks().unwrap() < end {
        let batch: Vec<_> =
            idle.drain(..).map(|(slot, sequence)| placed(gate(random, &world.header), slot, sequence)).collect();
        let first = session.submit(&batch)?;
        awaited.extend((first..).zip(batch.iter().map(|entry| EntryOutcome::Judged(evaluator.judge(entry)))));
        for completed in session.wait()? {
            let expected = awaited.remove(&completed.ticket).unwrap();
            match completed.outcome {
                EntryOutcome::Fault(Fault::TableChanged) => return Err(SessionError::Faulted(Fault::TableChanged)),
                outcome => assert_eq!(outcome, expected, "a wrong verdict"),
            }
            idle.push((completed.entry.slot.get(), completed.entry.sequence.get() + 1));
        }
    }
    session.drain()?;
    Ok(())
}

/// The tables' port is busy in almost every clock, and the hash reads rows while the sweep reads them.
#[test]
fn tables_that_stand_are_never_called_changed() {
    let mut random = Random::new(703);
    for (lanes, stall) in [(1, BusStall::None), (1, BusStall::Random(5)), (LANES, BusStall::None)] {
        let mut card = card(lanes, stall);
        let world = World::random(&mut random, POLICY_ROWS, ENTROPY_ROWS);
        let mut session = CardSession::open_tables(&mut card, &world.tables(), small(3)).unwrap();
        judged(&mut session, &world, &mut random, 4 * bound(lanes)).unwrap();
        assert_eq!(session.close().unwrap().cause, Fault::None);
        card.assert_clean();
    }
}

#[test]
fn an_upset_is_found_under_load() {
    let mut random = Random::new(704);
    for lanes in [1, LANES] {
        let mut card = card(lanes, BusStall::None);
        let world = World::random(&mut random, POLICY_ROWS, ENTROPY_ROWS);
        let mut session = CardSession::open_tables(&mut card, &world.tables(), small(4)).unwrap();
        session.card_mut().sim().run(random.bits() % PATROL_CLOCKS).unwrap();
        // The flipped bit changes no verdict, so the verdicts before the fault can still be checked.
        let rule = TableBit { lane: lanes - 1, table: LaneRam::Policy, row: 4, bit: 8 * RULE_AT };
        session.card_mut().sim().upset_table(rule).unwrap();
        let start = session.card().clocks().unwrap();
        let error = judged(&mut session, &world, &mut random, 3 * bound(lanes)).unwrap_err();
        assert!(is_table_changed(&error), "{error}");
        let passed = session.card().clocks().unwrap() - start;
        // The driver notices the fault only when its present wait ends.
        assert!(passed <= bound(lanes) + 10_000, "{passed}");
        assert_eq!(session.close().unwrap().cause, Fault::TableChanged);
    }
}

/// Offset of the rule number in a row; verdicts do not depend on the rule number.
const RULE_AT: u32 = 2;

/// A host that always requests the next checkpoint cannot delay the hash, and each checkpoint is written.
#[test]
fn checkpoints_and_hashes_take_turns() {
    let mut random = Random::new(705);
    let mut card = card(1, BusStall::None);
    let world = World::random(&mut random, POLICY_ROWS, ENTROPY_ROWS);
    let config = SessionConfig { checkpoints: Some(CheckpointConfig::default()), ..small(5) };
    let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
    for _ in 0..2 {
        session.flush().unwrap();
        session.card_mut().sim().run(SIGNATURE_CLOCKS + bound(1)).unwrap();
    }
    let before = session.collect_checkpoints().unwrap();
    session.card_mut().sim().upset_table(any_bit(&mut random, 1)).unwrap();
    let start = session.card().clocks().unwrap();
    let mut longest = 0;
    while session.card_mut().read32(STATUS).unwrap() & LIFE != FAULT {
        session.flush().unwrap();
        session.card_mut().sim().run(500).unwrap();
        longest = session.card().clocks().unwrap() - start;
        session.collect_checkpoints().unwrap();
        assert!(longest < bound(1) + 2 * SIGNATURE_CLOCKS, "no fault after {longest} clocks");
    }
    println!("fault after {longest} clocks of signing");
    assert!(before >= 2, "{before}");
    assert_eq!(session.close().unwrap().cause, Fault::TableChanged);
}

/// Clocks of a signature with 16 rounds per clock, rounded up: a signature hashes about 105,000 blocks.
const SIGNATURE_CLOCKS: u64 = 110_000 * BLOCK;

/// After CLOSE, RESET or a flush at any time during a hash, the session ends as usual.
#[test]
fn a_session_may_end_in_the_middle_of_a_hash() {
    let mut random = Random::new(706);
    for lanes in [1, LANES] {
        let mut card = card(lanes, BusStall::None);
        for round in 0..24 {
            let world = World::random(&mut random, POLICY_ROWS, ENTROPY_ROWS);
            let mut session = CardSession::open_tables(&mut card, &world.tables(), small(round)).unwrap();
            session.card_mut().sim().run(PATROL_CLOCKS - 200 + random.bits() % (hash_clocks(lanes) + 300)).unwrap();
            if round % 2 == 0 {
                assert_eq!(session.close().unwrap().cause, Fault::None);
            } else {
                drop(session);
                portcullis_card::driver::reset(&mut card).unwrap();
            }
        }
        card.assert_clean();
    }
}
