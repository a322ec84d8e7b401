//! Requirement C5, long runs: sessions over a socket with random bus stalls, bus faults and resets of the card. Every
//! entry is answered once, and every verdict equals that of the evaluator with the same tables.
#![cfg(feature = "sim")]

use crate::card_support;

use card_support::{Random, Served, World, break_entry, gate, long, placed, small};
use portcullis_card::transport::vfio_user::VfioUserCard;
use portcullis_card::{CardSession, CompletedEntry, EntryOutcome, SessionError, registers};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{Command, Descriptor, Opcode};
use portcullis_image::ImageEvaluator;
use portcullis_sim::{BusStall, InjectedBusFault, LANES, SimConfig, WATCHDOG_CLOCKS};
use std::collections::BTreeMap;

const STREAMS: u16 = 24;
/// Number of sessions on one server; stalls and latencies stay the same for all of them.
const SESSIONS: u32 = 8;
/// Number of cards after which every kind of end must have occurred.
const CARDS: u32 = 16;

/// A disturbance of a session.
#[derive(Debug, Clone, Copy)]
enum Blow {
    None,
    Bus(InjectedBusFault),
    /// A register write resets the card; the write does not come from the card's driver.
    Reset,
    /// The bus accepts no more requests of one kind.
    Hang,
}

fn blow(random: &mut Random) -> Blow {
    let nth = random.below(6) as u32;
    let bit = random.below(4096) as u32;
    match random.below(16) {
        0 => Blow::Bus(InjectedBusFault::ReadError { nth }),
        1 => Blow::Bus(InjectedBusFault::ReadDecodeError { nth }),
        2 => Blow::Bus(InjectedBusFault::ReadLost { nth }),
        3 => Blow::Bus(InjectedBusFault::ReadShort { nth }),
        4 => Blow::Bus(InjectedBusFault::ReadLong { nth }),
        5 | 6 => Blow::Bus(InjectedBusFault::ReadCorrupt { nth, bit }),
        7 => Blow::Bus(InjectedBusFault::ReadSpurious { id: random.below(32) as u8 }),
        8 => Blow::Bus(InjectedBusFault::WriteError { nth }),
        9 => Blow::Bus(InjectedBusFault::WriteDecodeError { nth }),
        10 => Blow::Bus(InjectedBusFault::WriteLost { nth }),
        11 => Blow::Bus(InjectedBusFault::WriteSpurious { id: random.below(32) as u8 }),
        12 => Blow::Hang,
        13 => Blow::Reset,
        // The delay exceeds the watchdog, so the response may arrive during a later session.
        14 => {
            Blow::Bus(InjectedBusFault::ReadLate { nth, clocks: WATCHDOG_CLOCKS as u32 + random.below(20_000) as u32 })
        }
        _ => Blow::None,
    }
}

/// Number of unanswered entries by slot and sequence; an entry that was refused is submitted again.
#[derive(Default)]
struct Open(BTreeMap<(u16, u32), usize>);

impl Open {
    fn key(entry: &Descriptor) -> (u16, u32) {
        (entry.slot.get(), entry.sequence.get())
    }

    fn submitted(&mut self, entry: &Descriptor) {
        *self.0.entry(Self::key(entry)).or_default() += 1;
    }

    fn answered(&mut self, entry: &Descriptor) {
        let key = Self::key(entry);
        let count = self.0.get_mut(&key).unwrap_or_else(|| panic!("{key:?} is answered and was not asked"));
        *count -= 1;
        if *count == 0 {
            self.0.remove(&key);
        }
    }
}

#[derive(Debug, Default)]
struct Tally {
    answered: u64,
    admits: u64,
    faults: u64,
    /// Number of sessions that were lost, that faulted, and that closed normally.
    ended: [u64; 3],
}

struct Run {
    session: CardSession<VfioUserCard>,
    evaluator: ImageEvaluator,
    open: Open,
    next: [u32; STREAMS as usize],
    idle: Vec<u16>,
}

impl Run {
    fn submit(&mut self, entries: &[Descriptor]) -> Result<(), SessionError> {
        let before = self.session.in_flight();
        let result = self.session.submit_raw(entries);
        // If an error occurs, the entries that were written before it count as in flight.
        for entry in entries.iter().take(self.session.in_flight() - before) {
            self.open.submitted(entry);
        }
        result.map(|_| ())
    }

    fn take(&mut self, answered: Vec<CompletedEntry>, tally: &mut Tally) {
        for completed in answered {
            self.open.answered(&completed.entry);
            tally.answered += 1;
            let slot = completed.entry.slot.get();
            match completed.outcome {
                EntryOutcome::Judged(_) => {
                    assert_eq!(completed.outcome, EntryOutcome::Judged(self.evaluator.judge(&completed.entry)));
                    assert!(completed.entry == completed.entry.sealed(), "a broken entry was judged");
                    tally.admits += u64::from(completed.outcome.is_admit());
                }
                EntryOutcome::Fault(_) => tally.faults += 1,
                EntryOutcome::Accepted => {}
            }
            if completed.outcome.fault().is_none() {
                self.next[usize::from(slot)] += 1;
            }
            self.idle.push(slot);
        }
    }

    fn batch(&mut self, random: &mut Random, world: &World) -> Vec<Descriptor> {
        let slots: Vec<u16> = self.idle.drain(..).collect();
        let entry = |slot: u16| {
            let sequence = self.next[usize::from(slot)];
            if sequence == 0 {
                return Descriptor::entry(Opcode::Begin, SlotSequence { slot, sequence }, [0; 32]).sealed();
            }
            let mut whole = gate(random, &world.header);
            if random.one_in(2) {
                // The host's stages pass the entry.
                (whole.validation_outcome, whole.validation_reason) = (1, 0);
                (whole.lineage_outcome, whole.lineage_reason) = (1, 0);
            }
            let whole = placed(whole, slot, sequence);
            // Answers are counted by slot and sequence, so breaking the entry must not change these two.
            let broken = if random.one_in(12) { break_entry(random, &whole) } else { whole };
            if Open::key(&broken) == Open::key(&whole) { broken } else { whole }
        };
        slots.into_iter().map(entry).collect()
    }

    /// Submits `steps` batches, or fewer if the session ends.
    fn drive(
        &mut self,
        random: &mut Random,
        world: &World,
        served: &Served,
        blow: Blow,
        tally: &mut Tally,
    ) -> Result<(), SessionError> {
        let (steps, moment) = (20 + random.below(40), random.below(30));
        for step in 0..steps {
            if step == moment {
                match blow {
                    Blow::None => {}
                    Blow::Bus(inject) => served.sim.lock().unwrap().inject(inject).unwrap(),
                    Blow::Hang => {
                        let hang =
                            *random.pick(&[InjectedBusFault::ReadRequestsHang, InjectedBusFault::WriteRequestsHang]);
                        served.sim.lock().unwrap().inject(hang).unwrap();
                    }
                    Blow::Reset => reset(self.session.card_mut())?,
                }
            }
            let batch = self.batch(random, world);
            self.submit(&batch)?;
            let answered = self.session.wait()?;
            self.take(answered, tally);
        }
        loop {
            let answered = self.session.wait()?;
            if answered.is_empty() {
                return Ok(());
            }
            self.take(answered, tally);
        }
    }
}

fn reset(card: &mut VfioUserCard) -> Result<(), SessionError> {
    registers::with(card, |r| r.command().try_write(|w| w.set_v(Command::Reset as u8)))
        .map_err(|error| panic!("{error:?}"))
}

fn session(served: &Served, seed: u64, tally: &mut Tally) {
    let mut random = Random::new(seed);
    let world = if random.one_in(2) { World::permitting() } else { World::random(&mut random, 24, 9) };
    let session = CardSession::open_tables(served.connect(), &world.tables(), small(seed as u32)).unwrap();
    let idle = (0..STREAMS).collect();
    let mut run =
        Run { session, evaluator: world.evaluator(), open: Open::default(), next: [0; STREAMS as usize], idle };
    let blow = blow(&mut random);
    let end = run.drive(&mut random, &world, served, blow, tally);
    // Whichever way the session ends, each entry in flight gets one answer.
    match end {
        Ok(()) => {
            tally.ended[2] += 1;
        }
        Err(SessionError::Faulted(_)) => {
            while let Ok(rest) = run.session.wait() {
                if rest.is_empty() {
                    break;
                }
                run.take(rest, tally);
            }
            tally.ended[1] += 1;
        }
        Err(SessionError::Lost(_)) => {
            let rest = run.session.abandon();
            assert!(rest.iter().all(|completed| completed.outcome.fault().is_some()));
            run.take(rest, tally);
            assert!(run.session.abandon().is_empty());
            tally.ended[0] += 1;
        }
        Err(error) => panic!("seed {seed}, {blow:?}: {error}"),
    }
    assert!(run.open.0.is_empty(), "seed {seed}, {blow:?}: without an answer: {:?}", run.open.0);
    served.sim.lock().unwrap().inject(InjectedBusFault::Unhang).unwrap();
}

#[test]
fn every_entry_is_answered_once_whatever_the_bus_does() {
    let wanted = if long() { 100_000 } else { 4_000 };
    let mut tally = Tally::default();
    let mut seed = 0;
    while tally.answered < wanted || (tally.ended.contains(&0) && seed < u64::from(SESSIONS * CARDS)) {
        let mut random = Random::new(0xc4a0 + seed);
        let config = SimConfig {
            lanes: *random.pick(&[1, LANES]),
            read_latency: random.below(200) as u32,
            write_latency: random.below(200) as u32,
            stall: *random.pick(&[
                BusStall::None,
                BusStall::EveryFourth,
                BusStall::Random(seed),
                BusStall::Random(seed + 1),
            ]),
            trace: None,
        };
        let served = Served::new(config);
        for _ in 0..SESSIONS {
            seed += 1;
            session(&served, seed, &mut tally);
        }
    }
    eprintln!("{seed} sessions: {tally:?}");
    assert!(tally.admits * 10 > tally.answered && tally.faults > 0 && tally.ended.iter().all(|&n| n > 0), "{tally:?}");
}
