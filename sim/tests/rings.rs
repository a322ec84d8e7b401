//! Full rings make the card wait, without losing data. The card refuses invalid doorbell values.
#![cfg(test)]

#[allow(unreachable_pub, dead_code, reason = "shared by tests that each use a part")]
mod rig;

use portcullis_sim::{BusStall, SimConfig};
use rig::{CQ_HEAD, CQ_TAIL, LIFE_FAULT, LIFE_RUN, LOG, LOG_HEAD, LOG_TAIL, RING, Rig, SQ_TAIL};

const DOORBELL: u32 = 0x301;

fn check(rig: &Rig, count: u16) {
    let completion = rig.completion(count).unwrap();
    assert_eq!(u16::from_le_bytes([completion[0], completion[1]]), count, "ring index");
    assert_eq!(&completion[60..], crc32fast::hash(&completion[..60]).to_le_bytes(), "CRC");
    assert_eq!(completion[14..16], [0; 2]);
    assert_eq!(completion[32..60], [0; 28]);
}

#[test]
fn a_full_log_holds_the_lane_and_loses_nothing() {
    for stall in [BusStall::None, BusStall::Random(5)] {
        let mut rig = Rig::new(SimConfig { stall, ..SimConfig::default() });
        // The OPEN record was consumed, so LOG more records fit.
        rig.submit(0, RING as u16);
        rig.sim.run(20_000).unwrap();
        assert_eq!(rig.sim.read32(LOG_TAIL).unwrap(), 1 + LOG as u32);
        assert_eq!(rig.sim.read32(CQ_TAIL).unwrap(), LOG as u32);
        for n in 0..(RING - LOG) as u32 {
            rig.consume_records(1);
            rig.sim.run(2_000).unwrap();
            assert_eq!(rig.sim.read32(LOG_TAIL).unwrap(), 2 + LOG as u32 + n);
        }
        for count in 0..RING as u16 {
            check(&rig, count);
        }
        assert_eq!(rig.life(), LIFE_RUN);
        rig.assert_lawful();
    }
}

#[test]
fn a_full_completion_ring_holds_the_lane_and_loses_nothing() {
    let mut rig = Rig::new(SimConfig::default());
    // Entries fill the completion ring, because the test consumes no completion.
    for slot in (0..RING as u16).step_by(8) {
        rig.submit(slot, 8);
        rig.sim.run(3_000).unwrap();
        rig.consume_records(8);
    }
    assert_eq!(rig.sim.read32(CQ_TAIL).unwrap(), RING as u32);
    for count in 0..RING as u16 {
        check(&rig, count);
    }
    // The card judges and records more entries, but their completions wait until the ring has room.
    rig.submit(RING as u16, 8);
    rig.sim.run(5_000).unwrap();
    assert_eq!(rig.sim.read32(CQ_TAIL).unwrap(), RING as u32, "a completion over one that was not consumed");
    assert_eq!(rig.sim.read32(LOG_TAIL).unwrap(), 1 + RING as u32 + 8);
    rig.sim.write32(CQ_HEAD, 3).unwrap();
    rig.sim.run(5_000).unwrap();
    assert_eq!(rig.sim.read32(CQ_TAIL).unwrap(), RING as u32 + 3);
    for count in RING as u16..RING as u16 + 3 {
        check(&rig, count);
    }
    rig.sim.write32(CQ_HEAD, 20).unwrap();
    rig.sim.run(5_000).unwrap();
    assert_eq!(rig.sim.read32(CQ_TAIL).unwrap(), RING as u32 + 8);
    assert_eq!(rig.life(), LIFE_RUN);
    rig.assert_lawful();
}

#[test]
fn doorbells_that_make_no_sense_are_refused() {
    // (register, value): 12 entries were submitted, completed and recorded, and only the OPEN record was consumed.
    let bad = [
        ("tail back", SQ_TAIL, 11),
        ("tail beyond the ring", SQ_TAIL, 12 + RING as u32 + 1),
        ("tail over 16 bits", SQ_TAIL, 0x1_000d),
        ("head beyond the tail", CQ_HEAD, 13),
        ("head back", CQ_HEAD, 0xffff),
        ("head over 16 bits", CQ_HEAD, 0x1_0000),
        ("log head beyond the tail", LOG_HEAD, 14),
        ("log head back", LOG_HEAD, 0),
    ];
    let good = [(SQ_TAIL, 12), (SQ_TAIL, 12 + RING as u32), (CQ_HEAD, 12), (CQ_HEAD, 0), (LOG_HEAD, 13), (LOG_HEAD, 1)];
    let ready = || {
        let mut rig = Rig::new(SimConfig::default());
        rig.submit(0, 12);
        rig.sim.run(5_000).unwrap();
        assert_eq!(rig.sim.read32(LOG_TAIL).unwrap(), 13);
        rig
    };
    for (what, register, value) in bad {
        let mut rig = ready();
        rig.sim.write32(register, value).unwrap();
        let reads = rig.sim.stats().read_bursts;
        rig.sim.run(5_000).unwrap();
        assert_eq!((rig.life(), rig.fault()), (LIFE_FAULT, DOORBELL), "{what}");
        assert_eq!(rig.sim.stats().read_bursts, reads, "{what}: nothing is fetched after it");
        // The log still works: it contains the ALARM.
        assert_eq!(rig.sim.read32(LOG_TAIL).unwrap(), 14, "{what}");
        assert_eq!(rig.log.read_u8(13 % LOG * 256 + 129).unwrap(), 9, "{what}");
        rig.assert_lawful();
    }
    for (register, value) in good {
        let mut rig = ready();
        rig.sim.write32(register, value).unwrap();
        rig.sim.run(200).unwrap();
        assert_eq!((rig.life(), rig.fault()), (LIFE_RUN, 0), "{register:#x} {value}");
    }
}
