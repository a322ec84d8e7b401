//! Proofs of whole streams: an answer has a proof only if it is exactly what the card admitted, complete and in order.

use portcullis_core::wire::{Record, RecordType};
use portcullis_evidence::hex::HexBytes;
use portcullis_evidence::receipt::{ProveError, ReceiptError};
use portcullis_evidence::stream_proof::{ReleasedPiece, StreamProof, prove_stream};
use portcullis_evidence::verify::VerifyOptions;
use portcullis_test_support::world::{END, Parts, START, World};
use zerocopy::FromBytes;

const OPTIONS: VerifyOptions = VerifyOptions { allow_sim: false, allow_not_enforced: true, at: Some(START) };

/// Log indices of the BEGIN records of the streams that end.
fn streams(parts: &Parts) -> Vec<u64> {
    let kind = |at: usize| parts.log.lanes[0][at].answer.record_type;
    let begins = (0..parts.log.lanes[0].len()).filter(|at| kind(*at) == u8::from(RecordType::Begin));
    begins.map(|at| at as u64).filter(|at| prove_stream(&parts.files(), 0, *at).is_ok()).collect()
}

fn is_verdict(record: &[u8]) -> bool {
    Record::read_from_bytes(record).unwrap().answer.record_type == u8::from(RecordType::Verdict)
}

#[test]
fn a_stream_is_proven_from_its_begin_to_its_end() {
    let world = World::new();
    let parts = world.honest();
    let begins = streams(&parts);
    assert!(begins.len() > 1, "{begins:?}");
    let mut texts = Vec::new();
    for begin in &begins {
        let proof = prove_stream(&parts.files(), 0, *begin).unwrap();
        let json = serde_json::to_vec(&proof).unwrap();
        assert_eq!(StreamProof::parse(&json).unwrap(), proof);
        let facts = proof.check(&world.trust(false), OPTIONS).unwrap();
        assert!(!facts.simulated && facts.serial == 1);
        let admits = proof.spans.len() as u64 - 1;
        let verdicts = proof.records.iter().filter(|r| is_verdict(&r.record.0)).count() as u64;
        assert_eq!((facts.admitted, facts.admitted + facts.refused), (admits, verdicts));
        texts.extend(facts.released.into_iter().map(|piece| match piece {
            ReleasedPiece::Text(text) | ReleasedPiece::Call(text) => text,
        }));
    }
    // No refused text is included, but the formatting around the spans is included.
    assert!(texts.iter().any(|text| text.ends_with(" Take it with milk,\n")), "{texts:?}");
    assert!(texts.iter().all(|text| !text.contains("Buy now.")), "{texts:?}");
    // Record 0 does not begin a stream.
    assert!(matches!(prove_stream(&parts.files(), 0, 0), Err(ProveError::NoStream { .. })));
    assert!(matches!(prove_stream(&parts.files(), 3, begins[0]), Err(ProveError::NotCovered { .. })));
}

#[test]
fn nothing_else_is_proven() {
    let world = World::new();
    let parts = world.honest();
    let trust = world.trust(false);
    let begins = streams(&parts);
    let proofs: Vec<_> = begins.iter().map(|begin| prove_stream(&parts.files(), 0, *begin).unwrap()).collect();
    let proof = proofs.iter().max_by_key(|proof| proof.spans.len()).unwrap();
    let other = proofs.iter().find(|other| *other != proof).unwrap();
    let json = String::from_utf8(serde_json::to_vec(proof).unwrap()).unwrap();
    type Change<'a> = Box<dyn Fn(&mut StreamProof) + 'a>;
    let changes: Vec<(&str, Change<'_>)> = vec![
        ("a sentence changed", Box::new(|p| p.spans[0].text.push('x'))),
        ("a sentence dropped", Box::new(|p| drop(p.spans.remove(0)))),
        (
            "its record dropped, too",
            Box::new(|p| {
                p.spans.remove(0);
                p.records.remove(1);
            }),
        ),
        (
            "END dropped",
            Box::new(|p| {
                p.spans.pop();
                p.records.pop();
            }),
        ),
        ("BEGIN dropped", Box::new(|p| drop(p.records.remove(0)))),
        ("two records in the other order", Box::new(|p| p.records.swap(1, 2))),
        ("two texts in the other order", Box::new(|p| p.spans.swap(0, 1))),
        ("a text twice", Box::new(|p| p.spans.insert(0, p.spans[0].clone()))),
        ("a record twice", Box::new(|p| p.records.insert(1, p.records[1].clone()))),
        ("a record of another stream", Box::new(|p| p.records[1] = other.records[1].clone())),
        ("a further record", Box::new(|p| p.records.push(other.records[1].clone()))),
        ("another context", Box::new(|p| p.context.clone_from(&other.context))),
        ("no records", Box::new(|p| p.records.clear())),
        (
            "the border of a text moved",
            Box::new(|p| {
                let line = p.spans.iter_mut().find(|line| !line.held.is_empty() && !line.text.is_empty()).unwrap();
                line.text = std::mem::take(&mut line.held) + &line.text;
            }),
        ),
        ("a text of END that is no formatting", Box::new(|p| p.spans.last_mut().unwrap().held = "x".into())),
        ("a record changed", Box::new(|p| p.records[1].record.0[30] ^= 1)),
        ("a path changed", Box::new(|p| p.records[1].path[0].0[0] ^= 1)),
        ("a path cut", Box::new(|p| p.records[1].path.truncate(1))),
        ("a checkpoint changed", Box::new(|p| p.checkpoint.0[5000] ^= 1)),
        ("a ticket changed", Box::new(|p| p.ticket.replace_range(100..102, "00"))),
        ("a salt changed", Box::new(|p| p.spans[0].salt = HexBytes([0; 16]))),
    ];
    for (name, change) in changes {
        let mut wrong = proof.clone();
        change(&mut wrong);
        assert!(wrong.check(&trust, OPTIONS).is_err(), "{name}");
    }
    for at in (0..json.len()).step_by(61) {
        let mut wrong = json.clone().into_bytes();
        wrong[at] ^= 1;
        let checked = StreamProof::parse(&wrong).and_then(|wrong| wrong.check(&trust, OPTIONS));
        assert!(checked.is_err(), "byte {at}: {}", &json[at.saturating_sub(20)..at + 20]);
    }
    let mut flagged = proof.clone();
    let verdict = flagged.records.iter().position(|record| is_verdict(&record.record.0)).unwrap();
    flagged.records[verdict].record.0[8] |= 0x10;
    assert_eq!(flagged.check(&trust, OPTIONS), Err(ReceiptError::UnknownFlags));
    let late = VerifyOptions { allow_sim: false, allow_not_enforced: true, at: Some(END + 5000) };
    assert!(matches!(proof.check(&trust, late), Err(ReceiptError::Certificate(_))));
}

/// One stream in each lane of a card with several lanes.
#[test]
fn a_stream_of_one_lane_of_several() {
    let world = World::new();
    let parts = world.honest_in(4);
    let mut proven = 0;
    for lane in 0..4 {
        for begin in 0..parts.log.lanes[usize::from(lane)].len() as u64 {
            if let Ok(proof) = prove_stream(&parts.files(), lane, begin) {
                proof.check(&world.trust(false), OPTIONS).unwrap();
                let head = proof.head.clone().unwrap();
                let moved = StreamProof { head: None, ..proof.clone() };
                assert!(moved.check(&world.trust(false), OPTIONS).is_err());
                let mut moved = proof;
                moved.head.as_mut().unwrap().size = head.size + 1;
                assert!(moved.check(&world.trust(false), OPTIONS).is_err());
                proven += 1;
            }
        }
    }
    assert!(proven > 1, "{proven}");
}
