//! Heartbeat credit on the model and on the Verilated card: limits are latched and recorded; when the credit is spent,
//! all entries are refused; the record of a heartbeat restores the credit.

use crate::card_support;

use card_support::{Random, TestCard, World, gate, keeping, of_lane, on_both, on_lanes, small};
use portcullis_card::driver::HeartbeatLimits;
use portcullis_card::{CardSession, CardTransport, EntryOutcome, SessionConfig, registers};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{self, Descriptor, Fault, LOG_STRIDE, Opcode, Record, RecordType};
use portcullis_evidence::log::LogChecker;
use zerocopy::{FromBytes, IntoBytes};

on_both!(
    spent_credit_refuses_until_a_heartbeat,
    a_late_heartbeat_is_a_spent_credit,
    without_limits_nothing_is_spent,
    a_heartbeat_waits_for_what_is_in_flight,
    limits_cannot_change_while_the_card_runs,
    the_records_alone_tell_what_had_credit,
);
on_lanes!(
    spent_credit_refuses_until_a_heartbeat,
    a_late_heartbeat_is_a_spent_credit,
    without_limits_nothing_is_spent,
    a_heartbeat_waits_for_what_is_in_flight,
    limits_cannot_change_while_the_card_runs,
);

fn session_half(record: &Record) -> wire::SessionFields {
    wire::SessionFields::read_from_bytes(record.descriptor.as_bytes()).unwrap()
}

fn limited(records: u32, ticks: u32) -> SessionConfig {
    SessionConfig { heartbeat: HeartbeatLimits { records, ticks }, ..small(9) }
}

fn spent_credit_refuses_until_a_heartbeat<C: TestCard>() {
    let mut card = C::fresh();
    let mut random = Random::new(31);
    let world = World::random(&mut random, 3, 2);
    let (config, kept) = keeping(limited(5, 0));
    let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
    let (stream, _) = session.begin([1; 32]).unwrap();
    for round in 0..3u64 {
        // BEGIN has already used one unit of credit.
        for _ in 0..if round == 0 { 4 } else { 5 } {
            let outcome = session.gate_descriptor(&stream, gate(&mut random, &world.header)).unwrap().outcome;
            assert!(matches!(outcome, EntryOutcome::Judged(_)), "{outcome:?}");
        }
        // Every entry is refused now. An entry with another fault gets that fault, and no sequence moves.
        for _ in 0..3 {
            let completed = session.gate_descriptor(&stream, gate(&mut random, &world.header)).unwrap();
            assert_eq!(completed.outcome, EntryOutcome::Fault(Fault::Credit));
            assert_eq!(completed.record.unwrap().answer.record_type, RecordType::Refused as u8);
        }
        let wrong =
            Descriptor::entry(Opcode::Note, SlotSequence { slot: stream.slot(), sequence: 999 }, [0; 32]).sealed();
        session.submit(&[wrong]).unwrap();
        assert_eq!(session.drain().unwrap()[0].outcome, EntryOutcome::Fault(Fault::Sequence));
        let credit = registers::with(session.card_mut(), |r| r.heartbeat_credit().try_read()).unwrap().v();
        assert_eq!(credit, 0);
        session.heartbeat(0x0102_0304_0506_0708 + round).unwrap();
        let credit = registers::with(session.card_mut(), |r| r.heartbeat_credit().try_read()).unwrap().v();
        assert_eq!(credit, 5);
    }
    assert_eq!(session.end(stream, [2; 32]).unwrap().outcome, EntryOutcome::Accepted);
    let lanes = session.info().lanes;
    session.close().unwrap();
    // Each lane has the same records of heartbeats.
    let kept = kept.lock().unwrap();
    for lane in 0..lanes {
        assert_heartbeats(&of_lane(&kept, lane));
    }
    card.assert_clean();
}

/// Checks the limits in OPEN, three heartbeats, and the last of these in CLOSE.
fn assert_heartbeats(kept: &[Record]) {
    let open = session_half(&kept[0]);
    assert_eq!((open.heartbeat_records.get(), open.heartbeat_ticks.get(), open.heartbeat_nonce.get()), (5, 0, 0));
    let nonces: Vec<u64> = kept
        .iter()
        .filter(|record| record.answer.record_type == RecordType::Heartbeat as u8)
        .map(|record| session_half(record).heartbeat_nonce.get())
        .collect();
    assert_eq!(nonces, [0x0102_0304_0506_0708, 0x0102_0304_0506_0709, 0x0102_0304_0506_070a]);
    // CLOSE contains the last nonce.
    assert_eq!(session_half(kept.last().unwrap()).heartbeat_nonce.get(), 0x0102_0304_0506_070a);
}

fn a_late_heartbeat_is_a_spent_credit<C: TestCard>() {
    let mut card = C::fresh();
    let mut random = Random::new(32);
    let world = World::random(&mut random, 1, 1);
    let mut session = CardSession::open_tables(&mut card, &world.tables(), limited(0, 1)).unwrap();
    let (stream, _) = session.begin([1; 32]).unwrap();
    let judged = |session: &mut CardSession<&mut C>, random: &mut Random| {
        session.gate_descriptor(&stream, gate(random, &world.header)).unwrap().outcome
    };
    assert!(matches!(judged(&mut session, &mut random), EntryOutcome::Judged(_)));
    session.card_mut().pass(66_000);
    assert_eq!(judged(&mut session, &mut random), EntryOutcome::Fault(Fault::Credit));
    session.heartbeat(1).unwrap();
    assert!(matches!(judged(&mut session, &mut random), EntryOutcome::Judged(_)));
    session.close().unwrap();
    card.assert_clean();
}

fn without_limits_nothing_is_spent<C: TestCard>() {
    let mut card = C::fresh();
    let mut random = Random::new(33);
    let world = World::random(&mut random, 1, 1);
    let mut session = CardSession::open_tables(&mut card, &world.tables(), limited(0, 0)).unwrap();
    let (stream, _) = session.begin([1; 32]).unwrap();
    for _ in 0..100 {
        let outcome = session.gate_descriptor(&stream, gate(&mut random, &world.header)).unwrap().outcome;
        assert!(matches!(outcome, EntryOutcome::Judged(_)), "{outcome:?}");
    }
    let credit = registers::with(session.card_mut(), |r| r.heartbeat_credit().try_read()).unwrap().v();
    assert_eq!(credit, u32::MAX);
    session.close().unwrap();
    card.assert_clean();
}

fn a_heartbeat_waits_for_what_is_in_flight<C: TestCard>() {
    let mut card = C::fresh();
    let mut random = Random::new(34);
    let world = World::random(&mut random, 8, 2);
    let (config, kept) = keeping(limited(25, 0));
    let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
    let (stream, _) = session.begin([1; 32]).unwrap();
    let mut sequence = 1;
    for beat in 1..6 {
        let notes: Vec<_> = (0..20)
            .map(|i| {
                Descriptor::entry(Opcode::Note, SlotSequence { slot: stream.slot(), sequence: sequence + i }, [0; 32])
                    .sealed()
            })
            .collect();
        sequence += 20;
        session.submit(&notes).unwrap();
        session.heartbeat(beat).unwrap();
        // The driver keeps the answers to entries in flight.
        let answers = session.poll().unwrap();
        assert_eq!(answers.len(), 20);
        assert!(answers.iter().all(|c| c.outcome == EntryOutcome::Accepted));
    }
    let lanes = session.info().lanes;
    session.close().unwrap();
    for lane in 0..lanes {
        let log = of_lane(&kept.lock().unwrap(), lane);
        let beats = log.iter().filter(|record| record.answer.record_type == RecordType::Heartbeat as u8).count();
        // The stream is in lane 0.
        assert_eq!((beats, log.len()), (5, if lane == 0 { 2 + 5 * 21 + 1 } else { 2 + 5 }), "lane {lane}");
    }
    card.assert_clean();
}

fn limits_cannot_change_while_the_card_runs<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::random(&mut Random::new(35), 1, 1);
    let mut session = CardSession::open_tables(&mut card, &world.tables(), limited(2, 7)).unwrap();
    registers::with(session.card_mut(), |r| r.heartbeat_records().try_write(|w| w.set_v(0))).unwrap();
    registers::with(session.card_mut(), |r| r.heartbeat_ticks().try_write(|w| w.set_v(0))).unwrap();
    let (stream, _) = session.begin([1; 32]).unwrap();
    assert_eq!(session.note(&stream, [1; 32]).unwrap().outcome, EntryOutcome::Accepted);
    assert_eq!(session.note(&stream, [1; 32]).unwrap().outcome, EntryOutcome::Fault(Fault::Credit));
    let record = session.close().unwrap().record.unwrap();
    assert_eq!(session_half(&record).heartbeat_records.get(), 2);
    assert_eq!(session_half(&record).heartbeat_ticks.get(), 7);
    card.assert_clean();
}

/// Reads new records without the driver. The ring's head moves only if `consume` is set.
fn look<C: TestCard>(session: &mut CardSession<&mut C>, seen: &mut Vec<Record>, consume: bool) {
    let tail = registers::with(session.card_mut(), |r| r.lane()[0].log_tail().try_read()).unwrap().v();
    for at in seen.len()..tail as usize {
        let mut bytes = [0; Record::BYTES];
        session.card().dma_read(session.log_ring().unwrap(), at % 16 * LOG_STRIDE, &mut bytes).unwrap();
        seen.push(Record::read_from_bytes(&bytes).unwrap());
    }
    if consume {
        registers::with(session.card_mut(), |r| r.lane()[0].log_head().try_write(|w| w.set_v(tail))).unwrap();
    }
}

/// The ticks in the records determine, exact to the clock, whether an entry had credit. This also holds if the log ring
/// is full for a long time. The verifier comes to the same result.
fn the_records_alone_tell_what_had_credit<C: TestCard>() {
    let (limit, clocks) = (7, 1 << 16);
    let (mut heartbeats, mut streams, mut spent) = (0, 0, [0; 2]);
    for seed in 0..6 {
        let mut card = C::fresh();
        let mut random = Random::new(400 + seed);
        let world = World::random(&mut random, 2, 1);
        let config = SessionConfig { ring_log2: 10, ..limited(limit, 1) };
        let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
        let mut seen = Vec::new();
        // Each entry has its own slot, so an entry does not depend on earlier entries.
        let mut begins =
            (0..900).map(|slot| Descriptor::entry(Opcode::Begin, SlotSequence { slot, sequence: 0 }, [0; 32]).sealed());
        for beat in 0..150 {
            match random.below(6) {
                0 | 4 => session.card_mut().pass(random.bits() % 70_000),
                1 => session.card_mut().pass(random.bits() % 2_000),
                2 => registers::with(session.card_mut(), |r| {
                    r.heartbeat_nonce_lo().try_write(|w| w.set_v(beat))?;
                    r.heartbeat_nonce_hi().try_write(|w| w.set_v(0))
                })
                .unwrap(),
                3 => {
                    let batch: Vec<_> = begins.by_ref().take(1 + random.below(6)).collect();
                    session.submit(&batch).unwrap();
                }
                _ => look(&mut session, &mut seen, true),
            }
        }
        for _ in 0..100 {
            look(&mut session, &mut seen, true);
            session.card_mut().pass(2_000);
        }
        let mut rules = LogChecker::new((2, 1));
        let (mut since, mut accepted) = (0, 0);
        for record in &seen {
            rules.next(record).unwrap_or_else(|v| panic!("seed {seed}, record {}: {v}", record.answer.log_index));
            let tick = record.answer.tick.get();
            match RecordType::try_from(record.answer.record_type).unwrap() {
                RecordType::Open | RecordType::Heartbeat => (since, accepted) = (tick, 0),
                RecordType::Begin => {
                    assert!(accepted < limit && tick - since < clocks, "seed {seed}: {:?}", record.answer);
                    accepted += 1;
                }
                other => {
                    assert_eq!((other, record.answer.fault.get()), (RecordType::Refused, Fault::Credit.into()));
                    assert!(accepted >= limit || tick - since >= clocks, "seed {seed}: {:?}", record.answer);
                    spent[usize::from(accepted < limit)] += 1;
                }
            }
        }
        assert_eq!(rules.overdrawn(), None, "seed {seed}");
        heartbeats += rules.counts().heartbeats;
        streams += rules.counts().streams;
        drop(session);
        card.assert_clean();
    }
    assert!(heartbeats > 30 && streams > 60, "{heartbeats} heartbeats, {streams} streams");
    assert!(spent[0] > 10 && spent[1] > 10, "refused for entries, for time: {spent:?}");
}

/// A witness that answers each checkpoint with a nonce, and keeps the records.
#[cfg(feature = "sim")]
#[derive(Clone, Default)]
struct Witness(std::sync::Arc<std::sync::Mutex<Seen>>);

/// What a witness has: records, number of checkpoints, and the nonce for the next heartbeat.
#[cfg(feature = "sim")]
type Seen = (Vec<Record>, u64, Option<u64>);

#[cfg(feature = "sim")]
impl portcullis_card::driver::RecordSink for Witness {
    fn record(&mut self, record: &Record) -> Result<(), portcullis_card::driver::SinkError> {
        self.0.lock().unwrap().0.push(*record);
        Ok(())
    }
    fn checkpoint(
        &mut self,
        _: &portcullis_card::driver::CardSignedCheckpoint,
    ) -> Result<(), portcullis_card::driver::SinkError> {
        let mut kept = self.0.lock().unwrap();
        kept.1 += 1;
        kept.2 = Some(kept.1);
        Ok(())
    }
    fn nonce(&mut self) -> Result<Option<u64>, portcullis_card::driver::SinkError> {
        Ok(self.0.lock().unwrap().2.take())
    }
}

#[cfg(feature = "sim")]
#[test]
fn a_slow_host_finds_credit_by_time() {
    slow_host(1);
}

/// Lanes without entries also get every heartbeat, and do not delay it.
#[cfg(feature = "sim")]
#[test]
fn a_slow_host_finds_credit_beside_idle_lanes() {
    slow_host(portcullis_sim::LANES as u8);
}

/// The ticket limits the time but not the number of entries, and there are far too few records for a checkpoint. So the
/// driver must request a checkpoint when time runs out.
#[cfg(feature = "sim")]
fn slow_host(lanes: u8) {
    let mut card = <portcullis_card::transport::sim::SimCard as card_support::Laned>::of_lanes(lanes);
    let world = World::random(&mut Random::new(36), 1, 1);
    let witness = Witness::default();
    let checkpoints = Some(portcullis_card::driver::CheckpointConfig { ring_log2: 2, interval: 10_000 });
    let ticks = 40;
    let config = SessionConfig { checkpoints, sink: Box::new(witness.clone()), ..limited(0, ticks) };
    let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
    let (stream, _) = session.begin([1; 32]).unwrap();
    // Pauses that are short, nearly too long, and longer than the limit; in units of 2^16 clocks.
    let pauses = [5, 5, 28, 41, 5, 5, 5, 5, 5, 5, 5, 28, 28, 100, 39, 41, 5];
    // Simulating more lanes takes longer, so there are fewer pauses.
    let pauses = if lanes == 1 { &pauses[..] } else { &pauses[..8] };
    for pause in pauses {
        session.card_mut().pass(pause << 16);
        assert_eq!(session.note(&stream, [1; 32]).unwrap().outcome, EntryOutcome::Accepted, "after {pause} units");
    }
    // Entries without pauses hardly need heartbeats. The range below limits their number.
    for _ in 0..200 {
        assert_eq!(session.note(&stream, [1; 32]).unwrap().outcome, EntryOutcome::Accepted);
    }
    session.close().unwrap();
    let kept = witness.0.lock().unwrap();
    let mut rules = LogChecker::new((1, 1));
    for record in of_lane(&kept.0, 0) {
        rules.next(&record).unwrap();
    }
    assert_eq!(rules.overdrawn(), None);
    let heartbeats = rules.counts().heartbeats;
    let range = if lanes == 1 { 7..=12 } else { 2..=5 };
    assert!(range.contains(&heartbeats), "{heartbeats} heartbeats");
    let nonces = |lane| {
        let mut nonces = of_lane(&kept.0, lane);
        nonces.retain(|record| record.answer.record_type == RecordType::Heartbeat as u8);
        nonces.iter().map(|record| session_half(record).heartbeat_nonce.get()).collect::<Vec<_>>()
    };
    for lane in 0..lanes {
        // In a lane, CLOSE may come before the last heartbeat.
        let (first, own) = (nonces(0), nonces(lane));
        let common = first.len().min(own.len());
        assert!(first.len().abs_diff(own.len()) <= 1 && first[..common] == own[..common], "lane {lane}: {own:?}");
    }
    card.assert_clean();
}
