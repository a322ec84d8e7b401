//! A text that is judged in chunks has the same descriptors, determinations and released bytes as the same text judged
//! at once, and its replay succeeds.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at its first surprise, its helpers included"
)]

use crate::support;

use portcullis_core::state::StreamTask;
use portcullis_core::wire::Record;
use portcullis_gate::engine::EngineProposal;
use portcullis_gate::replay::{ReplayInput, StreamReplayer};
use portcullis_gate::{
    AnswerCandidate, GatePolicy, GateSettings, OnRefuse, PartReader, ReleaseMode, SaltKey, StreamEvent,
    StreamEventKind, StreamInput, StreamMode,
};
use portcullis_mapping::{EngineToolCall, LogProbs};
use portcullis_policy::PolicyPackage;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::{governor, recorded, released};

const POLICIES: &[&str] = &["pii", "clinical", "finance-suitability", "privilege", "residency", "biography"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn shipped(policy: &str) -> Arc<GatePolicy> {
    let package = PolicyPackage::load(&root().join("policies").join(policy)).unwrap();
    let compiled = package.compile().unwrap();
    Arc::new(GatePolicy::new(package, compiled).unwrap())
}

fn settings(release: ReleaseMode, on_refuse: OnRefuse) -> GateSettings {
    let key = SaltKey::from_bytes([3; 32]);
    GateSettings { on_refuse: Some(on_refuse), release, ..GateSettings::new(key) }
}

/// The events of an item, and its records without the OPEN record.
fn govern(policy: &Arc<GatePolicy>, settings: GateSettings, item: StreamInput) -> (Vec<StreamEvent>, Vec<Record>) {
    recorded(governor(policy, settings), policy, item)
}

fn chunk(text: &str) -> AnswerCandidate {
    AnswerCandidate { text: text.to_owned(), logprobs: None, logprobs_absent: None, call: None }
}

fn given(id: &str, chunks: Vec<AnswerCandidate>) -> StreamInput {
    let given =
        chunks.into_iter().map(|one| Ok(EngineProposal::Candidate(one))).chain([Ok(EngineProposal::End)]).collect();
    StreamInput::Given { id: id.to_owned(), given, task: StreamTask::default() }
}

/// A text in chunks of about these sizes, cut at character boundaries.
fn cut(text: &str, sizes: &[usize]) -> Vec<AnswerCandidate> {
    let mut rest = text;
    let mut chunks = Vec::new();
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (first, after) = rest.split_at(rest.ceil_char_boundary((*size).clamp(1, rest.len())));
        chunks.push(chunk(first));
        rest = after;
    }
    chunks
}

/// The decisions on a stream, without the mode of its text.
fn decided(events: &[StreamEvent]) -> Vec<String> {
    let shown = |event: &StreamEvent| match &event.what {
        StreamEventKind::Begun { .. } | StreamEventKind::Proposed(_) => None,
        StreamEventKind::Determined(judged) => {
            let mut judged = (**judged).clone();
            (judged.tick, judged.log_index) = (None, None);
            Some(format!("{judged:?}"))
        }
        StreamEventKind::Ended { summary, .. } => {
            let mut summary = summary.clone();
            summary.mode = StreamMode::Recorded;
            // A stream that stops early does not read its remaining bytes, so their number may differ.
            summary.bytes = if summary.stopped.is_some() { 0 } else { summary.bytes };
            Some(format!("{summary:?}"))
        }
        other => Some(format!("{other:?}")),
    };
    events.iter().filter_map(shown).collect()
}

fn assert_replays(policy: &Arc<GatePolicy>, events: &[StreamEvent], records: &[Record]) {
    let context = events.iter().find_map(|event| match &event.what {
        StreamEventKind::Begun { context, .. } => Some(context.bytes()),
        _ => None,
    });
    let given = events.iter().filter_map(|event| match &event.what {
        StreamEventKind::Proposed(answer) => Some((**answer).clone()),
        _ => None,
    });
    let key = SaltKey::from_bytes([3; 32]);
    let sequences = 0..u32::try_from(records.len()).unwrap();
    let salts: BTreeMap<u32, [u8; 16]> = sequences.map(|sequence| (sequence, key.salt(0, sequence))).collect();
    let mut replayer = StreamReplayer::new(&policy.compiled.image, [Arc::clone(policy)], Vec::new()).unwrap();
    let input = ReplayInput::Proposals(given.collect());
    let replayed = replayer.stream(&context.unwrap(), input.clone(), salts, records);
    let (replayed, _) = replayed.unwrap_or_else(|error| panic!("{error}: {input:#?} {events:#?}"));
    assert_eq!((replayed.records, replayed.consumed), (records.len() as u64, true));
}

/// The texts of the case files, each with a policy.
fn cases() -> Vec<(usize, String)> {
    let mut texts = Vec::new();
    for file in
        ["meaning/answers", "meaning/hand", "meaning/splits", "bytes/measured", "bytes/streaming", "bytes/quantities"]
    {
        let rows = std::fs::read_to_string(root().join(format!("tests/cases/{file}.jsonl"))).unwrap();
        for row in rows.lines() {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            let policy = row["policy"].as_str().and_then(|name| POLICIES.iter().position(|policy| *policy == name));
            if let Some(text) = row["text"].as_str() {
                texts.push((policy.unwrap_or(texts.len() % POLICIES.len()), text.to_owned()));
            }
        }
    }
    assert!(texts.len() > 1000, "{} texts", texts.len());
    texts
}

#[test]
fn every_chunking_has_the_determinations_of_the_whole_text() {
    let policies: Vec<Arc<GatePolicy>> = POLICIES.iter().map(|policy| shipped(policy)).collect();
    let ways = [
        (ReleaseMode::Span, OnRefuse::Skip, [1, 3]),
        (ReleaseMode::Checkpoint, OnRefuse::Stop, [7, 40]),
        (ReleaseMode::End, OnRefuse::Skip, [5, 5]),
        (ReleaseMode::Span, OnRefuse::Stop, [90, 2]),
    ];
    let cases = cases();
    for (number, (at, text)) in cases.iter().enumerate() {
        let (Some(policy), Some((release, on_refuse, sizes))) = (policies.get(*at), ways.get(number % ways.len()))
        else {
            panic!("no policy or way");
        };
        let sizes = if text.len() > 2000 { [700, 333] } else { *sizes };
        let item = StreamInput::Text { id: "t".into(), text: text.clone(), task: StreamTask::default() };
        let (whole, _) = govern(policy, settings(*release, *on_refuse), item);
        let (came, records) = govern(policy, settings(*release, *on_refuse), given("t", cut(text, &sizes)));
        let (came_to, expected) = (decided(&came), decided(&whole));
        let differs = came_to.iter().zip(&expected).find(|(one, other)| one != other);
        assert!(came_to == expected, "{text:?}\nin chunks of {sizes:?} and whole: {differs:#?}");
        assert_eq!(released(&came), released(&whole));
        if number % 7 == 0 {
            assert_replays(policy, &came, &records);
        }
    }
}

/// Text that still waits for more text when the source fails is not judged. The replay of the judged text succeeds.
#[test]
fn a_text_that_breaks_off_replays() {
    let policy = shipped("pii");
    let text = "Birds sing. Ships sail. Mail a@b.org now. It ends";
    let mut chunks: Vec<_> = cut(text, &[4]).into_iter().map(|one| Ok(EngineProposal::Candidate(one))).collect();
    chunks.push(Err(portcullis_gate::engine::EngineError::Gone("the server closed".into())));
    let item = StreamInput::Given { id: "t".into(), given: chunks, task: StreamTask::default() };
    let (came, records) = govern(&policy, settings(ReleaseMode::Span, OnRefuse::Skip), item);
    assert_eq!(released(&came), "Birds sing. Ships sail. Mail  now.");
    assert!(decided(&came).iter().any(|event| event.contains("the server closed")));
    assert_replays(&policy, &came, &records);
}

#[test]
fn a_call_between_texts_is_one_step() {
    let policy = shipped("pii");
    let call = |arguments: &str| AnswerCandidate {
        call: Some(EngineToolCall { name: "send".into(), arguments: arguments.into() }),
        ..chunk("")
    };
    let chunks = vec![
        chunk("Birds sing. I wr"),
        chunk("ite"),
        call(r#"{"to":"harbour"}"#),
        chunk("Done. "),
        call(r#"{"to":"a@b.org"}"#),
        chunk("It is done."),
    ];
    let (came, records) = govern(&policy, settings(ReleaseMode::Span, OnRefuse::Skip), given("t", chunks));
    let expected = "Birds sing. I write{\"arguments\":{\"to\":\"harbour\"},\"name\":\"send\"}Done. It is done.";
    assert_eq!(released(&came), expected);
    assert_replays(&policy, &came, &records);
}

/// The uncertainty of a span comes from its own tokens, however the text is divided into chunks.
#[test]
fn log_probabilities_follow_their_bytes() {
    let policy = shipped("pii");
    let governor = governor(&policy, settings(ReleaseMode::Span, OnRefuse::Skip));
    let tokens = [("Birds", "-0.1"), (" sing", "-2.5"), (". Sh", "-0.01"), ("ips", "-4"), (" sail.", "0")];
    let text: String = tokens.iter().map(|(token, _)| *token).collect();
    let mut end = 0;
    let placed = tokens.map(|(token, log)| {
        end += token.len();
        (end, log)
    });
    let descriptors = |chunks: Vec<AnswerCandidate>| -> Vec<String> {
        let (events, records) = govern(&policy, settings(ReleaseMode::Span, OnRefuse::Skip), given("t", chunks));
        assert_replays(&policy, &events, &records);
        let descriptor = |event: &StreamEvent| match &event.what {
            StreamEventKind::Determined(judged) => Some(judged.descriptor.clone()),
            _ => None,
        };
        events.iter().filter_map(descriptor).collect()
    };
    let one = AnswerCandidate { logprobs: Some(LogProbs::placed(&placed)), ..chunk(&text) };
    let each = tokens.map(|(token, log)| {
        let logprobs = LogProbs::placed(&[(token.len(), log)]);
        AnswerCandidate { logprobs: Some(logprobs), ..chunk(token) }
    });
    let plain = descriptors(cut(&text, &[3]));
    assert_eq!(descriptors(vec![one.clone()]), descriptors(each.to_vec()));
    assert_ne!(descriptors(vec![one]), plain, "the descriptors hold an uncertainty");
    // Only bytes that later text can change are waiting.
    let mut reader = PartReader::new(Arc::new(governor));
    assert!(reader.text("Birds sing. Ships", None).unwrap().is_some());
    assert_eq!(reader.pending(), " Ships".len());
}
