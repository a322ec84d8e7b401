//! Cards with several lanes: each lane has a complete log, each stream stays in its lane, and there is one session.

use crate::card_support;

use card_support::{
    Keeper, Laned, Random, TestCard, World, break_entry, gate, keeping, of_lane, on_lanes, placed, small,
};
use portcullis_card::driver::{HeartbeatLimits, LossCause};
use portcullis_card::limits::LANES;
use portcullis_card::transport::model::ModelCard;
use portcullis_card::{
    CardError, CardInfo, CardSession, CardTransport, CompletedEntry, DmaBuffer, EntryOutcome, SessionConfig,
    SessionError, forward_card, registers,
};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{self, Command, Completion, Descriptor, Fault, Opcode, Record, RecordType};
use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, IntoBytes};

on_lanes!(
    every_lane_has_a_log_of_its_own,
    a_slot_of_another_lane_is_refused,
    a_batch_fits_into_all_its_lanes_or_is_not_submitted,
    a_fault_answers_every_entry_once,
    a_fault_between_two_closes_alarms_the_lane_that_is_open,
    a_lie_of_one_lane_loses_them_all,
    a_record_in_another_lane_is_not_kept,
    an_entry_that_was_taken_by_another_lane_loses_the_card,
    credit_is_by_lane,
);

fn entry(opcode: Opcode, slot: u16, sequence: u32) -> Descriptor {
    Descriptor::entry(opcode, SlotSequence { slot, sequence }, [3; 32]).sealed()
}

fn begin(slot: u16) -> Descriptor {
    entry(Opcode::Begin, slot, 0)
}

fn session_half(record: &Record) -> wire::SessionFields {
    wire::SessionFields::read_from_bytes(record.descriptor.as_bytes()).unwrap()
}

fn kind(record: &Record) -> RecordType {
    RecordType::try_from(record.answer.record_type).unwrap()
}

fn kinds(records: &[Record], lane: u8) -> Vec<RecordType> {
    of_lane(records, lane).iter().map(kind).collect()
}

fn command<C: CardTransport>(card: &mut C, code: u8) {
    registers::with(card, |r| r.command().try_write(|w| w.set_v(code))).unwrap();
}

fn misuse_doorbell<C: CardTransport>(card: &mut C, lane: u8) {
    registers::with_lane(card, lane, |lane| lane.sq_tail().try_write(|w| w.set_v(0x1_0000))).unwrap();
}

/// Asserts that every ticket from 0 on was answered once and in order.
fn assert_each_once(answered: &[CompletedEntry]) {
    assert!(answered.iter().enumerate().all(|(i, completed)| completed.ticket == i as u64), "{answered:?}");
}

fn every_lane_has_a_log_of_its_own<C: TestCard>() {
    let mut card = C::fresh();
    let mut random = Random::new(51);
    let world = World::random(&mut random, 5, 3);
    let evaluator = world.evaluator();
    let keeper = Keeper::default();
    let config = SessionConfig { ticket_digest: [6; 32], sink: Box::new(keeper.clone()), ..small(0x77) };
    let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
    let lanes = session.info().lanes;
    // The last lanes have one stream fewer than lane 0.
    let streams: Vec<_> = (0..3 * lanes + 1).map(|_| session.begin([1; 32]).unwrap().0).collect();
    for stream in &streams {
        for _ in 0..20 {
            let descriptor = gate(&mut random, &world.header);
            let completed = session.gate_descriptor(stream, descriptor).unwrap();
            assert_eq!(completed.outcome, EntryOutcome::Judged(evaluator.judge(&descriptor)));
        }
    }
    session.heartbeat(9).unwrap();
    for stream in streams.into_iter().take(usize::from(lanes) + 1) {
        assert_eq!(session.end(stream, [2; 32]).unwrap().outcome, EntryOutcome::Accepted);
    }
    let closed = session.close().unwrap();
    assert_eq!(closed.cause, Fault::None);
    let records = &keeper.0.lock().unwrap().records;
    assert_eq!(records.len() as u64, closed.records);
    assert_eq!(closed.record, of_lane(records, 0).last().copied());
    let alike = |record: &Record| {
        let mut fields = session_half(record);
        fields.open_streams = 0.into();
        (fields, record.answer.epoch)
    };
    for lane in 0..lanes {
        let log = of_lane(records, lane);
        let streams = if lane == 0 { 4 } else { 3 };
        let ended = if lane == 0 { 2 } else { 1 };
        assert_eq!(log.len(), 1 + streams * 21 + 1 + ended + 1, "lane {lane}");
        assert!(log.iter().enumerate().all(|(i, record)| record.answer.log_index.get() == i as u64), "lane {lane}");
        assert!(log.windows(2).all(|pair| pair[0].answer.tick <= pair[1].answer.tick), "lane {lane}");
        let session: Vec<_> = log
            .iter()
            .filter(|record| matches!(kind(record), RecordType::Open | RecordType::Heartbeat | RecordType::Close))
            .collect();
        assert_eq!(
            session.iter().map(|r| kind(r)).collect::<Vec<_>>(),
            [RecordType::Open, RecordType::Heartbeat, RecordType::Close]
        );
        assert_eq!((kind(&log[0]), kind(log.last().unwrap())), (RecordType::Open, RecordType::Close));
        // Every lane records the same facts about the session as lane 0.
        let first = of_lane(records, 0);
        assert_eq!(alike(&log[0]), alike(&first[0]));
        assert_eq!(alike(log.last().unwrap()), alike(first.last().unwrap()));
        assert_eq!(session_half(log.last().unwrap()).open_streams.get() as usize, streams - ended, "lane {lane}");
        let own = |record: &&Record| record.descriptor.slot.get() % u16::from(lanes) == u16::from(lane);
        assert_eq!(log.iter().filter(|record| kind(record) == RecordType::Verdict).filter(own).count(), streams * 20);
    }
    let info = CardInfo::read(&mut card).unwrap();
    assert_eq!((info.lanes, info.life), (lanes, wire::Life::Load));
    card.assert_clean();
}

fn a_slot_of_another_lane_is_refused<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::permitting();
    let (config, kept) = keeping(small(2));
    let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
    let lanes = session.info().lanes;
    let mut ask = |lane: u8, entry: Descriptor| {
        session.submit_raw_to(lane, &[entry]).unwrap();
        let answered = session.drain().unwrap();
        assert_eq!((answered.len(), answered[0].record.unwrap().answer.lane), (1, lane));
        answered[0].outcome
    };
    let last = (portcullis_card::transport::model::MAX_STREAMS - 1) as u16;
    let slots = || (0..2 * u16::from(lanes)).chain([last - 1, last]);
    for (opcode, sequence) in [(Opcode::Begin, 0), (Opcode::Note, 1), (Opcode::Note, 2), (Opcode::End, 3)] {
        for slot in slots() {
            let home = (slot % u16::from(lanes)) as u8;
            for lane in (0..lanes).filter(|lane| *lane != home) {
                // The sequence is right, but the entry is in the wrong lane: its stream is open in lane `home`.
                assert_eq!(
                    ask(lane, entry(opcode, slot, sequence)),
                    EntryOutcome::Fault(Fault::Slot),
                    "{slot} in {lane}"
                );
            }
            assert_eq!(ask(home, entry(opcode, slot, sequence)), EntryOutcome::Accepted, "{slot} in {home}");
        }
    }
    assert!(matches!(session.submit_raw_to(lanes, &[begin(0)]), Err(SessionError::NoLane(lane)) if lane == lanes));
    session.close().unwrap();
    for record in kept.lock().unwrap().iter().filter(|record| kind(record) == RecordType::Refused) {
        assert_ne!(record.descriptor.slot.get() % u16::from(lanes), u16::from(record.answer.lane));
    }
    card.assert_clean();
}

fn a_batch_fits_into_all_its_lanes_or_is_not_submitted<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::permitting();
    let mut session = CardSession::open_tables(&mut card, &world.tables(), small(3)).unwrap();
    let lanes = u16::from(session.info().lanes);
    let last = lanes - 1;
    // The batch has eight entries for every lane, and one more for the last lane.
    let mut batch: Vec<_> = (0..8 * lanes).map(begin).collect();
    batch.extend((8..33).map(|i| begin(i * lanes + last)));
    let full = session.submit(&batch);
    assert!(matches!(full, Err(SessionError::RingFull { entries: 33, room: 32 })), "{full:?}");
    assert_eq!((session.in_flight(), session.room()), (0, 32));
    batch.pop();
    assert_eq!(session.submit(&batch).unwrap(), 0);
    // Each lane has its own room. The room of the session is that of its fullest lane.
    assert_eq!((session.in_flight(), session.room()), (batch.len(), 0));
    assert_eq!((session.room_for(0), session.room_for(lanes), session.room_for(last)), (24, 24, 0));
    let more = session.submit(&[begin(8 * lanes), begin(40 * lanes + last)]);
    assert!(matches!(more, Err(SessionError::RingFull { entries: 1, room: 0 })), "{more:?}");
    assert_eq!(session.submit(&[begin(8 * lanes)]).unwrap(), batch.len() as u64);
    let answered = session.drain().unwrap();
    assert_each_once(&answered);
    assert_eq!(answered.len(), batch.len() + 1);
    assert!(answered.iter().zip(&batch).all(|(completed, entry)| completed.entry == *entry));
    assert!(answered.iter().all(|completed| completed.outcome == EntryOutcome::Accepted));
    // There are more entries than one lane can hold, but they are spread over all lanes.
    let notes: Vec<_> = (1..5).flat_map(|i| (0..8 * lanes).map(move |slot| entry(Opcode::Note, slot, i))).collect();
    session.submit(&notes).unwrap();
    assert_eq!(session.drain().unwrap().len(), 32 * usize::from(lanes));
    session.close().unwrap();
    card.assert_clean();
}

/// When one lane has the fault, every lane has a full log ring and entries in flight.
fn a_fault_answers_every_entry_once<C: TestCard>() {
    let world = World::permitting();
    for faulty in 0..8 {
        let mut card = C::fresh();
        let lanes = CardInfo::read(&mut card).unwrap().lanes;
        if faulty >= lanes {
            break;
        }
        let (config, kept) = keeping(small(4));
        let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
        let slots = 0..4 * u16::from(lanes);
        session.submit(&slots.clone().map(begin).collect::<Vec<_>>()).unwrap();
        let notes = (1..8).flat_map(|i| slots.clone().map(move |slot| entry(Opcode::Note, slot, i)));
        session.submit(&notes.collect::<Vec<_>>()).unwrap();
        session.card_mut().pass(20_000);
        misuse_doorbell(*session.card_mut(), faulty);
        let answered = session.drain().unwrap();
        assert_each_once(&answered);
        assert_eq!(answered.len(), 32 * usize::from(lanes));
        assert!(matches!(session.submit(&[begin(1)]), Err(SessionError::Faulted(Fault::Doorbell))));
        assert!(session.alarm().is_some());
        let closed = session.close().unwrap();
        assert_eq!((closed.cause, closed.rest.len()), (Fault::Doorbell, 0));
        let kept = kept.lock().unwrap();
        for lane in 0..lanes {
            let own = |completed: &&CompletedEntry| completed.entry.slot.get() % u16::from(lanes) == u16::from(lane);
            let outcomes: Vec<_> = answered.iter().filter(own).map(|completed| completed.outcome).collect();
            let taken = outcomes.iter().take_while(|outcome| **outcome == EntryOutcome::Accepted).count();
            assert!((8..32).contains(&taken), "lane {lane}: {outcomes:?}");
            assert!(
                outcomes[taken..].iter().all(|outcome| *outcome == EntryOutcome::Fault(Fault::Doorbell)),
                "lane {lane}"
            );
            let kinds = kinds(&kept, lane);
            assert_eq!(kinds[kinds.len() - 2..], [RecordType::Alarm, RecordType::Close], "lane {lane}");
            // There is one record per answered entry; one more record may be in the log although its answer is missing.
            assert!((taken + 3..=taken + 4).contains(&kinds.len()), "lane {lane}: {taken} taken, {kinds:?}");
        }
        card.assert_clean();
    }
}

/// One lane's log has no room for CLOSE. In the other lanes, CLOSE has no cause, and no record follows it.
fn a_fault_between_two_closes_alarms_the_lane_that_is_open<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::permitting();
    let (config, kept) = keeping(small(5));
    let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
    let lanes = session.info().lanes;
    let stalled = lanes - 1;
    session.submit(&(0..15).map(|i| begin(i * u16::from(lanes) + u16::from(stalled))).collect::<Vec<_>>()).unwrap();
    session.card_mut().pass(20_000);
    command(*session.card_mut(), Command::Close as u8);
    session.card_mut().pass(20_000);
    misuse_doorbell(*session.card_mut(), 0);
    session.card_mut().pass(20_000);
    let closed = session.close().unwrap();
    assert_eq!((closed.cause, closed.rest.len()), (Fault::Doorbell, 15));
    assert!(closed.rest.iter().all(|completed| completed.outcome == EntryOutcome::Accepted));
    let kept = kept.lock().unwrap();
    for lane in 0..lanes {
        let mut expected = vec![RecordType::Open];
        if lane == stalled {
            expected.extend([RecordType::Begin; 15]);
        }
        let last = *of_lane(&kept, lane).last().unwrap();
        let found = kinds(&kept, lane);
        // A card may add CLOSE to the tree while the log is full, and write it when there is room.
        let closed_before = [&expected[..], &[RecordType::Close]].concat();
        if found == closed_before {
            assert_eq!(session_half(&last).cause.get(), 0, "lane {lane}");
        } else {
            assert_eq!(lane, stalled);
            assert_eq!(found, [&expected[..], &[RecordType::Alarm, RecordType::Close]].concat());
            assert_eq!(session_half(&last).cause.get(), u16::from(Fault::Doorbell));
        }
    }
    drop(kept);
    card.assert_clean();
}

struct Meddled<C> {
    card: C,
    change: fn(&mut [u8]),
}

impl<C: TestCard> CardTransport for Meddled<C> {
    forward_card!(card: describe, read32, write32, allocate, release, dma_write, wait, quantum, patience);

    fn dma_read(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError> {
        self.card.dma_read(buffer, offset, into)?;
        (self.change)(into);
        Ok(())
    }
}

fn completion_of(bytes: &mut [u8], change: impl FnOnce(&mut Completion)) {
    if let Ok(completion) = Completion::mut_from_bytes(bytes)
        && *completion != Completion::ZERO
    {
        change(completion);
        *completion = completion.sealed();
    }
}

fn a_lie_of_one_lane_loses_them_all<C: TestCard>() {
    let world = World::permitting();
    let mut card = Meddled { card: C::fresh(), change: |_| {} };
    let lanes = u16::from(CardInfo::read(&mut card).unwrap().lanes);
    let mut session = CardSession::open_tables(&mut card, &world.tables(), small(6)).unwrap();
    session.submit(&(0..4 * lanes).map(begin).collect::<Vec<_>>()).unwrap();
    let before = session.drain().unwrap();
    assert_each_once(&before);
    let notes: Vec<_> = (0..4 * lanes).map(|slot| entry(Opcode::Note, slot, 1)).collect();
    session.submit(&notes).unwrap();
    session.card_mut().pass_by(20_000);
    // Changes the second entry of slot 1, which is in lane 1.
    session.card_mut().change = |bytes| {
        completion_of(bytes, |completion| {
            if completion.slot.get() == 1 {
                completion.log_index = U64::new(completion.log_index.get() + 1);
            }
        });
    };
    let error = session.wait().unwrap_err();
    // Changes the record as if a heartbeat had come before it.
    let lost = LossCause::Record { lane: 1, index: 5, what: "a heartbeat that no one presented" };
    assert!(matches!(&error, SessionError::Lost(found) if *found == lost), "{error}");
    assert!(matches!(session.poll(), Err(SessionError::Lost(_))));
    // Answers of lane 0 that the driver had already read are dropped, too.
    let rest = session.abandon();
    assert!(
        rest.iter().map(|completed| completed.ticket).eq((0..4 * u64::from(lanes)).map(|i| i + before.len() as u64))
    );
    assert!(rest.iter().zip(&notes).all(|(completed, entry)| completed.entry == *entry));
    assert!(rest.iter().all(|completed| completed.outcome.fault().is_some()));
    assert!(session.abandon().is_empty());
}

impl<C: TestCard> Meddled<C> {
    fn pass_by(&mut self, clocks: u64) {
        self.card.pass(clocks);
    }
}

/// A record belongs to the lane of its ring. If it names another lane, the sink does not get it.
fn a_record_in_another_lane_is_not_kept<C: TestCard>() {
    let world = World::permitting();
    let mut card = Meddled { card: C::fresh(), change: |_| {} };
    let (config, kept) = keeping(small(7));
    let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
    let lanes = session.info().lanes;
    session.submit(&[begin(1)]).unwrap();
    session.card_mut().change = |bytes| {
        if let Ok(record) = Record::mut_from_bytes(bytes) {
            record.answer.lane = 0;
        }
    };
    let error = session.drain().unwrap_err();
    let lost = LossCause::Record { lane: 1, index: 1, what: "another lane" };
    assert!(matches!(&error, SessionError::Lost(found) if *found == lost), "{error}");
    drop(session);
    assert_eq!(kept.lock().unwrap().len(), usize::from(lanes));
}

/// A card accepts an entry whose slot belongs to another lane.
fn an_entry_that_was_taken_by_another_lane_loses_the_card<C: TestCard>() {
    let world = World::permitting();
    let mut card = Meddled { card: C::fresh(), change: |_| {} };
    let mut session = CardSession::open_tables(&mut card, &world.tables(), small(8)).unwrap();
    session.submit_raw_to(0, &[begin(1)]).unwrap();
    session.card_mut().change = |bytes| completion_of(bytes, |completion| completion.fault = U16::new(0));
    let error = session.drain().unwrap_err();
    let lost = LossCause::Completion { ticket: 0, what: "a slot of another lane" };
    assert!(matches!(&error, SessionError::Lost(found) if *found == lost), "{error}");
}

fn credit_is_by_lane<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::permitting();
    let config = SessionConfig { heartbeat: HeartbeatLimits { records: 5, ticks: 0 }, ..small(9) };
    let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
    let lanes = session.info().lanes;
    let credit = |session: &mut CardSession<&mut C>| {
        registers::with(*session.card_mut(), |r| r.heartbeat_credit().try_read()).unwrap().v()
    };
    let streams: Vec<_> = (0..lanes).map(|_| session.begin([0; 32]).unwrap().0).collect();
    assert_eq!(credit(&mut session), 4);
    for round in 0..3u32 {
        for (lane, stream) in streams.iter().enumerate() {
            // The last lane uses only the credit for its BEGIN.
            let spends = if lane + 1 == streams.len() {
                0
            } else if round == 0 {
                4
            } else {
                5
            };
            for _ in 0..spends {
                assert_eq!(session.note(stream, [1; 32]).unwrap().outcome, EntryOutcome::Accepted, "lane {lane}");
            }
        }
        assert_eq!(credit(&mut session), 0, "that of the lane with the least");
        assert_eq!(session.note(&streams[0], [1; 32]).unwrap().outcome, EntryOutcome::Fault(Fault::Credit));
        assert_eq!(session.note(&streams[streams.len() - 1], [1; 32]).unwrap().outcome, EntryOutcome::Accepted);
        session.heartbeat(u64::from(round) + 1).unwrap();
        assert_eq!(credit(&mut session), 5);
    }
    session.close().unwrap();
    card.assert_clean();
}

/// Streams with valid and invalid entries give the same determinations for any number of lanes.
#[test]
fn determinations_do_not_depend_on_the_number_of_lanes() {
    let (mut admits, mut refusals) = (0, 0);
    for seed in 0..120 {
        let runs = LANES.map(|lanes| {
            let mut random = Random::new(5_000 + seed);
            let world = World::random(&mut random, 1 + seed as usize % 9, 1 + seed as usize % 4);
            let (config, kept) = keeping(small(seed as u32));
            let mut session = CardSession::open_tables(ModelCard::of_lanes(lanes), &world.tables(), config).unwrap();
            let mut next = [0u32; 24];
            let mut outcomes = Vec::new();
            for _ in 0..40 {
                let batch: Vec<_> = (0..1 + random.below(24)).map(|_| random.below(next.len())).collect();
                let mut entries = Vec::new();
                for slot in batch {
                    let sequence = next[slot];
                    let whole = match (sequence, random.below(12)) {
                        (0, _) => begin(slot as u16),
                        (_, 0) => entry(Opcode::End, slot as u16, sequence),
                        _ => placed(gate(&mut random, &world.header), slot as u16, sequence),
                    };
                    if random.one_in(5) {
                        entries.push(break_entry(&mut random, &whole));
                    } else {
                        next[slot] = if whole.opcode == u8::from(Opcode::End) { 0 } else { sequence + 1 };
                        entries.push(whole);
                    }
                }
                session.submit_raw(&entries).unwrap();
                outcomes.extend(session.drain().unwrap().into_iter().map(|completed| completed.outcome));
            }
            session.close().unwrap();
            // Each slot's records in order, without the fields that may depend on the lanes.
            let mut slots = std::collections::BTreeMap::<u16, Vec<Vec<u8>>>::new();
            for record in kept.lock().unwrap().iter() {
                let mut record = *record;
                if matches!(kind(&record), RecordType::Open | RecordType::Close) {
                    continue;
                }
                (record.answer.log_index, record.answer.tick, record.answer.lane) = (U64::new(0), U64::new(0), 0);
                slots.entry(record.descriptor.slot.get()).or_default().push(record.as_bytes().to_vec());
            }
            (outcomes, slots)
        });
        let [one, others @ ..] = &runs;
        admits += one.0.iter().filter(|outcome| outcome.is_admit()).count();
        refusals += one.0.iter().filter(|outcome| outcome.fault().is_some()).count();
        for (run, lanes) in others.iter().zip(&LANES[1..]) {
            assert!(one.0 == run.0, "seed {seed}, {lanes} lanes: other outcomes");
            assert!(one.1 == run.1, "seed {seed}, {lanes} lanes: other records");
        }
    }
    assert!(admits > 500 && refusals > 500, "{admits} admits, {refusals} refusals");
}
