//! One test for each attack that a verifier can decide: the honest bundle verifies, the attacked one fails the property named.

mod world;

use world::{World, codes};

#[test]
fn honest() {
    let world = World::new();
    let report = world.check(&world.honest().files());
    assert_eq!((codes(&report), report.exit_code), (Default::default(), 0));
}
