//! The governed loop on a card with a text lane: an honest host describes whatever the card finds.

use crate::support;

use portcullis_core::wire::{Determination as Answer, Record, RecordType, flags};
use portcullis_gate::replay::{Input, Replayer};
use portcullis_gate::{Candidate, EventKind, Item, Policy, Release, SaltKey, Settings, Trigger};
use portcullis_mapping::Call;
use portcullis_policy::Package;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use support::*;

fn lane() -> Arc<Policy> {
    lane_policy(MANIFEST, RULES)
}

/// Classes outside the opening ones that the card found and the host did not describe.
fn omitted(policy: &Policy, record: &Record) -> u128 {
    let opening = policy.compiled.image.text().unwrap().opening.get();
    record.answer.text_classes.get() & !opening & !record.descriptor.classes.get()
}

/// Governs `item` with and without the lane; the determinations are equal, and the host omits nothing.
fn same(lane: &Arc<Policy>, plain: &Arc<Policy>, settings: &Settings, item: &Item) -> Vec<Record> {
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

#[test]
fn after_a_rollback_the_card_scans_anew() {
    let (lane, plain) = (lane(), package(""));
    let steps: &[&[&str]] = &[&["First."], &[" Left.", " Right."], &[" bad end.", " bad too."]];
    let records = same(&lane, &plain, &Settings { release: Release::End, ..settings() }, &candidates("a", steps));
    let fresh = |record: &Record| u16::from(record.descriptor.flags) & flags::SCAN_FRESH != 0;
    let gates: Vec<_> = records.iter().filter(|r| r.answer.record_type == u8::from(RecordType::Verdict)).collect();
    // "Right." is the first entry after the rollback. Once it is admitted, the scan goes on.
    assert_eq!(
        gates.iter().map(|record| fresh(record)).collect::<Vec<_>>(),
        [false, false, false, false, true, false, false]
    );
}

#[test]
fn a_tool_call_is_scanned() {
    let (lane, plain) = (lane(), package(""));
    let call = Call { name: "send".into(), arguments: r#"{"to": "a bad one"}"#.into() };
    let step = Candidate { text: String::new(), logprobs: None, logprobs_absent: None, call: Some(call) };
    let item = Item::Candidates { id: "c".into(), steps: vec![vec![step]], task: Default::default() };
    let records = same(&lane, &plain, &settings(), &item);
    assert!(records.iter().any(|record| record.answer.text_classes.get() != 0));
}

#[test]
fn a_text_that_does_not_fit_its_window_ends_the_stream() {
    let lane = lane();
    let room = 1 << lane.text_stride_log2();
    let events = govern(&lane, settings(), vec![text("t", &format!("Good. {}", "x".repeat(room)))]);
    assert_eq!(outcomes(&events), [(1, Answer::Admit)]);
    assert_eq!(summary(&events).termination.unwrap().trigger, Trigger::Limit);
    assert_eq!(released(&events), "Good.");
    // Formatting at the end is not released, but the stream ends in order.
    let events = govern(&lane, settings(), vec![text("t", &format!("Good.{}", "\n".repeat(room)))]);
    assert_eq!((outcomes(&events), summary(&events).faults), (vec![(1, Answer::Admit)], 0));
}

#[test]
fn a_stream_with_the_lane_replays() {
    let lane = lane();
    let key = SaltKey::from_bytes([3; 32]);
    let given = "The key. A bad one. Then the vault.";
    let (events, mut records) = recorded(governor(&lane, Settings::new(key.clone())), &lane, text("t", given));
    let context = events.iter().find_map(|event| match &event.what {
        EventKind::Begun { context, .. } => Some(context.bytes()),
        _ => None,
    });
    let context = context.unwrap();
    let salts: BTreeMap<_, _> = (0..records.len() as u32).map(|sequence| (sequence, key.salt(0, sequence))).collect();
    let mut replayer = Replayer::new(&lane.compiled.image, [Arc::clone(&lane)], Vec::new()).unwrap();
    let replayed = replayer.stream(&context, Input::Text(given.into()), salts.clone(), &records).unwrap();
    assert_eq!((replayed.0.records, replayed.0.consumed), (records.len() as u64, true));
    // A card that names another class is found.
    let at = records.iter().position(|record| record.answer.text_classes.get() != 0).unwrap();
    records[at].answer.text_classes.set(0);
    replayer.stream(&context, Input::Text(given.into()), salts, &records).unwrap_err();
}

/// The texts of every shipped package's own tests: nothing is omitted, and no text is faulted.
#[test]
fn shipped_policies_use_the_lane() {
    for name in ["biography", "clinical", "finance-suitability", "pii", "privilege", "residency"] {
        let package = Package::load(&Path::new("../../policies").join(name)).unwrap();
        let texts = String::from_utf8(package.files()["tests.jsonl"].clone()).unwrap();
        let lane = lane_of(package);
        let mut found = 0;
        for line in texts.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let Some(given) = line["text"].as_str() else { continue };
            let (_, records) = recorded(governor(&lane, settings()), &lane, text("t", given));
            for record in &records {
                assert_eq!((record.answer.fault.get(), omitted(&lane, record)), (0, 0), "{name}: {given}");
                found += u32::from(record.answer.text_classes.get() != 0);
            }
        }
        let held = lane.compiled.image.text().unwrap();
        eprintln!("{name}: {found} texts with a class of the lane, opening {:#x}", held.opening.get());
    }
}
