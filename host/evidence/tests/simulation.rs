//! The verifier refuses simulated evidence by default. With the option that accepts it, the report marks the evidence.

use portcullis_evidence::certificate::CardKeyClass;
use portcullis_evidence::sim;
use portcullis_evidence::verify::{AssuranceLevel, EvidenceStatus};
use portcullis_test_support::world::{Card, World, assert_contradicted, codes, set};

#[test]
fn simulated_evidence_is_refused_and_marked() {
    let world = World::new();
    let card = Card::simulated();
    let files = world.session(&card, 1, [0; 32]).files();
    assert_eq!(world.check(&files).exit_code, 3);
    let report = world.check_sim(&files);
    let marks = ["genuine/sim-design", "genuine/sim-flag", "genuine/sim-key", "genuine/sim-root"];
    assert_eq!((codes(&report), report.exit_code), (set(&marks), 10));
    assert_eq!((report.simulated, report.assurance), (true, Some(AssuranceLevel::L0)));
}

#[test]
fn each_mark_of_simulation_is_enough() {
    let world = World::new();
    // Only the flag is set; a real card signed.
    let mut parts = world.honest();
    parts.card = Card::flagged(1);
    parts.play();
    assert_contradicted(&world.check(&parts.files()), "genuine/sim-flag");
    // The simulation's key, which everybody knows, certified by mistake as the key of a real card.
    let mut parts = world.session(&Card::new(sim::SECRET_TEXT, [0x33; 16], CardKeyClass::Device), 1, [0; 32]);
    assert_contradicted(&world.check(&parts.files()), "genuine/sim-key");
    // The simulation's key, in files that all have the design id of the real design.
    let mut simulated = [0x33; 16];
    simulated[0] |= 0x80;
    let key = Card::new(sim::SECRET_TEXT, simulated, CardKeyClass::Device);
    parts = world.session(&key.renamed([0x33; 16]), 1, [0; 32]);
    assert_contradicted(&world.check(&parts.files()), "genuine/sim-key");
    // A simulated card's design id in the checkpoints of a real card.
    parts = world.honest();
    parts.log.checkpoints[1].design_id[0] |= 0x80;
    assert_contradicted(&world.check(&parts.files()), "genuine/sim-design");
    // The simulation's root is not one of the real roots.
    let report = world.check(&world.session(&Card::simulated(), 1, [0; 32]).files());
    assert_contradicted(&report, "genuine/certificate");
    assert_eq!((report.status, report.assurance), (EvidenceStatus::Contradicted, None));
}
