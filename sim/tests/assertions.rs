//! If an assertion in the RTL fails, the current call and all later calls return an error.
#![cfg(test)]

use portcullis_sim::{SimConfig, SimError, SimulatedCard, canary};

#[test]
fn assertions_are_compiled_in() {
    let text = canary().expect("the canary survived: assertions are off");
    assert!(text.contains("canary.sv") && text.contains("as it should"), "{text}");
}

#[test]
fn a_failed_assertion_is_never_forgotten() {
    let mut sim = SimulatedCard::new(SimConfig::default()).unwrap();
    let region = sim.map(64).unwrap();
    sim.run(100).unwrap();
    sim.trip_assertion();
    let clocks = sim.stats().clocks;
    for _ in 0..2 {
        assert!(matches!(sim.run(1), Err(SimError::Assertion { .. })));
        assert!(matches!(sim.read32(0), Err(SimError::Assertion { .. })));
        assert!(matches!(sim.write32(0x40, 1), Err(SimError::Assertion { .. })));
        assert!(matches!(sim.map(64), Err(SimError::Assertion { .. })));
        assert!(matches!(sim.unmap(&region), Err(SimError::Assertion { .. })));
    }
    assert_eq!(sim.stats().clocks, clocks);
    // Another card still works.
    SimulatedCard::new(SimConfig::default()).unwrap().run(10).unwrap();
}
