//! Answers of model servers that once reached a client unjudged, or as something that the model did not write.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use portcullis_gateway::config::GatewayConfig;
use serde_json::{Value, json};
use std::sync::Arc;
use support::{
    Answer, Gateway, REFUSAL, Step, Upstream, ask, chat, delta, event, event_head, finish, opener, policy, text,
};

fn server(steps: impl Fn(&str, &Value) -> Vec<Step> + Send + Sync + 'static) -> Upstream {
    Upstream::new(Arc::new(steps))
}

fn refusing(text: &str) -> Step {
    delta(json!({"refusal": text}))
}

fn messages(stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "max_tokens": 64, "messages": [{"role": "user", "content": "Birds?"}]})
}

/// All strings of an answer's events or body, joined: every text that a client could join.
fn joined(answer: &Answer) -> String {
    fn strings(value: &Value, all: &mut String) {
        match value {
            Value::String(text) => all.push_str(text),
            Value::Array(list) => list.iter().for_each(|value| strings(value, all)),
            Value::Object(fields) => fields.values().for_each(|value| strings(value, all)),
            _ => {}
        }
    }
    let of = |events: &[Value]| {
        let mut all = String::new();
        for event in events {
            let shown = [&event["delta"]["text"], &event["content"], &event["delta"]["thinking"]];
            shown.iter().for_each(|value| strings(value, &mut all));
        }
        all
    };
    if answer.head.contains("text/event-stream") { of(&answer.events()) } else { of(&[answer.json()]) }
}

/// Clients of Messages get one block of text, so the gate judges the content and the model's refusal as one text.
#[test]
fn messages_judge_a_text_that_is_split_over_content_and_refusal() {
    type Make = fn() -> Vec<Step>;
    let scripts: [(&str, Make); 3] = [
        ("content first", || chat([text("Birds sing. A ba"), refusing("dword stands here.")], "stop")),
        ("refusal first", || chat([refusing("Birds sing. A ba"), text("dword stands here.")], "stop")),
        ("in turns", || chat([text("Birds sing. A b"), refusing("adw"), text("ord stands here.")], "stop")),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (name, script) in scripts {
        let upstream = server(move |_, _| script());
        for on_refuse in ["stop", "redact"] {
            let model = format!("[[model]]\nname = \"m\"\nupstream = \"http://{}/v1\"\n", upstream.address);
            let config =
                || GatewayConfig::parse(&format!("listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n{model}")).unwrap();
            let bundles = folder.path().join(name).join(on_refuse);
            std::fs::create_dir_all(&bundles).unwrap();
            // One of the scripts also runs on the simulated card, which starts slowly.
            let simulated = || Gateway::over(config(), opener(&policy(on_refuse), &bundles));
            let simulated = (name == "in turns").then(simulated);
            for gateway in [Gateway::new(&policy(on_refuse), &upstream, "")].into_iter().chain(simulated) {
                for stream in [true, false] {
                    let answer = gateway.post("/v1/messages", &messages(stream));
                    let got = joined(&answer);
                    assert!(got.contains("Birds sing.") && !got.contains("badword"), "{name} {on_refuse}: {got}");
                    let provenance = answer.provenance();
                    assert_eq!(provenance["streams"].as_array().map(Vec::len), Some(1), "{provenance}");
                    assert_eq!(provenance["streams"][0]["rules"], json!(["NO-BAD"]), "{provenance}");
                }
                gateway.stop();
            }
        }
    }
}

/// Responses have a part for a refusal, which clients keep apart from the text.
#[test]
fn responses_give_a_refusal_as_a_part_of_its_own() {
    let upstream = server(|_, _| chat([text("Birds sing."), refusing("I cannot "), refusing("say more.")], "stop"));
    let gateway = Gateway::new(&policy("stop"), &upstream, "");
    let request = |stream: bool| json!({"model": "m", "stream": stream, "input": "Birds?"});
    let streamed = gateway.post("/v1/responses", &request(true));
    let of = |kind: &str| {
        let events = streamed.events().into_iter().filter(|event| event["type"] == kind);
        events.collect::<Vec<_>>()
    };
    let deltas: String = of("response.refusal.delta").iter().map(|event| event["delta"].as_str().unwrap()).collect();
    assert_eq!(deltas, "I cannot say more.", "{}", streamed.body);
    assert_eq!(of("response.refusal.done")[0]["refusal"], "I cannot say more.");
    assert_eq!(of("response.output_text.done")[0]["text"], "Birds sing.");
    let kept = json!({"type": "refusal", "refusal": "I cannot say more."});
    assert_eq!(of("response.content_part.done")[1]["part"], kept);
    let whole = gateway.post("/v1/responses", &request(false)).json();
    for output in [&of("response.completed")[0]["response"]["output"], &whole["output"]] {
        assert_eq!(output[0]["content"][0]["text"], "Birds sing.", "{output}");
        assert_eq!(output[1]["content"], json!([kept]), "{output}");
    }
}

/// A server chooses no number that a client reads.
#[test]
fn counts_of_the_server_are_bounded_by_what_the_gateway_saw() {
    const NUMBER: u64 = 4_111_111_111_111_111;
    let counted = |path: &str, _: &Value| {
        let usage = json!({"prompt_tokens": NUMBER, "completion_tokens": NUMBER, "total_tokens": NUMBER});
        let said = match path.ends_with("/chat/completions") {
            true => json!({"index": 0, "delta": {"content": "Birds sing."}, "finish_reason": "stop"}),
            false => json!({"index": 0, "text": "Birds sing.", "finish_reason": "stop"}),
        };
        // The counts come before, with and after the text.
        let chunks = [json!([]), json!([said]), json!([])];
        let chunks = chunks.map(|choices| event(&json!({"choices": choices, "usage": usage})));
        [event_head()].into_iter().chain(chunks).chain([Step::Write(b"data: [DONE]\n\n".to_vec())]).collect()
    };
    let upstream = server(counted);
    let gateway = Gateway::new(&policy("stop"), &upstream, "");
    let mut turn = ask("Birds?", true);
    turn["stream_options"] = json!({"include_usage": true});
    let requests = [
        ("/v1/chat/completions", turn),
        ("/v1/chat/completions", ask("Birds?", false)),
        ("/v1/completions", json!({"model": "m", "prompt": "Birds?"})),
        ("/v1/responses", json!({"model": "m", "input": "Birds?", "stream": true})),
        ("/v1/messages", messages(true)),
    ];
    for (path, request) in requests {
        let answer = gateway.post(path, &request);
        assert!(!answer.body.contains("4111111"), "{path}: {}", answer.body);
        let values = if answer.head.contains("event-stream") { answer.events() } else { vec![answer.json()] };
        let usage = |value: &Value| {
            let found = value.get("usage").or_else(|| value["response"].get("usage"));
            found.filter(|usage| usage.is_object()).cloned()
        };
        let usage = values.iter().rev().find_map(usage).unwrap();
        let count = |names: [&str; 2]| names.iter().find_map(|name| usage[*name].as_u64()).unwrap();
        let asked = upstream.asked.lock().unwrap().last().unwrap().to_string().len() as u64;
        assert!((1..=asked).contains(&count(["prompt_tokens", "input_tokens"])), "{path}: {usage}");
        let said = "Birds sing.".len() as u64 + 1;
        assert!((1..=said).contains(&count(["completion_tokens", "output_tokens"])), "{path}: {usage}");
    }
}

fn tools(request: Value, names: &[&str]) -> Value {
    let tool = |name: &&str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
    let mut request = request;
    request["tools"] = names.iter().map(tool).collect();
    request
}

/// A fragment of a tool call; empty values are left out.
fn fragment(index: u64, id: &str, name: &str, arguments: &str) -> Step {
    let mut function = json!({"arguments": arguments});
    if !name.is_empty() {
        function["name"] = json!(name);
    }
    let mut call = json!({"index": index, "function": function});
    if !id.is_empty() {
        call["id"] = json!(id);
    }
    delta(json!({"tool_calls": [call]}))
}

/// Names and arguments of the calls in a chat answer.
fn called(answer: &Answer) -> Vec<(String, String)> {
    let lists = match answer.head.contains("event-stream") {
        true => answer.events().iter().map(|event| event["choices"][0]["delta"]["tool_calls"].clone()).collect(),
        false => vec![answer.json()["choices"][0]["message"]["tool_calls"].clone()],
    };
    let calls = lists.iter().filter_map(Value::as_array).flatten();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    calls.map(|call| (text(&call["function"]["name"]), text(&call["function"]["arguments"]))).collect()
}

type Calls = Vec<(&'static str, &'static str)>;

/// Servers write the fragments of calls in many forms. The client gets the model's calls, and no other call.
#[test]
fn fragments_of_calls_are_assembled() {
    let scripts: Vec<(&str, Vec<Step>, Calls)> = vec![
        (
            "the name in every fragment",
            vec![fragment(0, "a", "look", ""), fragment(0, "a", "look", "{\"x\""), fragment(0, "a", "look", ":1}")],
            vec![("look", r#"{"x":1}"#)],
        ),
        (
            "the name in two pieces",
            vec![fragment(0, "a", "lo", ""), fragment(0, "", "ok", "{\"x\":1}")],
            vec![("look", r#"{"x":1}"#)],
        ),
        (
            "two calls in turns",
            vec![
                fragment(0, "a", "look", "{\"x\":"),
                fragment(1, "b", "add", "{\"y\":"),
                fragment(0, "", "", "1}"),
                fragment(1, "", "", "2}"),
            ],
            vec![("look", r#"{"x":1}"#), ("add", r#"{"y":2}"#)],
        ),
        (
            "the index 0 for two calls",
            vec![fragment(0, "a", "look", "{\"x\":1}"), fragment(0, "b", "add", "{\"y\":2}")],
            vec![("look", r#"{"x":1}"#), ("add", r#"{"y":2}"#)],
        ),
    ];
    for (name, fragments, expected) in scripts {
        for kind in ["held", "driven"] {
            let fragments = fragments.clone();
            let upstream = server(move |_, _| chat(fragments.clone(), "tool_calls"));
            let config = format!(
                "listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n[[model]]\nname = \"m\"\nkind = \"vllm\"\n\
                 mode = \"{kind}\"\nupstream = \"http://{}/v1\"\n",
                upstream.address
            );
            let gateway = Gateway::with(&policy("stop"), &config);
            for stream in [true, false] {
                let answer = gateway.post("/v1/chat/completions", &tools(ask("Birds?", stream), &["look", "add"]));
                let got = called(&answer);
                let got: Vec<(&str, &str)> = got.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
                assert_eq!(got, expected, "{name}, {kind}: {}", answer.body);
                assert_eq!(finish(&answer), "tool_calls", "{name}, {kind}");
            }
        }
    }
}

fn block(kind: &str, fields: &Value) -> Step {
    let mut event = fields.clone();
    event["type"] = json!(kind);
    Step::Write(format!("event: {kind}\ndata: {event}\n\n").into_bytes())
}

/// Events of a server of the kind `anthropic`, with these blocks.
fn blocks(steps: impl IntoIterator<Item = Step>, reason: &str) -> Vec<Step> {
    let start = block("message_start", &json!({"message": {"content": [], "usage": {"input_tokens": 3}}}));
    let delta = block("message_delta", &json!({"delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}}));
    let stop = block("message_stop", &json!({}));
    [event_head(), start].into_iter().chain(steps).chain([delta, stop]).collect()
}

fn tool_use(index: u64, name: &str, input: &Value) -> Step {
    let content = json!({"type": "tool_use", "id": "x", "name": name, "input": input});
    block("content_block_start", &json!({"index": index, "content_block": content}))
}

fn input_piece(index: u64, text: &str) -> Step {
    block("content_block_delta", &json!({"index": index, "delta": {"type": "input_json_delta", "partial_json": text}}))
}

fn block_end(index: u64) -> Step {
    block("content_block_stop", &json!({"index": index}))
}

#[test]
fn blocks_of_calls_are_assembled_or_end_the_answer() {
    let none = json!({});
    let in_start = vec![tool_use(0, "look", &json!({"x": 1})), block_end(0)];
    let in_turns = vec![
        tool_use(0, "look", &none),
        tool_use(1, "add", &none),
        input_piece(0, "{\"x\":"),
        input_piece(1, "{\"y\":"),
        input_piece(0, "1}"),
        block_end(0),
        input_piece(1, "2}"),
        block_end(1),
    ];
    let twice = vec![tool_use(0, "look", &json!({"x": 1})), input_piece(0, "{\"x\":2}"), block_end(0)];
    let late = vec![tool_use(0, "look", &none), block_end(0), input_piece(0, "{\"x\":2}")];
    let scripts: [(Vec<Step>, Option<Calls>); 4] = [
        (in_start, Some(vec![("look", r#"{"x":1}"#)])),
        (in_turns, Some(vec![("look", r#"{"x":1}"#), ("add", r#"{"y":2}"#)])),
        (twice, None),
        (late, None),
    ];
    for (steps, expected) in scripts {
        let upstream = server(move |_, _| blocks(steps.clone(), "tool_use"));
        let config = format!(
            "listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n[[model]]\nname = \"m\"\nkind = \"anthropic\"\n\
             upstream = \"http://{}/v1\"\n",
            upstream.address
        );
        let gateway = Gateway::with(&policy("stop"), &config);
        let answer = gateway.post("/v1/chat/completions", &tools(ask("Birds?", false), &["look", "add"]));
        match expected {
            Some(expected) => {
                let got = called(&answer);
                let got: Vec<(&str, &str)> = got.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
                assert_eq!(got, expected, "{}", answer.body);
            }
            None => assert_eq!(answer.status, 502, "{}", answer.body),
        }
    }
}

/// A call of a tool that the client did not offer is refused, with its reason in the answer and in the records.
#[test]
fn a_call_of_a_tool_that_was_not_offered_is_refused() {
    let script = |_: &str, _: &Value| {
        chat([text("Birds sing."), fragment(0, "a", "look", "{\"x\":1}"), fragment(1, "b", "wipe", "{}")], "tool_calls")
    };
    let offered = |stream| tools(ask("Birds?", stream), &["look", "wipe"]);
    let none = |stream| {
        let mut request = offered(stream);
        request["tool_choice"] = json!("none");
        request
    };
    let in_json = |stream| {
        let mut request = tools(ask("Birds?", stream), &["look"]);
        request["response_format"] = json!({"type": "json_object"});
        request
    };
    let upstream = server(script);
    let folder = tempfile::tempdir().unwrap();
    for mode in ["held", "driven"] {
        let config = format!(
            "listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n[[model]]\nname = \"m\"\nkind = \"vllm\"\n\
             mode = \"{mode}\"\nupstream = \"http://{}/v1\"\n",
            upstream.address
        );
        let bundles = folder.path().join(mode);
        std::fs::create_dir(&bundles).unwrap();
        let gateway = match mode {
            "held" => Gateway::over(GatewayConfig::parse(&config).unwrap(), opener(&policy("stop"), &bundles)),
            _ => Gateway::with(&policy("stop"), &config),
        };
        for stream in [true, false] {
            assert_eq!(called(&gateway.post("/v1/chat/completions", &offered(stream))).len(), 2, "{mode}");
            let one = if mode == "held" { in_json(stream) } else { tools(ask("Birds?", stream), &["look"]) };
            for (request, calls) in
                [(tools(ask("Birds?", stream), &["look"]), 1), (one, 1), (none(stream), 0), (ask("Birds?", stream), 0)]
            {
                let answer = gateway.post("/v1/chat/completions", &request);
                assert_eq!(
                    (called(&answer).len(), finish(&answer)),
                    (calls, "content_filter".into()),
                    "{}",
                    answer.body
                );
                assert!(support::said(&answer, "content").ends_with(REFUSAL), "{}", answer.body);
                let provenance = answer.provenance();
                let refused = provenance["streams"].as_array().unwrap().last().unwrap().clone();
                assert_eq!(refused["stopped"], "TOOL-NOT-OFFERED", "{provenance}");
                assert_eq!(refused["rules"], json!(["TOOL-NOT-OFFERED"]), "{provenance}");
                assert!(refused["id"].as_str().unwrap().contains("TOOL-NOT-OFFERED"), "{provenance}");
            }
        }
        gateway.stop();
        if mode == "driven" {
            continue;
        }
        // The records bind the stream's id.
        let bundle = bundles.join("session-1");
        let check = portcullis_audit::check;
        let mut trust = portcullis_evidence::verify::TrustedParties::default();
        let root = portcullis_authority::ca::simulation().unwrap().certificate_pem().unwrap();
        trust.roots.add_sim_root(root.as_bytes()).unwrap();
        let options =
            portcullis_evidence::verify::VerifyOptions { allow_sim: true, allow_not_enforced: true, at: None };
        let files = portcullis_evidence::bundle::DirectoryFiles::new(&bundle);
        let checked = check(&files, &trust, options, &mut |_| (), &mut || ()).unwrap();
        assert!([0, 10].contains(&checked.exit_code), "{checked:#?}");
        let replay = checked.replay.unwrap();
        assert_eq!(replay.replayed, replay.streams, "{replay}");
    }
}

/// In Messages, too, calls under `tool_choice` of the type `none` are refused.
#[test]
fn no_call_reaches_a_client_of_messages_that_wants_none() {
    let upstream = server(|_, _| blocks([tool_use(0, "look", &json!({"x": 1})), block_end(0)], "tool_use"));
    let config = format!(
        "listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n[[model]]\nname = \"m\"\nkind = \"anthropic\"\n\
         upstream = \"http://{}/v1\"\n",
        upstream.address
    );
    let gateway = Gateway::with(&policy("stop"), &config);
    for stream in [true, false] {
        let mut request = messages(stream);
        request["tools"] = json!([{"name": "look", "input_schema": {"type": "object"}}]);
        assert!(gateway.post("/v1/messages", &request).body.contains("tool_use"));
        request["tool_choice"] = json!({"type": "none"});
        let answer = gateway.post("/v1/messages", &request);
        assert!(!answer.body.contains("tool_use") && answer.body.contains("TOOL-NOT-OFFERED"), "{}", answer.body);
    }
}
