//! A session from reset to close, on the model and on the Verilated card.

use crate::card_support;

use card_support::{Random, TestCard, World, gate, keeping, of_lane, on_all_and_lanes, small};
use portcullis_card::diagnostics::{bench, selftest};
use portcullis_card::{CardInfo, CardSession, EntryOutcome, SessionConfig, SessionError};
use portcullis_core::wire::{self, Determination, Fault, Life, RecordType};
use portcullis_image::TableImage;
use zerocopy::{FromBytes, IntoBytes};

on_all_and_lanes!(
    a_session_from_open_to_close,
    one_card_serves_many_sessions,
    the_self_test_passes,
    the_benchmark_counts_every_verdict,
    pipelined_and_blocking_calls_mix,
    streams_take_free_slots_and_end,
    an_image_opens,
);

fn session_half(record: &wire::Record) -> wire::SessionFields {
    wire::SessionFields::read_from_bytes(record.descriptor.as_bytes()).unwrap()
}

fn a_session_from_open_to_close<C: TestCard>() {
    let mut card = C::fresh();
    let mut random = Random::new(1);
    let world = World::random(&mut random, 8, 4);
    let evaluator = world.evaluator();
    let (config, kept) = keeping(SessionConfig { ticket_digest: [7; 32], ..small(0x1234_5678) });
    let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();

    let opening = session.opening().unwrap();
    assert_eq!(opening.answer.log_index.get(), 0);
    assert_eq!(opening.answer.record_type, RecordType::Open as u8);
    assert_eq!(session_half(opening).ticket_digest, [7; 32]);
    assert_eq!(session_half(opening).policy_digest, world.tables().digest());

    let (stream, begun) = session.begin([9; 32]).unwrap();
    assert_eq!(begun.outcome, EntryOutcome::Accepted);
    for _ in 0..50 {
        let descriptor = gate(&mut random, &world.header);
        let completed = session.gate_descriptor(&stream, descriptor).unwrap();
        assert_eq!(completed.outcome, EntryOutcome::Judged(evaluator.judge(&descriptor)));
        assert_eq!(completed.record.unwrap().answer.record_type, RecordType::Verdict as u8);
    }
    assert_eq!(session.note(&stream, [2; 32]).unwrap().outcome, EntryOutcome::Accepted);
    assert_eq!(session.end(stream, [3; 32]).unwrap().outcome, EntryOutcome::Accepted);
    let (_left_open, _) = session.begin([4; 32]).unwrap();

    let closed = session.close().unwrap();
    let record = closed.record.unwrap();
    assert_eq!(closed.cause, Fault::None);
    // The second stream is in the next lane. The log ring of the first lane has wrapped three times.
    let info = CardInfo::read(&mut card).unwrap();
    let second = 1 % info.lanes;
    let kept = kept.lock().unwrap();
    for lane in 0..info.lanes {
        // OPEN and CLOSE; between them BEGIN, 50 verdicts, NOTE and END of the first stream, BEGIN of the second.
        let between = if lane == 0 { 53 } else { 0 } + u64::from(lane == second);
        let log = of_lane(&kept, lane);
        let indexes: Vec<u64> = log.iter().map(|record| record.answer.log_index.get()).collect();
        assert_eq!(indexes, (0..2 + between).collect::<Vec<_>>(), "lane {lane}");
        let last = log.last().unwrap();
        assert_eq!(last.answer.record_type, RecordType::Close as u8, "lane {lane}");
        assert_eq!(session_half(last).open_streams.get(), u32::from(lane == second), "lane {lane}");
        assert!(lane != 0 || last == &record);
    }
    assert_eq!(closed.records, 54 + 2 * u64::from(info.lanes));
    assert_eq!(kept.len() as u64, closed.records);
    let info = CardInfo::read(&mut card).unwrap();
    assert_eq!((info.life, info.fault), (Life::Load, Fault::None));
    card.assert_clean();
}

fn one_card_serves_many_sessions<C: TestCard>() {
    let mut card = C::fresh();
    let mut random = Random::new(2);
    for epoch in 0..6 {
        let world = World::random(&mut random, 1 + epoch as usize * 3, 1 + epoch as usize);
        let evaluator = world.evaluator();
        let mut session = CardSession::open_tables(&mut card, &world.tables(), small(epoch)).unwrap();
        let (stream, _) = session.begin([0; 32]).unwrap();
        for _ in 0..20 {
            let descriptor = gate(&mut random, &world.header);
            let completed = session.gate_descriptor(&stream, descriptor).unwrap();
            assert_eq!(completed.outcome, EntryOutcome::Judged(evaluator.judge(&descriptor)));
        }
        // Every second session is dropped before its end.
        if epoch % 2 == 0 {
            session.close().unwrap();
        }
    }
    assert_eq!(CardInfo::read(&mut card).unwrap().life, Life::Reset);
    card.assert_clean();
}

fn the_self_test_passes<C: TestCard>() {
    let mut card = C::fresh();
    let report = selftest::run(&mut card).unwrap();
    let failed: Vec<_> = report.checks.iter().filter(|check| !check.passed()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(report.records, report.checks.len() as u64 + 2 * u64::from(report.info.lanes));
    card.assert_clean();
}

/// A small image in canonical form: one permit in each bank.
fn image() -> TableImage {
    let mut random = Random::new(3);
    let world = World::random(&mut random, 1, 1);
    let mut row = World::permit();
    (row.temporal, row.domain) = (world.header.temporal, world.header.domain);
    (row.audience, row.register) = (world.header.audience, world.header.register);
    TableImage::new(world.header, &[row], &[row]).unwrap()
}

fn the_benchmark_counts_every_verdict<C: TestCard>() {
    let mut card = C::fresh();
    let report =
        bench::run(&mut card, &image(), bench::BenchConfig { verdicts: 2_000, streams: 40, attest: false }).unwrap();
    assert_eq!((report.verdicts, report.admits), (2_000, 2_000));
    assert!(report.verdicts_per_second() > 0);
    // In steady state: at most rows / rows per clock + 16. The measurement also includes start and end.
    if let Some(hundredths) = report.clocks_per_verdict_hundredths() {
        assert!(hundredths < 4_000, "{hundredths} hundredths of a clock for a verdict");
    }
    card.assert_clean();
}

fn pipelined_and_blocking_calls_mix<C: TestCard>() {
    let mut card = C::fresh();
    let mut random = Random::new(4);
    let world = World::random(&mut random, 6, 3);
    let evaluator = world.evaluator();
    let mut session = CardSession::open_tables(&mut card, &world.tables(), small(5)).unwrap();
    let streams: Vec<_> = (0..8).map(|_| session.begin([0; 32]).unwrap().0).collect();
    for _ in 0..20 {
        let mut submitted = Vec::new();
        for stream in &streams[1..] {
            let place = session.place(stream).unwrap();
            submitted.push(card_support::placed(gate(&mut random, &world.header), place.slot, place.sequence));
        }
        let first = session.submit(&submitted).unwrap();
        // A second GATE before the stream has its verdict is an error of the caller; the driver submits nothing.
        let again = session.submit(&submitted[3..4]);
        assert!(matches!(again, Err(SessionError::InFlight(slot)) if slot == streams[4].slot()), "{again:?}");
        let own = gate(&mut random, &world.header);
        let completed = session.gate_descriptor(&streams[0], own).unwrap();
        assert_eq!(completed.outcome, EntryOutcome::Judged(evaluator.judge(&own)));
        assert_eq!(completed.ticket, first + 7);
        let others = session.drain().unwrap();
        assert_eq!(others.iter().map(|c| c.ticket).collect::<Vec<_>>(), (first..first + 7).collect::<Vec<_>>());
        for (completed, entry) in others.iter().zip(&submitted) {
            assert_eq!(&completed.entry, entry);
            assert_eq!(completed.outcome, EntryOutcome::Judged(evaluator.judge(entry)));
        }
    }
    session.close().unwrap();
    card.assert_clean();
}

fn streams_take_free_slots_and_end<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::random(&mut Random::new(5), 2, 1);
    let mut session = CardSession::open_tables(&mut card, &world.tables(), small(6)).unwrap();
    let slots = session.info().max_streams;
    let mut streams: Vec<_> = (0..slots).map(|_| session.begin([0; 32]).unwrap().0).collect();
    assert!(streams.iter().enumerate().all(|(i, stream)| usize::from(stream.slot()) == i));
    assert!(matches!(session.begin([0; 32]), Err(SessionError::NoFreeSlot(n)) if n == slots));
    let ended = streams.remove(17);
    session.end(ended, [0; 32]).unwrap();
    let (again, _) = session.begin([0; 32]).unwrap();
    assert_eq!(again.slot(), 17);
    assert_eq!(session.place(&again).unwrap().sequence, 1);
    // Each lane has its own counter.
    let lanes = u32::from(session.info().lanes);
    let open = session_half(&session.close().unwrap().record.unwrap()).open_streams.get();
    assert_eq!(open, slots / lanes);
    card.assert_clean();
}

fn an_image_opens<C: TestCard>() {
    let mut card = C::fresh();
    // Defaults: a random epoch from the operating system, and default ring sizes.
    let mut session = CardSession::open(&mut card, &image(), SessionConfig::default()).unwrap();
    let (stream, _) = session.begin([0; 32]).unwrap();
    let mut random = Random::new(6);
    let mut descriptor = gate(&mut random, image().header());
    (descriptor.validation_outcome, descriptor.validation_reason) = (1, 0);
    (descriptor.lineage_outcome, descriptor.lineage_reason) = (1, 0);
    let completed = session.gate_descriptor(&stream, descriptor).unwrap();
    assert!(completed.outcome.is_admit());
    assert_eq!(completed.outcome.verdict().unwrap().determination, Determination::Admit);
    session.close().unwrap();
    card.assert_clean();
}
