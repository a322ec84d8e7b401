//! Tests the single table that serves as the reference for the card's speed.
#![cfg(test)]

#[test]
fn a_table_alone_is_swept_in_time() {
    let (few, more) = (portcullis_sim::sweep_alone(10_000).unwrap(), portcullis_sim::sweep_alone(200_000).unwrap());
    assert!(more > few, "{more:?} for 200,000 clocks, {few:?} for 10,000");
}
