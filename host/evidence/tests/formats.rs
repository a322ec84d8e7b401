//! Generates the test vectors of docs/reference/formats; `UPDATE_SNAPSHOTS=1` writes the files. This test does not show
//! that the vectors are right. tests/independent/vectors.py does: it checks each with code that was written from the
//! documents.

use portcullis_test_support::world;

use hmac::{Hmac, KeyInit, Mac};
use portcullis_core::commitment::{SpanKind, commitment};
use portcullis_core::context::{ContextDocument, StreamMode};
use portcullis_core::state::AgentProfile;
use portcullis_core::wire::{Fault, ROW_NONE, Record};
use portcullis_evidence::approval::PolicyApproval;
use portcullis_evidence::bundle::Bundle;
use portcullis_evidence::certificate::{TrustStore, key_id, verify_chain};
use portcullis_evidence::log::LogChecker;
use portcullis_evidence::tree::{self, MerkleProver};
use portcullis_evidence::verify::Code;
use portcullis_evidence::withholding::{Withholding, WithholdingTerms};
use portcullis_evidence::{hex, receipt, sim};
use serde_json::{Value, json};
use sha2::Sha256;
use std::fs;
use std::path::{Path, PathBuf};
use world::{Parts, World, sha};
use zerocopy::{FromBytes, IntoBytes};

fn hexed(hashes: &[[u8; 32]]) -> Vec<String> {
    hashes.iter().map(|hash| hex::encode(hash)).collect()
}

/// Computes a salt as the gate's `SaltKey` does. A test of the gate compares `SaltKey` with the vectors.
fn salt(key: &[u8; 32], stream: u64, sequence: u32) -> [u8; 16] {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap();
    mac.update(&stream.to_le_bytes());
    mac.update(&sequence.to_le_bytes());
    mac.finalize().into_bytes()[..16].try_into().unwrap()
}

fn commitments() -> Value {
    let key = [7; 32];
    let one = |(stream, sequence, kind, held, text): (u64, u32, SpanKind, &str, &str)| {
        let salt = salt(&key, stream, sequence);
        let digest = commitment(kind, &salt, &[held.as_bytes(), text.as_bytes()]);
        json!({"salt_key": hex::encode(&key), "stream": stream, "sequence": sequence, "salt": hex::encode(&salt), "kind": kind, "held": held,
               "text": text, "commitment": hex::encode(&digest)})
    };
    let texts = [
        (0, 1, SpanKind::Text, "", ""),
        (0, 2, SpanKind::Text, " ", "The dose is 5 mg."),
        (0, 2, SpanKind::Call, " ", r#"{"arguments":{},"name":"noop"}"#),
        (u64::MAX, u32::MAX - 1, SpanKind::Text, "\n", "Größe: 3 µm"),
    ];
    texts.into_iter().map(one).collect()
}

/// Context documents: their bytes, digests and profiles.
fn contexts(world: &World) -> Value {
    let package = world.honest().package;
    let plain = world::document("a", &package);
    let profile = AgentProfile { audience: Some("counsel \u{201c}A\u{201d}\n".to_owned()), ..AgentProfile::default() };
    let predecessor = Some(hex::HexBytes([3; 32]));
    let other = ContextDocument {
        mode: StreamMode::Held,
        profile_digest: profile.digest(),
        profile,
        predecessor,
        ..plain.clone()
    };
    let one = |document: &ContextDocument| {
        json!({"text": String::from_utf8(document.bytes()).unwrap(), "digest": hex::encode(&document.digest()),
               "profile_digest": document.profile_digest})
    };
    [plain, other].iter().map(one).collect()
}

/// Trees of 0 to 11 leaves, with every inclusion proof. The data of leaf `i` is the number `i` as a u64.
fn trees() -> Value {
    let one = |size: u64| {
        let leaves: Vec<_> = (0..size).map(|i| tree::leaf(&i.to_le_bytes())).collect();
        let path = |index| {
            let mut prover = MerkleProver::inclusion(index, size).unwrap();
            leaves.iter().for_each(|leaf| prover.push(*leaf));
            hexed(&prover.finish().unwrap())
        };
        let paths: Vec<_> = (0..size).map(path).collect();
        json!({"size": size, "root": hex::encode(&tree::root(leaves.iter().copied())), "paths": paths})
    };
    [0, 1, 2, 3, 6, 7, 11].into_iter().map(one).collect()
}

fn package(world: &World) -> Value {
    let parts = world.honest();
    let files: Vec<_> = parts
        .package
        .iter()
        .map(|(path, bytes)| json!({"path": path, "text": String::from_utf8_lossy(bytes)}))
        .collect();
    json!({"mapping": portcullis_core::manifest::MAPPING_VERSION, "files": files,
           "digest": hex::encode(&world::package_digest(&parts.package)), "image": hex::encode(&parts.image),
           "policy_digest": hex::encode(&sha(&parts.image))})
}

fn keys() -> Value {
    let one = |design_id: [u8; 16]| {
        let seeds = sim::derive(&sim::secret(), &design_id);
        json!({"design_id": hex::encode(&design_id), "sk_seed": hex::encode(&seeds.sk_seed),
               "sk_prf": hex::encode(&seeds.sk_prf), "pk_seed": hex::encode(&seeds.pk_seed),
               "public_key": hex::encode(&sim::signer::SoftKey::new(&seeds).public_key())})
    };
    [[0x80; 16], [0x5a; 16]].into_iter().map(one).collect()
}

fn signed(world: &World) -> Value {
    let (parts, root) = honest(world, 1);
    let ticket = parts.ticket_bytes();
    let approval = PolicyApproval::sign(sha(&parts.image), "Board", &world.issuer).unwrap();
    let withheld = WithholdingTerms {
        ticket: sha(&ticket),
        before: sha(b"manifest"),
        name: "clerk".to_owned(),
        reason: "erased on request".to_owned(),
        streams: [(0, 1), (0, 300), (3, 2)].into(),
    };
    let note = parts.notes().remove(1);
    let checkpoint = parts.log.checkpoints[1];
    json!({
        "issuer_key": hex::encode(world.issuer.verifying_key().as_bytes()),
        "ticket": {"message": hex::encode(&ticket), "digest": hex::encode(&sha(&ticket)), "serial": parts.ticket.serial,
                   "seat": parts.ticket.seat, "text_lane": u8::from(parts.ticket.text_lane),
    "profiles": hexed(&parts.ticket.profiles.iter().copied().collect::<Vec<_>>()),
    "contexts": hexed(&parts.ticket.contexts.iter().copied().collect::<Vec<_>>()),
                   "records": parts.ticket.heartbeat_records, "ticks": parts.ticket.heartbeat_ticks,
                   "validity": [parts.ticket.not_before, parts.ticket.not_after], "issuer": parts.ticket.issuer},
        "approval": {"message": hex::encode(&approval), "policy": hex::encode(&sha(&parts.image)), "name": "Board"},
        "withholding": {"message": hex::encode(&Withholding::sign(&withheld, &world::clerk()).unwrap()),
                        "key": hex::encode(world::clerk().verifying_key().as_bytes()), "ticket": hex::encode(&withheld.ticket),
                        "before": hex::encode(&withheld.before), "name": withheld.name, "reason": withheld.reason,
                        "streams": withheld.streams},
        "note": {"text": String::from_utf8(note).unwrap(), "witness": world.trust(false).witnesses[0].to_string(),
                 "key_id": hex::encode(&parts.ticket.key), "ticket": parts.ticket.serial, "serial": 1,
                 "checkpoint": hex::encode(&sha(checkpoint.as_bytes())), "nonce": world::nonce(1), "index": 1,
                 "time": world::START + 100},
        "checkpoint": {"message": hex::encode(&parts.card.sign(&checkpoint)), "digest": hex::encode(&sha(checkpoint.as_bytes())),
                       "public_key": hex::encode(&parts.card.key.public_key()), "serial": 1, "size": checkpoint.size.get(),
                       "tick": checkpoint.tick.get()},
        "certificate": {"certificate": parts.certificate, "chain": parts.chain, "root": root,
                        "key_id": hex::encode(&key_id(&parts.card.key.public_key())),
                        "design_id": hex::encode(&parts.card.design_id), "class": 2},
    })
}

/// The honest session on a card with this many lanes, with the certificates from the file. Certificates have random
/// serial numbers, so the certificates in the file are kept as long as they verify.
fn honest(world: &World, lanes: u8) -> (Parts, String) {
    let mut parts = world.honest_in(lanes);
    let root = world.root.certificate_pem().unwrap();
    let Ok(kept) = fs::read_to_string(folder().join("vectors.json")) else { return (parts, root) };
    let kept: Value = serde_json::from_str(&kept).unwrap();
    let kept = |name: &str| kept["signed"]["certificate"][name].as_str().unwrap().to_owned();
    (parts.certificate, parts.chain) = (kept("certificate"), kept("chain"));
    let mut store = TrustStore::default();
    store.add_root(kept("root").as_bytes()).unwrap();
    let device =
        verify_chain(parts.certificate.as_bytes(), parts.chain.as_bytes(), &store, Some(world::START)).unwrap();
    assert_eq!((device.public_key, device.design_id), (parts.card.key.public_key(), parts.card.design_id));
    (parts, kept("root"))
}

/// A receipt proof for a card of one lane, and one for a card of several.
fn proofs(world: &World) -> Value {
    let one = |lanes: u8| {
        let files = honest(world, lanes).0.files();
        let lane = lanes - 1;
        let bundle = Bundle::open(&files).unwrap();
        let index = if lane == 0 { 3 } else { 2 };
        let line = bundle.receipts(lane).unwrap().about(index).unwrap().unwrap();
        let span = bundle.spans(lane).unwrap().about(index).unwrap().unwrap();
        let proof = receipt::prove(&files, lane, index).unwrap();
        json!({"proof": proof, "receipt": line, "text": format!("{}{}", span.held, span.text), "at": world::START})
    };
    [1, 4].into_iter().map(one).collect()
}

/// A log, and the rule that it breaks when single fields are changed.
fn logs(world: &World) -> Value {
    let mut alarmed = world.honest();
    alarmed.log.lanes[0].pop();
    alarmed.log.alarm(Fault::Watchdog);
    alarmed.log.close();
    let lanes = world.honest_in(4);
    let rows = (1, 1);
    let log = |name: &str, records: &[Record], lane: u8, lanes: u8| {
        json!({"name": name, "lane": lane, "lanes": lanes, "rows": [1, 1], "records": records.iter().map(|r| hex::encode(r.as_bytes())).collect::<Vec<_>>(),
               "cases": cases(records, rows, lane, lanes)})
    };
    json!([
        log("session", &world.honest().log.lanes[0], 0, 1),
        log("alarm", &alarmed.log.lanes[0], 0, 1),
        log("lane 2 of 4", &lanes.log.lanes[2], 2, 4),
    ])
}

/// Number of the first record that breaks a rule, and the reason code; `ok` if none does.
fn judge(records: &[Record], rows: (u16, u16), lane: u8, lanes: u8) -> (usize, &'static str) {
    let mut rules = LogChecker::of_lane(rows, lane, lanes);
    for (at, record) in records.iter().enumerate() {
        if let Err(violation) = rules.next(record) {
            return (at, Code::from(violation).id());
        }
    }
    (records.len(), "ok")
}

/// Sets every checked field of every record to a few values, with the old and with a recomputed CRC. Each result is
/// `[record, offset, bytes, sealed, at, code]`.
fn cases(records: &[Record], rows: (u16, u16), lane: u8, lanes: u8) -> Vec<Value> {
    // Offset and values of each field that a rule checks; `true` if the descriptor's CRC is recomputed.
    let entry: &[(usize, &[&[u8]])] = &[
        (0, &[&[0], &[2]]),
        (1, &[&[0], &[1], &[2], &[3], &[4], &[5]]),
        (2, &[&[0, 0], &[1, 0], &[6, 0]]),
        (4, &[&[0, 0, 0, 0], &[1, 0, 0, 0], &[255; 4]]),
        (10, &[&[1]]),
        (88, &[&[0], &[2]]),
        (90, &[&[3]]),
    ];
    let session: &[(usize, &[&[u8]])] = &[
        (0, &[&[1]]),
        (32, &[&[1]]),
        (64, &[&[1]]),
        (96, &[&[1]]),
        (104, &[&[1]]),
        (108, &[&[9]]),
        (112, &[&[1]]),
        (116, &[&[1, 1], &[5, 3], &[6, 4], &[7, 4], &[5, 0]]),
        (118, &[&[1]]),
        (127, &[&[1]]),
    ];
    let answer: &[(usize, &[&[u8]])] = &[
        (128, &[&[0], &[2]]),
        (129, &[&[0], &[1], &[2], &[3], &[4], &[5], &[6], &[7], &[8], &[9], &[10]]),
        (130, &[&[0], &[1], &[2], &[3], &[4]]),
        (131, &[&[0], &[1], &[2], &[3], &[4], &[5]]),
        (132, &[&[1, 1], &[1, 2], &[5, 3], &[5, 4], &[12, 1], &[1, 5]]),
        (134, &[&[255, 255], &[0, 0], &[1, 0]]),
        (136, &[&[255, 255], &[0, 0], &[1, 0]]),
        (138, &[&[3]]),
        (139, &[&[7]]),
        (140, &[&[0]]),
        (144, &[&[99]]),
        (152, &[&[0; 8], &[255; 7]]),
        (160, &[&[1]]),
        (191, &[&[1]]),
    ];
    let mut found = Vec::new();
    for number in 0..records.len() {
        let is_entry = matches!(records[number].answer.record_type, 2..=6);
        let first = if is_entry { entry } else { session };
        for (offset, values) in first.iter().chain(answer) {
            for value in *values {
                for sealed in [true, false] {
                    if sealed != (is_entry && *offset < 124) && !(is_entry && *offset == 10) {
                        continue;
                    }
                    let mut changed = records.to_vec();
                    changed[number] = patch(&records[number], *offset, value, sealed);
                    let (at, code) = judge(&changed, rows, lane, lanes);
                    found.push(json!([number, offset, hex::encode(value), sealed, at, code]));
                }
            }
        }
    }
    found
}

fn patch(record: &Record, offset: usize, value: &[u8], sealed: bool) -> Record {
    let mut bytes: [u8; 192] = record.as_bytes().try_into().unwrap();
    bytes[offset..offset + value.len()].copy_from_slice(value);
    let mut record = Record::read_from_bytes(&bytes).unwrap();
    if sealed {
        record.descriptor = record.descriptor.sealed();
    }
    record
}

/// The valid combinations of determination, stage, the host's two outcomes and both rows in a VERDICT, out of all
/// combinations.
fn verdicts(world: &World) -> Value {
    let log = &world.honest().log.lanes[0];
    let at = log.iter().position(|record| record.answer.record_type == 3).unwrap();
    let mut legal = Vec::new();
    for determination in 0..=4 {
        for stage in 0..=5 {
            for (validation, lineage) in (0..=4).flat_map(|v| (0..=4).map(move |l| (v, l))) {
                for (policy, entropy) in [ROW_NONE, 0, 1].into_iter().flat_map(|p| [ROW_NONE, 0, 1].map(|e| (p, e))) {
                    let mut records = log[..=at].to_vec();
                    let record = &mut records[at];
                    (record.descriptor.validation_outcome, record.descriptor.lineage_outcome) = (validation, lineage);
                    record.descriptor = record.descriptor.sealed();
                    (record.answer.determination, record.answer.stage) = (determination, stage);
                    record.answer.policy_row.set(policy);
                    record.answer.entropy_row.set(entropy);
                    if judge(&records, (1, 1), 0, 1).1 == "ok" {
                        legal.push([
                            determination.into(),
                            stage.into(),
                            validation.into(),
                            lineage.into(),
                            policy,
                            entropy,
                        ]);
                    }
                }
            }
        }
    }
    json!(legal)
}

/// Every fault that a REFUSED record may have, with a right and with a wrong CRC.
fn refusals(world: &World) -> Value {
    let log = &world.honest().log.lanes[0];
    let at = log.iter().position(|record| record.answer.record_type == 6).unwrap();
    let legal = |wrong: bool| {
        let is_legal = |fault: &u16| {
            let mut records = log[..=at].to_vec();
            records[at].answer.fault.set(*fault);
            let crc = records[at].descriptor.crc.get() ^ u32::from(wrong);
            records[at].descriptor.crc.set(crc);
            judge(&records, (1, 1), 0, 1).1 == "ok"
        };
        (0..0x600).filter(is_legal).collect::<Vec<_>>()
    };
    json!({"crc_right": legal(false), "crc_wrong": legal(true)})
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/formats")
}

fn compare(name: &str, text: &str) {
    let file = folder().join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some_and(|value| value == "1") {
        fs::write(&file, text).unwrap();
    }
    // The order of JSON members depends on a feature of serde_json that other crates in the build can enable.
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    let found = value(&fs::read_to_string(&file).unwrap_or_default());
    assert!(
        found.is_some() && found == value(text),
        "docs/reference/formats/{name} is not what the code gives; UPDATE_SNAPSHOTS=1 writes it anew"
    );
}

#[test]
fn the_vectors_are_what_the_code_gives() {
    let world = World::new();
    let sections = [
        ("commitments", commitments()),
        ("contexts", contexts(&world)),
        ("trees", trees()),
        ("package", package(&world)),
        ("keys", keys()),
        ("signed", signed(&world)),
        ("proofs", proofs(&world)),
        ("logs", logs(&world)),
        ("verdicts", verdicts(&world)),
        ("refusals", refusals(&world)),
    ];
    let text: Vec<_> = sections.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    compare("vectors.json", &format!("{{\n{}\n}}\n", text.join(",\n")));
}
