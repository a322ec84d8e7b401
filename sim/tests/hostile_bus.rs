//! Every fault of the bus is found, named, and followed by nothing; after a reset the card serves again.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at what it did not expect"
)]

#[allow(unreachable_pub, dead_code, reason = "shared by tests that each use a part")]
mod rig;

use portcullis_sim::{Inject, SimConfig, SimError, Stall, WATCHDOG_CLOCKS};
use rig::{CQ_TAIL, LIFE_FAULT, LOG_TAIL, Rig};

const READ_RESPONSE: u32 = 0x303;
const WRITE_RESPONSE: u32 = 0x304;
const WATCHDOG: u32 = 0x305;
const CRC: u16 = 0x101;

fn stalls() -> [SimConfig; 3] {
    [
        SimConfig { read_latency: 0, write_latency: 0, ..SimConfig::default() },
        SimConfig { read_latency: 150, write_latency: 40, stall: Stall::EveryFourth, ..SimConfig::default() },
        SimConfig { read_latency: 60, write_latency: 200, stall: Stall::Random(11), ..SimConfig::default() },
    ]
}

/// What the card must do about `inject`: stop with `fault`, say nothing more, and serve after a reset.
fn fault_follows(inject: Inject, fault: u32) {
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
        // The bus is dead: nothing more is issued, whatever time passes.
        rig.sim.run(2_000).unwrap();
        let before = rig.sim.stats();
        rig.sim.run(20_000).unwrap();
        let after = rig.sim.stats();
        assert_eq!((before.read_bursts, before.write_bursts), (after.read_bursts, after.write_bursts));
        // What the card calls answered is answered: completions up to the tail and none after it.
        let tail = rig.sim.read32(CQ_TAIL).unwrap() as u16;
        assert!((0..tail).all(|n| rig.completion(n).is_some()));
        assert!((0..tail).all(|n| rig.completion(n).is_some_and(|c| c[3] == 0)), "a BEGIN is never an admit");
        assert!(u32::from(tail) < rig.sim.read32(LOG_TAIL).unwrap());

        rig.sim.inject(Inject::Unhang).unwrap();
        rig.reset();
        assert_eq!(rig.fault(), 0);
        rig.open();
        rig.submit(0, 12);
        rig.sim.run(20_000).unwrap();
        assert!((0..12).all(|n| rig.completion(n).is_some_and(|c| c[0] == n as u8 && c[6] == 0)), "{inject:?}");
        rig.assert_lawful();
        assert_eq!(rig.sim.stats().out_of_range, 0);
    }
}

#[test]
fn a_read_with_an_error_response() {
    fault_follows(Inject::ReadError { nth: 1 }, READ_RESPONSE);
}

#[test]
fn a_read_that_is_lost() {
    fault_follows(Inject::ReadLost { nth: 1 }, WATCHDOG);
}

#[test]
fn a_read_that_ends_early() {
    fault_follows(Inject::ReadShort { nth: 1 }, READ_RESPONSE);
}

#[test]
fn a_read_that_does_not_end() {
    fault_follows(Inject::ReadLong { nth: 1 }, READ_RESPONSE);
}

#[test]
fn a_beat_that_nobody_asked_for() {
    fault_follows(Inject::ReadSpurious { id: 31 }, READ_RESPONSE);
}

#[test]
fn a_write_with_an_error_response() {
    // A record, and later a completion.
    fault_follows(Inject::WriteError { nth: 0 }, WRITE_RESPONSE);
    fault_follows(Inject::WriteError { nth: 13 }, WRITE_RESPONSE);
}

#[test]
fn a_write_that_is_never_answered() {
    // What was answered before it came stays answered; the first completion may be the lost one.
    fault_follows(Inject::WriteLost { nth: 23 }, WATCHDOG);
}

#[test]
fn a_response_that_nobody_waits_for() {
    fault_follows(Inject::WriteSpurious { id: 0 }, WRITE_RESPONSE);
    fault_follows(Inject::WriteSpurious { id: 9 }, WRITE_RESPONSE);
}

#[test]
fn requests_that_are_never_accepted() {
    fault_follows(Inject::ReadRequestsHang, WATCHDOG);
    fault_follows(Inject::WriteRequestsHang, WATCHDOG);
}

#[test]
fn a_bit_that_turns_over_on_the_way_is_a_crc_fault() {
    // Bits of the first burst of up to four descriptors: version, slot, commitment, CRC, reserved.
    for bit in [0, 17, 90, 740, 1000, 1023, 1024 + 5] {
        let mut rig = Rig::new(SimConfig::default());
        rig.sim.inject(Inject::ReadCorrupt { nth: 0, bit }).unwrap();
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
