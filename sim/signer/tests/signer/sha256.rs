//! Tests the hash core with each number of rounds per clock.

use crate::support::{Random, hex, skipped, vectors};
use portcullis_signer_bench::{BLOCK_BYTES, INITIAL_HASH, MODELS, SimulatedSigner};
use sha2::{Digest, Sha256};
use std::process::Command;

fn benches() -> impl Iterator<Item = SimulatedSigner> {
    MODELS.into_iter().map(|model| SimulatedSigner::new(model.rounds).unwrap())
}

#[test]
fn nist_vectors() {
    let vectors: Vec<_> = vectors(include_str!("../../vectors/sha256.txt")).collect();
    assert_eq!(vectors.len(), 11);
    for mut bench in benches() {
        for fields in &vectors {
            let message = hex(fields[0].trim_start_matches('-'));
            let hashed = bench.sha256(&message).unwrap();
            assert_eq!(hashed.value.as_slice(), hex(fields[1]), "{:?}, {} bytes", bench.model(), message.len());
        }
    }
}

/// FIPS 180-2, appendix B.3: a million times the letter `a`.
#[test]
fn a_million_a() {
    let digest = hex("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    let message = vec![b'a'; 1_000_000];
    for mut bench in benches() {
        assert_eq!(bench.sha256(&message).unwrap().value.as_slice(), digest, "{:?}", bench.model());
    }
}

#[test]
fn random_messages_of_every_length() {
    let mut random = Random::new(1);
    for mut bench in benches() {
        for length in 0..=260 {
            let message = random.many(length);
            let expected: [u8; 32] = Sha256::digest(&message).into();
            assert_eq!(bench.sha256(&message).unwrap().value, expected, "{:?}, {length} bytes", bench.model());
        }
    }
}

/// A block takes 64/Rounds clocks if it is accepted in the clock of the previous block's last rounds, otherwise one
/// more.
#[test]
fn clocks_of_a_block() {
    let mut random = Random::new(2);
    for mut bench in benches() {
        let steps = u64::from(64 / bench.model().rounds);
        for blocks in [1, 2, 9] {
            let timed = bench.compress(INITIAL_HASH, &random.many(blocks * BLOCK_BYTES)).unwrap();
            assert_eq!(timed.clocks, steps * blocks as u64 + 2, "{:?}, {blocks} blocks", bench.model());
        }
    }
}

/// The state is an input, so a hash can be interrupted and continued later.
#[test]
fn a_hash_taken_up_again() {
    let blocks = Random::new(3).many(5 * BLOCK_BYTES);
    for mut bench in benches() {
        let whole = bench.compress(INITIAL_HASH, &blocks).unwrap().value;
        let half = bench.compress(INITIAL_HASH, &blocks[..2 * BLOCK_BYTES]).unwrap().value;
        bench.compress(half, &blocks[..BLOCK_BYTES]).unwrap();
        assert_eq!(bench.compress(half, &blocks[2 * BLOCK_BYTES..]).unwrap().value, whole, "{:?}", bench.model());
    }
}

#[test]
fn sha256sum_agrees() {
    let message = Random::new(4).many(10_007);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &message).unwrap();
    let Ok(output) = Command::new("sha256sum").arg(file.path()).output() else {
        return skipped("the digest by `sha256sum`; there is none on the path");
    };
    assert!(output.status.success());
    let expected = hex(std::str::from_utf8(&output.stdout[..64]).unwrap());
    assert_eq!(SimulatedSigner::new(1).unwrap().sha256(&message).unwrap().value.as_slice(), expected);
}
