//! Tests the registers of a card with several lanes.
#![cfg(test)]

use portcullis_sim::{LANES, SimConfig, SimError, SimulatedCard};

const CAPABILITIES: u32 = 0x008;
/// Low half of the submission ring's address in lane 0; the stride of lanes is 0x100.
const SQ_LO: u32 = 0x1000;
/// Number of lanes in the register map.
const MAP_LANES: u32 = 8;

#[test]
fn lanes_that_a_card_does_not_have_read_zero_and_take_no_writes() {
    for lanes in [1, LANES] {
        let mut sim = SimulatedCard::new(SimConfig { lanes, ..SimConfig::default() }).unwrap();
        assert_eq!(sim.read32(CAPABILITIES).unwrap() & 0xff, lanes);
        for lane in 0..MAP_LANES {
            sim.write32(SQ_LO + 0x100 * lane, 0x5a5a_0000 + lane).unwrap();
        }
        for lane in 0..MAP_LANES {
            let expected = if lane < lanes { 0x5a5a_0000 + lane } else { 0 };
            assert_eq!(sim.read32(SQ_LO + 0x100 * lane).unwrap(), expected, "lane {lane} of {lanes}");
        }
    }
}

#[test]
fn other_numbers_of_lanes_are_refused() {
    for lanes in (0..=9).filter(|lanes| ![1, LANES].contains(lanes)) {
        let error = SimulatedCard::new(SimConfig { lanes, ..SimConfig::default() }).unwrap_err();
        assert!(matches!(error, SimError::Lanes(refused) if refused == lanes), "{error}");
    }
}
