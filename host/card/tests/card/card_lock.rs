//! The configuration registers are locked in every state but RESET and LOAD: OPENING, RUN, CLOSING and FAULT. And a
//! card whose shell owes its bus answers opens no session.
#![cfg(feature = "sim")]

use crate::card_support;

use card_support::{World, gate, keeping, small};
use portcullis_card::driver::{CheckpointConfig, reset};
use portcullis_card::transport::sim::SimCard;
use portcullis_card::{CardError, CardInfo, CardSession, CardTransport, SessionConfig, SessionError, forward_card};
use portcullis_core::wire::{Fault, Life, RecordType, SessionFields};
use portcullis_sim::{BusStall, SimConfig};
use portcullis_test_support::random::Random;
use zerocopy::{FromBytes, IntoBytes};

const COMMAND: u32 = 0x40;
const STATUS: u32 = 0x44;
const LOAD_FAULT: u32 = 0x4c;
const LOAD: u32 = 1;

/// Every register that configures a session, by the register map.
fn configuration() -> Vec<u32> {
    let words = |first: u32, count: u32| (0..count).map(move |word| first + 4 * word);
    let mut all = vec![0x50, 0xc0, 0xc4, 0xe0, 0xe4, 0xe8, 0xec, 0x170, 0x174, 0x178];
    all.extend(words(0x60, 8));
    all.extend(words(0xa0, 8));
    // The rings of lane 0, without their doorbells.
    all.extend([0x00, 0x04, 0x08, 0x10, 0x14, 0x20, 0x24, 0x28].map(|at| 0x1000 + at));
    // The blocks of text windows.
    all.extend(words(0x2000, 64));
    all
}

fn life(card: &mut SimCard) -> u32 {
    card.read32(STATUS).unwrap() & 15
}

/// Writes every register of the configuration. None changes, and the card is in `state` all the time.
fn write_all(card: &mut SimCard, state: Life) {
    assert_eq!(life(card), state as u32);
    for address in configuration() {
        let before = card.read32(address).unwrap();
        card.write32(address, !before).unwrap();
        assert_eq!(card.read32(address).unwrap(), before, "{address:#x} in {state:?}");
    }
    assert_eq!(life(card), state as u32, "the state ended too early for this test");
}

/// A card whose host writes the configuration behind every OPEN and CLOSE.
struct Meddled {
    card: SimCard,
    states: Vec<Life>,
}

impl CardTransport for Meddled {
    forward_card!(card: describe, read32, allocate, release, dma_read, dma_write, wait, quantum, patience);

    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.card.write32(address, value)?;
        let state = match (address, value) {
            (COMMAND, 2) => Life::Opening,
            (COMMAND, 3) => Life::Closing,
            _ => return Ok(()),
        };
        // The command acts in the next clocks.
        self.card.sim().run(4).unwrap();
        write_all(&mut self.card, state);
        self.states.push(state);
        Ok(())
    }
}

/// A card whose bus owes answers from the moment of OPEN on, when the tables are in their place.
struct Indebted(SimCard);

impl CardTransport for Indebted {
    forward_card!(0: describe, read32, allocate, release, dma_read, dma_write, wait, quantum, patience);

    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        if (address, value) != (COMMAND, 2) {
            return self.0.write32(address, value);
        }
        self.0.sim().set_stale(true);
        self.0.write32(address, value)?;
        self.0.sim().run(50_000).unwrap();
        let refused = self.0.read32(LOAD_FAULT)?;
        assert_eq!((life(&mut self.0), refused), (Life::Load as u32, Fault::NeedsReset as u32));
        Ok(())
    }
}

fn card() -> SimCard {
    SimCard::new(SimConfig { lanes: 1, read_latency: 20, write_latency: 20, stall: BusStall::None, trace: None })
        .unwrap()
}

/// Tables that take some thousand clocks to hash, so that OPENING and CLOSING last.
fn world() -> World {
    let mut world = World::permitting();
    world.policy = vec![World::permit(); 128];
    world.header.policy_rows = 128.into();
    world
}

#[test]
fn the_configuration_is_locked_in_every_state_of_a_session() {
    let world = world();
    let mut card = Meddled { card: card(), states: Vec::new() };
    let (config, kept) = keeping(SessionConfig {
        ticket_digest: [7; 32],
        checkpoints: Some(CheckpointConfig::default()),
        ..small(0x1234_5678)
    });
    let mut session = CardSession::open_tables(&mut card, &world.tables(), config).unwrap();
    let (stream, _) = session.begin([1; 32]).unwrap();
    write_all(&mut session.card_mut().card, Life::Run);
    session.gate_descriptor(&stream, gate(&mut Random::new(1), &world.header)).unwrap();
    session.close().unwrap();
    assert_eq!(card.states, [Life::Opening, Life::Closing]);
    let kept = kept.lock().unwrap();
    for record in kept.iter().filter(|record| record.answer.record_type != RecordType::Verdict as u8) {
        assert_eq!(record.answer.epoch.get(), 0x1234_5678);
    }
    let close = SessionFields::read_from_bytes(kept.last().unwrap().descriptor.as_bytes()).unwrap();
    assert_eq!(close.ticket_digest, [7; 32]);
}

/// ALARM and CLOSE take the ticket and the epoch from these registers after the fault.
#[test]
fn the_configuration_is_locked_in_fault() {
    let world = world();
    let (config, kept) = keeping(SessionConfig { ticket_digest: [7; 32], ..small(0x1234_5678) });
    let mut session = CardSession::open_tables(card(), &world.tables(), config).unwrap();
    session.card_mut().write32(COMMAND, LOAD).unwrap();
    session.card_mut().sim().run(200).unwrap();
    write_all(session.card_mut(), Life::Fault);
    assert_eq!(session.close().unwrap().cause, Fault::Command);
    let kept = kept.lock().unwrap();
    for kind in [RecordType::Alarm, RecordType::Close] {
        let record = kept.iter().find(|record| record.answer.record_type == kind as u8).unwrap();
        let fields = SessionFields::read_from_bytes(record.descriptor.as_bytes()).unwrap();
        assert_eq!((record.answer.epoch.get(), fields.ticket_digest), (0x1234_5678, [7; 32]), "{kind:?}");
    }
}

/// After its hardware reset, the card reports that the bus still owes answers to its former self, and opens no session.
#[test]
fn a_card_whose_bus_owes_answers_opens_no_session() {
    let world = World::permitting();
    let mut card = card();
    card.sim().set_stale(true);
    let info = CardInfo::read(&mut card).unwrap();
    assert!(info.stale && !info.needs_reset);
    let refused = CardSession::open_tables(&mut card, &world.tables(), small(1)).unwrap_err();
    assert!(matches!(refused, SessionError::Stale), "{refused}");
    assert!(refused.to_string().contains("do not use that memory again"), "{refused}");
    assert!(matches!(reset(&mut card), Err(SessionError::Stale)));
    // A host that does not look at the bit gets no session either, although its tables are complete.
    card.sim().set_stale(false);
    let mut card = Indebted(card);
    let refused = CardSession::open_tables(&mut card, &world.tables(), small(1)).unwrap_err();
    assert!(matches!(refused, SessionError::Stale), "{refused}");
    let Indebted(mut card) = card;
    // When the bus has answered, the card serves the same tables.
    card.sim().set_stale(false);
    let mut session = CardSession::open_tables(&mut card, &world.tables(), small(1)).unwrap();
    session.begin([1; 32]).unwrap();
    session.close().unwrap();
}
