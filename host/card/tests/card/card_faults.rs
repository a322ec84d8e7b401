//! Requirement C5: every fault of the bus model, at random times under load. Verdicts are correct, every submitted
//! entry gets an answer or an error, and after a reset the card works.
#![cfg(feature = "sim")]

use crate::card_support;

use std::collections::BTreeMap;

use card_support::{Random, World, gate, placed, small};
use portcullis_card::transport::sim::SimCard;
use portcullis_card::{CardSession, EntryOutcome, SessionError};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{Descriptor, Fault, Opcode};
use portcullis_sim::{BusStall, InjectedBusFault, SimConfig};

const STREAMS: u16 = 24;
/// The status register, and the bit in it that only the hardware reset clears.
const STATUS: u32 = 0x44;
const NEEDS_RESET: u32 = 1 << 6;

/// How a session ended after a fault was injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Unharmed,
    Refused(u16),
    Faulted(u16),
    Lost,
}

fn fire(random: &mut Random, kind: usize) -> InjectedBusFault {
    let nth = random.below(8) as u32;
    match kind {
        0 => InjectedBusFault::ReadError { nth },
        1 => InjectedBusFault::ReadLost { nth },
        2 => InjectedBusFault::ReadShort { nth },
        3 => InjectedBusFault::ReadLong { nth },
        4 => InjectedBusFault::ReadCorrupt { nth: 0, bit: random.below(1024) as u32 },
        5 => InjectedBusFault::ReadSpurious { id: random.below(32) as u8 },
        6 => InjectedBusFault::WriteError { nth },
        7 => InjectedBusFault::WriteLost { nth },
        8 => InjectedBusFault::WriteSpurious { id: random.below(32) as u8 },
        9 => InjectedBusFault::ReadRequestsHang,
        _ => InjectedBusFault::WriteRequestsHang,
    }
}

/// Submits under load until the fault has occurred and 200 entries were answered; returns how the session ended.
fn under_fire(card: &mut SimCard, random: &mut Random, kind: usize) -> End {
    let world = World::random(random, 3, 2);
    let evaluator = world.evaluator();
    let mut session = CardSession::open_tables(&mut *card, &world.tables(), small(random.bits() as u32)).unwrap();
    let begins: Vec<_> = (0..STREAMS)
        .map(|slot| Descriptor::entry(Opcode::Begin, SlotSequence { slot, sequence: 0 }, [0; 32]).sealed())
        .collect();
    session.submit(&begins).unwrap();
    session.drain().unwrap();
    let mut idle: Vec<(u16, u32)> = (0..STREAMS).map(|slot| (slot, 1)).collect();
    let mut awaited: BTreeMap<u64, EntryOutcome> = BTreeMap::new();
    let mut answered = 0;
    let strike = random.below(60);
    let mut end = End::Unharmed;
    let mut fired = false;
    // Continues until the fault has occurred, because the fault may wait for a burst of its kind.
    while answered < 200 || (fired && end == End::Unharmed && answered < 600) {
        let size = random.below(idle.len() + 1);
        let batch: Vec<_> =
            idle.drain(..size).map(|(slot, sequence)| placed(gate(random, &world.header), slot, sequence)).collect();
        if !batch.is_empty() {
            let first = match session.submit(&batch) {
                Ok(first) => first,
                Err(SessionError::Faulted(fault)) => return End::Faulted(fault.into()),
                Err(SessionError::Lost(_)) => return End::Lost,
                Err(error) => panic!("{error}"),
            };
            let outcomes = batch.iter().map(|entry| EntryOutcome::Judged(evaluator.judge(entry)));
            awaited.extend((first..).zip(outcomes));
        }
        if answered >= strike && !fired {
            fired = true;
            let fault = fire(random, kind);
            session.card_mut().sim().inject(fault).unwrap();
            session.card_mut().sim().run(random.bits() % 200).unwrap();
        }
        let ready = match session.wait() {
            Ok(ready) => ready,
            Err(SessionError::Lost(_)) => return End::Lost,
            Err(SessionError::Faulted(fault)) => return End::Faulted(fault.into()),
            Err(error) => panic!("{error}"),
        };
        for completed in ready {
            answered += 1;
            let expected = awaited.remove(&completed.ticket).unwrap();
            let mut sequence = completed.entry.sequence.get();
            match completed.outcome {
                EntryOutcome::Fault(fault @ (Fault::Crc | Fault::Sequence | Fault::Slot)) => {
                    end = End::Refused(fault.into())
                }
                EntryOutcome::Fault(fault) => end = End::Faulted(fault.into()),
                outcome => {
                    assert_eq!(outcome, expected, "a wrong verdict");
                    sequence += 1;
                }
            }
            idle.push((completed.entry.slot.get(), sequence));
        }
        if let End::Faulted(fault) = end {
            // By now, all entries that were in flight have an answer.
            assert_eq!(awaited.len(), 0);
            let closed = session.close().unwrap();
            assert_eq!(u16::from(closed.cause), fault);
            return end;
        }
    }
    for completed in session.drain().unwrap() {
        let expected = awaited.remove(&completed.ticket).unwrap();
        assert!(completed.outcome == expected || completed.outcome.fault().is_some(), "a wrong verdict");
    }
    assert!(awaited.is_empty());
    match session.close() {
        Ok(closed) if closed.cause == Fault::None => end,
        // The fault occurred while the driver waited for the last answers.
        Ok(closed) => End::Faulted(closed.cause.into()),
        // No answer depended on the fault, for example because the bus did not answer only the last write.
        Err(SessionError::Faulted(fault)) => End::Faulted(fault.into()),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_fault_of_the_bus_at_random_moments() {
    let rounds = if card_support::long() { 400 } else { 20 };
    for kind in 0..=10 {
        let mut ends: BTreeMap<End, u32> = BTreeMap::new();
        let mut resets = 0;
        for round in 0..rounds {
            let seed = 1_000 * kind as u64 + round;
            let mut random = Random::new(seed);
            let latency = *random.pick(&[0, 3, 50, 300]);
            let stall = *random.pick(&[BusStall::None, BusStall::EveryFourth, BusStall::Random(seed)]);
            let config = SimConfig { lanes: 1, read_latency: latency, write_latency: latency, stall, trace: None };
            let mut card = SimCard::new(config).unwrap();
            *ends.entry(under_fire(&mut card, &mut random, kind)).or_default() += 1;
            card.sim().inject(InjectedBusFault::Unhang).unwrap();
            assert_eq!(card.sim().violations(), None, "kind {kind}, seed {seed}");
            // If a bus response is missing or surplus, the bus works again only after a reset of bus and card.
            let lost = card.sim().read32(STATUS).unwrap() & NEEDS_RESET != 0;
            assert!(!lost || !matches!(kind, 0 | 4 | 6), "kind {kind}, seed {seed}");
            if lost {
                let world = World::random(&mut random, 3, 2);
                let refused = CardSession::open_tables(&mut card, &world.tables(), small(1)).unwrap_err();
                assert!(matches!(refused, SessionError::NeedsReset(_)), "kind {kind}, seed {seed}: {refused}");
                card.sim().hardware_reset().unwrap();
                resets += 1;
            }
            // In a session without a new fault, the old fault has no effect.
            let end = under_fire(&mut card, &mut random, 4);
            assert!(
                matches!(end, End::Unharmed | End::Refused(0x0101) | End::Lost),
                "kind {kind}, seed {seed}: {end:?}"
            );
        }
        println!("fault {kind}: {ends:?}, {resets} hardware resets");
        let faulted: u32 = ends.iter().filter(|(end, _)| matches!(end, End::Faulted(_))).map(|(_, times)| times).sum();
        assert!(matches!(kind, 0 | 4 | 6) || resets >= faulted, "kind {kind}: {resets} hardware resets for {ends:?}");
        let expected: &[u16] = match kind {
            0 | 2 | 3 | 5 => &[0x0303],
            1 | 7 | 9 | 10 => &[0x0305],
            4 => &[],
            _ => &[0x0304],
        };
        for end in ends.keys() {
            match end {
                End::Faulted(fault) => assert!(expected.contains(fault), "kind {kind}: {fault:#x}"),
                End::Refused(_) => assert_eq!(kind, 4),
                End::Unharmed | End::Lost => {}
            }
        }
        let struck = rounds as u32 - ends.get(&End::Unharmed).copied().unwrap_or_default();
        assert!(struck * 10 >= rounds as u32 * 9, "kind {kind} struck only {struck} times");
    }
}
