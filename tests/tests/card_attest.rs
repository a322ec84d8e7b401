//! What the card hashes and signs, checked by the evidence library: roots, signatures, the key, the digest of the tables.
#![cfg(feature = "sim")]
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod card_support;

use card_support::{Keeper, Rng, TestCard, Trail, World, gate, small};
use portcullis_card::session::CheckpointConfig;
use portcullis_card::sim::SimCard;
use portcullis_card::{Card, CardInfo, Session, SessionConfig, public_key};
use portcullis_core::wire::{Life, RecordType};
use portcullis_evidence::{checkpoint, tree};
use zerocopy::IntoBytes;

/// Every root is that of the records before it, every signature that of the key; the checkpoints' states.
fn verify(trail: &Trail, key: &[u8; 32]) -> Vec<Life> {
    let leaves: Vec<_> = trail.records.iter().map(|record| tree::leaf(record.as_bytes())).collect();
    let check = |(serial, signed): (usize, &portcullis_card::session::Signed)| {
        let found = &signed.checkpoint;
        let size = found.size.get();
        let root = tree::root(leaves[..size as usize].iter().copied());
        assert_eq!(found.root, checkpoint::root_of_lane(size, root), "root of checkpoint {serial} over {size} records");
        assert_eq!(found.serial.get(), serial as u64);
        let bytes = found.as_bytes().try_into().unwrap();
        let message = portcullis_evidence::cose::encode(bytes, signed.signature.as_ref().try_into().unwrap());
        assert!(checkpoint::Signed::parse(&message).unwrap().verify(key), "signature of checkpoint {serial}");
        Life::try_from(found.state).unwrap()
    };
    trail.checkpoints.iter().enumerate().map(check).collect()
}

fn attested(epoch: u32, interval: u32) -> (SessionConfig, Keeper) {
    let keeper = Keeper::default();
    let checkpoints = Some(CheckpointConfig { ring_log2: 1, interval });
    let config = SessionConfig { checkpoints, ticket_digest: [3; 32], sink: Box::new(keeper.clone()), ..small(epoch) };
    (config, keeper)
}

#[test]
fn a_session_is_signed_from_open_to_close() {
    let mut card = SimCard::fresh();
    let mut rng = Rng::new(4);
    let world = World::random(&mut rng, 8, 4);
    let (config, keeper) = attested(7, 20);
    let mut session = Session::open_tables(&mut card, &world.tables(), config).unwrap();
    let opened = session.card().clocks().unwrap();
    let (stream, _) = session.begin([9; 32]).unwrap();
    for _ in 0..100 {
        let descriptor = gate(&mut rng, &world.header);
        session.gate_descriptor(&stream, descriptor).unwrap();
    }
    session.flush().unwrap();
    session.end(stream, [3; 32]).unwrap();
    let closed = session.close().unwrap();
    assert_eq!(closed.record.unwrap().answer.record_type, RecordType::Close as u8);
    let key = public_key(&mut card).unwrap();
    assert_ne!(key, [0; 32]);
    let info = CardInfo::read(&mut card).unwrap();
    assert_eq!(info.design_id[0] & 0x80, 0x80, "a simulated design");
    let trail = keeper.0.lock().unwrap();
    assert_eq!(trail.records.len(), 104);
    let states = verify(&trail, &key);
    println!("{opened} clocks to open, {} checkpoints", states.len());
    assert_eq!((states[0], *states.last().unwrap()), (Life::Opening, Life::Closing));
    assert!(states.len() > 2 && states[1..states.len() - 1].iter().all(|s| *s == Life::Run), "{states:?}");
    assert_eq!(trail.checkpoints.last().unwrap().checkpoint.size.get(), 104);
    for signed in &trail.checkpoints {
        assert_eq!(signed.checkpoint.policy_digest, world.tables().digest());
    }
    card.assert_clean();
}
