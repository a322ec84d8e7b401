//! The card detects and reports every fault of the bus, and stops. After a reset it works again. If a bus response can
//! still arrive, only the hardware reset helps: the RESET command does not complete, and OPEN is refused.
#![cfg(test)]

#[allow(unreachable_pub, dead_code, reason = "shared by tests that each use a part")]
mod rig;

use portcullis_sim::{BusStall, InjectedBusFault, SimConfig, SimError, WATCHDOG_CLOCKS};
use rig::{BUSY, COMMAND, CQ_TAIL, LIFE_CLOSING, LIFE_FAULT, LOG_TAIL, NEEDS_RESET, Rig};

const READ_RESPONSE: u32 = 0x303;
const WRITE_RESPONSE: u32 = 0x304;
const WATCHDOG: u32 = 0x305;
const NEEDS_HARDWARE_RESET: u32 = 0x307;
const CRC: u16 = 0x101;

fn stalls() -> [SimConfig; 3] {
    [
        SimConfig { read_latency: 0, write_latency: 0, ..SimConfig::default() },
        SimConfig { read_latency: 150, write_latency: 40, stall: BusStall::EveryFourth, ..SimConfig::default() },
        SimConfig { read_latency: 60, write_latency: 200, stall: BusStall::Random(11), ..SimConfig::default() },
    ]
}

/// Checks the card's reaction to `inject`: it stops with `fault`, writes nothing more, and works again after a reset.
fn fault_follows(inject: InjectedBusFault, fault: u32) {
    for config in stalls() {
        let mut rig = Rig::new(config.clone());
        rig.sim.inject(inject).unwrap();
        rig.submit(0, 12);
        for _ in 0..(WATCHDOG_CLOCKS / 500 + 40) {
            if rig.life() == LIFE_FAULT {
                break;
            }
            rig.sim.run(500).unwrap();
        }
        assert_eq!((rig.life(), rig.fault()), (LIFE_FAULT, fault), "{inject:?} with {config:?}");
        // The card no longer uses the bus, even after a long time.
        rig.sim.run(2_000).unwrap();
        let before = rig.sim.stats();
        rig.sim.run(20_000).unwrap();
        let after = rig.sim.stats();
        assert_eq!((before.read_bursts, before.write_bursts), (after.read_bursts, after.write_bursts));
        // The card has written every completion before the tail that it reports.
        let tail = rig.sim.read32(CQ_TAIL).unwrap() as u16;
        assert!((0..tail).all(|n| rig.completion(n).is_some()));
        assert!((0..tail).all(|n| rig.completion(n).is_some_and(|c| c[3] == 0)), "a BEGIN is never an admit");
        assert!(u32::from(tail) < rig.sim.read32(LOG_TAIL).unwrap());

        rig.sim.inject(InjectedBusFault::Unhang).unwrap();
        if leaves_track(inject) {
            assert_ne!(rig.status() & NEEDS_RESET, 0, "{inject:?}");
            stays_shut(&mut rig, fault);
            rig.sim.hardware_reset().unwrap();
        } else {
            assert_eq!(rig.status() & NEEDS_RESET, 0, "{inject:?}");
            rig.reset();
        }
        assert_eq!((rig.fault(), rig.status() & NEEDS_RESET), (0, 0));
        rig.open();
        rig.submit(0, 12);
        rig.sim.run(20_000).unwrap();
        assert!((0..12).all(|n| rig.completion(n).is_some_and(|c| c[0] == n as u8 && c[6] == 0)), "{inject:?}");
        rig.assert_lawful();
        assert_eq!(rig.sim.stats().out_of_range, 0);
    }
}

/// Whether, after the fault, a bus response is missing or surplus, so that the number of open responses is unknown.
fn leaves_track(inject: InjectedBusFault) -> bool {
    !matches!(
        inject,
        InjectedBusFault::ReadError { .. }
            | InjectedBusFault::ReadDecodeError { .. }
            | InjectedBusFault::WriteError { .. }
    )
}

/// Checks that commands lead neither to RESET nor to a session, and that the card does not use the bus.
fn stays_shut(rig: &mut Rig, fault: u32) {
    let before = rig.sim.stats();
    for command in [4, 1, 2, 4] {
        rig.sim.write32(COMMAND, command).unwrap();
        rig.sim.run(5_000).unwrap();
        assert_eq!(rig.status() & !0x10, LIFE_CLOSING | BUSY | NEEDS_RESET, "after command {command}");
        assert_eq!(rig.fault(), fault);
    }
    let after = rig.sim.stats();
    assert_eq!((before.read_bursts, before.write_bursts), (after.read_bursts, after.write_bursts));
}

/// 64 entries need more read bursts than there are ids, so a late response would have the id of one of them.
fn every_id_is_used_and_each_answer_is_its_own(rig: &mut Rig) {
    for n in 0..64u16 {
        rig.submit(n, 1);
        rig.sim.run(2_000).unwrap();
        let completion = rig.completion(n).unwrap();
        assert_eq!((completion[0], u16::from_le_bytes([completion[6], completion[7]])), (n as u8, 0), "entry {n}");
        // The record must contain the bytes of its own entry; the test compares the slot.
        let mut slot = [0; 2];
        rig.log.read((usize::from(n) + 1) % rig::LOG * 256 + 2, &mut slot).unwrap();
        assert_eq!(u16::from_le_bytes(slot), n, "entry {n}");
        rig.consume_records(1);
        rig.sim.write32(rig::CQ_HEAD, u32::from(n) + 1).unwrap();
    }
}

/// A response arrives after the watchdog has expired, during the RESET command, or long after. It never counts as the
/// answer to a request of a later session.
#[test]
fn a_late_answer_meets_no_later_session() {
    for config in stalls() {
        for late in [1_000, 10_000, 8 * WATCHDOG_CLOCKS as u32] {
            let mut rig = Rig::new(config.clone());
            rig.sim.inject(InjectedBusFault::ReadLate { nth: 0, clocks: WATCHDOG_CLOCKS as u32 + late }).unwrap();
            rig.submit(40, 4);
            rig.sim.run(WATCHDOG_CLOCKS + 500).unwrap();
            assert_eq!((rig.life(), rig.fault()), (LIFE_FAULT, WATCHDOG));
            stays_shut(&mut rig, WATCHDOG);
            rig.sim.hardware_reset().unwrap();
            rig.open();
            every_id_is_used_and_each_answer_is_its_own(&mut rig);
            rig.assert_lawful();
        }
    }
}

/// The bus stops accepting writes at any point of a record or a completion, or between them. No beat of a later session
/// is then written to the rings of this session.
#[test]
fn a_write_that_stalls_meets_no_later_session() {
    // Twelve entries are in progress for about 300 clocks.
    for clocks in (30..200).step_by(7) {
        let mut rig = Rig::new(SimConfig { read_latency: 10, write_latency: 10, ..SimConfig::default() });
        rig.submit(0, 12);
        rig.sim.run(clocks).unwrap();
        rig.sim.inject(InjectedBusFault::WriteRequestsHang).unwrap();
        rig.sim.run(WATCHDOG_CLOCKS + 4_000).unwrap();
        assert_eq!((rig.life(), rig.fault()), (LIFE_FAULT, WATCHDOG), "after {clocks} clocks");
        rig.sim.inject(InjectedBusFault::Unhang).unwrap();
        stays_shut(&mut rig, WATCHDOG);
        rig.sim.hardware_reset().unwrap();
        rig.log.zero(0, rig::LOG * 256).unwrap();
        rig.open();
        rig.submit(0, 12);
        rig.sim.run(8_000).unwrap();
        assert!(
            (0..12).all(|n| rig.completion(n).is_some_and(|c| c[0] == n as u8 && c[6] == 0)),
            "after {clocks} clocks"
        );
        rig.assert_lawful();
    }
}

/// A response without a request arrives while no session is open; therefore the next OPEN is refused.
#[test]
fn a_stray_answer_between_sessions_bars_the_next_one() {
    for inject in [InjectedBusFault::ReadSpurious { id: 3 }, InjectedBusFault::WriteSpurious { id: 0 }] {
        let mut rig = Rig::new(SimConfig::default());
        rig.reset();
        rig.load();
        rig.sim.inject(inject).unwrap();
        rig.sim.run(20).unwrap();
        rig.sim.write32(COMMAND, 2).unwrap();
        rig.sim.run(4_000).unwrap();
        assert_eq!((rig.life(), rig.sim.read32(rig::LOAD_FAULT).unwrap()), (rig::LIFE_LOAD, NEEDS_HARDWARE_RESET));
        stays_shut(&mut rig, NEEDS_HARDWARE_RESET);
        rig.sim.hardware_reset().unwrap();
        rig.open();
        rig.assert_lawful();
    }
}

#[test]
fn a_read_with_an_error_response() {
    fault_follows(InjectedBusFault::ReadError { nth: 1 }, READ_RESPONSE);
}

#[test]
fn a_read_that_is_lost() {
    fault_follows(InjectedBusFault::ReadLost { nth: 1 }, WATCHDOG);
}

#[test]
fn a_read_that_ends_early() {
    fault_follows(InjectedBusFault::ReadShort { nth: 1 }, READ_RESPONSE);
}

#[test]
fn a_read_that_does_not_end() {
    fault_follows(InjectedBusFault::ReadLong { nth: 1 }, READ_RESPONSE);
}

#[test]
fn a_beat_that_nobody_asked_for() {
    fault_follows(InjectedBusFault::ReadSpurious { id: 31 }, READ_RESPONSE);
}

#[test]
fn a_write_with_an_error_response() {
    // `nth` 0 hits a record, the later `nth` hits a completion.
    fault_follows(InjectedBusFault::WriteError { nth: 0 }, WRITE_RESPONSE);
    fault_follows(InjectedBusFault::WriteError { nth: 13 }, WRITE_RESPONSE);
}

#[test]
fn a_write_that_is_never_answered() {
    // Completions before the fault stay valid; the lost write may be that of the first completion.
    fault_follows(InjectedBusFault::WriteLost { nth: 23 }, WATCHDOG);
}

#[test]
fn a_response_that_nobody_waits_for() {
    fault_follows(InjectedBusFault::WriteSpurious { id: 0 }, WRITE_RESPONSE);
    fault_follows(InjectedBusFault::WriteSpurious { id: 9 }, WRITE_RESPONSE);
}

#[test]
fn requests_that_are_never_accepted() {
    fault_follows(InjectedBusFault::ReadRequestsHang, WATCHDOG);
    fault_follows(InjectedBusFault::WriteRequestsHang, WATCHDOG);
}

#[test]
fn a_bit_that_turns_over_on_the_way_is_a_crc_fault() {
    // Bits of the first burst, which has up to four descriptors: version, slot, commitment, CRC and reserved bytes.
    for bit in [0, 17, 90, 740, 1000, 1023, 1024 + 5] {
        let mut rig = Rig::new(SimConfig::default());
        rig.sim.inject(InjectedBusFault::ReadCorrupt { nth: 0, bit }).unwrap();
        rig.submit(0, 4);
        rig.sim.run(5_000).unwrap();
        let struck = bit / 1024;
        for n in 0..4u16 {
            let completion = rig.completion(n).unwrap();
            let fault = u16::from_le_bytes([completion[6], completion[7]]);
            assert_eq!(fault, if u32::from(n) == struck { CRC } else { 0 }, "bit {bit}, entry {n}");
        }
        rig.assert_lawful();
    }
}

#[test]
fn memory_that_is_gone_is_an_error_response() {
    let mut rig = Rig::new(SimConfig::default());
    let sq = rig.sq.clone();
    rig.sim.unmap(&sq).unwrap();
    rig.submit(0, 4);
    rig.sim.run(2_000).unwrap();
    assert_eq!((rig.life(), rig.fault()), (LIFE_FAULT, READ_RESPONSE));
    assert_eq!(rig.sim.stats().out_of_range, 1);
    assert!(matches!(rig.sim.unmap(&sq), Err(SimError::NotMapped(_))));
    rig.assert_lawful();
}

#[test]
fn a_reset_in_any_clock_of_a_batch_leaves_a_card_that_serves() {
    let mut rig = Rig::new(SimConfig { read_latency: 30, write_latency: 30, ..SimConfig::default() });
    for clocks in 0..260 {
        rig.submit(0, 12);
        rig.sim.run(clocks).unwrap();
        rig.reset();
        let quiet = rig.sim.stats();
        rig.sim.run(100).unwrap();
        assert_eq!(rig.sim.stats().write_beats, quiet.write_beats, "the bus is quiet after a reset");
        rig.open();
    }
    rig.submit(0, 12);
    rig.sim.run(5_000).unwrap();
    assert!((0..12).all(|n| rig.completion(n).is_some()));
    rig.assert_lawful();
    assert_eq!(rig.sim.stats().out_of_range, 0);
}
