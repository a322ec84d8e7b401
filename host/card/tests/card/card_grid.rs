//! Requirement C1: no verdict is lost, duplicated or given to another descriptor, for any behaviour of the bus and
//! where rings wrap. A cell of the grid is one combination of stalls, latencies and ring sizes.

use crate::card_support;

use std::collections::BTreeMap;

use card_support::{Lanes, Random, TestCard, World, gate, keeping, of_lane, placed};
use portcullis_card::transport::model::ModelCard;
use portcullis_card::{CardSession, EntryOutcome, SessionConfig};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{Descriptor, Fault, Opcode, RecordType};
use zerocopy::IntoBytes;

/// Number of entries per cell, not counting those that open and close streams.
const PER_CELL: u64 = 500;
/// Number of streams per cell: more than fit into the smallest ring.
const STREAMS: u16 = 40;
/// log2 of the entries of the submission (and completion) ring, and of those of the log ring.
const RINGS: [(u8, u8); 3] = [(5, 4), (5, 6), (6, 5)];

/// Runs one cell; returns the number of judged or refused entries.
fn cell<C: TestCard>(card: &mut C, seed: u64, (ring_log2, log_log2): (u8, u8), count: u64) -> u64 {
    let mut random = Random::new(seed);
    let rows = (1 + random.below(6), 1 + random.below(4));
    let world = World::random(&mut random, rows.0, rows.1);
    let evaluator = world.evaluator();
    let (config, kept) = keeping(SessionConfig { ring_log2, log_log2, epoch: None, ..SessionConfig::default() });
    let mut session = CardSession::open_tables(&mut *card, &world.tables(), config).unwrap();

    let lanes = session.info().lanes;
    // The next sequence of each slot; the expected answer for each ticket.
    let mut next: Vec<u32> = vec![0; STREAMS.into()];
    let mut idle: Vec<u16> = (0..STREAMS).collect();
    let mut awaited: BTreeMap<u64, (Descriptor, EntryOutcome)> = BTreeMap::new();
    let (mut submitted, mut answered, mut begun) = (0, 0, 0);
    let mut ticket = 0;
    while answered < count + begun {
        let mut batch = Vec::new();
        let mut expected = Vec::new();
        let size = random.below(session.room() + 1);
        while batch.len() < size && !idle.is_empty() && submitted < count {
            let slot = idle.swap_remove(random.below(idle.len()));
            let sequence = next[usize::from(slot)];
            let place = SlotSequence { slot, sequence };
            let (entry, outcome) = if sequence == 0 {
                begun += 1;
                (Descriptor::entry(Opcode::Begin, place, [1; 32]).sealed(), EntryOutcome::Accepted)
            } else {
                submitted += 1;
                let judged = placed(gate(&mut random, &world.header), slot, sequence);
                match random.below(16) {
                    0 => {
                        let mut corrupted = judged;
                        corrupted.commitment[random.below(32)] ^= 1 << random.below(8);
                        (corrupted, EntryOutcome::Fault(Fault::Crc))
                    }
                    1 => (placed(judged, slot, sequence + 1), EntryOutcome::Fault(Fault::Sequence)),
                    2 => (Descriptor::entry(Opcode::End, place, [2; 32]).sealed(), EntryOutcome::Accepted),
                    3 => (Descriptor::entry(Opcode::Note, place, [3; 32]).sealed(), EntryOutcome::Accepted),
                    _ => (judged, EntryOutcome::Judged(evaluator.judge(&judged))),
                }
            };
            batch.push(entry);
            expected.push(outcome);
        }
        if !batch.is_empty() {
            assert_eq!(session.submit(&batch).unwrap(), ticket);
            for (entry, outcome) in batch.into_iter().zip(expected) {
                awaited.insert(ticket, (entry, outcome));
                ticket += 1;
            }
        }
        let come = if random.one_in(3) { session.poll().unwrap() } else { session.wait().unwrap() };
        for completed in come {
            let (entry, outcome) = awaited.remove(&completed.ticket).unwrap();
            assert_eq!(completed.entry.as_bytes(), entry.as_bytes());
            assert_eq!(completed.outcome, outcome, "seed {seed}, ticket {}", completed.ticket);
            let slot = completed.entry.slot.get();
            if outcome.fault().is_none() {
                let ended = entry.opcode == u8::from(Opcode::End);
                next[usize::from(slot)] = if ended { 0 } else { entry.sequence.get() + 1 };
            }
            idle.push(slot);
            answered += 1;
        }
    }
    assert!(awaited.is_empty());
    session.close().unwrap();
    card.assert_clean();

    // Each lane has OPEN, one record per entry in the order of the entries, and CLOSE.
    let kept = kept.lock().unwrap();
    assert_eq!(kept.len() as u64, answered + 2 * u64::from(lanes));
    for lane in 0..lanes {
        let log = of_lane(&kept, lane);
        assert!(log.iter().enumerate().all(|(i, record)| record.answer.log_index.get() == i as u64), "lane {lane}");
        assert!(log.len() > 2 + count as usize / usize::from(lanes) / 2, "lane {lane}: {}", log.len());
    }
    let refused = kept.iter().filter(|r| r.answer.record_type == RecordType::Refused as u8).count();
    assert_eq!(refused, kept.iter().filter(|r| r.answer.fault.get() != 0).count());
    submitted
}

#[test]
fn the_model_answers_everything_once_in_every_ring() {
    let mut card = ModelCard::fresh();
    let mut total = 0;
    for seed in 0..20 {
        for rings in RINGS {
            total += cell(&mut card, 1_000 + seed, rings, PER_CELL);
        }
    }
    assert!(total >= 20_000, "{total}");
}

#[test]
fn so_does_the_model_with_more_lanes() {
    fn cells<const N: u8>() -> u64 {
        let mut card = Lanes::<ModelCard, N>::fresh();
        (0..7).flat_map(|seed| RINGS.map(|rings| (seed, rings))).map(|(s, r)| cell(&mut card, s, r, PER_CELL)).sum()
    }
    assert!(cells::<2>() + cells::<4>() + cells::<8>() >= 20_000);
}

/// The 16-bit counters of submissions and completions wrap around.
#[test]
fn the_model_passes_the_end_of_the_counters() {
    let mut card = ModelCard::fresh();
    assert!(cell(&mut card, 77, (10, 8), 140_000) >= 140_000);
}

#[cfg(feature = "sim")]
mod sim {
    use super::{PER_CELL, RINGS, TestCard, cell};
    use portcullis_card::CardTransport;
    use portcullis_card::transport::sim::SimCard;
    use portcullis_sim::{BusStall, SimConfig};

    const LATENCIES: [u32; 6] = [0, 1, 7, 100, 500, 1000];

    fn card(latency: u32, stall: BusStall) -> SimCard {
        SimCard::new(SimConfig { lanes: 1, read_latency: latency, write_latency: latency, stall, trace: None }).unwrap()
    }

    /// Runs one stall pattern with every latency and every size of rings.
    fn column(stall: BusStall, seed: u64) {
        let mut total = 0;
        for (l, latency) in LATENCIES.into_iter().enumerate() {
            let mut card = card(latency, stall);
            for (r, rings) in RINGS.into_iter().enumerate() {
                let entries = cell(&mut card, seed + 10 * l as u64 + r as u64, rings, PER_CELL);
                assert!(entries >= 500, "{entries}");
                total += entries;
            }
            println!("{stall:?}, latency {latency}: {} clocks", card.clocks().unwrap());
        }
        // Five such columns together have more than 20,000 entries.
        assert!(total >= 9_000, "{total}");
    }

    #[test]
    fn without_stalls() {
        column(BusStall::None, 100);
    }

    #[test]
    fn moving_every_fourth_clock() {
        column(BusStall::EveryFourth, 200);
    }

    #[test]
    fn stalled_at_random() {
        column(BusStall::Random(1), 300);
    }

    #[test]
    fn stalled_at_random_otherwise() {
        column(BusStall::Random(0xdead_beef), 400);
    }

    #[test]
    fn stalled_at_random_once_more() {
        column(BusStall::Random(u64::MAX), 500);
    }

    /// Runs slow reads with fast writes, and fast reads with slow writes.
    #[test]
    fn with_uneven_latencies() {
        for (i, (read, write)) in [(1000, 0), (0, 1000), (500, 7), (7, 500)].into_iter().enumerate() {
            for stall in [BusStall::None, BusStall::Random(9)] {
                let config = SimConfig { lanes: 1, read_latency: read, write_latency: write, stall, trace: None };
                let mut card = SimCard::new(config).unwrap();
                for rings in RINGS {
                    assert!(cell(&mut card, 600 + i as u64, rings, PER_CELL) >= 500);
                }
            }
        }
    }

    /// Runs every stall pattern on a card with several lanes.
    #[test]
    fn with_more_lanes() {
        let stalls = [BusStall::None, BusStall::EveryFourth, BusStall::Random(17)];
        for (seed, (latency, stall)) in (700..).zip([7, 500].into_iter().flat_map(|l| stalls.map(|stall| (l, stall)))) {
            let lanes = portcullis_sim::LANES;
            let config = SimConfig { lanes, read_latency: latency, write_latency: latency, stall, trace: None };
            let mut card = SimCard::new(config).unwrap();
            for rings in RINGS {
                assert!(cell(&mut card, seed, rings, PER_CELL) >= 500);
            }
        }
    }

    /// The 16-bit counters of submissions and completions wrap around.
    #[test]
    fn the_counters_pass_their_end() {
        let mut card = SimCard::fresh();
        assert!(cell(&mut card, 78, (8, 8), 66_500) >= 66_500);
    }
}
