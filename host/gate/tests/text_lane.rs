//! The governed loop on a card with a text lane: an honest host describes whatever the card finds.

use crate::support;

use portcullis_core::class::ClassSet;
use portcullis_core::wire::{Determination as Answer, Record, RecordType};
use portcullis_gate::replay::{ReplayInput, StreamReplayer};
use portcullis_gate::{
    AnswerCandidate, GatePolicy, GateSettings, ReleaseMode, SaltKey, StreamEventKind, StreamInput, TerminationTrigger,
};
use portcullis_lane::TextLaneTables;
use portcullis_mapping::EngineToolCall;
use portcullis_policy::PolicyPackage;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use support::*;

fn lane() -> Arc<GatePolicy> {
    lane_policy(MANIFEST, RULES)
}

/// Classes outside the opening ones that the card found and the host did not describe.
fn omitted(policy: &GatePolicy, record: &Record) -> u128 {
    let opening = policy.compiled.image.text().unwrap().opening.get();
    record.answer.text_classes.get() & !opening & !record.descriptor.classes.get()
}

/// Governs `item` with and without the lane, compares the results, and returns the records with the lane.
fn same(lane: &Arc<GatePolicy>, plain: &Arc<GatePolicy>, settings: &GateSettings, item: &StreamInput) -> Vec<Record> {
    let (events, records) = recorded(governor(lane, settings.clone()), lane, item.clone());
    let (without, _) = recorded(governor(plain, settings.clone()), plain, item.clone());
    assert_eq!(outcomes(&events), outcomes(&without));
    assert_eq!(released(&events), released(&without));
    for record in &records {
        assert_eq!((record.answer.fault.get(), omitted(lane, record)), (0, 0), "{record:?}");
    }
    records
}

#[test]
fn an_honest_host_gets_the_same_determinations() {
    let (lane, plain) = (lane(), package(""));
    let long = format!("Fine. {} bad end.", "word ".repeat(300));
    for of in [
        "A good text. A bad one. Another good one.",
        "The key. Then the vault. A vault again.",
        "The vault. Then the key.",
        "mixed: bad, and good.  \n\n",
        "ba",
        "",
        "bad",
        &long,
    ] {
        let records = same(&lane, &plain, &settings(), &text("t", of));
        let found = records.iter().any(|record| record.answer.text_classes.get() != 0);
        assert_eq!(found, ["bad", "mixed", "key", "vault"].iter().any(|word| of.contains(word)), "{of}");
    }
}

#[test]
fn hits_over_candidates_and_refused_candidates() {
    let (lane, plain) = (lane(), package(""));
    for steps in [
        &[&["A ba", "b"][..], &["d thing.", " good thing."]][..],
        &[&["The key."], &["bad", " opens"], &[" the vault."]],
        &[&["The bad", "The key"], &[" opens the vault."]],
    ] {
        same(&lane, &plain, &settings(), &candidates("a", steps));
    }
}

/// A rollback does not change the card's scan, so it must not change the host's scan.
#[test]
fn a_rollback_changes_no_scan() {
    let (lane, plain) = (lane(), package(""));
    let steps: &[&[&str]] = &[&["First."], &[" Left ba", " Right."], &[" bad end.", " bad too."]];
    let items = candidates("a", steps);
    let records = same(&lane, &plain, &GateSettings { release: ReleaseMode::End, ..settings() }, &items);
    assert!(records.len() > 6, "the rollback took place");
}

/// A class opens a gate, both in the entry and as an established class.
#[test]
fn opening_classes_are_those_of_host_and_card() {
    const OPENS: &str = r#"
@id("ALLOW") permit (principal, action, resource);
@id("NEEDS-KEY") forbid (principal, action, resource) when { context.classes.contains("vault") && !context.classes.contains("key") && !context.established.contains("key") };
@id("NO-BAD") forbid (principal, action, resource) when { context.classes.contains("bad") };
"#;
    let (lane, plain) = (lane_policy(MANIFEST, OPENS), policy(MANIFEST, OPENS));
    assert_ne!(lane.compiled.image.text().unwrap().opening.get(), 0);
    for of in
        ["The vault.", "A key to the vault.", "The key. Then a vault.", "A bad key. Then the vault.", "bad vault key"]
    {
        same(&lane, &plain, &settings(), &text("t", of));
    }
}

/// Formatting in which the card finds a class is not released, and the stream ends without a fault.
#[test]
fn formatting_with_a_class_is_dropped() {
    let manifest = MANIFEST.replace(r"'\bbad\b'", r"'\x{2026}|bad'");
    assert_ne!(manifest, MANIFEST);
    let lane = lane_policy(&manifest, RULES);
    let (events, records) = recorded(governor(&lane, settings()), &lane, text("t", "Good one. \u{2026}"));
    let end = records.last().unwrap();
    assert_eq!((end.answer.record_type, end.answer.fault.get()), (u8::from(RecordType::End), 0));
    assert_eq!(released(&events), "Good one. ");
}

#[test]
fn a_tool_call_is_scanned() {
    let (lane, plain) = (lane(), package(""));
    let call = EngineToolCall { name: "send".into(), arguments: r#"{"to": "a bad one"}"#.into() };
    let step = AnswerCandidate { text: String::new(), logprobs: None, logprobs_absent: None, call: Some(call) };
    let item = StreamInput::Candidates { id: "c".into(), steps: vec![vec![step]], task: Default::default() };
    let records = same(&lane, &plain, &settings(), &item);
    assert!(records.iter().any(|record| record.answer.text_classes.get() != 0));
}

#[test]
fn a_text_that_does_not_fit_its_window_ends_the_stream() {
    let lane = lane();
    let room = 1 << lane.text_stride_log2();
    let events = govern(&lane, settings(), vec![text("t", &format!("Good one. X{}", "x".repeat(room)))]);
    assert_eq!(outcomes(&events), [(1, Answer::Admit)]);
    assert_eq!(summary(&events).termination.unwrap().trigger, TerminationTrigger::Limit);
    assert_eq!(released(&events), "Good one.");
    // Too much formatting at the end is not released, but the stream ends without a fault.
    let events = govern(&lane, settings(), vec![text("t", &format!("Good.{}", "\n".repeat(room)))]);
    assert_eq!((outcomes(&events), summary(&events).faults), (vec![(1, Answer::Admit)], 0));
}

#[test]
fn a_stream_with_the_lane_replays() {
    let lane = lane();
    let key = SaltKey::from_bytes([3; 32]);
    let given = "The key. A bad one. Then the vault.";
    let (events, mut records) = recorded(governor(&lane, GateSettings::new(key.clone())), &lane, text("t", given));
    let context = events.iter().find_map(|event| match &event.what {
        StreamEventKind::Begun { context, .. } => Some(context.bytes()),
        _ => None,
    });
    let context = context.unwrap();
    let salts: BTreeMap<_, _> = (0..records.len() as u32).map(|sequence| (sequence, key.salt(0, sequence))).collect();
    let mut replayer = StreamReplayer::new(&lane.compiled.image, [Arc::clone(&lane)], Vec::new()).unwrap();
    let replayed = replayer.stream(&context, ReplayInput::Text(given.into()), salts.clone(), &records).unwrap();
    assert_eq!((replayed.0.records, replayed.0.consumed), (records.len() as u64, true));
    // A replay finds a record with other classes.
    let at = records.iter().position(|record| record.answer.text_classes.get() != 0).unwrap();
    records[at].answer.text_classes.set(0);
    replayer.stream(&context, ReplayInput::Text(given.into()), salts, &records).unwrap_err();
}

/// On the texts in the tests of each shipped package, the host omits no class, no entry has a fault, and the card finds
/// a class if the tables have one.
#[test]
fn shipped_policies_use_the_lane() {
    for name in ["biography", "clinical", "finance-suitability", "pii", "privilege", "residency"] {
        let package = PolicyPackage::load(&Path::new("../../policies").join(name)).unwrap();
        let texts = String::from_utf8(package.files()["tests.jsonl"].clone()).unwrap();
        let lane = lane_of(package.clone());
        let plain = Arc::new(GatePolicy::new(package.clone(), package.compile().unwrap()).unwrap());
        let mut found = 0;
        for line in texts.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let Some(given) = line["text"].as_str() else { continue };
            let (_, records) = recorded(governor(&lane, settings()), &lane, text("t", given));
            let (_, without) = recorded(governor(&plain, settings()), &plain, text("t", given));
            for record in &records {
                assert_eq!((record.answer.fault.get(), omitted(&lane, record)), (0, 0), "{name}: {given}");
                found += u32::from(record.answer.text_classes.get() != 0);
            }
            let determinations = |of: &[Record]| of.iter().map(|r| r.answer.determination).collect::<Vec<_>>();
            // The lane can refuse more texts, if it finds a superset of a class.
            if determinations(&records) != determinations(&without) {
                eprintln!("{name}: judged otherwise with the lane: {given}");
            }
        }
        let tables = lane.compiled.image.tables().unwrap();
        let held = TextLaneTables::decode(tables).unwrap().held();
        assert_eq!(found > 0, held != ClassSet::EMPTY, "{name}: {found} entries with a class of {held:?}");
    }
}
