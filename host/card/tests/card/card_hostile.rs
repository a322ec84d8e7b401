//! Requirement C5: a card, or a host between driver and card, that returns false data. If the data is inconsistent, the
//! driver treats the card as lost. False data never admits an entry, and every wait ends.

use crate::card_support;

use std::cell::Cell;

use card_support::{Random, TestCard, World, gate, on_all_and_lanes, placed, small};
use portcullis_card::driver::LossCause;
use portcullis_card::transport::model::ModelCard;
use portcullis_card::{
    CardError, CardInfo, CardSession, CardTransport, DmaBuffer, EntryOutcome, SessionConfig, SessionError,
    forward_card, registers,
};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{Completion, Descriptor, Determination, Opcode, Record, StageOutcome};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, IntoBytes};

on_all_and_lanes!(
    a_completion_that_comes_in_parts_counts_when_it_is_whole,
    a_damaged_completion_loses_the_card_after_a_while,
    a_stale_completion_of_another_epoch_loses_the_card,
    planted_completions_lose_the_card,
    a_device_that_is_gone_is_said_to_be_gone,
    a_table_that_reads_back_otherwise_is_not_opened,
    a_record_that_cannot_be_kept_releases_nothing,
    a_card_of_another_kind_is_refused,
    damage_on_the_way_is_refused_or_loses_the_card,
);

/// Replaces the value of a register read; arguments are address and value.
type Misread = fn(u32, u32) -> u32;

/// How data is falsified between the driver and the card.
#[derive(Default)]
struct Lie {
    read: Option<Misread>,
    /// Writes to the submission doorbell are dropped.
    deaf: bool,
    /// Bit that is inverted in every completion; the CRC is recomputed.
    completion_bit: Option<usize>,
    /// The value that replaces every completion.
    completion_planted: Option<Completion>,
    /// Bit that is inverted in every completion; the CRC is not recomputed.
    completion_damage: Option<usize>,
    /// Completions arrive word by word: each read shows one more new word; all other words are old.
    completion_parts: Option<Parts>,
    record_bit: Option<usize>,
    /// Bit that is inverted in every submission before it reaches the ring.
    submission_bit: Option<usize>,
}

/// Shows a completion word by word, in ascending or descending order of its words.
#[derive(Debug, Clone)]
struct Parts {
    ascending: bool,
    come: Cell<usize>,
    before: [u8; Completion::BYTES],
}

impl Parts {
    fn of(&self, now: &mut [u8]) {
        let words = Completion::BYTES / 8;
        let come = self.come.get();
        self.come.set(come + 1);
        for word in 0..words {
            let there = if self.ascending { word < come } else { word + come >= words };
            if !there {
                now[word * 8..][..8].copy_from_slice(&self.before[word * 8..][..8]);
            }
        }
    }
}

struct Liar<C> {
    card: C,
    lie: Lie,
}

impl<C: TestCard> Liar<C> {
    fn new() -> Self {
        Self { card: C::fresh(), lie: Lie::default() }
    }
}

impl<C: TestCard> CardTransport for Liar<C> {
    forward_card!(card: describe, allocate, release, wait, quantum);

    fn read32(&mut self, address: u32) -> Result<u32, CardError> {
        let value = self.card.read32(address)?;
        Ok(self.lie.read.map_or(value, |lie| lie(address, value)))
    }
    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        if self.lie.deaf && address == 0x100c { Ok(()) } else { self.card.write32(address, value) }
    }
    fn dma_read(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError> {
        self.card.dma_read(buffer, offset, into)?;
        // Skips completions that the card has not written yet.
        if into.len() == Completion::BYTES && into != Completion::ZERO.as_bytes() {
            if let Some(bit) = self.lie.completion_bit {
                let mut completion = Completion::read_from_bytes(into).unwrap();
                completion.as_mut_bytes()[bit / 8] ^= 1 << (bit % 8);
                into.copy_from_slice(completion.sealed().as_bytes());
            }
            if let Some(planted) = &self.lie.completion_planted {
                into.copy_from_slice(planted.as_bytes());
            }
            if let Some(bit) = self.lie.completion_damage {
                into[bit / 8] ^= 1 << (bit % 8);
            }
            if let Some(parts) = &self.lie.completion_parts {
                parts.of(into);
            }
        }
        if let (Some(bit), Record::BYTES) = (self.lie.record_bit, into.len()) {
            into[bit / 8] ^= 1 << (bit % 8);
        }
        Ok(())
    }
    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, from: &[u8]) -> Result<(), CardError> {
        let mut bytes = from.to_vec();
        if let (Some(bit), Descriptor::BYTES) = (self.lie.submission_bit, from.len()) {
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        self.card.dma_write(buffer, offset, &bytes)
    }
    fn patience(&self) -> u32 {
        // The wait is long enough for the tests to succeed, but short, because many waits end without a result.
        let enough = self.lie.completion_parts.as_ref().map_or(0, |_| 8);
        self.card.patience().clamp(enough, 400)
    }
}

fn good(world: &World, sequence: u32) -> Descriptor {
    let mut entry = gate(&mut Random::new(1), &world.header);
    (entry.validation_outcome, entry.validation_reason) = (StageOutcome::Pass.into(), 0);
    (entry.lineage_outcome, entry.lineage_reason) = (StageOutcome::Pass.into(), 0);
    placed(entry, 0, sequence)
}

fn begun<'a, C: CardTransport>(card: &'a mut C, world: &World, config: SessionConfig) -> CardSession<&'a mut C> {
    let mut session = CardSession::open_tables(card, &world.tables(), config).unwrap();
    session
        .submit(&[Descriptor::entry(Opcode::Begin, SlotSequence { slot: 0, sequence: 0 }, [0; 32]).sealed()])
        .unwrap();
    assert_eq!(session.drain().unwrap()[0].outcome, EntryOutcome::Accepted);
    session
}

/// Asserts that the card is lost, for this call and for every later one.
fn assert_lost<C: CardTransport>(mut session: CardSession<C>, world: &World, what: &str) -> LossCause {
    let Err(SessionError::Lost(lost)) = session.drain() else { panic!("not lost: {what}") };
    assert!(matches!(session.poll(), Err(SessionError::Lost(_))), "{what}");
    assert!(matches!(session.wait(), Err(SessionError::Lost(_))), "{what}");
    assert!(matches!(session.submit(&[good(world, 9)]), Err(SessionError::Lost(_))), "{what}");
    assert!(matches!(session.begin([0; 32]), Err(SessionError::Lost(_))), "{what}");
    let Err(SessionError::Lost(_)) = session.close() else { panic!("closed: {what}") };
    lost
}

/// A change to a completion before it is planted.
type Change = fn(&mut Completion);

/// A completion that admits submission 1, as the card would write it, but with one `change`.
fn planted(session_epoch: u32, change: Change) -> Completion {
    let mut completion = Completion {
        ring_index: U16::new(1),
        phase: 1,
        determination: Determination::Admit.into(),
        policy_row: U16::new(0),
        entropy_row: U16::new(0),
        slot: U16::new(0),
        sequence: U32::new(1),
        epoch: U32::new(session_epoch),
        log_index: U64::new(2),
        ..Completion::ZERO
    };
    change(&mut completion);
    completion.sealed()
}

fn a_stale_completion_of_another_epoch_loses_the_card<C: TestCard>() {
    let mut card = Liar::<C>::new();
    let world = World::permitting();
    let mut session = begun(&mut card, &world, small(0x0bad_cafe));
    // The card must not write an answer of its own.
    session.card_mut().lie.deaf = true;
    session.submit(&[good(&world, 1)]).unwrap();
    // Phase and CRC are right; such a completion could be left from the previous session.
    let ring = session.completion_ring().unwrap();
    let ring = DmaBuffer::new(ring.address(), ring.len());
    let stale = planted(0x0bad_caff, |_| ());
    session.card_mut().dma_write(&ring, Completion::BYTES, stale.as_bytes()).unwrap();
    let lost = assert_lost(session, &world, "another epoch");
    assert_eq!(lost, LossCause::Completion { ticket: 1, what: "epoch of another session" });
    card.card.assert_clean();
}

fn planted_completions_lose_the_card<C: TestCard>() {
    let mut card = Liar::<C>::new();
    // The tables deny everything, so only the planted completion can admit.
    let mut denying = World::permitting();
    denying.policy[0].kind = 2;
    let changes: [(Change, &str); 9] = [
        (|c| c.ring_index = U16::new(2), "completion of submission 1: it answers another submission"),
        (|c| c.slot = U16::new(1), "completion of submission 1: slot of another entry"),
        (|c| c.sequence = U32::new(2), "completion of submission 1: sequence of another entry"),
        (|c| c.phase = 3, "completion of submission 1: a reserved bit is set"),
        (
            |c| c.determination = 4,
            "the card answered with something that no layout defines: 4 is not a value of enumeration `determination`",
        ),
        (|c| c.policy_row = U16::new(1), "completion of submission 1: it names a row that the image does not have"),
        (|c| c.entropy_row = U16::new(u16::MAX), "completion of submission 1: an admit without a permit in both banks"),
        (|c| c.log_index = U64::new(3), "record 2 of lane 0: a heartbeat that no one presented"),
        // All fields of the completion are right; only its record is missing.
        (|_| (), "record 2 of lane 0: record and completion contradict"),
    ];
    for (i, (change, expected)) in changes.into_iter().enumerate() {
        card.lie = Lie::default();
        let mut session = begun(&mut card, &denying, small(5));
        session.card_mut().lie.completion_planted = Some(planted(5, change));
        session.submit(&[good(&denying, 1)]).unwrap();
        let lost = assert_lost(session, &denying, &format!("change {i}"));
        assert_eq!(lost.to_string(), expected, "change {i}");
    }
    card.card.assert_clean();
}

fn a_device_that_is_gone_is_said_to_be_gone<C: TestCard>() {
    let mut card = Liar::<C>::new();
    card.lie.read = Some(|_, _| u32::MAX);
    assert!(matches!(CardInfo::read(&mut card), Err(SessionError::Card(CardError::Gone(0)))));
    let world = World::permitting();
    let error = CardSession::open_tables(&mut card, &world.tables(), small(1)).unwrap_err();
    assert!(error.to_string().contains("gone"), "{error}");
    // The card disappears while an entry is in flight.
    card.lie.read = None;
    let mut session = begun(&mut card, &world, small(1));
    session.card_mut().lie.read = Some(|_, _| u32::MAX);
    session.card_mut().lie.deaf = true;
    session.submit(&[good(&world, 1)]).unwrap();
    let lost = assert_lost(session, &world, "gone");
    assert!(matches!(&lost, LossCause::Broken(why) if why.contains("all ones")), "{lost}");
}

fn a_table_that_reads_back_otherwise_is_not_opened<C: TestCard>() {
    let mut card = Liar::<C>::new();
    let world = World::permitting();
    let lies: [(&str, Misread); 4] = [
        ("image header", |address, value| value ^ u32::from(address == registers::HEADER_WINDOW + 4 * 31) << 31),
        ("policy bank", |address, value| value ^ u32::from(address == registers::POLICY_WINDOW)),
        ("entropy bank", |address, value| value ^ u32::from(address == registers::ENTROPY_WINDOW + 188) << 7),
        ("log_hi", |address, value| value ^ u32::from(address == 0x1024)),
    ];
    for (name, lie) in lies {
        card.lie.read = Some(lie);
        let error = CardSession::open_tables(&mut card, &world.tables(), small(1)).unwrap_err();
        assert!(matches!(error, SessionError::ReadBack { window, .. } if window == name), "{error}");
    }
}

fn a_record_that_cannot_be_kept_releases_nothing<C: TestCard>() {
    let mut card = C::fresh();
    let world = World::permitting();
    let full = |record: &Record| match record.answer.log_index.get() {
        0 | 1 => Ok(()),
        _ => Err("no space left on device".into()),
    };
    let mut session = begun(&mut card, &world, SessionConfig { sink: Box::new(full), ..small(1) });
    session.submit(&[good(&world, 1)]).unwrap();
    let lost = assert_lost(session, &world, "sink");
    assert_eq!(lost.to_string(), "record 2 could not be kept: no space left on device");
    card.assert_clean();
}

fn a_card_of_another_kind_is_refused<C: TestCard>() {
    let mut card = Liar::<C>::new();
    let lies: [(Misread, &str); 6] = [
        (|address, value| if address == 0 { 0x1234 } else { value }, "no Portcullis card"),
        (|address, value| if address == 4 { 2 << 16 } else { value }, "version 2"),
        (|address, value| if address == 0x3c { value ^ 1 } else { value }, "map digest"),
        (|address, value| if address == 8 { value & !0xff | 3 } else { value }, "3 lanes"),
        (|address, value| if address == 8 { value & !0xff } else { value }, "0 lanes"),
        (|address, value| if address == 8 { value & !0xff | 16 } else { value }, "16 lanes"),
    ];
    for (lie, says) in lies {
        card.lie.read = Some(lie);
        let error = CardSession::open_tables(&mut card, &World::permitting().tables(), small(1)).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

/// A bus does not guarantee that 64 bytes arrive at once: the first word of a completion may arrive before the last
/// word or after it.
fn a_completion_that_comes_in_parts_counts_when_it_is_whole<C: TestCard>() {
    let mut card = Liar::<C>::new();
    let world = World::permitting();
    // The old content of the ring: zeros, or an answer that would be valid in another place.
    let befores = [Completion::ZERO, planted(1, |c| (c.phase, c.ring_index) = (0, U16::new(0)))];
    for (ascending, before) in [true, false].into_iter().flat_map(|way| befores.map(|before| (way, before))) {
        card.lie = Lie::default();
        let mut session = begun(&mut card, &world, small(1));
        let before = before.as_bytes().try_into().unwrap();
        session.card_mut().lie.completion_parts = Some(Parts { ascending, come: Cell::new(0), before });
        session.submit(&[good(&world, 1)]).unwrap();
        let answered = session.drain().unwrap();
        assert_eq!(answered[0].ticket, 1);
        assert!(answered[0].outcome.is_admit(), "{:?}", answered[0].outcome);
        let parts = session.card_mut().lie.completion_parts.take().unwrap();
        // The first complete read counts; if that read only made the driver start its wait, the next read counts.
        let whole = Completion::BYTES / 8 + 1;
        assert!((whole..=whole + 1).contains(&parts.come.get()), "{parts:?}: before it was whole, or long after");
        session.close().unwrap();
    }
}

fn a_damaged_completion_loses_the_card_after_a_while<C: TestCard>() {
    let mut card = Liar::<C>::new();
    let world = World::permitting();
    let mut random = Random::new(4);
    for _ in 0..4 {
        card.lie = Lie::default();
        let mut session = begun(&mut card, &world, small(1));
        // The inverted bit is any bit after the phase, perhaps one of the CRC.
        let bit = 24 + random.below(Completion::BYTES * 8 - 24);
        session.card_mut().lie.completion_damage = Some(bit);
        session.submit(&[good(&world, 1)]).unwrap();
        let lost = assert_lost(session, &world, "damaged");
        assert_eq!(lost, LossCause::Completion { ticket: 1, what: "wrong CRC" }, "bit {bit}");
    }
}

/// A bit changes between the driver and the ring. The CRC detects this. If the bit belongs to slot or sequence, the
/// driver cannot match the completion, and the card is lost.
fn damage_on_the_way_is_refused_or_loses_the_card<C: TestCard>() {
    let mut card = Liar::<C>::new();
    let world = World::permitting();
    let mut random = Random::new(3);
    for _ in 0..60 {
        let bit = random.below(Descriptor::BYTES * 8);
        card.lie = Lie::default();
        let mut session = begun(&mut card, &world, small(1));
        session.card_mut().lie.submission_bit = Some(bit);
        session.submit(&[good(&world, 1)]).unwrap();
        match session.drain() {
            Ok(answered) => {
                assert_eq!(answered[0].outcome, EntryOutcome::Fault(portcullis_core::wire::Fault::Crc), "bit {bit}");
                assert_ne!(answered[0].record.unwrap().descriptor, answered[0].entry, "bit {bit}");
            }
            // A completion is matched by slot and sequence.
            Err(SessionError::Lost(_)) => assert!((16..64).contains(&bit), "bit {bit}"),
            Err(error) => panic!("bit {bit}: {error}"),
        }
    }
}

/// Inverts every bit of a completion, with a recomputed CRC.
#[test]
fn every_bit_of_a_completion_counts() {
    let mut card = Liar::<ModelCard>::new();
    let world = World::permitting();
    for bit in 0..(Completion::BYTES - 4) * 8 {
        card.lie = Lie::default();
        let mut session = begun(&mut card, &world, small(1));
        session.submit(&[good(&world, 1)]).unwrap();
        session.card_mut().lie.completion_bit = Some(bit);
        let lost = assert_lost(session, &world, &format!("bit {bit}"));
        // With the phase of the previous lap, the completion does not count as new.
        assert_eq!(
            matches!(&lost, LossCause::Broken(why) if why.contains("for a completion")),
            bit == 16,
            "bit {bit}: {lost}"
        );
    }
}

/// Inverts every bit of a record except its tick, which cannot be checked.
#[test]
fn every_bit_of_a_record_counts() {
    let mut card = Liar::<ModelCard>::new();
    let world = World::permitting();
    let tick = (Descriptor::BYTES + 24) * 8..(Descriptor::BYTES + 32) * 8;
    for bit in (0..Record::BYTES * 8).filter(|bit| !tick.contains(bit)) {
        card.lie = Lie::default();
        let mut session = begun(&mut card, &world, small(1));
        session.submit(&[good(&world, 1)]).unwrap();
        session.card_mut().lie.record_bit = Some(bit);
        assert_lost(session, &world, &format!("bit {bit}"));
    }
}

#[test]
fn a_card_that_does_nothing_is_waited_for_only_so_long() {
    let mut card = Liar::<ModelCard>::new();
    let world = World::permitting();
    let mut session = begun(&mut card, &world, small(1));
    session.card_mut().lie.deaf = true;
    session.submit(&[good(&world, 1)]).unwrap();
    let lost = assert_lost(session, &world, "deaf");
    assert_eq!(lost.to_string(), "waited 2 times one step for a completion, in vain");
    // The card never leaves the state CLOSING.
    card.lie.deaf = false;
    card.lie.read = Some(|address, value| if address == 0x44 { value & !0xf | 4 } else { value });
    let error = CardSession::open_tables(&mut card, &world.tables(), small(1)).unwrap_err();
    assert_eq!(error.to_string(), "waited 2 times one step for the card to be quiet after RESET, in vain");
}
