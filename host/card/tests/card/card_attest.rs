//! Checks the card's hashes and signatures with the evidence library: roots, signatures, the key, and the digest of the
//! tables.
#![cfg(feature = "sim")]

use crate::card_support;

use card_support::{Keeper, Laned, Random, TestCard, Trail, World, gate, of_lane, small};
use portcullis_card::CardTables;
use portcullis_card::driver::{CheckpointConfig, load_only, public_key};
use portcullis_card::transport::sim::SimCard;
use portcullis_card::{
    CardError, CardInfo, CardSession, CardTransport, DmaBuffer, SessionConfig, SessionError, await_public_key,
    forward_card, registers,
};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{
    self, Answer, BEAT_BYTES, CHECKPOINT_MAGIC, Checkpoint, Command, Descriptor, Fault, LaneHead, Life, Opcode, Record,
    RecordType,
};
use portcullis_evidence::sim::{derive, secret, signer::SoftKey};
use portcullis_evidence::{checkpoint, tree};
use zerocopy::{FromBytes, IntoBytes};

/// Checks that each root covers the records before it, and that each signature equals that of another implementation
/// with the seeds of this design (both are deterministic). Returns the states in the checkpoints.
fn verify(trail: &Trail, key: &[u8; 32]) -> Vec<Life> {
    let reference =
        trail.checkpoints.first().map(|c| SoftKey::new(&derive(&secret(), &c.checkpoint.design_id))).unwrap();
    assert_eq!(reference.public_key(), *key);
    let leaves = |lane| of_lane(&trail.records, lane).into_iter().map(|record| tree::leaf(record.as_bytes()));
    let check = |(serial, signed): (usize, &portcullis_card::driver::CardSignedCheckpoint)| {
        let found = &signed.checkpoint;
        for head in &signed.heads {
            let (lane, size) = (head.lane, head.size.get());
            let root = tree::root(leaves(lane).take(size as usize));
            assert_eq!(head.root, root, "root of lane {lane} in checkpoint {serial} over {size} records");
        }
        let size: u64 = signed.heads.iter().map(|head| head.size.get()).sum();
        assert_eq!(found.size.get(), size);
        let heads = signed.heads.iter().map(|head| tree::leaf(head.as_bytes()));
        assert_eq!((signed.heads.len(), found.root), (found.lanes.into(), tree::root(heads)), "checkpoint {serial}");
        assert_eq!(found.serial.get(), serial as u64);
        let bytes = found.as_bytes().try_into().unwrap();
        let message = portcullis_evidence::cose::encode(bytes, signed.signature.as_ref().try_into().unwrap());
        assert!(checkpoint::CoseCheckpoint::parse(&message).unwrap().verify(key), "signature of checkpoint {serial}");
        assert_eq!(message, reference.sign(found).unwrap(), "signature of checkpoint {serial}");
        Life::try_from(found.state).unwrap()
    };
    trail.checkpoints.iter().enumerate().map(check).collect()
}

fn attested(epoch: u32, interval: u32) -> (SessionConfig, Keeper) {
    let keeper = Keeper::default();
    let checkpoints = Some(CheckpointConfig { ring_log2: 1, interval });
    // An arbitrary digest that is not all zeros. The session compares it with every record and checkpoint.
    let ticket_digest = tree::leaf(&epoch.to_le_bytes());
    let config = SessionConfig { checkpoints, ticket_digest, sink: Box::new(keeper.clone()), ..small(epoch) };
    (config, keeper)
}

/// One signature covers the logs of several lanes.
#[test]
fn a_session_of_more_lanes_is_signed() {
    let lanes = portcullis_sim::LANES as u8;
    let mut card = SimCard::of_lanes(lanes);
    let mut random = Random::new(14);
    let world = World::random(&mut random, 8, 4);
    let (config, keeper) = attested(7, 60);
    let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
    // The last lane has no streams.
    let streams: Vec<_> = (1..lanes).map(|_| session.begin([9; 32]).unwrap().0).collect();
    for i in 0..160 {
        let descriptor = gate(&mut random, &world.header);
        // Lane 0 gets most of the entries.
        let stream = if i % 2 == 0 { 0 } else { i / 2 % streams.len() };
        session.gate_descriptor(&streams[stream], descriptor).unwrap();
        if i == 80 {
            session.heartbeat(77).unwrap();
        }
    }
    session.flush().unwrap();
    let closed = session.close().unwrap();
    let key = public_key(&mut card).unwrap();
    let trail = keeper.0.lock().unwrap();
    let states = verify(&trail, &key);
    assert_eq!((states[0], *states.last().unwrap()), (Life::Opening, Life::Closing));
    assert!(states.len() > 2 && states[1..states.len() - 1].iter().all(|s| *s == Life::Run), "{states:?}");
    let last = &trail.checkpoints.last().unwrap().checkpoint;
    assert_eq!((last.size.get(), trail.records.len() as u64), (closed.records, closed.records));
    for signed in &trail.checkpoints {
        // No record that the heads cover has a later tick than the checkpoint.
        let under = signed
            .heads
            .iter()
            .flat_map(|head| of_lane(&trail.records, head.lane).into_iter().take(head.size.get() as usize));
        assert!(under.into_iter().all(|record| record.answer.tick <= signed.checkpoint.tick));
    }
    card.assert_clean();
}

#[test]
fn a_session_is_signed_from_open_to_close() {
    let mut card = SimCard::fresh();
    let mut random = Random::new(4);
    let world = World::random(&mut random, 8, 4);
    let (config, keeper) = attested(7, 20);
    let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
    let opened = session.card().clocks().unwrap();
    let (stream, _) = session.begin([9; 32]).unwrap();
    for _ in 0..100 {
        let descriptor = gate(&mut random, &world.header);
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

/// Compares a session's roots with the tree over the records that the card wrote. Any size up to 5,000 records can have
/// a checkpoint.
#[test]
fn roots_of_random_logs() {
    let mut random = Random::new(5);
    let world = World::random(&mut random, 2, 1);
    let mut card = SimCard::fresh();
    for (epoch, entries) in [(1, 0), (2, 1), (3, 2), (4, 5), (5, 62), (6, 250), (7, 1021), (8, 5000 - 3)] {
        let (config, keeper) = attested(epoch, 512);
        let mut session = CardSession::open_tables(
            &mut card,
            &world.tables(),
            SessionConfig { ring_log2: 8, log_log2: 10, ..config },
        )
        .unwrap();
        let (stream, _) = session.begin([9; 32]).unwrap();
        let mut left = entries;
        let (mut sequence, slot) = (1, stream.slot());
        while left > 0 {
            // Some entries are refused because of their sequence; the tree contains their records, too.
            let note = |i: u32| {
                let place = SlotSequence { slot, sequence: if random.below(10) == 0 { 0 } else { sequence + i } };
                Descriptor::entry(Opcode::Note, place, [random.below(256) as u8; 32]).sealed()
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

/// A fault is recorded and signed; CLOSE adds its own record and checkpoint.
#[test]
fn a_fault_is_signed() {
    let mut card = SimCard::fresh();
    let mut random = Random::new(6);
    let world = World::random(&mut random, 3, 2);
    let (config, keeper) = attested(1, 1000);
    let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
    let (stream, _) = session.begin([9; 32]).unwrap();
    session.gate_descriptor(&stream, gate(&mut random, &world.header)).unwrap();
    // LOAD is not allowed in RUN.
    registers::with(session.card_mut(), |r| r.command().try_write(|w| w.set_v(Command::Load.into()))).unwrap();
    let closed = session.close().unwrap();
    assert_eq!(closed.cause, Fault::Command);
    let key = public_key(&mut card).unwrap();
    let trail = keeper.0.lock().unwrap();
    let kinds: Vec<_> = trail.records.iter().map(|r| RecordType::try_from(r.answer.record_type).unwrap()).collect();
    assert_eq!(kinds, [RecordType::Open, RecordType::Begin, RecordType::Verdict, RecordType::Alarm, RecordType::Close]);
    assert_eq!(verify(&trail, &key), [Life::Opening, Life::Fault, Life::Closing]);
    assert!(trail.checkpoints[1..].iter().all(|c| c.checkpoint.fault.get() == u16::from(Fault::Command)));
    // After the fault, the card still has its key.
    let (config, keeper) = attested(2, 1000);
    CardSession::open_tables(&mut card, &world.tables(), config).unwrap().close().unwrap();
    assert_eq!(public_key(&mut card).unwrap(), key);
    assert_eq!(verify(&keeper.0.lock().unwrap(), &key), [Life::Opening, Life::Closing]);
    card.assert_clean();
}

/// After a RESET at any time, the next session is complete and has the same key.
#[test]
fn a_reset_in_the_middle_of_a_signature_leaves_the_card_whole() {
    let mut card = SimCard::fresh();
    let mut random = Random::new(7);
    let world = World::random(&mut random, 3, 2);
    let mut key = None;
    for after in [1, 700, 5_000, 30_000, 100_000, 400_000, 560_000] {
        let (config, _) = attested(1, 4);
        let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
        let (stream, _) = session.begin([9; 32]).unwrap();
        for _ in 0..5 {
            session.gate_descriptor(&stream, gate(&mut random, &world.header)).unwrap();
        }
        session.card_mut().pass(after);
        drop(session);
        let (config, keeper) = attested(2, 1000);
        let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
        let (stream, _) = session.begin([9; 32]).unwrap();
        session.gate_descriptor(&stream, gate(&mut random, &world.header)).unwrap();
        session.close().unwrap();
        let now = public_key(&mut card).unwrap();
        assert_eq!(*key.get_or_insert(now), now);
        assert_eq!(verify(&keeper.0.lock().unwrap(), &now), [Life::Opening, Life::Closing], "reset after {after}");
    }
    card.assert_clean();
}

/// If the host consumes checkpoints slowly, no checkpoint is overwritten, verdicts continue, and CLOSE waits for room.
#[test]
fn a_full_checkpoint_ring_holds_checkpoints_and_not_verdicts() {
    let mut card = SimCard::fresh();
    let mut random = Random::new(8);
    let world = World::random(&mut random, 1, 1);
    let (config, keeper) = attested(1, 10);
    let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
    let tail = |card: &mut SimCard| registers::with(card, |r| r.checkpoint_tail().try_read()).unwrap().v();
    let (stream, _) = session.begin([9; 32]).unwrap();
    // The driver requests checkpoints only when it has collected a verdict, so it requests none while the clock runs.
    for _ in 0..11 {
        session.gate_descriptor(&stream, gate(&mut random, &world.header)).unwrap();
    }
    let before = keeper.0.lock().unwrap().checkpoints.len() as u32;
    for _ in 0..4 {
        session.flush().unwrap();
        session.card_mut().pass(700_000);
    }
    assert_eq!(tail(session.card_mut()), before + 2, "two fit");
    session.gate_descriptor(&stream, gate(&mut random, &world.header)).unwrap();
    session.close().unwrap();
    let trail = keeper.0.lock().unwrap();
    let states = verify(&trail, &public_key(&mut card).unwrap());
    assert_eq!(*states.last().unwrap(), Life::Closing);
    card.assert_clean();
}

/// While the card hashes its tables, the host reads a table window. This must not change which row is hashed. The test
/// loads a forged row instead of a genuine row, and the genuine row beyond the row count.
#[test]
fn a_window_read_while_the_tables_are_hashed_changes_nothing() {
    let mut card = SimCard::fresh();
    await_public_key(&mut card).unwrap();
    let world = World::random(&mut Random::new(9), 2, 1);
    let digest = world.tables().digest();
    let mut forged = world.policy.clone();
    forged[1].established_none = (forged[1].established_none.get() ^ 1).into();
    let spare = registers::POLICY_WINDOW + 7 * 256;
    for delay in 0..24 {
        load_only(&mut card, &CardTables { policy: &forged, ..world.tables() }).unwrap();
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

fn checkpoint_head(card: &mut SimCard, head: u32) {
    registers::with(card, |r| r.checkpoint_head().try_write(|w| w.set_v(head))).unwrap();
}

/// OPEN sets the checkpoint head to zero, like every other pointer, so an old value in its register has no effect.
#[test]
fn a_checkpoint_head_from_before_open_does_not_count() {
    let mut random = Random::new(21);
    let world = World::random(&mut random, 2, 1);
    let mut card = SimCard::fresh();
    for (epoch, left) in [(1, 3), (2, u32::MAX), (3, 0)] {
        let (config, keeper) = attested(epoch, 1000);
        let session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
        session.close().unwrap();
        let trail = keeper.0.lock().unwrap();
        let states = verify(&trail, &public_key(&mut card).unwrap());
        assert_eq!(states, [Life::Opening, Life::Closing]);
        // No session is open, so the card ignores the write without a fault.
        checkpoint_head(&mut card, left);
        card.pass(10);
        assert_eq!(CardInfo::read(&mut card).unwrap().fault, Fault::None);
    }
    card.assert_clean();
}

/// The card checks the checkpoint head like other doorbells: it may only move forward, and not beyond the tail.
#[test]
fn a_checkpoint_head_out_of_range_is_a_fault() {
    let mut random = Random::new(22);
    let world = World::random(&mut random, 2, 1);
    // The driver has consumed the checkpoint of OPEN: tail and head are 1.
    for (head, fault) in [(1, Fault::None), (2, Fault::Doorbell), (0, Fault::Doorbell), (0x8000_0001, Fault::Doorbell)]
    {
        let mut card = SimCard::fresh();
        let (config, keeper) = attested(1, 1000);
        let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
        session.begin([9; 32]).unwrap();
        checkpoint_head(session.card_mut(), head);
        session.card_mut().pass(10);
        let closed = session.close().unwrap();
        assert_eq!((closed.cause, closed.needs_reset), (fault, false), "head {head}");
        let trail = keeper.0.lock().unwrap();
        verify(&trail, &public_key(&mut card).unwrap());
        card.assert_clean();
    }
}

/// When a host misuses a doorbell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    /// One clock before CLOSE, while the driver's card is still in RUN.
    Before,
    /// This many clocks after CLOSE.
    After(u64),
}

/// A card whose host misuses a doorbell once, near CLOSE. For the card, this is a fault like any other. The test can
/// also change the card's output before the driver reads it.
struct Meddled<'c> {
    card: &'c mut SimCard,
    slip: Option<Slip>,
    change: fn(&mut [u8]),
}

impl Meddled<'_> {
    fn misuse(&mut self) {
        registers::with_lane(self.card, 0, |lane| lane.sq_tail().try_write(|w| w.set_v(0x4000))).unwrap();
    }
}

impl CardTransport for Meddled<'_> {
    forward_card!(card: describe, read32, allocate, release, dma_write, wait, quantum, patience);

    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        let command = registers::with(self.card, |r| r.command().as_ptr().addr());
        let slip = if address as usize == command && value == u32::from(Command::Close as u8) {
            self.slip.take()
        } else {
            None
        };
        if slip == Some(Slip::Before) {
            self.misuse();
        }
        self.card.write32(address, value)?;
        if let Some(Slip::After(clocks)) = slip {
            self.card.pass(clocks);
            self.misuse();
        }
        Ok(())
    }
    fn dma_read(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError> {
        self.card.dma_read(buffer, offset, into)?;
        (self.change)(into);
        Ok(())
    }
}

/// Causes a fault near CLOSE, in any state of the card. If the log was still open, ALARM and CLOSE exist with their
/// checkpoints, and the session reports the fault.
#[test]
fn a_fault_over_close_is_signed() {
    use RecordType::{Alarm, Begin, Close, Open};
    let mut random = Random::new(10);
    let world = World::random(&mut random, 3, 2);
    let whole = [Open, Begin, Alarm, Close];
    let mut alarmed = 0;
    for slip in [Slip::Before, Slip::After(0), Slip::After(30), Slip::After(120), Slip::After(20_000)] {
        let mut card = SimCard::fresh();
        let (config, keeper) = attested(1, 1000);
        let slipping = Meddled { card: &mut card, slip: Some(slip), change: |_| {} };
        let mut session = CardSession::open_tables(slipping, &world.tables(), config).unwrap();
        session.begin([9; 32]).unwrap();
        let closed = session.close().unwrap();
        assert_eq!(closed.cause, Fault::Doorbell, "{slip:?}");
        assert!(closed.record.is_some(), "{slip:?}");
        let key = public_key(&mut card).unwrap();
        let trail = keeper.0.lock().unwrap();
        let kinds: Vec<_> = trail.records.iter().map(|r| RecordType::try_from(r.answer.record_type).unwrap()).collect();
        let states = verify(&trail, &key);
        if closed.alarm.is_some() {
            alarmed += 1;
            assert_eq!(kinds, whole, "{slip:?}");
            assert_eq!(states, [Life::Opening, Life::Fault, Life::Closing], "{slip:?}");
        } else {
            // After the CLOSE record, the log accepts no ALARM.
            assert_eq!(kinds, [Open, Begin, Close], "{slip:?}");
            assert_eq!(states, [Life::Opening], "{slip:?}: the signature was under way");
        }
        drop(trail);
        CardSession::open_tables(&mut card, &world.tables(), attested(2, 1000).0).unwrap().close().unwrap();
        card.assert_clean();
    }
    assert_eq!(alarmed, 4, "all but the last were before the CLOSE record");
}

/// Changes the checkpoint with this serial, if `bytes` are that checkpoint.
fn checkpoint_of(serial: u8, bytes: &mut [u8], change: impl FnOnce(&mut Checkpoint)) {
    if let Ok(checkpoint) = Checkpoint::mut_from_bytes(bytes)
        && checkpoint.magic.get() == CHECKPOINT_MAGIC
        && checkpoint.serial.get() == u64::from(serial)
    {
        change(checkpoint);
    }
}

/// Changes a session record of this type, if `bytes` are such a record.
fn record_of(kind: RecordType, bytes: &mut [u8], change: impl FnOnce(&mut wire::SessionFields, &mut Answer)) {
    if bytes.len() == Record::BYTES && !bytes.starts_with(&CHECKPOINT_MAGIC.to_le_bytes()) {
        let (session, answer) = bytes.split_at_mut(wire::SessionFields::BYTES);
        let answer = Answer::mut_from_bytes(answer).unwrap();
        if answer.record_type == u8::from(kind) {
            change(wire::SessionFields::mut_from_bytes(session).unwrap(), answer);
        }
    }
}

/// Changes lane heads, if `bytes` are heads. Each head is in a beat of 64 bytes, of which it uses 48.
fn heads(bytes: &mut [u8], change: impl FnOnce(&mut [(LaneHead, [u8; 16])])) {
    let is_head = |(lane, beat): (usize, &[u8])| {
        usize::from(beat[0]) == lane && beat[1..8] == [0; 7] && beat[16..48] != [0; 32] && beat[48..] == [0; 16]
    };
    let lanes = bytes.len() / BEAT_BYTES;
    if bytes.len() <= 8 * BEAT_BYTES && lanes.is_power_of_two() && bytes.chunks(BEAT_BYTES).enumerate().all(is_head) {
        let parse = |beat: &[u8]| (LaneHead::read_from_bytes(&beat[..48]).unwrap(), beat[48..].try_into().unwrap());
        let mut heads: Vec<_> = bytes.chunks(BEAT_BYTES).map(parse).collect();
        change(&mut heads);
        bytes.copy_from_slice(&heads.iter().flat_map(|head| [head.0.as_bytes(), &head.1].concat()).collect::<Vec<_>>());
    }
}

/// Falsifies heads of several lanes: exchanges two heads, or moves a record from one head's size to another's.
#[test]
fn heads_of_lanes_that_contradict_themselves_lose_the_session() {
    type Change = fn(&mut [u8]);
    let changes: [(&str, Change); 4] = [
        ("a head of another lane", |b| heads(b, |heads| heads.swap(0, 1))),
        ("lanes whose root is not its own", |b| {
            heads(b, |heads| {
                (heads[0].0.root, heads[1].0.root) = (heads[1].0.root, heads[0].0.root);
            });
        }),
        ("lanes whose root is not its own", |b| {
            heads(b, |heads| {
                heads[0].0.size.set(heads[0].0.size.get() + 1);
                if heads[1].0.size.get() > 1 {
                    heads[1].0.size.set(heads[1].0.size.get() - 1);
                } else {
                    heads[0].0.size.set(heads[0].0.size.get() - 1);
                }
            });
        }),
        ("a lane that has shrunk", |b| {
            heads(b, |heads| {
                // At the second checkpoint, this lane had two records.
                if heads[1].0.size.get() == 3 {
                    heads[1].0.size.set(1);
                    heads[0].0.size.set(heads[0].0.size.get() + 2);
                }
            });
        }),
    ];
    let world = World::random(&mut Random::new(12), 1, 1);
    let mut card = SimCard::of_lanes(portcullis_sim::LANES as u8);
    let mut run = |change: Change| -> Result<(), SessionError> {
        let meddled = Meddled { card: &mut card, slip: None, change };
        let mut session = CardSession::open_tables(meddled, &world.tables(), attested(1, 1000).0)?;
        let streams = [session.begin([1; 32])?.0, session.begin([1; 32])?.0];
        for _ in 0..2 {
            session.flush()?;
            while session.collect_checkpoints()? == 0 {
                session.card_mut().card.pass(10_000);
            }
            session.note(&streams[1], [2; 32])?;
        }
        session.close().map(drop)
    };
    run(|_| {}).unwrap();
    for (expected, change) in changes {
        let error = run(change).unwrap_err();
        assert!(matches!(error, SessionError::Lost(_)), "{expected}: {error}");
        assert!(error.to_string().contains(expected), "{expected}: {error}");
    }
    card.assert_clean();
}

/// Fakes checkpoints that no real card makes. The driver abandons the session without checking signatures or trees.
#[test]
fn records_and_checkpoints_that_contradict_themselves_lose_the_session() {
    type Change = fn(&mut [u8]);
    let changes: [(&str, Change); 15] = [
        ("state and fault contradict", |b| checkpoint_of(0, b, |c| c.fault.set(Fault::TableChanged.into()))),
        ("state and fault contradict", |b| checkpoint_of(1, b, |c| c.fault.set(Fault::TableChanged.into()))),
        ("state and fault contradict", |b| checkpoint_of(1, b, |c| c.state = Life::Fault.into())),
        ("state and fault contradict", |b| checkpoint_of(1, b, |c| c.state = Life::Load.into())),
        ("time has gone back", |b| checkpoint_of(1, b, |c| c.tick.set(1))),
        ("boot nonce of another start", |b| checkpoint_of(1, b, |c| c.boot_nonce[3] ^= 1)),
        ("a cause that does not fit", |b| record_of(RecordType::Open, b, |s, _| s.cause.set(Fault::Doorbell.into()))),
        ("a cause that does not fit", |b| record_of(RecordType::Heartbeat, b, |s, _| s.cause.set(Fault::Crc.into()))),
        ("a fault that is not its cause", |b| record_of(RecordType::Open, b, |_, a| a.fault.set(Fault::Crc.into()))),
        ("a head of another lane", |b| heads(b, |heads| heads[0].0.lane = 1)),
        ("a reserved byte of a lane's head", |b| heads(b, |heads| heads[0].0.reserved_1[6] = 1)),
        ("a reserved byte beside a lane's head", |b| heads(b, |heads| heads[0].1[15] = 1)),
        ("a lane without records", |b| heads(b, |heads| heads[0].0.size.set(0))),
        ("lanes whose sizes are not its own", |b| heads(b, |heads| heads[0].0.size.set(9))),
        ("lanes whose root is not its own", |b| heads(b, |heads| heads[0].0.root[31] ^= 1)),
    ];
    let world = World::random(&mut Random::new(11), 1, 1);
    let mut card = SimCard::fresh();
    let mut run = |change: Change| -> Result<(), SessionError> {
        let meddled = Meddled { card: &mut card, slip: None, change };
        let mut session = CardSession::open_tables(meddled, &world.tables(), attested(1, 1000).0)?;
        session.heartbeat(7)?;
        session.flush()?;
        session.close().map(drop)
    };
    run(|_| {}).unwrap();
    for (expected, change) in changes {
        let error = run(change).unwrap_err();
        assert!(matches!(error, SessionError::Lost(_)), "{expected}: {error}");
        assert!(error.to_string().contains(expected), "{expected}: {error}");
    }
    card.assert_clean();
}
