//! When a fault occurs, records may wait for room in a full log ring. These tests check which of them stay in the log,
//! and where the fault's own record is. The verifier's rules check the result.
#![cfg(feature = "sim")]

use crate::card_support;

use card_support::{Keeper, Random, TestCard, World, small};
use portcullis_card::driver::CheckpointConfig;
use portcullis_card::transport::sim::SimCard;
use portcullis_card::{CardSession, CardTransport, SessionConfig, registers};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{Checkpoint, Command, Descriptor, Life, Opcode, Record, RecordType};
use portcullis_evidence::log::LogChecker;
use zerocopy::FromBytes;

/// Number of entries that fill a log ring of 16 places after the OPEN record.
const FILL: u16 = 15;

/// A session whose log ring is full: it has OPEN and as many BEGINs as fit.
fn full<'c>(card: &'c mut SimCard, world: &World, signed: bool) -> (CardSession<&'c mut SimCard>, Keeper) {
    let keeper = Keeper::default();
    let checkpoints = signed.then_some(CheckpointConfig { ring_log2: 1, interval: 1000 });
    let config = SessionConfig { checkpoints, sink: Box::new(keeper.clone()), ..small(3) };
    let mut session = CardSession::open_tables(card, &world.tables(), config).unwrap();
    let begins: Vec<_> = (0..FILL).map(|slot| entry(Opcode::Begin, slot, 0)).collect();
    session.submit(&begins).unwrap();
    session.card_mut().pass(20_000);
    assert_eq!(records(&mut session), u32::from(FILL) + 1);
    (session, keeper)
}

fn entry(opcode: Opcode, slot: u16, sequence: u32) -> Descriptor {
    Descriptor::entry(opcode, SlotSequence { slot, sequence }, [5; 32]).sealed()
}

fn give(session: &mut CardSession<&mut SimCard>, command: Command) {
    registers::with(session.card_mut(), |r| r.command().try_write(|w| w.set_v(command.into()))).unwrap();
    session.card_mut().pass(20_000);
}

fn records(session: &mut CardSession<&mut SimCard>) -> u32 {
    registers::with(session.card_mut(), |r| r.records().try_read()).unwrap().v()
}

/// Checks that the log follows the verifier's rules, and each checkpoint matches the log. Returns the records' types.
fn hold(world: &World, records: &[Record], checkpoints: &[Checkpoint]) -> Vec<RecordType> {
    let mut rules = LogChecker::new((world.policy.len() as u16, world.entropy.len() as u16));
    let mut kinds = Vec::new();
    let mut covered = checkpoints.iter().peekable();
    for record in records {
        rules.next(record).unwrap_or_else(|violation| panic!("record {}: {violation}", kinds.len()));
        kinds.push(RecordType::try_from(record.answer.record_type).unwrap());
        while let Some(checkpoint) = covered.next_if(|c| c.size.get() == kinds.len() as u64) {
            let serial = checkpoint.serial.get();
            let holds = match Life::try_from(checkpoint.state).unwrap() {
                Life::Closing => rules.is_closed(),
                Life::Fault => rules.is_alarmed() && !rules.is_closed(),
                _ => !rules.is_alarmed() && !rules.is_closed() && checkpoint.fault.get() == 0,
            };
            assert!(holds, "checkpoint {serial} over {} records: {checkpoint:?}", kinds.len());
            assert!(checkpoint.tick.get() >= rules.tick(), "checkpoint {serial} is older than its records");
        }
    }
    assert!(covered.peek().is_none());
    kinds
}

/// The card has accepted the ENDs of three streams. When the fault occurs, only one of their records is in the tree.
#[test]
fn a_fault_takes_back_what_is_not_in_the_tree() {
    let mut card = SimCard::fresh();
    let world = World::random(&mut Random::new(61), 2, 1);
    let (mut session, keeper) = full(&mut card, &world, false);
    session.submit(&[0, 1, 2].map(|slot| entry(Opcode::End, slot, 1))).unwrap();
    session.card_mut().pass(20_000);
    assert_eq!(records(&mut session), u32::from(FILL) + 2);
    give(&mut session, Command::Load);
    session.close().unwrap();
    let trail = keeper.0.lock().unwrap();
    let kinds = hold(&world, &trail.records, &[]);
    assert_eq!(kinds[usize::from(FILL) + 1..], [RecordType::End, RecordType::Alarm, RecordType::Close]);
    drop(trail);
    card.assert_clean();
}

/// When the fault occurs, CLOSE is in the tree and waits for its place in the ring. Then the log gets no ALARM.
#[test]
fn nothing_stands_behind_close() {
    let mut card = SimCard::fresh();
    let world = World::random(&mut Random::new(62), 2, 1);
    let (mut session, keeper) = full(&mut card, &world, false);
    give(&mut session, Command::Close);
    assert_eq!(records(&mut session), u32::from(FILL) + 2);
    give(&mut session, Command::Load);
    // Makes room for CLOSE and for a further record.
    session.poll().unwrap();
    session.card_mut().pass(20_000);
    assert_eq!(records(&mut session), u32::from(FILL) + 2, "records behind CLOSE");
    // The log ring has wrapped, so CLOSE is in the ring's first place.
    let mut close = [0; Record::BYTES];
    session.card().dma_read(session.log_ring().unwrap(), 0, &mut close).unwrap();
    let mut all = keeper.0.lock().unwrap().records.clone();
    all.push(Record::read_from_bytes(&close).unwrap());
    assert_eq!(hold(&world, &all, &[]).last(), Some(&RecordType::Close));
    drop(session);
    card.assert_clean();
}

/// When the fault occurs, a checkpoint has begun, and its snapshot waits for the previous record. This checkpoint gets
/// the state RUN. The fault gets a checkpoint of its own, which covers the ALARM.
#[test]
fn a_fault_beside_a_snapshot_has_a_checkpoint_of_its_own() {
    let mut card = SimCard::fresh();
    let world = World::random(&mut Random::new(63), 2, 1);
    let (mut session, keeper) = full(&mut card, &world, true);
    session.submit(&[entry(Opcode::End, 0, 1)]).unwrap();
    session.card_mut().pass(20_000);
    session.flush().unwrap();
    session.card_mut().pass(1_000);
    give(&mut session, Command::Load);
    session.close().unwrap();
    let trail = keeper.0.lock().unwrap();
    let checkpoints: Vec<_> = trail.checkpoints.iter().map(|signed| signed.checkpoint).collect();
    hold(&world, &trail.records, &checkpoints);
    let states: Vec<_> = checkpoints.iter().map(|c| Life::try_from(c.state).unwrap()).collect();
    assert_eq!(states, [Life::Opening, Life::Run, Life::Fault, Life::Closing]);
    let sizes: Vec<_> = checkpoints.iter().map(|c| c.size.get()).collect();
    assert_eq!(sizes, [1, 17, 18, 19]);
    drop(trail);
    card.assert_clean();
}
