//! Clients received exactly the bytes that the records admitted, and constants of the policy. Every bundle replays.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use portcullis_audit::replay;
use portcullis_core::commitment::SpanKind;
use portcullis_core::wire::{Record, RecordType};
use portcullis_evidence::bundle;
use portcullis_gateway::config::GatewayConfig;
use portcullis_test_support::random::Random;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use support::{Answer, Gateway, REFUSAL, Upstream, chat, delta, end, event, event_head, offering, opener, policy};
use zerocopy::FromBytes;

const WORDS: [&str; 12] = [
    "Birds sing in spring.",
    " Ships sail.",
    "A badword stands here.",
    "\n\n",
    "- ",
    " Grüße, 世界!",
    "badly",
    " `code` ",
    "\n| a | b |\n|---|---|\n| c | d |\n",
    " The end is near.",
    " Is it? ",
    "{\"a\": 1}",
];

/// The admitted text of each stream, and its tool calls in order, by the stream's id.
fn admitted(folder: &Path) -> BTreeMap<String, (String, Vec<String>)> {
    let lines = |name: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let index = |line: &Value| line["index"].as_u64().unwrap();
    let ids: BTreeMap<u64, String> =
        lines(bundle::STREAMS).iter().map(|line| (index(line), line["id"].as_str().unwrap().to_owned())).collect();
    let released: BTreeSet<u64> = lines(bundle::RECEIPTS).iter().map(index).collect();
    let spans: BTreeMap<u64, Value> = lines(bundle::SPANS).into_iter().map(|line| (index(&line), line)).collect();
    let mut open: BTreeMap<u16, String> = BTreeMap::new();
    let mut streams: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    let records = std::fs::read(folder.join(bundle::RECORDS)).unwrap();
    for record in records.chunks(Record::BYTES) {
        let record = Record::read_from_bytes(record).unwrap();
        let (at, slot) = (record.answer.log_index.get(), record.descriptor.slot.get());
        if record.answer.record_type == u8::from(RecordType::Begin) {
            open.insert(slot, ids[&at].clone());
            streams.insert(ids[&at].clone(), Default::default());
        }
        if !released.contains(&at) {
            continue;
        }
        let (text, calls) = streams.get_mut(&open[&slot]).unwrap();
        let span = &spans[&at];
        let (held, said) = (span["held"].as_str().unwrap(), span["text"].as_str().unwrap());
        text.push_str(held);
        let is_call = |kind: &Value| serde_json::from_value::<SpanKind>(kind.clone()).unwrap() == SpanKind::Call;
        if span.get("kind").is_some_and(is_call) {
            calls.push(said.to_owned());
        } else {
            text.push_str(said);
        }
    }
    streams
}

/// A server that sends what the prompt contains: pieces of JSON deltas after a `#`. When it continues an answer, the
/// seed determines the text.
fn server() -> Upstream {
    Upstream::new(Arc::new(|path, body: &Value| {
        let asked = body["messages"].as_array().map_or(&body["prompt"], |all| &all[0]["content"]);
        let asked = asked.as_str().unwrap().split_once('#').unwrap().1;
        let mut read = serde_json::Deserializer::from_str(asked).into_iter::<Vec<Value>>();
        let mut pieces = read.next().unwrap().unwrap();
        let begun =
            body["messages"].as_array().and_then(|all| all.get(1)).map(|begun| begun["content"].as_str().unwrap());
        let begun = begun.unwrap_or(&asked[read.byte_offset()..]);
        assert!(!begun.contains("bad"), "refused text came back to the model: {begun}");
        if !begun.is_empty() || body["seed"].as_i64().is_some() {
            let mut random = Random::new(begun.len() as u64 * 1000 + body["seed"].as_i64().unwrap() as u64);
            pieces = if begun.len() > 300 { Vec::new() } else { deltas(&mut random, false, false) };
        }
        if path.ends_with("/chat/completions") {
            return chat(pieces.into_iter().map(delta), "stop");
        }
        let piece = |piece: Value| event(&json!({"choices": [{"index": 0, "text": piece["content"]}]}));
        let last = event(&json!({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}));
        [event_head()]
            .into_iter()
            .chain(pieces.into_iter().map(piece))
            .chain([last])
            .chain(end("stop").split_off(2))
            .collect()
    }))
}

/// Cuts a text into pieces of one to nine characters.
fn pieces(random: &mut Random, text: &str) -> Vec<String> {
    let mut rest: Vec<char> = text.chars().collect();
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let length = random.within(1, 9).min(rest.len());
        pieces.push(rest.drain(..length).collect());
    }
    pieces
}

/// The deltas of a random answer.
fn deltas(random: &mut Random, chat: bool, thinks: bool) -> Vec<Value> {
    let mut words = |most| (0..random.within(1, most)).map(|_| *random.pick(&WORDS)).collect::<String>();
    let (thought, said) = (words(3), words(8));
    let mut deltas = Vec::new();
    if thinks && random.one_in(4) {
        deltas.extend(pieces(random, &thought).into_iter().map(|piece| json!({"reasoning_content": piece})));
    }
    deltas.extend(pieces(random, &said).into_iter().map(|piece| json!({"content": piece})));
    for index in 0..if chat && random.one_in(3) { random.within(1, 2) } else { 0 } {
        let name = *random.pick(&["look", "drop_table", "run"]);
        let arguments = *random.pick(&[
            "{\"port\": 7}",
            "{\"command\": \"ls\"}",
            "{\"command\":\"rm -rf /\"}",
            "{\"a\":\"Grüße\"}",
        ]);
        deltas.push(json!({"tool_calls": [{"index": index, "id": "x", "function": {"name": name, "arguments": ""}}]}));
        let piece = |piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]});
        deltas.extend(pieces(random, arguments).into_iter().map(piece));
    }
    deltas
}

/// The answer that a client got: text by channel (content and reasoning), and calls in the form of the records.
fn heard(path: &str, answer: &Answer) -> (BTreeMap<&'static str, String>, Vec<String>) {
    let stream = answer.head.contains("text/event-stream");
    let values = if stream { answer.events() } else { vec![answer.json()] };
    let (mut texts, mut calls) = (BTreeMap::new(), Vec::new());
    let mut say = |channel, text: &Value| {
        texts.entry(channel).or_insert_with(String::new).push_str(text.as_str().unwrap_or_default());
    };
    let call = |name: &Value, arguments: Value| json!({"arguments": arguments, "name": name}).to_string();
    let parsed = |arguments: &Value| serde_json::from_str::<Value>(arguments.as_str().unwrap()).unwrap();
    let mut name = Value::Null;
    for value in &values {
        match path {
            "/v1/chat/completions" => {
                let said = &value["choices"][0][if stream { "delta" } else { "message" }];
                say("content", &said["content"]);
                say("reasoning", &said["reasoning_content"]);
                let made = said["tool_calls"].as_array().into_iter().flatten();
                calls.extend(made.map(|made| call(&made["function"]["name"], parsed(&made["function"]["arguments"]))));
            }
            "/v1/completions" => say("content", &value["choices"][0]["text"]),
            "/v1/responses" => {
                let items = if stream { &value["response"]["output"] } else { &value["output"] };
                for item in items.as_array().into_iter().flatten() {
                    match item["type"].as_str() {
                        Some("message") => say("content", &item["content"][0]["text"]),
                        Some("reasoning") => say("reasoning", &item["content"][0]["text"]),
                        _ => calls.push(call(&item["name"], parsed(&item["arguments"]))),
                    }
                }
            }
            _ => {
                for block in value["content"].as_array().into_iter().flatten() {
                    match block["type"].as_str() {
                        Some("text") => say("content", &block["text"]),
                        Some("thinking") => say("reasoning", &block["thinking"]),
                        _ => calls.push(call(&block["name"], block["input"].clone())),
                    }
                }
                say("content", &value["delta"]["text"]);
                say("reasoning", &value["delta"]["thinking"]);
                if value["content_block"]["type"] == "tool_use" {
                    name = value["content_block"]["name"].clone();
                }
                if value["delta"]["type"] == "input_json_delta" {
                    calls.push(call(&name, parsed(&value["delta"]["partial_json"])));
                }
            }
        }
    }
    (texts, calls)
}

/// Compares a client's answer with the text that the records of its streams admit.
fn assert_admitted(path: &str, answer: &Answer, streams: &BTreeMap<String, (String, Vec<String>)>) {
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    let (texts, calls) = heard(path, answer);
    let (mut expected, mut expected_calls) = (BTreeMap::<String, String>::new(), Vec::new());
    for report in answer.provenance()["streams"].as_array().unwrap() {
        let (text, made) = &streams[report["id"].as_str().unwrap()];
        expected_calls.extend(made.clone());
        let mut text = text.clone();
        for constant in report["constants"].as_array().unwrap() {
            let (at, length) = (constant[0].as_u64().unwrap() as usize, constant[1].as_u64().unwrap() as usize);
            let constant = [support::PLACEHOLDER, REFUSAL].into_iter().find(|constant| constant.len() == length);
            text.insert_str(at, constant.unwrap());
        }
        // Completions have only one channel.
        if path != "/v1/completions" || report["channel"] == "content" {
            expected.entry(report["channel"].as_str().unwrap().to_owned()).or_default().push_str(&text);
        }
    }
    expected.retain(|_, text| !text.is_empty());
    let texts: BTreeMap<String, String> = texts
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(channel, text)| (channel.to_owned(), text))
        .collect();
    assert_eq!((texts, calls), (expected, expected_calls), "{path}: {}", answer.body);
}

/// Answers of every kind in each mode: 240 in all, and 10,020 with `PORTCULLIS_LONG`.
#[test]
fn clients_receive_what_the_records_admitted() {
    let streams: usize = std::env::var("PORTCULLIS_LONG").map_or(80, |_| 3_340);
    let upstream = server();
    for (mode, on_refuse) in [("held", "stop"), ("held", "redact"), ("driven", "stop")] {
        let policy = policy(on_refuse);
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n[rotation]\nrecords = 150\n[[model]]\nname = \"m\"\n\
             kind = \"vllm\"\nmode = \"{mode}\"\nupstream = \"http://{}/v1\"\n",
            upstream.address
        );
        let gateway = Gateway::over(GatewayConfig::parse(&config).unwrap(), opener(&policy, folder.path()));
        let answers = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let (gateway, answers) = (&gateway, &answers);
                scope.spawn(move || {
                    let mut random = Random::new(worker + 1);
                    for _ in 0..streams / 4 {
                        let path =
                            *random.pick(&["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"]);
                        let chat = path != "/v1/completions";
                        let deltas = json!(deltas(&mut random, chat, chat && mode == "held"));
                        let prompt = format!("Say this. #{deltas}");
                        let turn = json!([{"role": "user", "content": prompt}]);
                        let stream = random.one_in(2);
                        let body = match path {
                            "/v1/completions" => json!({"model": "m", "stream": stream, "prompt": prompt}),
                            "/v1/responses" => json!({"model": "m", "stream": stream, "input": prompt}),
                            _ => json!({"model": "m", "stream": stream, "max_tokens": 64, "messages": turn}),
                        };
                        let body = match path {
                            "/v1/chat/completions" => json!({"model": "m", "stream": stream, "messages": turn}),
                            _ => body,
                        };
                        let answer = gateway.post(path, &offering(path, body));
                        answers.lock().unwrap().push((path, answer));
                    }
                });
            }
        });
        gateway.stop();
        let mut sessions: Vec<PathBuf> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().path()).collect();
        sessions.sort();
        assert!(sessions.len() > 1, "{sessions:?}");
        let mut streams = BTreeMap::new();
        for session in &sessions {
            streams.extend(admitted(session));
            let files = bundle::at(session).unwrap();
            let report = replay(&bundle::SnapshotFiles::new(&*files), None, &mut || ()).unwrap();
            assert_eq!(report.replayed, report.streams, "{}: {:?}", session.display(), report.reasons);
        }
        let answers = answers.into_inner().unwrap();
        let mut refusals = 0;
        for (path, answer) in &answers {
            assert_admitted(path, answer, &streams);
            assert!(answer.provenance()["mode"].as_str().unwrap().starts_with(mode));
            assert!(!answer.body.contains("badword") && !answer.body.contains("badly"), "{path}: {}", answer.body);
            refusals += usize::from(answer.provenance()["streams"][0]["rejected"] != 0);
        }
        assert!(refusals * 10 > answers.len(), "{refusals} of {} had a refusal", answers.len());
    }
}
