//! A session whose records come from real texts under a real policy. The rest of the log is that of a card of the
//! test's own authority. The session's bundle verifies and replays without a warning. The card's key is in software,
//! and only the test trusts the authority.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test support: a broken session must stop the test"
)]

use portcullis_card::transport::model::ModelCard;
use portcullis_card::{CardSession, SessionConfig, SessionError};
use portcullis_core::context::{ContextDocument, StreamMode};
use portcullis_core::hex::HexBytes;
use portcullis_core::state::StreamTask;
use portcullis_core::wire::{Descriptor, Fault, Record, RecordType};
use portcullis_evidence::certificate::key_id;
use portcullis_evidence::sim::log::TestCardLog;
use portcullis_gate::anchor::{AnchorSet, AnchorStore};
use portcullis_gate::engine::{EngineError, EngineProposal};
use portcullis_gate::replay::{ReplayInput, predecessor_name};
use portcullis_gate::{
    AnswerCandidate, GateSettings, SaltKey, StreamEvent, StreamEventKind, StreamGovernor, StreamInput,
};
use portcullis_mapping::TextMapper;
use portcullis_policy::{ImagePolicy, ImagePolicySet, PackageComposition, PolicyPackage};
use portcullis_test_support::world::{Card, Parts, World, sha};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

const STORE: &str = r#"{"entity":{"id":"ana","name":"Ana Silva","aliases":["Silva"],"kind":"person"}}
{"fact":{"entity":"ana","text":"Ana Silva was born in Porto in 1950.","source":"register"}}
"#;

/// A policy that compiles in a few milliseconds and whose texts get every determination.
const MANIFEST: &str = portcullis_test_support::manifest!(
    "small",
    r#"[[class]]
name = "bad"
pattern = [{ regex = '[0-9.-]{9,12}' }]
[[class]]
name = "mixed"
pattern = [{ regex = 'late' }]
"#
);
const RULES: &str = r#"@id("ALLOW") permit (principal, action, resource);
@id("NO-BAD") @reason("Nothing bad.") forbid (principal, action, resource) when { context.classes.contains("bad") };
@id("SPLIT") @outcome("decompose") forbid (principal, action, resource) when { context.classes.contains("mixed") };
"#;

/// The texts for a member; their names begin with the member's name.
fn items(member: &str) -> Vec<StreamInput> {
    let text = |id: &str, text: &str| StreamInput::Text {
        id: format!("{member}{id}"),
        text: text.into(),
        task: StreamTask::default(),
    };
    let candidate =
        |text: &str| AnswerCandidate { text: text.into(), logprobs: None, logprobs_absent: None, call: None };
    let step = |texts: &[&str]| texts.iter().map(|text| candidate(text)).collect();
    let steps = vec![step(&["192.0.2.1", "Call the desk."]), step(&[" Now."])];
    vec![
        text("a", "The line is closed. Write to p@example.org now; it is late.\n"),
        StreamInput::Candidates { id: format!("{member}b"), steps, task: StreamTask::default() },
        text("c", "Nothing here. Call 415-555-0134 today."),
        text("d", "Ana Silva was born in Porto."),
    ]
}

/// The new indices of each lane's records after a record was inserted.
struct Places(Vec<Vec<u64>>);

impl Places {
    fn of(&self, lane: u64, index: u64) -> u64 {
        self.0[lane as usize][index as usize]
    }
}

/// The result of a governed session: the records of each lane, and the events.
struct Governed {
    lanes: Vec<Vec<Record>>,
    events: Vec<StreamEvent>,
}

impl Governed {
    /// Changes the records as if the first stream had begun in another context.
    fn change_first(&mut self, change: &dyn Fn(&mut ContextDocument)) {
        let Some(StreamEventKind::Begun { context, lane, log_index, .. }) =
            self.events.first_mut().map(|event| &mut event.what)
        else {
            panic!("a session begins with a stream");
        };
        change(context);
        let begin = &mut self.lanes[usize::from(*lane)][log_index.unwrap() as usize];
        begin.descriptor.commitment = context.digest();
        begin.descriptor = Descriptor::sealed(begin.descriptor);
    }
}

/// Governs the texts under each policy in turn, in one session. `items` gives the texts for a member.
fn govern(
    policies: &ImagePolicySet,
    anchors: &AnchorSet,
    lanes: u8,
    items: &dyn Fn(&str) -> Vec<StreamInput>,
) -> Governed {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let sink = {
        let kept = Arc::clone(&kept);
        move |record: &Record| {
            kept.lock().unwrap().push(*record);
            Ok(())
        }
    };
    let config = SessionConfig { epoch: Some(77), sink: Box::new(sink), ..SessionConfig::default() };
    let card = ModelCard::with_lanes(lanes).unwrap();
    let mut session = CardSession::open(card, policies.image(), config).unwrap();
    let mut events: Vec<StreamEvent> = Vec::new();
    for ImagePolicy { name, package, compiled, .. } in policies.iter() {
        let settings = GateSettings::new(SaltKey::from_bytes([7; 32]));
        let policy = portcullis_gate::GatePolicy::new(package.clone(), compiled.clone()).unwrap();
        let governor = StreamGovernor::new(Arc::new(policy), settings).unwrap().with_anchors(anchors.clone());
        let before = events.iter().map(|event| event.stream + 1).max().unwrap_or_default();
        let keep = |event: StreamEvent| {
            events.push(StreamEvent { stream: event.stream + before, ..event });
            Ok::<(), SessionError>(())
        };
        Arc::new(governor).govern(&mut session, items(name.as_deref().unwrap_or_default()), keep).unwrap();
    }
    session.close().unwrap();
    let mut logs = vec![Vec::new(); usize::from(lanes)];
    kept.lock().unwrap().iter().for_each(|record| logs[usize::from(record.answer.lane)].push(*record));
    Governed { lanes: logs, events }
}

/// A session of this many short texts, each a stream with its own context document, on a card with one lane. With more
/// than 64 streams, the ticket permits every context.
pub fn session_of(world: &World, card: &Rc<Card>, streams: usize) -> Parts {
    let texts = |_: &str| {
        let text = |number| StreamInput::Text {
            id: format!("t{number}"),
            text: "The line is closed. Call 415-555-0134 today.".into(),
            task: StreamTask::default(),
        };
        (0..streams).map(text).collect()
    };
    session_under(world, card, 1, None, &small(), &texts)
}

/// A session of a card with `lanes` lanes: the governed entries, two checkpoints, a refused entry and a NOTE.
pub fn session(world: &World, card: &Rc<Card>, lanes: u8) -> Parts {
    session_in(world, card, lanes, None)
}

/// As [`session`]; if `mode` is given, the first stream has this mode, and its text arrives piece by piece.
pub fn session_in(world: &World, card: &Rc<Card>, lanes: u8, mode: Option<StreamMode>) -> Parts {
    let change = mode.map(|mode| move |context: &mut ContextDocument| context.mode = mode);
    let change = change.as_ref().map(|change| change as &dyn Fn(&mut ContextDocument));
    session_under(world, card, lanes, change, &small(), &items)
}

/// Sessions of one card that follow each other, each of four short texts. From the second on, the context of
/// the first stream names the second stream of the session before. Its records are those of a text that continues
/// nothing, so a replay that has the state of that stream finds a difference, and another one does not find the state.
pub fn continuing_sessions(world: &World, number: u64) -> Vec<Parts> {
    let (mut sessions, mut previous): (Vec<Parts>, Option<HexBytes<32>>) = (Vec::new(), None);
    for serial in 1..=number {
        let texts = |_: &str| {
            let text = |number: u64| StreamInput::Text {
                id: format!("t{number}"),
                text: format!("Notice {number} of {serial} is here."),
                task: StreamTask::default(),
            };
            (1..=4).map(text).collect()
        };
        let continues = move |context: &mut ContextDocument| context.predecessor = previous;
        let close = sessions.last().map_or([0; 32], Parts::closed_by);
        let place = (serial, close);
        let session = session_at(world, &world.card, (1, place), Some(&continues), &small(), &texts);
        let is_end = |record: &&Record| record.answer.record_type == u8::from(RecordType::End);
        previous = session.log.lanes[0].iter().filter(is_end).nth(1).map(predecessor_name);
        sessions.push(session);
    }
    sessions
}

fn small() -> ImagePolicySet {
    let files = [("policy.toml", MANIFEST), ("rules.cedar", RULES)];
    ImagePolicySet::alone(PolicyPackage::from_files(bytes(files)).unwrap()).unwrap()
}

fn bytes<const N: usize>(files: [(&str, &str); N]) -> BTreeMap<String, Vec<u8>> {
    files.into_iter().map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())).collect()
}

/// The texts of [`session`] under both members of a composition. `a` is the policy of the other sessions; `b` refuses
/// texts that `a` splits, and admits texts that `a` refuses. If `first` is given, the context document of the first
/// stream, which `a` judged, names this policy.
pub fn composed_session(world: &World, card: &Rc<Card>, lanes: u8, first: Option<&str>) -> Parts {
    let composition =
        "[composition]\nname = \"two\"\nversion = \"1.0.0\"\n[[member]]\nname = \"a\"\n[[member]]\nname = \"b\"\n";
    let other = RULES
        .replace("\"bad\"", "\"mixed\"")
        .replace("@id(\"SPLIT\") @outcome(\"decompose\") forbid", "@id(\"ALSO\") permit");
    let files = [
        ("composition.toml", composition),
        ("members/a/policy.toml", MANIFEST),
        ("members/a/rules.cedar", RULES),
        ("members/b/policy.toml", MANIFEST),
        ("members/b/rules.cedar", &other),
    ];
    let composition = PackageComposition::from_files(bytes(files)).unwrap();
    let change = first.map(|name| move |context: &mut ContextDocument| context.policy = name.to_owned());
    let change = change.as_ref().map(|change| change as &dyn Fn(&mut ContextDocument));
    session_under(world, card, lanes, change, &ImagePolicySet::composed(&composition).unwrap(), &items)
}

fn session_under(
    world: &World,
    card: &Rc<Card>,
    lanes: u8,
    change: Option<&dyn Fn(&mut ContextDocument)>,
    policies: &ImagePolicySet,
    items: &dyn Fn(&str) -> Vec<StreamInput>,
) -> Parts {
    session_at(world, card, (lanes, (1, [0; 32])), change, policies, items)
}

/// As [`session_under`], with the serial of the session and the end of the session before.
fn session_at(
    world: &World,
    card: &Rc<Card>,
    (lanes, (serial, previous_close)): (u8, (u64, [u8; 32])),
    change: Option<&dyn Fn(&mut ContextDocument)>,
    policies: &ImagePolicySet,
    items: &dyn Fn(&str) -> Vec<StreamInput>,
) -> Parts {
    let Some(ImagePolicy { package, .. }) = policies.iter().next() else { panic!("an image has a policy") };
    let mapper = TextMapper::new(package.manifest(), package.files()).unwrap();
    let anchors =
        AnchorSet::new(vec![AnchorStore::from_json_lines(Path::new("store"), STORE.as_bytes()).unwrap()], &mapper);
    let mut governed = govern(policies, &anchors, lanes, items);
    if let Some(change) = change {
        governed.change_first(change);
    }

    let mut parts = world.session(card, serial, previous_close);
    parts.count = lanes;
    parts.package = package.listed().into_iter().map(|(path, bytes)| (path.to_owned(), bytes.to_vec())).collect();
    parts.image = policies.image().as_bytes().to_vec();
    parts.anchors = anchors.json_lines().into_iter().map(|content| (sha(&content), content)).collect();
    let begun = governed.events.iter().filter_map(|event| match &event.what {
        StreamEventKind::Begun { context, .. } => Some(context.bytes()),
        _ => None,
    });
    parts.contexts = begun.map(|bytes| (sha(&bytes), bytes)).collect();
    parts.ticket.key = key_id(&card.key.public_key());
    parts.ticket.policy = sha(&parts.image);
    // A ticket has room for some contexts only; without a list it permits every one.
    parts.ticket.contexts = parts.contexts.keys().copied().filter(|_| parts.contexts.len() <= 64).collect();
    (parts.ticket.heartbeat_records, parts.ticket.heartbeat_ticks) = (0, 0);
    parts.open();
    let places = log(&mut parts.log, &governed.lanes, card.flags as u8);
    parts.reroot();
    lines(&mut parts, &governed.events, &places);
    parts
}

/// Adds the governed records to a log that has its OPEN record, and closes the log.
fn log(log: &mut TestCardLog, governed: &[Vec<Record>], key_flags: u8) -> Places {
    let mut noted = false;
    let mut places = vec![vec![0]; governed.len()];
    for (lane, records) in governed.iter().enumerate() {
        let mut later = BTreeSet::new();
        for record in records.iter().skip(1) {
            let kind = RecordType::try_from(record.answer.record_type).unwrap();
            if kind == RecordType::Close {
                continue;
            }
            let mut record = *record;
            let (slot, sequence) = (record.descriptor.slot.get(), record.descriptor.sequence.get());
            // One stream has a NOTE before its END.
            if kind == RecordType::End && !noted {
                log.note(slot, sequence, [6; 32]);
                (noted, _) = (true, later.insert(slot));
            }
            if kind == RecordType::End && later.remove(&slot) {
                record.descriptor.sequence.set(sequence + 1);
                record.descriptor = Descriptor::sealed(record.descriptor);
            }
            record.answer.key_flags = key_flags;
            places[lane].push(log.lanes[lane].len() as u64);
            log.lanes[lane].push(record);
        }
    }
    log.refuse(40, 9, Fault::Sequence);
    for records in &mut log.lanes {
        for (index, record) in (0..).zip(records).skip(1) {
            record.answer.log_index.set(index);
            record.answer.tick.set(10_000 + 400 * index);
        }
    }
    // CLOSE comes after every record, however many there are.
    let longest = log.lanes.iter().map(Vec::len).max().unwrap_or_default() as u64;
    log.wait(1_000_000_u64.max(20_000 + 400 * longest));
    log.close();
    Places(places)
}

/// The data that the events of a stream contain.
#[derive(Default)]
struct StreamEvents {
    lane: u64,
    begin: u64,
    text: Option<String>,
    /// Whether the text arrived piece by piece.
    pieces: bool,
    answers: Vec<Result<EngineProposal, EngineError>>,
    /// Index and salt of each record, by sequence.
    entries: BTreeMap<u32, (u64, String)>,
    released: Vec<u32>,
}

fn lines(parts: &mut Parts, events: &[StreamEvent], places: &Places) {
    let mut streams: BTreeMap<u64, StreamEvents> = BTreeMap::new();
    let mut begun = vec![0u64; usize::from(parts.count)];
    let (mut spans, mut inputs, mut receipts) = (Vec::new(), Vec::new(), Vec::new());
    for event in events {
        let stream = streams.entry(event.stream).or_default();
        let span = |lane: u64, index: u64, salt: &str, held: &str, text: &str| json!({"lane": lane, "index": places.of(lane, index), "salt": salt, "held": held, "text": text});
        match &event.what {
            StreamEventKind::Begun { id, context, text, lane, log_index, .. } => {
                stream.pieces = context.mode == StreamMode::Observed;
                (stream.lane, stream.text) = (u64::from(*lane), text.clone());
                stream.begin = places.of(stream.lane, log_index.unwrap());
                let number = &mut begun[usize::from(*lane)];
                parts.streams.push(json!({"lane": lane, "index": stream.begin, "stream": *number, "id": id}));
                *number += 1;
            }
            StreamEventKind::Proposed(answer) => stream.answers.push((**answer).clone()),
            StreamEventKind::Determined(judged) => {
                let index = judged.log_index.unwrap();
                spans.push(span(stream.lane, index, &judged.salt, &judged.inert, &judged.text));
                let entry = (places.of(stream.lane, index), judged.salt.clone());
                stream.entries.insert(judged.determination.seq, entry);
            }
            StreamEventKind::Released { seqs, .. } => stream.released.extend(seqs),
            StreamEventKind::Ended { closing, .. } => {
                let closing = closing.as_ref().unwrap();
                let index = closing.log_index.unwrap();
                spans.push(span(stream.lane, index, &closing.salt, &closing.inert, ""));
                stream.entries.insert(closing.seq, (places.of(stream.lane, index), closing.salt.clone()));
                let given = match stream.text.take() {
                    Some(text) if stream.pieces => json!({"pieces": [text]}),
                    Some(text) => json!(ReplayInput::Text(text)),
                    None => json!(ReplayInput::Proposals(std::mem::take(&mut stream.answers))),
                };
                inputs.push(json!({"lane": stream.lane, "index": stream.begin, "input": given}));
                for seq in &stream.released {
                    let (index, salt) = &stream.entries[seq];
                    receipts.push(json!({"serial": 1, "lane": stream.lane, "index": index, "salt": salt}));
                }
            }
            _ => {}
        }
    }
    let in_order = |mut lines: Vec<Value>| {
        lines.sort_by_key(|line| (line["lane"].as_u64(), line["index"].as_u64()));
        lines
    };
    (parts.spans, parts.receipts, parts.inputs) = (in_order(spans), in_order(receipts), Some(in_order(inputs)));
    assert!(!parts.receipts.is_empty() && parts.spans.len() >= 8, "{:#?} {:#?}", parts.spans, parts.receipts);
}
