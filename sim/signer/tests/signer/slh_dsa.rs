//! Compares the signer with NIST's vectors and RustCrypto's `slh-dsa`, byte for byte.

use crate::support::{Random, hex, public_key, software_key, software_signature, vectors, verifies};
use portcullis_signer_bench::{MODELS, Outputs, Seeds, SignerBenchError, SignerCommand, SignerStall, SimulatedSigner};

const STALLS: [SignerStall; 6] = [
    SignerStall::None,
    SignerStall::Alternating,
    SignerStall::Random,
    SignerStall::AfterValid,
    SignerStall::Long,
    SignerStall::Shared,
];

/// Number of blocks hashed for a keygen: one for the seed; for each of 8 leaves, 35 chains (PRF and 15 F) and the 10
/// blocks of T_35; and 7 nodes.
const TREE_BLOCKS: u64 = 8 * (35 * 16 + 10) + 7;
const KEYGEN_BLOCKS: u64 = 1 + TREE_BLOCKS;
/// Number of blocks hashed for a signature: one for the seed, 33 FORS trees (64 leaves of PRF and F, 63 nodes), 9
/// blocks of T_33, 22 trees of the hypertree; and for a message of 215 bytes 1 + 4 + 2 of PRF_msg and 5 + 3 of H_msg.
const SIGN_BLOCKS: u64 = 1 + 33 * (2 * 64 + 63) + 9 + 22 * TREE_BLOCKS + 15;
/// Clocks of a keygen outside the hash core: the command, the result, 15 stored nodes, and, for each of 8 leaves, those
/// 26 of the 35 values pushed into T_35 that do not complete a block.
const KEYGEN_OVERHEAD: u64 = 2 + 15 + 8 * 26;
/// Clocks of a signature outside the hash core: stored nodes, pushes into T_33 (33 less 8), and 1,068 words.
const SIGN_OVERHEAD: u64 = 2 + 33 * 127 + 25 + 22 * (15 + 8 * 26) + 1068;

/// A block is accepted one clock after its request, and done `64 / rounds + 1` clocks later.
fn clocks(rounds: u32, blocks: u64, overhead: u64) -> u64 {
    blocks * u64::from(64 / rounds + 2) + overhead
}

#[test]
fn acvp_keys() {
    let mut bench = SimulatedSigner::new(16).unwrap();
    let mut seen = 0;
    for fields in vectors(include_str!("../../vectors/slh_dsa_sha2_128f_keygen.txt")) {
        let seeds: Seeds = hex(fields[1]).try_into().unwrap();
        let timed = bench.keygen(Some(&seeds)).unwrap();
        assert_eq!([&seeds[32..], &timed.value].concat(), hex(fields[2]), "tcId {}", fields[0]);
        assert_eq!(timed.clocks, clocks(16, KEYGEN_BLOCKS, KEYGEN_OVERHEAD), "tcId {}", fields[0]);
        seen += 1;
    }
    assert_eq!(seen, 10);
}

/// One bench signs two messages per key without a reset: a signature does not affect the next one.
#[test]
fn signatures_are_those_of_rustcrypto_under_any_stall() {
    let keys = if std::env::var_os("PORTCULLIS_LONG").is_some() { 300 } else { 42 };
    let mut random = Random::new(20);
    let mut bench = SimulatedSigner::new(16).unwrap();
    for (i, stall) in (0..keys).zip(STALLS.into_iter().cycle()) {
        let seeds: Seeds = random.bytes();
        let key = software_key(&seeds);
        let public_key = public_key(&key);
        assert_eq!(bench.keygen(Some(&seeds)).unwrap().value, public_key[16..], "key {i}");
        for stall in [stall, SignerStall::None] {
            let message = random.many(bench.model().message_bytes);
            let timed = bench.sign(&message, stall, random.bits()).unwrap();
            assert!(timed.value == software_signature(&key, &message), "key {i}, {stall:?}: another signature");
            let whole = clocks(16, SIGN_BLOCKS, SIGN_OVERHEAD);
            assert_eq!(
                timed.clocks == whole,
                stall == SignerStall::None,
                "key {i}, {stall:?}: {} clocks",
                timed.clocks
            );

            assert!(verifies(&public_key, &message, &timed.value), "key {i}, {stall:?}");
            let mut forged = timed.value;
            let place = random.below(forged.len());
            forged[place] ^= 1 << random.below(8);
            assert!(!verifies(&public_key, &message, &forged), "key {i}: byte {place} does not matter");
        }
    }
}

/// Every model signs; they differ in rounds per clock and message length.
#[test]
fn every_model_signs() {
    let mut random = Random::new(21);
    for model in MODELS {
        let mut bench = SimulatedSigner::new(model.rounds).unwrap();
        let seeds: Seeds = random.bytes();
        let key = software_key(&seeds);
        assert_eq!(bench.keygen(Some(&seeds)).unwrap().value, public_key(&key)[16..], "{model:?}");
        let message = random.many(model.message_bytes);
        let signature = bench.sign(&message, SignerStall::None, 0).unwrap().value;
        assert!(signature == software_signature(&key, &message), "{model:?}: another signature");
    }
}

#[test]
fn clocks_at_one_round_a_clock() {
    let mut random = Random::new(22);
    let mut bench = SimulatedSigner::new(1).unwrap();
    let keygen = bench.keygen(Some(&random.bytes())).unwrap().clocks;
    assert_eq!((keygen, KEYGEN_BLOCKS), (clocks(1, KEYGEN_BLOCKS, KEYGEN_OVERHEAD), 4_568));
    let message = random.many(bench.model().message_bytes);
    let sign = bench.sign(&message, SignerStall::None, 0).unwrap().clocks;
    assert_eq!((sign, SIGN_BLOCKS), (clocks(1, SIGN_BLOCKS, SIGN_OVERHEAD), 106_802));
}

/// After a reset in any clock, the parts work as after the first reset.
#[test]
fn reset_in_the_middle() {
    const IDLE: Outputs = Outputs {
        core_busy: false,
        derive_busy: false,
        derive_valid: false,
        ready: true,
        root_valid: false,
        word_valid: false,
    };
    let mut random = Random::new(23);
    let seeds: Seeds = random.bytes();
    let key = software_key(&seeds);
    let mut bench = SimulatedSigner::new(16).unwrap();
    assert_eq!(bench.outputs(), IDLE);
    let message = random.many(bench.model().message_bytes);
    let signature = software_signature(&key, &message);
    let lengths = [
        (SignerCommand::Derive, 60),
        (SignerCommand::Keygen, clocks(16, KEYGEN_BLOCKS, 0)),
        (SignerCommand::Sign, clocks(16, SIGN_BLOCKS, 0)),
    ];
    let (secret, design_id) = (random.bytes(), random.bytes());
    let derived = bench.derive(&secret, &design_id, SignerStall::None, 0).unwrap();
    for round in 0..12 {
        assert_eq!(bench.derive(&secret, &design_id, SignerStall::None, 0).unwrap(), derived, "round {round}");
        assert_eq!(bench.keygen(Some(&seeds)).unwrap().value, public_key(&key)[16..]);
        assert!(bench.sign(&message, SignerStall::None, 0).unwrap().value == signature, "round {round}");
        let (command, length) = lengths[round % lengths.len()];
        bench.command(command).unwrap();
        bench.run(random.bits() % length).unwrap();
        let before = bench.outputs();
        assert!(before.derive_busy || !before.ready, "{command:?} was over before the reset");
        assert_eq!(before.root_valid, command != SignerCommand::Keygen, "{command:?}");
        assert_eq!(before.derive_valid, command != SignerCommand::Derive, "{command:?}");
        bench.reset().unwrap();
        assert_eq!(bench.outputs(), IDLE, "{command:?}");
    }
}

/// A command has no effect while the signer is busy.
#[test]
fn commands_while_busy_are_ignored() {
    let mut random = Random::new(24);
    let seeds: Seeds = random.bytes();
    let mut bench = SimulatedSigner::new(16).unwrap();
    let length = bench.keygen(Some(&seeds)).unwrap().clocks;
    for command in [SignerCommand::Keygen, SignerCommand::Sign] {
        bench.command(SignerCommand::Keygen).unwrap();
        bench.run(1_000).unwrap();
        bench.command(command).unwrap();
        bench.run(length - 1_004).unwrap();
        assert!(!bench.outputs().ready, "{command:?}");
        bench.run(1).unwrap();
        assert!(bench.outputs().ready && bench.outputs().root_valid, "{command:?}");
    }
    let message = random.many(bench.model().message_bytes);
    let signature = bench.sign(&message, SignerStall::None, 0).unwrap().value;
    assert!(signature == software_signature(&software_key(&seeds), &message));
}

/// Assertions are active, and after one has failed every call returns an error.
#[test]
fn a_signature_without_a_root_is_an_error() {
    let mut bench = SimulatedSigner::new(16).unwrap();
    let refused = bench.command(SignerCommand::Sign);
    assert!(
        matches!(&refused, Err(SignerBenchError::Assertion(text)) if text.contains("without a root")),
        "{refused:?}"
    );
    assert!(matches!(bench.run(1), Err(SignerBenchError::Assertion(_))));
    assert!(SimulatedSigner::new(3).is_err());
}
