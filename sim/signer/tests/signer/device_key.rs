//! Compares the key derivation with RustCrypto's HMAC.

use crate::support::{Random, public_key, software_key, software_signature};
use hmac::{Hmac, KeyInit, Mac};
use portcullis_signer_bench::{MODELS, Seeds, SignerStall, SimulatedSigner};
use sha2::{Digest, Sha256};

fn derived(secret: &[u8; 32], design_id: &[u8; 16]) -> Seeds {
    let mut seeds = [0; 48];
    for (i, seed) in (0u8..).zip(seeds.chunks_mut(16)) {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
        mac.update(b"portcullis/slh-dsa/1\0");
        mac.update(&[i]);
        mac.update(design_id);
        seed.copy_from_slice(&mac.finalize().into_bytes()[..16]);
    }
    seeds
}

#[test]
fn seeds_are_those_of_hmac() {
    let mut random = Random::new(10);
    for model in MODELS {
        let mut bench = SimulatedSigner::new(model.rounds).unwrap();
        for _ in 0..20 {
            let (secret, design_id) = (random.bytes(), random.bytes());
            let whole = 12 * (64 / u64::from(model.rounds) + 2) + 2;
            for stall in [SignerStall::None, SignerStall::Shared] {
                let timed = bench.derive(&secret, &design_id, stall, random.bits()).unwrap();
                assert_eq!(timed.value, derived(&secret, &design_id), "{model:?}, {stall:?}");
                assert!(
                    timed.clocks == whole || stall == SignerStall::Shared && timed.clocks > whole,
                    "{model:?}, {timed:?}"
                );
            }
        }
    }
}

/// Derives the simulation's key from its secret and signs with it; the seeds stay inside the top module.
#[test]
fn the_simulation_key_signs() {
    let secret = Sha256::digest("SIM TEST KEY - NOT FOR PRODUCTION").into();
    let mut random = Random::new(11);
    let mut design_id: [u8; 16] = random.bytes();
    design_id[0] |= 0x80;
    let mut bench = SimulatedSigner::new(16).unwrap();
    bench.derive(&secret, &design_id, SignerStall::None, 0).unwrap();
    let root = bench.keygen(None).unwrap().value;
    let message = random.many(bench.model().message_bytes);
    let signature = bench.sign(&message, SignerStall::None, 0).unwrap().value;

    let key = software_key(&derived(&secret, &design_id));
    assert_eq!(root.as_slice(), &public_key(&key)[16..]);
    assert!(signature == software_signature(&key, &message));
}
