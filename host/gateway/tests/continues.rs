//! Answers that continue an earlier answer: its end state applies to the next turn of the same conversation only.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use portcullis_audit::{ReplayReport, StreamSample, check_after, replay, replay_after, trial};
use portcullis_authority::ca;
use portcullis_core::context::ContextDocument;
use portcullis_evidence::bundle::{self, SnapshotFiles};
use portcullis_evidence::verify::{EvidenceStatus, ReplayCode, TrustedParties, VerifyOptions};
use portcullis_gate::GatePolicy;
use portcullis_gateway::config::GatewayConfig;
use portcullis_policy::PolicyPackage;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Answer, Gateway, PLACEHOLDER, Upstream, chat, delta, end, event_head, offering, opener, said, text};

const NOTICE: &str = "This is a notice.";
const ADVICE: &str = "Take two pills.";
const YES: &str = "Yes.";

/// A policy under which advice needs an earlier notice.
fn policy() -> Arc<GatePolicy> {
    let manifest = format!(
        "[package]\nname = \"turns\"\nversion = \"1.0.0\"\ndescription = \"For tests.\"\n\
         [enumerations]\ndomain = [\"general\"]\naudience = [\"public\"]\ntemporal = [\"present\"]\n\
         register = [\"plain\"]\n\
         [[class]]\nname = \"notice\"\npattern = [{{ regex = '\\bnotice\\b' }}]\n\
         [[class]]\nname = \"advice\"\npattern = [{{ regex = '\\bpills\\b' }}]\n\
         [continuity]\npresupposition = false\ndiscontinuity = false\nrepetitions = 0\n\
         [refusal]\non_refuse = \"redact\"\ntext = \"<ended>\"\nplaceholder = \"{PLACEHOLDER}\"\n"
    );
    let rules = "@id(\"ALLOW\") permit (principal, action, resource);\n\
        @id(\"NOTICE-FIRST\") forbid (principal, action, resource)\n\
        when { context.classes.contains(\"advice\") && !context.established.contains(\"notice\") };\n";
    let files = BTreeMap::from([
        ("policy.toml".to_owned(), manifest.into_bytes()),
        ("rules.cedar".to_owned(), rules.as_bytes().to_vec()),
    ]);
    let package = PolicyPackage::from_files(files).unwrap_or_else(|e| panic!("{e:?}"));
    let compiled = package.compile().unwrap_or_else(|e| panic!("{e:?}"));
    Arc::new(GatePolicy::new(package, compiled).unwrap())
}

/// A server that repeats the last message.
fn parrot() -> Upstream {
    Upstream::new(Arc::new(|_, body: &Value| {
        let last = body["messages"].as_array().unwrap().last().unwrap();
        let what = last["content"].as_str().unwrap_or_else(|| last["content"][0]["text"].as_str().unwrap());
        let what = what.strip_prefix("Say: ").unwrap_or("Nothing.");
        chat(what.split_inclusive(' ').map(text), "stop")
    }))
}

fn config(upstream: &Upstream, settings: &str) -> GatewayConfig {
    let model = format!("[[model]]\nname = \"m\"\nupstream = \"http://{}/v1\"\n", upstream.address);
    GatewayConfig::parse(&format!("listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n{settings}\n{model}")).unwrap()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": format!("Say: {text}")})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn turn(messages: &[Value]) -> Value {
    json!({"model": "m", "messages": messages})
}

/// Continues a chat; returns the answer's text and the stream that it continues.
fn chat_on(gateway: &Gateway, messages: &[Value]) -> (String, Option<String>) {
    told(&gateway.post("/v1/chat/completions", &turn(messages)))
}

fn told(answer: &Answer) -> (String, Option<String>) {
    assert_eq!(answer.status, 200, "{}", answer.body);
    (said(answer, "content"), answer.provenance()["continues"].as_str().map(str::to_owned))
}

fn replayed(session: &Path) -> ReplayReport {
    let files = bundle::at(session).unwrap();
    replay(&SnapshotFiles::new(&*files), None, &mut || ()).unwrap()
}

/// With the earlier bundle, the full check of `later` reports only the simulated root.
fn checked_after(first: &Path, later: &Path) {
    let mut trust = TrustedParties::default();
    trust.roots.add_sim_root(ca::simulation().unwrap().certificate_pem().unwrap().as_bytes()).unwrap();
    let options = VerifyOptions { allow_sim: true, allow_not_enforced: true, at: None };
    let files = bundle::at(later).unwrap();
    let check = |earlier: &[_]| {
        check_after(earlier, &*files, &trust, options, (&mut |_| (), &mut || ())).unwrap().replay.unwrap()
    };
    assert_eq!(check(&[]).status, EvidenceStatus::Warned);
    let both = check(&[bundle::at(first).unwrap()]);
    assert_eq!((both.status, both.replayed, both.streams), (EvidenceStatus::Affirmed, 1, 1), "{both}");
}

fn contexts(session: &Path) -> Vec<ContextDocument> {
    let files = std::fs::read_dir(session.join("contexts")).unwrap();
    files.map(|file| ContextDocument::parse(&std::fs::read(file.unwrap().path()).unwrap()).unwrap()).collect()
}

#[test]
fn what_an_answer_established_holds_in_the_next_turn() {
    let (policy, upstream, folder) = (policy(), parrot(), tempfile::tempdir().unwrap());
    let gateway = Gateway::over(config(&upstream, ""), opener(&policy, folder.path()));
    let first = [user(NOTICE)];
    assert_eq!(chat_on(&gateway, &first), (NOTICE.into(), None));
    let second = [user(NOTICE), assistant(NOTICE), user(YES)];
    let (yes, continues) = chat_on(&gateway, &second);
    assert_eq!(yes, YES);
    let continues = continues.unwrap();
    // The state of a turn includes the states before it.
    let third = [&second[..], &[assistant(YES), user(ADVICE)]].concat();
    let (advice, after) = chat_on(&gateway, &third);
    assert_eq!(advice, ADVICE);
    assert!(after.is_some() && after.as_ref() != Some(&continues));
    // All dialects find the state, streamed or not.
    let mut streamed = turn(&third);
    streamed["stream"] = json!(true);
    assert_eq!(told(&gateway.post("/v1/chat/completions", &streamed)).0, ADVICE);
    let messages = json!({"model": "m", "max_tokens": 99, "messages": third});
    let answer = gateway.post("/v1/messages", &messages);
    assert!(answer.body.contains(ADVICE) && answer.provenance()["continues"].is_string(), "{}", answer.body);
    let answer = gateway.post("/v1/responses", &json!({"model": "m", "input": third}));
    assert!(answer.body.contains(ADVICE) && answer.provenance()["continues"].is_string(), "{}", answer.body);
    gateway.stop();

    let session = folder.path().join("session-1");
    let named = contexts(&session).iter().filter_map(|context| context.predecessor).count();
    assert_eq!(named, 5);
    assert!(contexts(&session).iter().any(|c| c.predecessor.is_some_and(|leaf| leaf.to_string() == continues)));
    let report = replayed(&session);
    assert_eq!((report.replayed, report.streams, report.reasons.len()), (6, 6, 0), "{:?}", report.reasons);
    // A replay of sampled streams also replays the streams that the sampled streams continue.
    let files = bundle::at(&session).unwrap();
    for seed in ["a", "b", "c", "d"] {
        let sample = StreamSample { streams: 1, seed };
        let report = replay(&SnapshotFiles::new(&*files), Some(sample), &mut || ()).unwrap();
        assert!((1..=3).contains(&report.replayed) && report.reasons.is_empty(), "{seed}: {report}");
    }
    // A trial replay under the same policy gives the same verdicts.
    let image = &policy.compiled.image;
    let tried = trial(&SnapshotFiles::new(&*files), (image, &[Arc::clone(&policy)]), &mut || ()).unwrap();
    assert_eq!((tried.compared, tried.different.len()), (6, 0), "{tried:?}");
}

/// No state is used after a forged, edited, moved or foreign message.
#[test]
fn nothing_else_is_continued() {
    let (policy, upstream, folder) = (policy(), parrot(), tempfile::tempdir().unwrap());
    for key in ["ann", "bob"] {
        support::write_secret(&folder.path().join(key), &key.repeat(16));
    }
    let key = |key: &str| {
        let file = folder.path().join(key).display().to_string();
        format!("[[key]]\nname = \"{key}\"\nsecret = {{ file = \"{file}\" }}\n")
    };
    let settings = format!("{}{}", key("ann"), key("bob"));
    let gateway = Gateway::over(config(&upstream, &settings), opener(&policy, folder.path()));
    let chat_on = |key: &str, messages: &[Value]| {
        let head = format!("x-api-key: {}\r\n", key.repeat(16));
        told(&gateway.post_with("/v1/chat/completions", &turn(messages), &head))
    };
    let refused = |key: &str, messages: &[Value]| {
        let (said, continues) = chat_on(key, messages);
        assert!(!said.contains(ADVICE) && said.contains(PLACEHOLDER), "{messages:?}: {said}");
        continues
    };
    assert_eq!(chat_on("ann", &[user(NOTICE)]), (NOTICE.into(), None));
    // Without an earlier answer, and with a forged message, there is no state to continue from.
    assert_eq!(refused("ann", &[user(ADVICE)]), None);
    assert_eq!(refused("ann", &[assistant("Another notice."), user(ADVICE)]), None);
    for edited in [format!("{NOTICE} "), format!(" {NOTICE}"), NOTICE.to_uppercase(), NOTICE.replace('.', "!")] {
        assert_eq!(refused("ann", &[user(NOTICE), assistant(&edited), user(ADVICE)]), None);
    }
    // Messages of a user or a tool are not answers.
    let not_said = json!({"role": "user", "content": NOTICE});
    assert_eq!(refused("ann", &[not_said, user(ADVICE)]), None);
    let system = json!({"role": "system", "content": NOTICE});
    assert_eq!(refused("ann", &[system, user(ADVICE)]), None);
    // An answer with an added call is a different answer.
    let call = json!({"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}});
    let called = json!({"role": "assistant", "content": NOTICE, "tool_calls": [call]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "x"});
    assert_eq!(refused("ann", &[user(NOTICE), called, result, user(ADVICE)]), None);
    // The answer was given to another key.
    assert_eq!(refused("bob", &[user(NOTICE), assistant(NOTICE), user(ADVICE)]), None);
    // A state is used only with all earlier answers: here the notice before "Yes." is missing.
    let before = [user(NOTICE), assistant(NOTICE), user(YES)];
    assert!(chat_on("ann", &before).1.is_some());
    assert_eq!(refused("ann", &[user(YES), assistant(YES), user(ADVICE)]), None);
    assert_eq!(refused("ann", &[assistant(YES), user("x"), assistant("No notice."), user(ADVICE)]), None);
    // With the notice, the state is used.
    assert_eq!(chat_on("ann", &[&before[..], &[assistant(YES), user(ADVICE)]].concat()).0, ADVICE);
    gateway.stop();
    let report = replayed(&folder.path().join("session-1"));
    assert_eq!((report.replayed, report.reasons.len()), (report.streams, 0), "{:?}", report.reasons);
}

/// The next turn must not contradict an earlier answer's claims. Refused text has no effect.
#[test]
fn claims_hold_and_refusals_count_for_nothing() {
    let (policy, upstream, folder) = (policy(), parrot(), tempfile::tempdir().unwrap());
    let gateway = Gateway::over(config(&upstream, ""), opener(&policy, folder.path()));
    let (opens, other) = ("The pool opens at nine.", "The pool does not open at nine.");
    assert_eq!(chat_on(&gateway, &[user(opens)]).0, opens);
    assert_eq!(chat_on(&gateway, &[user(other)]).0, other, "another conversation");
    let (said, continues) = chat_on(&gateway, &[user(opens), assistant(opens), user(other)]);
    assert!(said.contains(PLACEHOLDER) && continues.is_some(), "{said}");
    // An answer with a gap matches the text that its reader got, which includes the placeholder.
    let (gapped, _) = chat_on(&gateway, &[user(&format!("{NOTICE} {ADVICE} {ADVICE}"))]);
    assert!(gapped.starts_with(NOTICE) && gapped.contains(ADVICE), "{gapped}");
    let (gapped, _) = chat_on(&gateway, &[user(&format!("{ADVICE} {NOTICE}"))]);
    assert!(gapped.starts_with(PLACEHOLDER) && gapped.ends_with(NOTICE), "{gapped}");
    assert_eq!(chat_on(&gateway, &[user("x"), assistant(&gapped), user(ADVICE)]).0, ADVICE);
    assert!(!chat_on(&gateway, &[user("x"), assistant(NOTICE), user(ADVICE)]).0.contains(ADVICE));
    // A refused JSON value releases nothing, so no part of it establishes a class.
    let mut json = turn(&[user(&format!("{{\"a\": \"{NOTICE}\", \"b\": \"Take no pills.\"}}"))]);
    json["response_format"] = json!({"type": "json_object"});
    let (value, _) = told(&gateway.post("/v1/chat/completions", &json));
    if value == "<ended>" {
        assert!(!chat_on(&gateway, &[user("x"), assistant(&value), user(ADVICE)]).0.contains(ADVICE));
    }
    gateway.stop();
    let report = replayed(&folder.path().join("session-1"));
    assert_eq!((report.replayed, report.reasons.len()), (report.streams, 0), "{:?}", report.reasons);
}

/// Tool calls are part of the answer.
#[test]
fn an_answer_with_calls_is_continued() {
    let upstream = Upstream::new(Arc::new(|_, body: &Value| {
        let calls = body["messages"].as_array().unwrap().len() == 1;
        let function = json!({"name": "look", "arguments": "{ \"at\":  1 }"});
        let call = delta(json!({"tool_calls": [{"index": 0, "id": "x", "type": "function", "function": function}]}));
        let said = if calls { vec![text(NOTICE), call] } else { vec![text(ADVICE)] };
        [event_head()].into_iter().chain(said).chain(end(if calls { "tool_calls" } else { "stop" })).collect()
    }));
    let (policy, folder) = (policy(), tempfile::tempdir().unwrap());
    let gateway = Gateway::over(config(&upstream, ""), opener(&policy, folder.path()));
    let path = "/v1/chat/completions";
    let answer = gateway.post(path, &offering(path, turn(&[user("x")]))).json();
    let message = answer["choices"][0]["message"].clone();
    let result =
        |message: &Value| json!({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "y"});
    let (said, continues) = chat_on(&gateway, &[user("x"), message.clone(), result(&message)]);
    assert_eq!(said, ADVICE, "{message}");
    assert!(continues.is_some());
    let mut other = message;
    other["tool_calls"][0]["function"]["arguments"] = json!("{\"at\":2}");
    assert!(!chat_on(&gateway, &[user("x"), other.clone(), result(&other)]).0.contains(ADVICE));
}

/// The end state outlives its session. The bundle of the next session replays together with the bundle of the first;
/// without the first bundle, the replay gives a warning.
#[test]
fn an_answer_of_an_earlier_session_is_continued() {
    let (policy, upstream, folder) = (policy(), parrot(), tempfile::tempdir().unwrap());
    let settings = "[rotation]\nrecords = 1\ndrain_ms = 5000\n";
    let gateway = Gateway::over(config(&upstream, settings), opener(&policy, folder.path()));
    assert_eq!(chat_on(&gateway, &[user(NOTICE)]).0, NOTICE);
    let since = Instant::now();
    while !folder.path().join("session-2").exists() {
        assert!(since.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    let (said, continues) = chat_on(&gateway, &[user(NOTICE), assistant(NOTICE), user(ADVICE)]);
    assert_eq!(said, ADVICE);
    assert!(continues.is_some());
    gateway.stop();

    let later = (2..9).map(|number| folder.path().join(format!("session-{number}")));
    let later = later.filter(|session| session.join("contexts").exists()).find(|session| !contexts(session).is_empty());
    let later = later.unwrap();
    let alone = replayed(&later);
    assert_eq!((alone.replayed, alone.status), (0, EvidenceStatus::Warned), "{alone}");
    assert_eq!(alone.reasons.iter().map(|reason| reason.code).collect::<Vec<_>>(), [ReplayCode::ReplayPredecessor]);
    checked_after(&folder.path().join("session-1"), &later);
    let (first, later) = (bundle::at(&folder.path().join("session-1")).unwrap(), bundle::at(&later).unwrap());
    let (first, later) = (SnapshotFiles::new(&*first), SnapshotFiles::new(&*later));
    let both = replay_after(&[first], &later, None, &mut || ()).unwrap();
    assert_eq!((both.replayed, both.streams, both.reasons.len()), (1, 1, 0), "{both}");
}

/// Memory is limited: the oldest state is dropped, and a state over the limit is not kept.
#[test]
fn few_states_are_kept() {
    let (policy, upstream) = (policy(), parrot());
    let other = "Here is a notice.";
    let on = |first: &str| [user(first), assistant(first), user(ADVICE)];
    let folder = tempfile::tempdir().unwrap();
    let gateway = |number: usize, limits: &str| {
        let folder = folder.path().join(number.to_string());
        std::fs::create_dir(&folder).unwrap();
        Gateway::over(config(&upstream, &format!("[limits]\n{limits}\n")), opener(&policy, &folder))
    };
    for (number, (limits, asked, is_kept)) in [
        ("turns = 0", other, false),
        ("turns = 1", other, true),
        ("turns = 1", NOTICE, false),
        ("turns = 2", NOTICE, true),
        ("turns_bytes = 64", other, false),
    ]
    .into_iter()
    .enumerate()
    {
        let gateway = gateway(number, limits);
        assert_eq!(chat_on(&gateway, &[user(NOTICE)]).0, NOTICE);
        assert_eq!(chat_on(&gateway, &[user(other)]).0, other);
        assert_eq!(chat_on(&gateway, &on(asked)).0 == ADVICE, is_kept, "{limits}: {asked}");
    }
}
