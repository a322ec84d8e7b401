//! Tests the simulated card from outside: registers, memory, conditions, and the guarantees of the bus model.
#![cfg(test)]

use portcullis_sim::{BusStall, InjectedBusFault, SimConfig, SimError, SimulatedCard, WatchedWord};

const MAGIC: u32 = 0x000;
const COMMAND: u32 = 0x040;
const EPOCH: u32 = 0x050;

#[test]
fn registers_answer_under_every_stall() {
    for stall in [BusStall::None, BusStall::EveryFourth, BusStall::Random(7)] {
        let mut sim = SimulatedCard::new(SimConfig { stall, ..SimConfig::default() }).unwrap();
        assert_eq!(sim.read32(MAGIC).unwrap(), 0x4c55_4350);
        sim.write32(COMMAND, 1).unwrap();
        sim.write32(EPOCH, 0x1234_5678).unwrap();
        assert_eq!(sim.read32(EPOCH).unwrap(), 0x1234_5678);
        assert_eq!(sim.stats().violations, 0, "{:?}", sim.violations());
    }
}

#[test]
fn clocks_pass_only_in_calls_and_are_counted() {
    let mut sim = SimulatedCard::new(SimConfig::default()).unwrap();
    assert_eq!(sim.stats().clocks, 0);
    sim.run(1234).unwrap();
    assert_eq!(sim.stats().clocks, 1234);
    let region = sim.map(4096).unwrap();
    assert!(!sim.run_until(&WatchedWord::u8_becomes(&region, 9, 1).unwrap(), 100).unwrap());
    assert_eq!(sim.stats().clocks, 1334);
    region.write(9, &[1]).unwrap();
    assert!(sim.run_until(&WatchedWord::u8_becomes(&region, 9, 1).unwrap(), 100).unwrap());
    assert!(sim.run_until(&WatchedWord::u16_leaves(&region, 8, 0).unwrap(), 100).unwrap());
    assert_eq!(sim.stats().clocks, 1334);
}

#[test]
fn misuse_is_an_error() {
    assert!(matches!(
        SimulatedCard::new(SimConfig { read_latency: 1001, ..SimConfig::default() }),
        Err(SimError::Latency(1001))
    ));
    let mut sim = SimulatedCard::new(SimConfig::default()).unwrap();
    assert!(matches!(sim.read32(2), Err(SimError::RegisterAddress(2))));
    assert!(matches!(sim.write32(1 << 20, 0), Err(SimError::RegisterAddress(_))));
    assert!(matches!(sim.inject(InjectedBusFault::ReadSpurious { id: 32 }), Err(SimError::Inject(_))));
    assert!(matches!(sim.map(0), Err(SimError::Allocate { .. })));
    let region = sim.map(100).unwrap();
    assert!(matches!(WatchedWord::u16_becomes(&region, 1, 0), Err(SimError::Unaligned { .. })));
    let watch = WatchedWord::u8_becomes(&region, 0, 1).unwrap();
    sim.unmap(&region).unwrap();
    assert!(matches!(sim.run_until(&watch, 10), Err(SimError::NotMapped(_))));
    assert!(matches!(sim.unmap(&region), Err(SimError::NotMapped(_))));
    // The handle can still be used after the mapping has ended.
    region.write(0, &[1]).unwrap();
}

#[cfg(not(feature = "trace"))]
#[test]
fn a_trace_without_the_feature_is_refused() {
    let config = SimConfig { trace: Some("trace.fst".into()), ..SimConfig::default() };
    assert!(matches!(SimulatedCard::new(config), Err(SimError::TraceUnavailable)));
}

#[test]
fn a_simulation_moves_between_threads() {
    let mut sim = SimulatedCard::new(SimConfig::default()).unwrap();
    sim.run(10).unwrap();
    let mut sim = std::thread::spawn(move || {
        assert_eq!(sim.read32(MAGIC).unwrap(), 0x4c55_4350);
        sim
    })
    .join()
    .unwrap();
    assert_eq!(sim.read32(MAGIC).unwrap(), 0x4c55_4350);
}

#[cfg(feature = "trace")]
#[test]
fn a_trace_holds_every_clock() {
    let file = std::env::temp_dir().join(format!("portcullis-trace-{}.fst", std::process::id()));
    let mut sim = SimulatedCard::new(SimConfig { trace: Some(file.clone()), ..SimConfig::default() }).unwrap();
    sim.run(2_000).unwrap();
    drop(sim);
    let written = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    // An FST file begins with its header block: type 0, length 329, then start and end time. The reset took 8 clocks.
    assert_eq!(written[..9], [0, 0, 0, 0, 0, 0, 0, 1, 73]);
    assert_eq!(u64::from_be_bytes(written[17..25].try_into().unwrap()), 2 * 2_008 - 1);
    let nowhere = SimConfig { trace: Some("/nonexistent/trace.fst".into()), ..SimConfig::default() };
    assert!(matches!(Sim::new(nowhere), Err(SimError::Trace(_))));
}
