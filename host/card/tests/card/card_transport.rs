//! Requirement C5: misuse of rings, doorbells, commands and tables, a failing bus, and resets at any time. The card
//! reports the right fault, with an ALARM if the log works. It admits nothing, nothing hangs, and after a reset it
//! works.

use crate::card_support;

use card_support::{Kept, Random, TestCard, World, gate, keeping, of_lane, on_all_and_lanes, placed, small};
use portcullis_card::CardTables;
use portcullis_card::driver::{load_only, reset};
use portcullis_card::{CardInfo, CardSession, CompletedEntry, EntryOutcome, SessionError, registers};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{Command, Descriptor, Fault, Life, Opcode, RecordType, Row};
use zerocopy::little_endian::U16;

on_all_and_lanes!(
    more_entries_than_the_ring_holds_are_refused_by_the_driver,
    a_doorbell_out_of_range_is_a_sticky_fault,
    a_command_that_the_state_does_not_allow_is_a_sticky_fault,
    an_image_that_does_not_fit_is_not_opened,
    a_row_that_was_not_written_whole_is_not_opened,
    a_checkpoint_ring_that_cannot_be_is_not_opened,
    tables_of_another_digest_are_not_opened,
    rings_that_are_not_allowed_are_not_opened,
    tables_cannot_be_written_while_running,
    a_read_error_admits_nothing,
    a_write_error_admits_nothing,
    a_read_that_is_never_answered_trips_the_watchdog,
    a_write_that_is_never_answered_trips_the_watchdog,
    a_reset_at_any_moment_leaves_a_card_that_serves,
    a_fault_closes_with_its_cause,
);

type Opened<'a, C> = (CardSession<&'a mut C>, Kept);

fn open<'a, C: TestCard>(card: &'a mut C, world: &World, epoch: u32) -> Opened<'a, C> {
    let (config, kept) = keeping(small(epoch));
    (CardSession::open_tables(card, &world.tables(), config).unwrap(), kept)
}

fn begin(slot: u16) -> Descriptor {
    Descriptor::entry(Opcode::Begin, SlotSequence { slot, sequence: 0 }, [0; 32]).sealed()
}

fn good(world: &World, slot: u16, sequence: u32) -> Descriptor {
    let mut entry = gate(&mut Random::new(u64::from(sequence)), &world.header);
    (entry.validation_outcome, entry.validation_reason) = (1, 0);
    (entry.lineage_outcome, entry.lineage_reason) = (1, 0);
    placed(entry, slot, sequence)
}

/// Asserts that the card opens a session and judges an entry, whatever happened before.
fn assert_serves<C: TestCard>(card: &mut C) {
    let world = World::permitting();
    let (mut session, _) = open(card, &world, 0x5e5e);
    let (stream, _) = session.begin([0; 32]).unwrap();
    assert!(session.gate_descriptor(&stream, good(&world, 0, 1)).unwrap().outcome.is_admit());
    session.close().unwrap();
}

fn assert_all_faulted(answered: &[CompletedEntry], fault: Fault) {
    assert!(!answered.is_empty());
    for completed in answered {
        assert_eq!(completed.outcome, EntryOutcome::Fault(fault));
    }
}

/// Asserts that the session has ended: it accepts no entry, and reports the fault.
fn assert_faulted<C: TestCard>(session: &mut CardSession<&mut C>, world: &World, fault: Fault) {
    for _ in 0..2 {
        assert!(matches!(session.submit(&[good(world, 0, 1)]), Err(SessionError::Faulted(f)) if f == fault));
        assert!(matches!(session.poll(), Err(SessionError::Faulted(f)) if f == fault));
    }
    let said = session.begin([0; 32]).unwrap_err().to_string();
    assert!(said.contains(fault.name()) && said.contains(&format!("{:#06x}", u16::from(fault))), "{said}");
}

fn more_entries_than_the_ring_holds_are_refused_by_the_driver<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::permitting();
    let (mut session, _) = open(&mut card, &world, 1);
    // All entries are in one lane.
    let lanes = u16::from(session.info().lanes);
    let entries: Vec<_> = (0..33).map(|i| begin(i * lanes)).collect();
    assert!(matches!(session.submit(&entries), Err(SessionError::RingFull { entries: 33, room: 32 })));
    session.submit(&entries[..32]).unwrap();
    assert!(matches!(session.submit(&entries[32..]), Err(SessionError::RingFull { entries: 1, room: 0 })));
    assert_eq!(session.drain().unwrap().len(), 32);
    session.submit(&entries[32..]).unwrap();
    assert_eq!(session.drain().unwrap().len(), 1);
    session.close().unwrap();
    card.assert_clean();
}

fn a_doorbell_out_of_range_is_a_sticky_fault<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::permitting();
    // Before each misuse, 16 entries in lane 0 were submitted, completed and consumed.
    type Ring = fn(&mut dyn portcullis_card::CardTransport);
    let rings: [(&str, Ring); 7] = [
        ("one more entry than the ring holds", |card| write(card, Bell::SqTail, 16 + 33)),
        ("the tail goes back", |card| write(card, Bell::SqTail, 15)),
        ("the tail has upper bits", |card| write(card, Bell::SqTail, 0x1_0010)),
        ("the completion head passes the tail", |card| write(card, Bell::CqHead, 17)),
        ("the completion head has upper bits", |card| write(card, Bell::CqHead, 0x8000_0010)),
        ("the log head passes the tail", |card| write(card, Bell::LogHead, 18)),
        ("the log head goes back", |card| write(card, Bell::LogHead, 0)),
    ];
    for (what, ring) in rings {
        let (mut session, kept) = open(&mut card, &world, 2);
        let lanes = u16::from(session.info().lanes);
        session.submit(&(0..16).map(|i| begin(i * lanes)).collect::<Vec<_>>()).unwrap();
        assert_eq!(session.drain().unwrap().len(), 16, "{what}");
        // Rings the doorbells for consumed entries, so that the counters match the table above.
        write(*session.card_mut(), Bell::LogHead, 17);
        write(*session.card_mut(), Bell::CqHead, 16);
        ring(*session.card_mut());
        let _ = session.submit(&[good(&world, 0, 1)]);
        let answered = session.drain().unwrap();
        assert_all_faulted(&answered, Fault::Doorbell);
        assert_faulted(&mut session, &world, Fault::Doorbell);
        let alarm = *session.alarm().unwrap_or_else(|| panic!("no ALARM: {what}"));
        assert_eq!(alarm.answer.fault.get(), u16::from(Fault::Doorbell));
        let closed = session.close().unwrap();
        assert_eq!(closed.cause, Fault::Doorbell);
        assert_eq!(closed.record.unwrap().answer.record_type, RecordType::Close as u8);
        let admits = kept.lock().unwrap().iter().filter(|r| r.answer.determination == 3).count();
        assert_eq!(admits, 0, "{what}");
        card.assert_clean();
    }
    assert_serves(&mut card);
}

enum Bell {
    SqTail,
    CqHead,
    LogHead,
}

fn write(card: &mut dyn portcullis_card::CardTransport, bell: Bell, value: u32) {
    registers::with_lane(card, 0, |lane| match bell {
        Bell::SqTail => lane.sq_tail().try_write(|w| w.set_v(value)),
        Bell::CqHead => lane.cq_head().try_write(|w| w.set_v(value)),
        Bell::LogHead => lane.log_head().try_write(|w| w.set_v(value)),
    })
    .unwrap();
}

fn command<C: TestCard>(card: &mut C, code: u8) {
    registers::with(card, |r| r.command().try_write(|w| w.set_v(code))).unwrap();
}

fn a_command_that_the_state_does_not_allow_is_a_sticky_fault<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::permitting();
    // None of these commands is allowed in RUN; an entry is in flight.
    for code in [Command::Load as u8, Command::Open as u8, 0, 5, 255] {
        let (mut session, _) = open(&mut card, &world, 3);
        session.submit(&[begin(0)]).unwrap();
        session.drain().unwrap();
        command(*session.card_mut(), code);
        let _ = session.submit(&[good(&world, 0, 1)]);
        assert_all_faulted(&session.drain().unwrap(), Fault::Command);
        assert_eq!(session.alarm().unwrap().answer.fault.get(), u16::from(Fault::Command));
        drop(session);
        assert_eq!(CardInfo::read(&mut card).unwrap().life, Life::Reset);
    }
    // Before a session there is no log, so there is no record; but the fault stays until a reset.
    for code in [Command::Open as u8, Command::Close as u8, 0, 99] {
        command(&mut card, code);
        card.pass(10);
        let info = CardInfo::read(&mut card).unwrap();
        assert_eq!((info.life, info.fault), (Life::Fault, Fault::Command), "command {code}");
        command(&mut card, Command::Load as u8);
        card.pass(10);
        assert_eq!(CardInfo::read(&mut card).unwrap().life, Life::Fault);
        reset(&mut card).unwrap();
        assert_eq!(CardInfo::read(&mut card).unwrap().fault, Fault::None);
    }
    assert_serves(&mut card);
    card.assert_clean();
}

fn refusal<C: TestCard>(card: &mut C, tables: &CardTables<'_>) -> Fault {
    match CardSession::open_tables(&mut *card, tables, small(4)) {
        Err(SessionError::OpenRefused { fault }) => fault,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("opened"),
    }
}

fn an_image_that_does_not_fit_is_not_opened<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::random(&mut Random::new(11), 3, 2);
    type Change = fn(&mut portcullis_core::wire::ImageHeader);
    let changes: [(&str, Change, Fault); 12] = [
        ("another map digest", |h| h.map_digest[31] ^= 1, Fault::ImageHeader),
        ("no map digest", |h| h.map_digest = [0; 32], Fault::ImageHeader),
        ("magic", |h| h.magic = 0.into(), Fault::ImageHeader),
        ("version", |h| h.version = 2, Fault::ImageHeader),
        ("a reserved field", |h| h.present = 1, Fault::ImageHeader),
        ("another reserved byte", |h| h.reserved_56[7] = 0x80, Fault::ImageHeader),
        ("a quantity slot that does not exist", |h| h.quantities = 0x10, Fault::ImageHeader),
        ("no policy row", |h| h.policy_rows = U16::new(0), Fault::ImageHeader),
        ("no entropy row", |h| h.entropy_rows = U16::new(0), Fault::ImageHeader),
        ("more rows than the card has", |h| h.policy_rows = U16::new(257), Fault::ImageHeader),
        ("more policy rows than were written", |h| h.policy_rows = U16::new(4), Fault::ImageIncomplete),
        ("more entropy rows than were written", |h| h.entropy_rows = U16::new(3), Fault::ImageIncomplete),
    ];
    for (what, change, fault) in changes {
        let mut header = world.header;
        change(&mut header);
        assert_eq!(refusal(&mut card, &CardTables { header: &header, ..world.tables() }), fault, "{what}");
    }
    // If the card reports that it has no room for an image, the driver refuses the image.
    let rows = vec![Row::ZERO; 257];
    let tables = CardTables { policy: &rows, ..world.tables() };
    let error = CardSession::open_tables(&mut card, &tables, small(4)).unwrap_err();
    assert!(matches!(error, SessionError::TooManyRows { rows: 257, available: 256, .. }), "{error}");
    assert_serves(&mut card);
    card.assert_clean();
}

/// Gives OPEN to a card that is in LOAD with valid rings, and waits for the result.
fn open_by_hand<C: TestCard>(card: &mut C) -> (Life, Fault) {
    let buffers: Vec<_> = [4096, 2048, 4096].map(|bytes| card.allocate(bytes).unwrap()).into();
    let [sq, cq, log] = [0, 1, 2].map(|i: usize| buffers[i].address());
    // All lanes have the same rings, because no lane uses them.
    for lane in 0..CardInfo::read(card).unwrap().lanes {
        place_rings(card, lane, (sq, cq, log), (5, 4));
    }
    let came = give_open(card);
    reset(card).unwrap();
    for buffer in buffers {
        card.release(buffer).unwrap();
    }
    came
}

/// Sets the addresses of a lane's submission, completion and log ring, and the log2 of their numbers of entries.
fn place_rings<C: TestCard>(card: &mut C, lane: u8, at: (u64, u64, u64), log2: (u8, u8)) {
    let word = |address: u64| ((address & 0xffff_ffff) as u32, (address >> 32) as u32);
    let (sq, cq, log) = (word(at.0), word(at.1), word(at.2));
    registers::with_lane(card, lane, |lane| {
        lane.sq_lo().try_write(|w| w.set_v(sq.0))?;
        lane.sq_hi().try_write(|w| w.set_v(sq.1))?;
        lane.sq_size().try_write(|w| w.set_log2(log2.0))?;
        lane.cq_lo().try_write(|w| w.set_v(cq.0))?;
        lane.cq_hi().try_write(|w| w.set_v(cq.1))?;
        lane.log_lo().try_write(|w| w.set_v(log.0))?;
        lane.log_hi().try_write(|w| w.set_v(log.1))?;
        lane.log_size().try_write(|w| w.set_log2(log2.1))
    })
    .unwrap();
}

fn give_open<C: TestCard>(card: &mut C) -> (Life, Fault) {
    command(card, Command::Open as u8);
    // The card may have to generate its key first.
    for _ in 0..100 {
        card.pass(3_000);
        if CardInfo::read(card).unwrap().life != Life::Opening {
            break;
        }
    }
    let life = CardInfo::read(card).unwrap().life;
    let fault = registers::with(card, |r| r.load_fault().try_read()).unwrap().code();
    (life, Fault::try_from(fault).unwrap())
}

fn a_row_that_was_not_written_whole_is_not_opened<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::random(&mut Random::new(12), 3, 2);
    load_only(&mut card, &world.tables()).unwrap();
    assert_eq!(open_by_hand(&mut card), (Life::Run, Fault::None));
    for address in
        [registers::POLICY_WINDOW + 256 + 4, registers::POLICY_WINDOW + 2 * 256 + 188, registers::ENTROPY_WINDOW + 256]
    {
        load_only(&mut card, &world.tables()).unwrap();
        // The word already has this value, but the write is out of order.
        let word = card.read32(address).unwrap();
        card.write32(address, word).unwrap();
        assert_eq!(open_by_hand(&mut card), (Life::Load, Fault::ImageIncomplete), "{address:#x}");
    }
    // LOAD clears the tables that were loaded before.
    load_only(&mut card, &world.tables()).unwrap();
    command(&mut card, Command::Load as u8);
    card.pass(10);
    assert_eq!(card.read32(registers::HEADER_WINDOW).unwrap(), 0);
    assert_eq!(card.read32(registers::POLICY_WINDOW + 32).unwrap(), 0);
    assert_eq!(open_by_hand(&mut card), (Life::Load, Fault::ImageHeader));
    assert_serves(&mut card);
    card.assert_clean();
}

/// A card without a signer refuses every checkpoint ring. A card with a signer refuses a ring that is too large or
/// crosses its page.
fn a_checkpoint_ring_that_cannot_be_is_not_opened<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::random(&mut Random::new(13), 1, 1);
    let signer = CardInfo::read(&mut card).unwrap().signer;
    for (low, log2) in [(0x1040, 1), (0x1000, 9), (0x1000, 255)] {
        load_only(&mut card, &world.tables()).unwrap();
        registers::with(&mut card, |r| r.checkpoint_lo().try_write(|w| w.set_v(low))).unwrap();
        registers::with(&mut card, |r| r.checkpoint_size().try_write(|w| w.set_log2(log2))).unwrap();
        let fault = if signer { Fault::RingConfig } else { Fault::Unsupported };
        assert_eq!(open_by_hand(&mut card), (Life::Load, fault), "{low:#x}, 2^{log2}");
    }
    reset(&mut card).unwrap();
    registers::with(&mut card, |r| r.checkpoint_lo().try_write(|w| w.set_v(0))).unwrap();
    registers::with(&mut card, |r| r.checkpoint_size().try_write(|w| w.set_log2(0))).unwrap();
    assert_serves(&mut card);
    card.assert_clean();
}

/// The card reads its tables back and hashes them. If one bit of a table or of the expected digest differs, OPEN fails.
fn tables_of_another_digest_are_not_opened<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::random(&mut Random::new(15), 2, 2);
    let digest = world.tables().digest();
    for word in 0..8 {
        load_only(&mut card, &world.tables()).unwrap();
        let bytes = digest[word * 4..][..4].try_into().unwrap();
        let other = u32::from_le_bytes(bytes) ^ 1 << (word * 4);
        registers::with(&mut card, |r| r.expected_digest()[word].try_write(|w| w.set_v(other))).unwrap();
        assert_eq!(open_by_hand(&mut card), (Life::Load, Fault::ImageDigest), "word {word}");
    }
    // The header contains the package digest, so the policy digest covers it too.
    let mut rows = [world.policy.clone(), world.entropy.clone()];
    for bank in 0..2 {
        let before = rows[bank].clone();
        let last = rows[bank].len() - 1;
        rows[bank][last].established_none = (before[last].established_none.get() ^ 1 << 127).into();
        let changed = CardTables { header: &world.header, text: None, policy: &rows[0], entropy: &rows[1] };
        load_only(&mut card, &changed).unwrap();
        for (word, bytes) in digest.chunks_exact(4).enumerate() {
            let value = u32::from_le_bytes(bytes.try_into().unwrap());
            registers::with(&mut card, |r| r.expected_digest()[word].try_write(|w| w.set_v(value))).unwrap();
        }
        assert_eq!(open_by_hand(&mut card), (Life::Load, Fault::ImageDigest), "bank {bank}");
        rows[bank] = before;
    }
    load_only(&mut card, &world.tables()).unwrap();
    assert_eq!(open_by_hand(&mut card), (Life::Run, Fault::None));
    let found: Vec<u8> = registers::with(&mut card, |r| {
        r.policy_digest().iter().flat_map(|word| word.try_read().unwrap().v().to_le_bytes()).collect()
    });
    assert_eq!(found, digest);
    assert_serves(&mut card);
    card.assert_clean();
}

fn rings_that_are_not_allowed_are_not_opened<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::random(&mut Random::new(14), 1, 1);
    let buffer = card.allocate(1 << 16).unwrap();
    let base = buffer.address();
    let lanes = CardInfo::read(&mut card).unwrap().lanes;
    // Addresses of the submission, completion and log rings; then log2 of the first two rings' size, and of the log's.
    let good = ((base, base + 4096, base + 8192), (5u8, 4u8));
    let mut bad = [good; 9];
    bad[0].0.0 += 64;
    bad[1].0.1 += 2048;
    bad[2].0.2 += 256;
    bad[3].1.0 = 4;
    bad[4].1.0 = 16;
    bad[5].1.1 = 3;
    bad[6].1.1 = 21;
    (bad[7].0.0, bad[7].1.0) = (0xffff_ffff_ffff_f000, 6);
    (bad[8].0.2, bad[8].1.1) = (0xffff_ffff_ffff_f000, 5);
    // Only the last lane has the bad rings.
    for (i, rings) in [good].into_iter().chain(bad).enumerate() {
        load_only(&mut card, &world.tables()).unwrap();
        for lane in 0..lanes {
            let (at, log2) = if lane == lanes - 1 { rings } else { good };
            place_rings(&mut card, lane, at, log2);
        }
        let expected = if i == 0 { (Life::Run, Fault::None) } else { (Life::Load, Fault::RingConfig) };
        assert_eq!(give_open(&mut card), expected, "rings {i}: {rings:x?}");
        reset(&mut card).unwrap();
    }
    // For these sizes, the driver reports the error before the card does.
    for (ring_log2, log_log2) in [(4, 4), (16, 4), (5, 3), (5, 21)] {
        let config = portcullis_card::SessionConfig { ring_log2, log_log2, ..small(1) };
        let error = CardSession::open_tables(&mut card, &world.tables(), config).unwrap_err();
        assert!(matches!(error, SessionError::RingSize { .. }), "{error}");
    }
    card.release(buffer).unwrap();
    assert_serves(&mut card);
    card.assert_clean();
}

/// Requirement P5, as far as a test can show it: writes to locked tables have no effect.
fn tables_cannot_be_written_while_running<C: TestCard>() {
    let mut card = C::fresh();
    let mut random = Random::new(15);
    let world = World::random(&mut random, 3, 2);
    let evaluator = world.evaluator();
    let (mut session, _) = open(&mut card, &world, 7);
    let (stream, _) = session.begin([0; 32]).unwrap();
    for window in [registers::HEADER_WINDOW, registers::POLICY_WINDOW, registers::ENTROPY_WINDOW] {
        for word in 0..32 {
            let address = window + 4 * word;
            let before = session.card_mut().read32(address).unwrap();
            session.card_mut().write32(address, !before).unwrap();
            assert_eq!(session.card_mut().read32(address).unwrap(), before, "{address:#x}");
        }
        let descriptor = gate(&mut random, &world.header);
        let completed = session.gate_descriptor(&stream, descriptor).unwrap();
        assert_eq!(completed.outcome, EntryOutcome::Judged(evaluator.judge(&descriptor)));
    }
    // The locked configuration does not change either: the epoch stays.
    registers::with(*session.card_mut(), |r| r.epoch().try_write(|w| w.set_v(99))).unwrap();
    session.note(&stream, [1; 32]).unwrap();
    session.close().unwrap();
    card.assert_clean();
}

/// A bus failure with entries in flight: each entry is answered, and an entry is admitted only by a completion.
fn bus_failure<C: TestCard>(fail: fn(&mut C), fault: Fault) {
    let mut card = C::fresh();
    let world = World::permitting();
    let (mut session, kept) = open(&mut card, &world, 8);
    session.submit(&(0..8).map(begin).collect::<Vec<_>>()).unwrap();
    session.drain().unwrap();
    fail(*session.card_mut());
    let _ = session.submit(&(0..8).map(|slot| good(&world, slot, 1)).collect::<Vec<_>>());
    let answered = session.drain().unwrap();
    assert_eq!(answered.len(), 8);
    // An answer of another lane may have been on the bus before the failure; such an answer is valid.
    let lanes = session.info().lanes;
    let (stood, faulted): (Vec<_>, Vec<_>) = answered.into_iter().partition(|completed| completed.outcome.is_admit());
    assert!(stood.is_empty() || lanes > 1);
    assert_all_faulted(&faulted, fault);
    assert_faulted(&mut session, &world, fault);
    // The bus does not work, so the card can write neither ALARM nor CLOSE.
    assert!(session.alarm().is_none());
    session.card_mut().mend();
    let closed = session.close().unwrap();
    assert_eq!((closed.cause, closed.record), (fault, None));
    // A bus request was abandoned, so RESET does not complete, and no session can follow.
    let lost = fault == Fault::Watchdog;
    assert_eq!(closed.needs_reset, lost);
    if lost {
        let refused = CardSession::open_tables(&mut card, &world.tables(), small(9)).unwrap_err();
        assert!(matches!(refused, SessionError::NeedsReset(cause) if cause == fault), "{refused}");
        assert!(refused.to_string().contains("hardware reset"), "{refused}");
        for given in [Command::Load, Command::Open, Command::Reset] {
            command(&mut card, given as u8);
            card.pass(100);
            assert_eq!(CardInfo::read(&mut card).map(|info| (info.life, info.fault)).unwrap(), (Life::Closing, fault));
        }
        card.hardware_reset();
    }
    let kept = kept.lock().unwrap();
    assert!(stood.iter().all(|completed| completed.record.is_some_and(|record| kept.contains(&record))));
    assert!(lanes > 1 || kept.iter().all(|record| record.answer.determination != 3));
    drop(kept);
    assert_serves(&mut card);
}

fn a_read_error_admits_nothing<C: TestCard>() {
    bus_failure::<C>(C::break_reads, Fault::ReadResponse);
}

fn a_write_error_admits_nothing<C: TestCard>() {
    bus_failure::<C>(C::break_writes, Fault::WriteResponse);
}

fn a_read_that_is_never_answered_trips_the_watchdog<C: TestCard>() {
    bus_failure::<C>(C::hang_reads, Fault::Watchdog);
}

fn a_write_that_is_never_answered_trips_the_watchdog<C: TestCard>() {
    bus_failure::<C>(C::hang_writes, Fault::Watchdog);
}

fn a_reset_at_any_moment_leaves_a_card_that_serves<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::permitting();
    let mut random = Random::new(16);
    for epoch in 0..120 {
        let (mut session, _) = open(&mut card, &world, epoch);
        let streams = 1 + random.below(24) as u16;
        session.submit(&(0..streams).map(begin).collect::<Vec<_>>()).unwrap();
        if random.one_in(2) {
            session.drain().unwrap();
            session.submit(&(0..streams).map(|slot| good(&world, slot, 1)).collect::<Vec<_>>()).unwrap();
        }
        session.card_mut().pass(random.bits() % 700);
        // Either another program resets the card, or the session is dropped.
        if random.one_in(2) {
            command(*session.card_mut(), Command::Reset as u8);
            loop {
                // Completions before the reset count; the driver reports an error for all later ones.
                match session.wait() {
                    Ok(answered) if answered.is_empty() => break,
                    Ok(answered) => assert!(answered.iter().all(|c| c.outcome.fault().is_none())),
                    Err(SessionError::Lost(_)) => {
                        assert!(matches!(session.poll(), Err(SessionError::Lost(_))));
                        assert!(matches!(session.submit(&[begin(30)]), Err(SessionError::Lost(_))));
                        break;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        }
        drop(session);
        assert_eq!(CardInfo::read(&mut card).unwrap().life, Life::Reset);
        assert_serves(&mut card);
    }
    card.assert_clean();
}

fn a_fault_closes_with_its_cause<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::permitting();
    let (mut session, kept) = open(&mut card, &world, 9);
    let (_stream, _) = session.begin([0; 32]).unwrap();
    // No entry is in flight, so the fault becomes visible only at the close.
    command(*session.card_mut(), Command::Open as u8);
    let closed = session.close().unwrap();
    assert_eq!(closed.cause, Fault::Command);
    for lane in 0..CardInfo::read(&mut card).unwrap().lanes {
        let log = of_lane(&kept.lock().unwrap(), lane);
        let kinds: Vec<u8> = log.iter().map(|record| record.answer.record_type).collect();
        let mut expected = vec![RecordType::Open, RecordType::Begin, RecordType::Alarm, RecordType::Close];
        if lane > 0 {
            // The stream is in lane 0.
            expected.remove(1);
        }
        assert_eq!(kinds, expected.iter().map(|kind| *kind as u8).collect::<Vec<_>>(), "lane {lane}");
    }
    card.assert_clean();
    assert_serves(&mut card);
}
