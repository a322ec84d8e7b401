//! Disclosed texts and receipts must match the card's records.

use portcullis_core::wire::RecordType;
use portcullis_evidence::bundle::Receipt;
use portcullis_evidence::hex::{self, HexBytes};
use portcullis_evidence::receipt::{ReceiptError, ReceiptProof, prove};
use portcullis_evidence::verify::VerifyOptions;
use portcullis_test_support::world::{END, START, World, assert_affirmed, assert_contradicted, codes, set, sha};
use serde_json::json;

#[test]
fn a_text_that_the_card_did_not_see() {
    let world = World::new();
    let honest = world.honest();
    for field in ["text", "held", "salt"] {
        let mut parts = honest.clone();
        parts.spans[0][field] = if field == "salt" { json!("00".repeat(16)) } else { json!("The dose is 50 mg.") };
        assert_contradicted(&world.check(&parts.files()), "genuine/span-commitment");
    }
    // Withheld texts are reported as missing, and nothing else is reported.
    let mut parts = honest.clone();
    parts.spans.remove(2);
    let report = world.check(&parts.files());
    assert_eq!((codes(&report), report.exit_code), (set(&["replayable/span-withheld"]), 5));
    // A line about a record that cannot have a text.
    let mut parts = honest;
    parts.spans[0]["index"] = json!(1);
    assert_contradicted(&world.check(&parts.files()), "genuine/line-without-record");
}

#[test]
fn what_remains_of_lying_descriptors_is_for_the_replay() {
    // The commitment matches the text, but the descriptor states a false content. The log is valid; only a replay finds
    // the lie.
    let world = World::new();
    let mut parts = world.honest();
    let record = &mut parts.log.lanes[0][3];
    record.descriptor.novelty.set(1);
    record.descriptor = record.descriptor.sealed();
    parts.reroot();
    assert_affirmed(&world.check(&parts.files()));
}

#[test]
fn released_without_being_admitted() {
    let world = World::new();
    let mut parts = world.honest();
    let rejected = json!({"serial": 1, "lane": 0, "index": 4, "salt": parts.spans[1]["salt"]});
    parts.receipts.insert(1, rejected);
    assert_contradicted(&world.check(&parts.files()), "genuine/receipt-not-admitted");
    // A refused entry cannot have a receipt.
    let mut parts = world.honest();
    let refused =
        parts.log.lanes[0].iter().position(|r| r.answer.record_type == u8::from(RecordType::Refused)).unwrap();
    let receipt = json!({"serial": 1, "lane": 0, "index": refused, "salt": "00".repeat(16)});
    let at = parts.receipts.iter().position(|line| line["index"].as_u64() > Some(refused as u64)).unwrap();
    parts.receipts.insert(at, receipt);
    assert_contradicted(&world.check(&parts.files()), "genuine/line-without-record");
    let mut parts = world.honest();
    parts.receipts[0]["serial"] = json!(2);
    assert_contradicted(&world.check(&parts.files()), "genuine/receipt-session");
    let mut parts = world.honest();
    parts.receipts[0]["salt"] = json!("00".repeat(16));
    assert_contradicted(&world.check(&parts.files()), "genuine/receipt-salt");
}

#[test]
fn receipts_are_checked_by_the_reader() {
    let world = World::new();
    let parts = world.honest();
    let receipt: Receipt = serde_json::from_value(parts.receipts[1].clone()).unwrap();
    let (text, options, trust) = (
        b" Take it with milk,",
        VerifyOptions { allow_sim: false, allow_not_enforced: true, at: Some(START) },
        world.trust(false),
    );
    let json = serde_json::to_vec(&prove(&parts.files(), 0, receipt.index).unwrap()).unwrap();
    let proof = ReceiptProof::parse(&json).unwrap();
    assert!(json.len() < 40_000, "{}", json.len());
    let check = |receipt: &Receipt, text: &[u8]| proof.check(receipt, text, &trust, options);
    assert_eq!(check(&receipt, text).unwrap().device.design_id, world.card.design_id);

    assert_eq!(check(&receipt, b"Take it with milk,"), Err(ReceiptError::OtherText));
    assert_eq!(check(&Receipt { salt: HexBytes([0; 16]), ..receipt.clone() }, text), Err(ReceiptError::OtherText));
    assert_eq!(
        check(&Receipt { index: 4, ..receipt.clone() }, text),
        Err(ReceiptError::OtherRecord { found: (0, 9), named: (0, 4) })
    );
    assert_eq!(
        check(&Receipt { serial: 2, ..receipt.clone() }, text),
        Err(ReceiptError::OtherSession { found: 1, named: 2 })
    );
    // A later layout's flag may change what an admit means.
    let mut flagged: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let record = flagged["record"].as_str().unwrap();
    assert_eq!(&record[16..18], "01");
    flagged["record"] = [&record[..16], "09", &record[18..]].concat().into();
    let flagged = ReceiptProof::parse(&serde_json::to_vec(&flagged).unwrap()).unwrap();
    assert_eq!(flagged.check(&receipt, text, &trust, options), Err(ReceiptError::UnknownFlags));
    // A refused text has no receipt. A proof that its record is in the log is not a receipt.
    let refused = prove(&parts.files(), 0, 4).unwrap();
    let salt = serde_json::from_value(parts.spans[1]["salt"].clone()).unwrap();
    let made_up = Receipt { index: 4, salt, ..receipt.clone() };
    assert_eq!(refused.check(&made_up, b"Buy now.", &trust, options), Err(ReceiptError::NotAdmitted));

    // Every byte of the proof counts: each of these changes is refused.
    let mutants: [fn(&mut ReceiptProof); 7] = [
        |p| p.record.0[30] ^= 1,
        |p| p.path[0].0[0] ^= 1,
        |p| _ = p.path.pop(),
        |p| p.path.push(HexBytes([0; 32])),
        |p| p.checkpoint.0[13 + 40] ^= 1,
        |p| p.checkpoint.0[5000] ^= 1,
        |p| p.ticket.replace_range(100..102, "00"),
    ];
    for (number, mutant) in mutants.iter().enumerate() {
        let mut wrong = proof.clone();
        mutant(&mut wrong);
        assert!(wrong.check(&receipt, text, &trust, options).is_err(), "mutant {number}");
    }
    for at in (0..json.len()).step_by(31) {
        let mut wrong = json.clone();
        wrong[at] ^= 1;
        let checked = ReceiptProof::parse(&wrong).and_then(|wrong| wrong.check(&receipt, text, &trust, options));
        assert!(checked.is_err(), "byte {at}: {:?}", String::from_utf8_lossy(&json[at.saturating_sub(20)..at + 20]));
    }
    let late = VerifyOptions { allow_sim: false, allow_not_enforced: true, at: Some(END + 5000) };
    assert!(matches!(proof.check(&receipt, text, &trust, late), Err(ReceiptError::Certificate(_))));
    let mut stray = json.clone();
    stray.extend(b"{}");
    assert!(ReceiptProof::parse(&stray).is_err());
}

/// The commitment covers held text and span together, so their border needs a check of its own.
#[test]
fn a_span_is_cut_as_its_descriptor_says() {
    let world = World::new();
    let honest = world.honest();
    let moved = |from: usize| {
        let mut parts = honest.clone();
        let line = parts.spans.iter_mut().find(|line| line["text"] == "Take it with milk,").unwrap();
        let whole = " Take it with milk,";
        (line["held"], line["text"]) = (whole[..from].into(), whole[from..].into());
        world.check(&parts.files())
    };
    assert_affirmed(&moved(1));
    for from in [0, 2, 10, 19] {
        assert_contradicted(&moved(from), "genuine/span-shape");
    }
    // END covers only inert text, and this text is in the field `held`.
    let mut parts = honest.clone();
    let line = parts.spans.iter_mut().find(|line| line["held"] == "\n").unwrap();
    (line["held"], line["text"]) = ("".into(), "\n".into());
    assert_contradicted(&world.check(&parts.files()), "genuine/span-shape");
}

/// Regression: the numbers in `streams.jsonl` were not checked.
#[test]
fn streams_are_numbered_as_they_begin() {
    let world = World::new();
    for lanes in [1, 4] {
        let honest = world.honest_in(lanes);
        assert_eq!(world.check(&honest.files()).exit_code, 0);
        for at in 0..honest.streams.len() {
            let mut parts = honest.clone();
            let number = parts.streams[at]["stream"].as_u64().unwrap();
            parts.streams[at]["stream"] = (number + 1).into();
            assert_contradicted(&world.check(&parts.files()), "replayable/stream-number");
        }
    }
}

/// A package with an unknown mapping version gives a warning. An earlier verifier accepted such a package silently.
#[test]
fn a_mapping_of_the_future_is_named() {
    let world = World::new();
    let mut parts = world.honest();
    let known = portcullis_core::manifest::MAPPING_VERSION;
    let mut listing = String::new();
    for (path, bytes) in &parts.package {
        listing += &format!("{}  {}  {path}\n", hex::encode(&sha(bytes)), bytes.len());
    }
    let digest = |mapping: u32| sha(format!("portcullis package 1, mapping {mapping}\n{listing}").as_bytes());
    let at = parts.image.windows(32).position(|w| w == digest(known)).unwrap();
    for (mapping, code) in [
        // No release has used this mapping version.
        (1, "replayable/mapping-version"),
        (known + 1, "replayable/mapping-version"),
        (999, "replayable/mapping-version"),
        (1001, "policy/package-digest"),
    ] {
        parts.image[at..at + 32].copy_from_slice(&digest(mapping));
        assert!(codes(&world.check(&parts.files())).contains(code), "mapping {mapping}");
    }
}
