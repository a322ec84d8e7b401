//! Heartbeat credit, on the model and on the Verilated card: limits are latched and recorded, spent credit refuses everything, and a
//! heartbeat's record restores it.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod card_support;

use card_support::{Rng, TestCard, World, gate, keeping, on_both, small};
use portcullis_card::session::HeartbeatLimits;
use portcullis_card::{Card, Outcome, Session, SessionConfig, registers};
use portcullis_core::mutation::Place;
use portcullis_core::wire::{self, Descriptor, Fault, Opcode, RecordType};
use zerocopy::{FromBytes, IntoBytes};

on_both!(
    spent_credit_refuses_until_a_heartbeat,
    a_late_heartbeat_is_a_spent_credit,
    without_limits_nothing_is_spent,
    a_heartbeat_waits_for_what_is_in_flight,
    limits_cannot_change_while_the_card_runs,
);

fn session_half(record: &wire::Record) -> wire::Session {
    wire::Session::read_from_bytes(record.descriptor.as_bytes()).unwrap()
}

fn limited(records: u32, ticks: u32) -> SessionConfig {
    SessionConfig { heartbeat: HeartbeatLimits { records, ticks }, ..small(9) }
}

fn spent_credit_refuses_until_a_heartbeat<C: TestCard>() {
    let mut card = C::fresh();
    let mut rng = Rng::new(31);
    let world = World::random(&mut rng, 3, 2);
    let (config, kept) = keeping(limited(5, 0));
    let mut session = Session::open_tables(&mut card, &world.tables(), config).unwrap();
    let (stream, _) = session.begin([1; 32]).unwrap();
    for round in 0..3u64 {
        // BEGIN has cost one already.
        for _ in 0..if round == 0 { 4 } else { 5 } {
            let outcome = session.gate_descriptor(&stream, gate(&mut rng, &world.header)).unwrap().outcome;
            assert!(matches!(outcome, Outcome::Judged(_)), "{outcome:?}");
        }
        // Whatever comes now is refused, what is wrong with it first; nothing moves.
        for _ in 0..3 {
            let completed = session.gate_descriptor(&stream, gate(&mut rng, &world.header)).unwrap();
            assert_eq!(completed.outcome, Outcome::Fault(Fault::Credit));
            assert_eq!(completed.record.unwrap().answer.record_type, RecordType::Refused as u8);
        }
        let wrong = Descriptor::entry(Opcode::Note, Place { slot: stream.slot(), sequence: 999 }, [0; 32]).sealed();
        session.submit(&[wrong]).unwrap();
        assert_eq!(session.drain().unwrap()[0].outcome, Outcome::Fault(Fault::Sequence));
        let credit = registers::with(session.card_mut(), |r| r.heartbeat_credit().try_read()).unwrap().v();
        assert_eq!(credit, 0);
        session.heartbeat(0x0102_0304_0506_0708 + round).unwrap();
        let credit = registers::with(session.card_mut(), |r| r.heartbeat_credit().try_read()).unwrap().v();
        assert_eq!(credit, 5);
    }
    assert_eq!(session.end(stream, [2; 32]).unwrap().outcome, Outcome::Accepted);
    session.close().unwrap();
    let kept = kept.lock().unwrap();
    let open = session_half(&kept[0]);
    assert_eq!((open.heartbeat_records.get(), open.heartbeat_ticks.get(), open.heartbeat_nonce.get()), (5, 0, 0));
    let nonces: Vec<u64> = kept
        .iter()
        .filter(|record| record.answer.record_type == RecordType::Heartbeat as u8)
        .map(|record| session_half(record).heartbeat_nonce.get())
        .collect();
    assert_eq!(nonces, [0x0102_0304_0506_0708, 0x0102_0304_0506_0709, 0x0102_0304_0506_070a]);
    // CLOSE names the last one.
    assert_eq!(session_half(kept.last().unwrap()).heartbeat_nonce.get(), 0x0102_0304_0506_070a);
    card.assert_clean();
}

fn a_late_heartbeat_is_a_spent_credit<C: TestCard>() {
    let mut card = C::fresh();
    let mut rng = Rng::new(32);
    let world = World::random(&mut rng, 1, 1);
    let mut session = Session::open_tables(&mut card, &world.tables(), limited(0, 1)).unwrap();
    let (stream, _) = session.begin([1; 32]).unwrap();
    let judged = |session: &mut Session<&mut C>, rng: &mut Rng| {
        session.gate_descriptor(&stream, gate(rng, &world.header)).unwrap().outcome
    };
    assert!(matches!(judged(&mut session, &mut rng), Outcome::Judged(_)));
    // The model's tick counts steps, so that many of them pass here too.
    for _ in 0..66_000 {
        session.card_mut().read32(0).unwrap();
    }
    assert_eq!(judged(&mut session, &mut rng), Outcome::Fault(Fault::Credit));
    session.heartbeat(1).unwrap();
    assert!(matches!(judged(&mut session, &mut rng), Outcome::Judged(_)));
    session.close().unwrap();
    card.assert_clean();
}

fn without_limits_nothing_is_spent<C: TestCard>() {
    let mut card = C::fresh();
    let mut rng = Rng::new(33);
    let world = World::random(&mut rng, 1, 1);
    let mut session = Session::open_tables(&mut card, &world.tables(), limited(0, 0)).unwrap();
    let (stream, _) = session.begin([1; 32]).unwrap();
    for _ in 0..100 {
        let outcome = session.gate_descriptor(&stream, gate(&mut rng, &world.header)).unwrap().outcome;
        assert!(matches!(outcome, Outcome::Judged(_)), "{outcome:?}");
    }
    let credit = registers::with(session.card_mut(), |r| r.heartbeat_credit().try_read()).unwrap().v();
    assert_eq!(credit, u32::MAX);
    session.close().unwrap();
    card.assert_clean();
}

fn a_heartbeat_waits_for_what_is_in_flight<C: TestCard>() {
    let mut card = C::fresh();
    let mut rng = Rng::new(34);
    let world = World::random(&mut rng, 8, 2);
    let (config, kept) = keeping(limited(25, 0));
    let mut session = Session::open_tables(&mut card, &world.tables(), config).unwrap();
    let (stream, _) = session.begin([1; 32]).unwrap();
    let mut sequence = 1;
    for beat in 1..6 {
        let notes: Vec<_> = (0..20)
            .map(|i| {
                Descriptor::entry(Opcode::Note, Place { slot: stream.slot(), sequence: sequence + i }, [0; 32]).sealed()
            })
            .collect();
        sequence += 20;
        session.submit(&notes).unwrap();
        session.heartbeat(beat).unwrap();
        // The answers of what was in flight are not lost.
        let answers = session.poll().unwrap();
        assert_eq!(answers.len(), 20);
        assert!(answers.iter().all(|c| c.outcome == Outcome::Accepted));
    }
    session.close().unwrap();
    let kinds: Vec<u8> = kept.lock().unwrap().iter().map(|record| record.answer.record_type).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == RecordType::Heartbeat as u8).count(), 5);
    assert_eq!(kinds.len(), 2 + 5 * 21 + 1);
    card.assert_clean();
}

fn limits_cannot_change_while_the_card_runs<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::random(&mut Rng::new(35), 1, 1);
    let mut session = Session::open_tables(&mut card, &world.tables(), limited(2, 7)).unwrap();
    registers::with(session.card_mut(), |r| r.heartbeat_records().try_write(|w| w.set_v(0))).unwrap();
    registers::with(session.card_mut(), |r| r.heartbeat_ticks().try_write(|w| w.set_v(0))).unwrap();
    let (stream, _) = session.begin([1; 32]).unwrap();
    assert_eq!(session.note(&stream, [1; 32]).unwrap().outcome, Outcome::Accepted);
    assert_eq!(session.note(&stream, [1; 32]).unwrap().outcome, Outcome::Fault(Fault::Credit));
    let record = session.close().unwrap().record.unwrap();
    assert_eq!(session_half(&record).heartbeat_records.get(), 2);
    assert_eq!(session_half(&record).heartbeat_ticks.get(), 7);
    card.assert_clean();
}
