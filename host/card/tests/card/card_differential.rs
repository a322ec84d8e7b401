//! For the same entries, the model and the Verilated card write the same records, except for ticks.
#![cfg(feature = "sim")]

use crate::card_support;

use card_support::{Laned, Random, TestCard, World, break_entry, gate, in_context, keeping, of_lane, placed, small};
use portcullis_card::transport::model::ModelCard;
use portcullis_card::transport::sim::SimCard;
use portcullis_card::{CardSession, CardTransport, EntryOutcome, registers};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{Descriptor, Fault, Opcode, Record};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U64;

/// The result of running a script on one card.
#[derive(Debug, PartialEq)]
struct Run {
    /// The records of each lane.
    records: Vec<Vec<u8>>,
    outcomes: Vec<EntryOutcome>,
    counters: [u32; 8],
}

fn counters<C: CardTransport>(card: &mut C) -> [u32; 8] {
    registers::with(card, |r| {
        [
            r.records().try_read().unwrap().v(),
            r.verdicts().try_read().unwrap().v(),
            r.admits().try_read().unwrap().v(),
            r.rejects().try_read().unwrap().v(),
            r.decomposes().try_read().unwrap().v(),
            r.refused().try_read().unwrap().v(),
            r.open_streams().try_read().unwrap().v(),
            r.busy_clocks_lo().try_read().unwrap().v(),
        ]
    })
}

fn run<C: TestCard>(card: &mut C, world: &World, epoch: u32, script: &[Vec<Descriptor>]) -> Run {
    let (config, kept) = keeping(small(epoch));
    let mut session = CardSession::open_tables(&mut *card, &world.tables(), config).unwrap();
    let mut outcomes = Vec::new();
    let lanes = session.info().lanes;
    for (number, batch) in script.iter().enumerate() {
        // The driver sometimes submits to the wrong lane.
        if number % 5 == 4 {
            session.submit_raw_to((number % usize::from(lanes)) as u8, batch).unwrap();
        } else {
            session.submit_raw(batch).unwrap();
        }
        outcomes.extend(session.drain().unwrap().into_iter().map(|completed| completed.outcome));
        if number % 7 == 6 {
            session.heartbeat(number as u64).unwrap();
        }
    }
    session.close().unwrap();
    let untimed = |record: &Record| {
        let mut record = *record;
        assert!(record.answer.tick.get() > 0);
        record.answer.tick = U64::new(0);
        record.as_bytes().to_vec()
    };
    let records = (0..lanes).flat_map(|lane| of_lane(&kept.lock().unwrap(), lane)).map(|r| untimed(&r)).collect();
    let counters = counters(card);
    card.assert_clean();
    Run { records, outcomes, counters }
}

/// The GATE `gate` in another context; the world declares that context.
fn changed_context(random: &mut Random, gate: &Descriptor, world: &World) -> Descriptor {
    let other = |value: u8, count: u32| ((u32::from(value) + 1) % count) as u8;
    let declared = |mask: zerocopy::little_endian::U32| mask.get().count_ones();
    let mut changed = *gate;
    match random.below(4) {
        0 if declared(world.header.domain) > 1 => changed.domain = other(gate.domain, declared(world.header.domain)),
        1 if declared(world.header.audience) > 1 => {
            changed.audience = other(gate.audience, declared(world.header.audience));
        }
        2 if declared(world.header.register) > 1 => {
            changed.register = other(gate.register, declared(world.header.register));
        }
        _ => changed.epistemic = other(gate.epistemic, 3),
    }
    changed.sealed()
}

/// Batches of entries: most are close to a stream's expected entry, and many are broken. The generator tracks the
/// streams only roughly, because the cards decide which entries are valid.
fn script(random: &mut Random, world: &World, batches: usize) -> Vec<Vec<Descriptor>> {
    let mut next = [0u32; 16];
    let mut judged = [false; 16];
    let mut entry = |random: &mut Random| {
        let slot = random.below(next.len());
        let sequence = next[slot];
        let place = SlotSequence { slot: slot as u16, sequence };
        let digest = std::array::from_fn(|_| random.bits() as u8);
        let opcode = match (sequence, random.below(12)) {
            (0, _) => Opcode::Begin,
            (_, 0) => Opcode::End,
            (_, 1) => Opcode::Note,
            _ => Opcode::Gate,
        };
        let good = match opcode {
            Opcode::Gate => {
                let gate = in_context(gate(random, &world.header), &world.header, place.slot.into());
                placed(gate, place.slot, sequence)
            }
            _ => Descriptor::entry(opcode, place, digest).sealed(),
        };
        if random.one_in(3) {
            return break_entry(random, &good);
        }
        if opcode == Opcode::Gate && judged[slot] && random.one_in(8) {
            return changed_context(random, &good, world);
        }
        next[slot] = if opcode == Opcode::End { 0 } else { sequence + 1 };
        judged[slot] = opcode == Opcode::Gate || (opcode == Opcode::Note && judged[slot]);
        good
    };
    (0..batches).map(|_| (0..1 + random.below(32)).map(|_| entry(random)).collect()).collect()
}

#[test]
fn model_and_simulated_card_write_the_same_records() {
    compare(&mut ModelCard::fresh(), &mut SimCard::fresh(), if card_support::long() { 2_000 } else { 100 });
}

#[test]
fn they_do_with_more_lanes() {
    let lanes = portcullis_sim::LANES as u8;
    let worlds = if card_support::long() { 2_000 } else { 60 };
    compare(&mut ModelCard::of_lanes(lanes), &mut SimCard::of_lanes(lanes), worlds);
}

fn compare(model: &mut ModelCard, sim: &mut SimCard, worlds: u64) {
    let mut refused = 0;
    let mut admits = 0;
    let mut out_of_context = 0;
    for seed in 0..worlds {
        let mut random = Random::new(10_000 + seed);
        let rows = (1 + random.below(12), 1 + random.below(8));
        let world = World::random(&mut random, rows.0, rows.1);
        let script = script(&mut random, &world, 20);
        let epoch = random.bits() as u32;
        let by_model = run(model, &world, epoch, &script);
        let by_sim = run(sim, &world, epoch, &script);
        for (i, (a, b)) in by_model.records.iter().zip(&by_sim.records).enumerate() {
            assert_eq!(a, b, "seed {seed}, record {i}");
        }
        assert_eq!(by_model, by_sim, "seed {seed}");
        refused += by_model.counters[5];
        admits += by_model.counters[2];
        out_of_context += by_model.outcomes.iter().filter(|o| **o == EntryOutcome::Fault(Fault::Context)).count();
    }
    let worlds = worlds as u32;
    assert!(refused > 10 * worlds && admits > worlds, "{refused} refused, {admits} admitted");
    assert!(out_of_context > worlds as usize, "{out_of_context} refused for their context");
}

/// With full tables, every row of both banks is used.
#[test]
fn they_agree_on_the_largest_tables() {
    let mut model = ModelCard::fresh();
    let mut sim = SimCard::fresh();
    let mut random = Random::new(20_000);
    let world = World::random(&mut random, 256, 64);
    let script = script(&mut random, &world, 20);
    assert_eq!(run(&mut model, &world, 1, &script), run(&mut sim, &world, 1, &script));
}
