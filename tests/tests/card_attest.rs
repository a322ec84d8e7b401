//! What the card hashes and signs, checked by the evidence library: roots, signatures, the key, the digest of the tables.
#![cfg(feature = "sim")]
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod card_support;

use card_support::{Keeper, Rng, TestCard, Trail, World, gate, small};
use portcullis_card::session::{CheckpointConfig, Tables, load_only};
use portcullis_card::sim::SimCard;
use portcullis_card::{Card, CardInfo, Session, SessionConfig, await_public_key, public_key, registers};
use portcullis_core::mutation::Place;
use portcullis_core::wire::{Command, Descriptor, Fault, Life, Opcode, RecordType};
use portcullis_evidence::{checkpoint, tree};
use zerocopy::IntoBytes;

/// Every root is that of the records before it, every signature that of the key; the checkpoints' states.
fn verify(trail: &Trail, key: &[u8; 32]) -> Vec<Life> {
    let leaves: Vec<_> = trail.records.iter().map(|record| tree::leaf(record.as_bytes())).collect();
    let check = |(serial, signed): (usize, &portcullis_card::session::Signed)| {
        let found = &signed.checkpoint;
        let size = found.size.get();
        let root = tree::root(leaves[..size as usize].iter().copied());
        assert_eq!(found.root, checkpoint::root_of_lane(size, root), "root of checkpoint {serial} over {size} records");
        assert_eq!(found.serial.get(), serial as u64);
        let bytes = found.as_bytes().try_into().unwrap();
        let message = portcullis_evidence::cose::encode(bytes, signed.signature.as_ref().try_into().unwrap());
        assert!(checkpoint::Signed::parse(&message).unwrap().verify(key), "signature of checkpoint {serial}");
        Life::try_from(found.state).unwrap()
    };
    trail.checkpoints.iter().enumerate().map(check).collect()
}

fn attested(epoch: u32, interval: u32) -> (SessionConfig, Keeper) {
    let keeper = Keeper::default();
    let checkpoints = Some(CheckpointConfig { ring_log2: 1, interval });
    let config = SessionConfig { checkpoints, ticket_digest: [3; 32], sink: Box::new(keeper.clone()), ..small(epoch) };
    (config, keeper)
}

#[test]
fn a_session_is_signed_from_open_to_close() {
    let mut card = SimCard::fresh();
    let mut rng = Rng::new(4);
    let world = World::random(&mut rng, 8, 4);
    let (config, keeper) = attested(7, 20);
    let mut session = Session::open_tables(&mut card, &world.tables(), config).unwrap();
    let opened = session.card().clocks().unwrap();
    let (stream, _) = session.begin([9; 32]).unwrap();
    for _ in 0..100 {
        let descriptor = gate(&mut rng, &world.header);
        session.gate_descriptor(&stream, descriptor).unwrap();
    }
    session.flush().unwrap();
    session.end(stream, [3; 32]).unwrap();
    let closed = session.close().unwrap();
    assert_eq!(closed.record.unwrap().answer.record_type, RecordType::Close as u8);
    let key = public_key(&mut card).unwrap();
    assert_ne!(key, [0; 32]);
    let info = CardInfo::read(&mut card).unwrap();
    assert_eq!(info.design_id[0] & 0x80, 0x80, "a simulated design");
    let trail = keeper.0.lock().unwrap();
    assert_eq!(trail.records.len(), 104);
    let states = verify(&trail, &key);
    println!("{opened} clocks to open, {} checkpoints", states.len());
    assert_eq!((states[0], *states.last().unwrap()), (Life::Opening, Life::Closing));
    assert!(states.len() > 2 && states[1..states.len() - 1].iter().all(|s| *s == Life::Run), "{states:?}");
    assert_eq!(trail.checkpoints.last().unwrap().checkpoint.size.get(), 104);
    for signed in &trail.checkpoints {
        assert_eq!(signed.checkpoint.policy_digest, world.tables().digest());
    }
    card.assert_clean();
}

/// A session's roots at every size that a checkpoint can have, up to 5,000 records, against the tree of the records as they were written.
#[test]
fn roots_of_random_logs() {
    let mut rng = Rng::new(5);
    let world = World::random(&mut rng, 2, 1);
    let mut card = SimCard::fresh();
    for (epoch, entries) in [(1, 0), (2, 1), (3, 2), (4, 5), (5, 62), (6, 250), (7, 1021), (8, 5000 - 3)] {
        let (config, keeper) = attested(epoch, 512);
        let mut session =
            Session::open_tables(&mut card, &world.tables(), SessionConfig { ring_log2: 8, log_log2: 10, ..config })
                .unwrap();
        let (stream, _) = session.begin([9; 32]).unwrap();
        let mut left = entries;
        let (mut sequence, slot) = (1, stream.slot());
        while left > 0 {
            // Some are refused for their sequence: they are in the tree as well.
            let note = |i: u32| {
                let place = Place { slot, sequence: if rng.below(10) == 0 { 0 } else { sequence + i } };
                Descriptor::entry(Opcode::Note, place, [rng.below(256) as u8; 32]).sealed()
            };
            let batch: Vec<_> = (0..left.min(200)).map(note).collect();
            session.submit(&batch).unwrap();
            sequence += session.drain().unwrap().iter().filter(|c| c.outcome.fault().is_none()).count() as u32;
            left -= batch.len() as u32;
        }
        session.close().unwrap();
        let trail = keeper.0.lock().unwrap();
        assert_eq!(trail.records.len() as u32, entries + 3);
        verify(&trail, &public_key(&mut card).unwrap());
    }
    card.assert_clean();
}

/// A fault is recorded and signed; CLOSE puts its own record and checkpoint behind it.
#[test]
fn a_fault_is_signed() {
    let mut card = SimCard::fresh();
    let mut rng = Rng::new(6);
    let world = World::random(&mut rng, 3, 2);
    let (config, keeper) = attested(1, 1000);
    let mut session = Session::open_tables(&mut card, &world.tables(), config).unwrap();
    let (stream, _) = session.begin([9; 32]).unwrap();
    session.gate_descriptor(&stream, gate(&mut rng, &world.header)).unwrap();
    // A command that RUN does not allow.
    registers::with(session.card_mut(), |r| r.command().try_write(|w| w.set_v(Command::Load.into()))).unwrap();
    let closed = session.close().unwrap();
    assert_eq!(closed.cause, Fault::Command);
    let key = public_key(&mut card).unwrap();
    let trail = keeper.0.lock().unwrap();
    let kinds: Vec<_> = trail.records.iter().map(|r| RecordType::try_from(r.answer.record_type).unwrap()).collect();
    assert_eq!(kinds, [RecordType::Open, RecordType::Begin, RecordType::Verdict, RecordType::Alarm, RecordType::Close]);
    assert_eq!(verify(&trail, &key), [Life::Opening, Life::Fault, Life::Closing]);
    assert!(trail.checkpoints[1..].iter().all(|c| c.checkpoint.fault.get() == u16::from(Fault::Command)));
    // The key is the card's, whatever happened.
    let (config, keeper) = attested(2, 1000);
    Session::open_tables(&mut card, &world.tables(), config).unwrap().close().unwrap();
    assert_eq!(public_key(&mut card).unwrap(), key);
    assert_eq!(verify(&keeper.0.lock().unwrap(), &key), [Life::Opening, Life::Closing]);
    card.assert_clean();
}

/// RESET in the middle of anything: the next session is whole, under the same key.
#[test]
fn a_reset_in_the_middle_of_a_signature_leaves_the_card_whole() {
    let mut card = SimCard::fresh();
    let mut rng = Rng::new(7);
    let world = World::random(&mut rng, 3, 2);
    let mut key = None;
    for after in [1, 700, 5_000, 30_000, 100_000, 400_000, 560_000] {
        let (config, _) = attested(1, 4);
        let mut session = Session::open_tables(&mut card, &world.tables(), config).unwrap();
        let (stream, _) = session.begin([9; 32]).unwrap();
        for _ in 0..5 {
            session.gate_descriptor(&stream, gate(&mut rng, &world.header)).unwrap();
        }
        session.card_mut().pass(after);
        drop(session);
        let (config, keeper) = attested(2, 1000);
        let mut session = Session::open_tables(&mut card, &world.tables(), config).unwrap();
        let (stream, _) = session.begin([9; 32]).unwrap();
        session.gate_descriptor(&stream, gate(&mut rng, &world.header)).unwrap();
        session.close().unwrap();
        let now = public_key(&mut card).unwrap();
        assert_eq!(*key.get_or_insert(now), now);
        assert_eq!(verify(&keeper.0.lock().unwrap(), &now), [Life::Opening, Life::Closing], "reset after {after}");
    }
    card.assert_clean();
}

/// The host is slow with checkpoints: none is overwritten, verdicts go on, and CLOSE waits for room.
#[test]
fn a_full_checkpoint_ring_holds_checkpoints_and_not_verdicts() {
    let mut card = SimCard::fresh();
    let mut rng = Rng::new(8);
    let world = World::random(&mut rng, 1, 1);
    let (config, keeper) = attested(1, 10);
    let mut session = Session::open_tables(&mut card, &world.tables(), config).unwrap();
    let tail = |card: &mut SimCard| registers::with(card, |r| r.checkpoint_tail().try_read()).unwrap().v();
    let (stream, _) = session.begin([9; 32]).unwrap();
    // As the driver asks for checkpoints only when it has collected a verdict, none is consumed while clocks pass.
    for _ in 0..11 {
        session.gate_descriptor(&stream, gate(&mut rng, &world.header)).unwrap();
    }
    let before = keeper.0.lock().unwrap().checkpoints.len() as u32;
    for _ in 0..4 {
        session.flush().unwrap();
        session.card_mut().pass(700_000);
    }
    assert_eq!(tail(session.card_mut()), before + 2, "two fit");
    session.gate_descriptor(&stream, gate(&mut rng, &world.header)).unwrap();
    session.close().unwrap();
    let trail = keeper.0.lock().unwrap();
    let states = verify(&trail, &public_key(&mut card).unwrap());
    assert_eq!(*states.last().unwrap(), Life::Closing);
    card.assert_clean();
}

/// A host that reads a table window while the card hashes its tables cannot put another row before the hash: here the genuine row
/// stands beyond the count, and a forged one in its place.
#[test]
fn a_window_read_while_the_tables_are_hashed_changes_nothing() {
    let mut card = SimCard::fresh();
    await_public_key(&mut card).unwrap();
    let world = World::random(&mut Rng::new(9), 2, 1);
    let digest = world.tables().digest();
    let mut forged = world.policy.clone();
    forged[1].established_none = (forged[1].established_none.get() ^ 1).into();
    let spare = registers::POLICY_WINDOW + 7 * 256;
    for delay in 0..24 {
        load_only(&mut card, &Tables { policy: &forged, ..world.tables() }).unwrap();
        for (at, word) in (0..).zip(world.policy[1].as_bytes().chunks_exact(4)) {
            card.write32(spare + at * 4, u32::from_le_bytes(word.try_into().unwrap())).unwrap();
        }
        for (at, word) in digest.chunks_exact(4).enumerate() {
            let value = u32::from_le_bytes(word.try_into().unwrap());
            registers::with(&mut card, |r| r.expected_digest()[at].try_write(|w| w.set_v(value))).unwrap();
        }
        registers::with(&mut card, |r| r.command().try_write(|w| w.set_v(Command::Open.into()))).unwrap();
        card.pass(delay);
        for _ in 0..30 {
            card.read32(spare + 8).unwrap();
        }
        while CardInfo::read(&mut card).unwrap().life == Life::Opening {
            card.pass(100);
        }
        let fault = registers::with(&mut card, |r| r.load_fault().try_read()).unwrap().code();
        assert_eq!(Fault::try_from(fault).unwrap(), Fault::ImageDigest, "delay {delay}");
    }
    card.assert_clean();
}
