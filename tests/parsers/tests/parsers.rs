//! Runs the bodies of the fuzz targets: they must accept every seed, and must not fail on the stored corpus.
//!
//! `PORTCULLIS_SEEDS=DIR` writes the seeds, one folder per target, as the start for `cargo xtask fuzz`.
#![cfg(test)]

use portcullis_authority::witness::{CheckpointPost, LanePost};
use portcullis_core::hex::{self, HexBytes};
use portcullis_core::state::{AgentProfile, StreamTask};
use portcullis_core::wire::Granularity;
use portcullis_evidence::approval::PolicyApproval;
use portcullis_evidence::bundle::{self, MemoryFiles};
use portcullis_evidence::cose;
use portcullis_evidence::receipt::prove;
use portcullis_gate::ledger::{FsyncMode, LedgerHeader, LedgerWriter};
use portcullis_gate::{
    CONTEXT_VERSION, ContextDocument, OnRefuse, ReleaseMode, StreamEvent, StreamEventKind, StreamMode, remote,
};
use portcullis_policy::PolicyPackage;
use portcullis_test_parsers as parsers;
use portcullis_test_support::random::Random;
use portcullis_test_support::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

type Seeds = BTreeMap<&'static str, Vec<Vec<u8>>>;

fn evidence(seeds: &mut Seeds) {
    let files = parsers::honest_files();
    let file = |name: &str| files.0[name].clone();
    let checkpoint = file(&bundle::checkpoint(0));
    let (bare, _) = cose::decode(&checkpoint).unwrap();
    let key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let proof = prove(&files, 0, 3).unwrap();
    let notes = files.0.iter().filter(|(name, _)| name.starts_with("witness/")).map(|(_, note)| note.clone());
    let lines = [bundle::MANIFEST, bundle::STREAMS, bundle::INPUTS, bundle::SPANS, bundle::RECEIPTS];
    let lane = LanePost { old: 1, size: 9, root: [3; 32], proof: vec![[4; 32], [5; 32]] };
    let post = CheckpointPost {
        ticket: file(bundle::TICKET),
        public_key: [2; 32],
        lanes: vec![lane; 2],
        checkpoint: checkpoint.clone(),
    };
    seeds.extend([
        ("ticket", vec![file(bundle::TICKET)]),
        ("approval", vec![PolicyApproval::sign([1; 32], "Ada", &key).unwrap()]),
        ("checkpoint", vec![bare.to_vec(), checkpoint]),
        ("certificate", vec![parsers::der(&file(bundle::CERTIFICATE))]),
        ("note", notes.chain([format!("# leaked\nkey {}\n", "ab".repeat(32)).into_bytes()]).collect()),
        ("lines", lines.map(file).to_vec()),
        ("records", vec![file(bundle::RECORDS)]),
        ("receipt", vec![serde_json::to_vec(&proof).unwrap()]),
        ("witness", vec![post.to_body()]),
        ("bundle", edits(&files)),
    ]);
}

/// Edits of the honest bundle, one changed byte per file, after which a verifier can still read all files.
fn edits(files: &MemoryFiles) -> Vec<Vec<u8>> {
    let framed = [0, 8, 0, 0, 0];
    let last = |content: &Vec<u8>| u16::try_from(content.len().saturating_sub(2)).unwrap_or(u16::MAX).to_be_bytes();
    let edit = |(number, content): (usize, &Vec<u8>)| {
        let [high, low] = last(content);
        [&[u8::try_from(number).unwrap(), 1, high, low, 1, b'!'][..], &framed].concat()
    };
    let edits = files.0.values().enumerate().map(edit);
    edits.chain([Vec::new()]).filter(|edit| parsers::named("bundle")(edit)).collect()
}

fn context() -> ContextDocument {
    let profile = AgentProfile { intent: "Answer.".into(), facts: vec!["A fact.".into()], ..AgentProfile::default() };
    ContextDocument {
        version: CONTEXT_VERSION,
        mode: StreamMode::Driven,
        granularity: Granularity::Span,
        on_refuse: OnRefuse::Stop,
        release: ReleaseMode::Span,
        max_proposals: 3,
        policy: "clinical 1.0.0".into(),
        package_digest: HexBytes([0xab; 32]),
        profile_digest: profile.digest(),
        profile,
        task: StreamTask { intent: "Tell.".into(), facts: vec![] },
        anchor_digests: vec![HexBytes([0xcd; 32])],
        predecessor: Some(HexBytes([0xef; 32])),
        id: "a".into(),
    }
}

fn framed(messages: &[&str]) -> Vec<u8> {
    let frame = |message: &&str| {
        let mut frame = Vec::new();
        remote::send(&mut frame, &serde_json::from_str::<serde_json::Value>(message).unwrap()).unwrap();
        frame
    };
    messages.iter().flat_map(frame).collect()
}

fn gate(seeds: &mut Seeds) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let header = LedgerHeader::now("clinical 1.0.0".into(), "ab".into(), "cd".into(), [1, 2, 3], "model".into());
    let mut ledger = LedgerWriter::create(&path, &header, FsyncMode::Never).unwrap();
    let begun = StreamEventKind::Begun {
        id: "a".into(),
        context: Box::new(context()),
        text: None,
        supplied: Some("{}\n".into()),
        lane: 0,
        log_index: Some(1),
    };
    let released = StreamEventKind::Released { seqs: vec![1, 2], text: "A text.".into(), calls: Vec::new() };
    for what in [begun, released, StreamEventKind::Expired { seq: 3 }] {
        ledger.append(&StreamEvent { stream: 0, what }).unwrap();
    }
    drop(ledger);
    let client = [
        r#"{"Hello":{"version":1}}"#,
        r#"{"Govern":{"number":1,"item":{"Text":{"id":"a","text":"It is.","task":{"intent":"","facts":[]}}}}}"#,
        r#"{"Govern":{"number":2,"item":{"Candidates":{"id":"b","steps":[[{"text":"No.","logprobs":null}]],"task":{"intent":"","facts":[]}}}}}"#,
        r#"{"Proposal":{"Ok":"End"}}"#,
    ];
    let server = [
        r#"{"Propose":{"intent":"x","facts":["y"],"admitted":"z","attempt":1}}"#,
        r#"{"Event":{"stream":0,"event":"released","seqs":[1],"text":"It is."}}"#,
        r#""Done""#,
    ];
    let openai = br#"{"choices":[{"text":" It is. More","logprobs":{"token_logprobs":[null,-0.25,-1e-3]}}]}"#;
    let llama = br#"{"content":"Yes!\nNo","completion_probabilities":[{"logprob":-0.5},{"logprob":null}]}"#;
    let anchors = br#"{"entity":{"id":"e","name":"Ship","aliases":["Boat"],"kind":"thing"}}
{"fact":{"entity":"e","text":"The ship sank in 1912.","source":"a book"}}
{"citation":{"id":"PMID 12*","source":"a list"}}
"#;
    seeds.extend([
        ("ledger", vec![fs::read(&path).unwrap()]),
        ("context", vec![context().bytes()]),
        ("frame", vec![framed(&client), framed(&server)]),
        ("completion", vec![openai.to_vec(), llama.to_vec()]),
        ("anchors", vec![anchors.to_vec()]),
    ]);
}

fn policies(seeds: &mut Seeds) {
    for name in ["clinical", "pii"] {
        let package = PolicyPackage::load(&root().join("policies").join(name)).unwrap();
        let files = package.files().iter().filter(|(path, _)| !path.ends_with(".jsonl") && !path.ends_with(".md"));
        seeds
            .entry("package")
            .or_default()
            .push(parsers::packed(&files.map(|(p, b)| (p.clone(), b.clone())).collect()));
        seeds.entry("image").or_default().push(package.compile().unwrap().image.as_bytes().to_vec());
    }
    let texts = [
        "Take 5 mg of aspirin twice a day, or 3.5 ml; then stop your medication. You have diabetes! See https://a.example/x.",
        "Der Preis: 1.000,50 €. \u{1F600}\u{200d}\n\n- e.g. Dr. No (1912)",
        "send\n{\"to\":\"a@b.example\",\"amount\":-1.5e3,\"list\":[true,null,\"x\"]}",
    ];
    seeds.insert("text", texts.map(|text| text.as_bytes().to_vec()).to_vec());
}

fn seeds() -> Seeds {
    let mut seeds = Seeds::new();
    evidence(&mut seeds);
    gate(&mut seeds);
    policies(&mut seeds);
    seeds
}

#[test]
fn seeds_are_accepted() {
    let seeds = seeds();
    let known: BTreeSet<_> = parsers::ALL.iter().map(|(name, _)| *name).collect();
    assert_eq!(seeds.keys().copied().collect::<BTreeSet<_>>(), known, "each target has seeds");
    for (target, seeds) in &seeds {
        assert!(!seeds.is_empty(), "{target}");
        for (number, seed) in seeds.iter().enumerate() {
            assert!(parsers::named(target)(seed), "{target}: seed {number} is refused");
        }
    }
    let Some(folder) = std::env::var_os("PORTCULLIS_SEEDS").map(PathBuf::from) else { return };
    for (target, seeds) in &seeds {
        fs::create_dir_all(folder.join(target)).unwrap();
        for (number, seed) in seeds.iter().enumerate() {
            fs::write(folder.join(target).join(format!("seed-{number}")), seed).unwrap();
        }
    }
}

/// Changes some bytes: sets or inserts a byte, or removes, duplicates or overwrites a range.
fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let end = (at + random.below(16)).min(bytes.len());
    match random.below(5) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 => bytes.insert(at, random.bits() as u8),
        2 => drop(bytes.drain(at..end)),
        3 => bytes.extend_from_within(at..end),
        _ => {
            let to = random.below(bytes.len() - (end - at) + 1);
            bytes.copy_within(at..end, to);
        }
    }
}

/// Makes random changes, as at the start of fuzzing. `PORTCULLIS_MUTATIONS` is the number of inputs per target.
#[test]
fn changed_seeds() {
    let count = std::env::var("PORTCULLIS_MUTATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(300);
    for (target, seeds) in seeds() {
        let (parser, mut random, mut accepted) = (parsers::named(target), Random::new(7), 0);
        for number in 0..count {
            let mut bytes = seeds[number % seeds.len()].clone();
            for _ in 0..=random.below(4) {
                change(&mut bytes, &mut random);
            }
            accepted += usize::from(parser(&bytes));
        }
        println!("{target}: {accepted} of {count} accepted");
    }
}

#[test]
fn the_kept_corpus_is_read() {
    let folder = root().join("fuzz/corpus");
    for (target, parser) in parsers::ALL {
        let inputs = fs::read_to_string(folder.join(format!("{target}.hex"))).unwrap();
        assert!(inputs.lines().count() > 10, "{target} has a kept corpus");
        for line in inputs.lines() {
            parser(&hex::decode_vec(line).unwrap());
        }
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), parsers::ALL.len(), "a corpus for every target, and no other");
}
