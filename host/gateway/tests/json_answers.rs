//! Answers that clients decode: JSON answers, JSON inside text, and escapes.

use crate::support::{
    Answer, Gateway, PLACEHOLDER, REFUSAL, Script, Upstream, ask, chat, event, event_head, finish, policy, redacting,
    said, text,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// A model server that gives this text to every request, in chunks of this many characters.
fn server(answer: &str, size: usize) -> Upstream {
    let answer = answer.to_owned();
    let script: Script = Arc::new(move |path, _| {
        let letters: Vec<char> = answer.chars().collect();
        let pieces = letters.chunks(size).map(|piece| piece.iter().collect::<String>());
        if path == "/v1/completions" {
            let piece =
                |piece: String| event(&json!({"choices": [{"index": 0, "text": piece, "finish_reason": null}]}));
            let last = event(&json!({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}));
            return [event_head()].into_iter().chain(pieces.map(piece)).chain([last]).collect();
        }
        chat(pieces.map(|piece| text(&piece)), "stop")
    });
    Upstream::new(script)
}

/// Answers to a request in each API, streamed and whole.
fn in_every_api(gateway: &Gateway, is_json: bool) -> Vec<Answer> {
    let turn = json!([{"role": "user", "content": "Go."}]);
    let mut asked = Vec::new();
    for stream in [true, false] {
        let mut chat = json!({"model": "m", "stream": stream, "messages": turn});
        let mut responses = json!({"model": "m", "stream": stream, "input": "Go."});
        if is_json {
            chat["response_format"] = json!({"type": "json_object"});
            responses["text"] = json!({"format": {"type": "json_object"}});
        } else {
            asked.push(("/v1/messages", json!({"model": "m", "stream": stream, "max_tokens": 64, "messages": turn})));
            asked.push(("/v1/completions", json!({"model": "m", "stream": stream, "prompt": "Go."})));
        }
        asked.extend([("/v1/chat/completions", chat), ("/v1/responses", responses)]);
    }
    let answers = asked.iter().map(|(path, body)| gateway.post(path, body));
    answers.inspect(|answer| assert_eq!(answer.status, 200, "{}", answer.body)).collect()
}

/// Everything that a client could decode from an answer: its bytes, and each of its strings, to depth five.
fn decoded(answer: &Answer) -> String {
    fn strings(value: &Value, depth: usize, all: &mut String) {
        match value {
            Value::String(text) => {
                all.push_str(text);
                all.push('\n');
                if let Some(inner) = serde_json::from_str(text).ok().filter(|_| depth > 0) {
                    strings(&inner, depth - 1, all);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| strings(item, depth, all)),
            Value::Object(members) => members.iter().for_each(|(key, value)| {
                all.push_str(key);
                all.push('\n');
                strings(value, depth, all);
            }),
            _ => {}
        }
    }
    let mut all = answer.body.clone();
    let values = if answer.head.contains("text/event-stream") { answer.events() } else { vec![answer.json()] };
    values.iter().for_each(|value| strings(value, 5, &mut all));
    all.push_str(
        &values.iter().filter_map(|value| value["choices"][0]["delta"]["content"].as_str()).collect::<String>(),
    );
    all
}

/// A word that the policy refuses, in the forms in which JSON can give it.
const FORMS: [&str; 5] = ["badword", "\\u0062adword", "b\\u0061dword", "\\\"badword\\\"", "x\\nbadword"];

#[test]
fn a_json_answer_is_judged_as_its_client_decodes_it() {
    for on_refuse in ["stop", "redact"] {
        for form in FORMS {
            let nested = serde_json::to_string(&format!("{{\"to\": \"{form}\"}}")).unwrap();
            for answer in [
                format!("{{\"to\": \"{form}\", \"n\": 1}}"),
                format!("{{\"a\": {{\"{form}\": [1, 2]}}}}"),
                format!("{{\"body\": {nested}}}"),
                format!("{{\"body\": {}}}", serde_json::to_string(&format!("{{\"b\": {nested}}}")).unwrap()),
            ] {
                let upstream = server(&answer, 3);
                let gateway = Gateway::new(&policy(on_refuse), &upstream, "");
                for got in in_every_api(&gateway, true) {
                    assert!(!decoded(&got).contains("adword") && !got.body.contains("u0062"), "{answer}: {}", got.body);
                    assert_eq!(got.provenance()["streams"][0]["rules"], json!(["NO-BAD"]), "{answer}: {}", got.body);
                }
            }
        }
    }
}

#[test]
fn a_redacted_json_answer_is_the_object_that_was_asked_for() {
    let schema = |kind: Value| {
        let properties = json!({"to": {"type": "string"}, "n": {"type": kind}});
        let schema = json!({"type": "object", "properties": properties});
        json!({"type": "json_schema", "json_schema": {"name": "letter", "schema": schema}})
    };
    let (object, number, optional) = (json!({"type": "json_object"}), json!("number"), json!(["number", "null"]));
    let mark = json!(PLACEHOLDER);
    let card = "{\"to\": \"Ana\", \"n\": 5555555555554444}";
    for (answer, format, expected) in [
        (r#"{"to": "see a@b.org", "n": 1.50}"#, &object, Some(json!({"to": mark, "n": 1.50}))),
        (r#"{"to": ["a@b.org", "Ana.", "c@d.org"]}"#, &object, Some(json!({"to": [mark, "Ana.", mark]}))),
        (r#"{"to": ["a@b.org", "c@d.org"]}"#, &object, Some(json!({"to": [mark, ""]}))),
        (
            r#"{"to": "\"a\" Go. To a@b.org. Stop."}"#,
            &object,
            Some(json!({"to": format!("\"a\" Go. {PLACEHOLDER} Stop.")})),
        ),
        (card, &object, Some(json!({"to": "Ana", "n": null}))),
        (card, &schema(optional), Some(json!({"to": "Ana", "n": null}))),
        (card, &schema(number.clone()), None),
        (r#"{"a@b.org": 1}"#, &object, None),
        (r#"{"to": "a@b.org", "n": 1}"#, &schema(number), Some(json!({"to": mark, "n": 1}))),
        (r#"{"to": "a@b.org", "n": 1}"#, &json!({"type": "json_schema", "json_schema": {}}), None),
    ] {
        let upstream = server(answer, 3);
        let gateway = Gateway::new(&redacting("pii"), &upstream, "");
        for stream in [true, false] {
            let mut body = ask("Go.", stream);
            body["response_format"] = format.clone();
            let got = gateway.post("/v1/chat/completions", &body);
            let content = said(&got, "content");
            match &expected {
                Some(value) => {
                    assert_eq!(serde_json::from_str::<Value>(&content).ok().as_ref(), Some(value), "{}", got.body);
                    assert_eq!(finish(&got), "stop", "{}", got.body);
                }
                None => {
                    assert_eq!((content.as_str(), finish(&got).as_str()), (REFUSAL, "content_filter"));
                    // Nothing was sent before the refusal.
                    let constants = &got.provenance()["streams"][0]["constants"];
                    assert_eq!(constants, &json!([[0, REFUSAL.len()]]), "{}", got.body);
                }
            }
        }
    }
}

#[test]
fn json_inside_a_text_is_judged_as_its_reader_decodes_it() {
    for form in FORMS {
        for answer in [
            format!("Here it is:\n```json\n{{\"to\": \"{form}\"}}\n```\nDone."),
            format!("The object {{\"{form}\": 1}} is it. Done."),
            format!("Write \"{form}\" into the file. Done."),
            "See [it](https://example.org/?q=%62adword). Done.".to_owned(),
            "See <a href=\"x:&#98;adword\">it</a>. Done.".to_owned(),
        ] {
            let upstream = server(&answer, 2);
            for on_refuse in ["stop", "redact"] {
                let gateway = Gateway::new(&policy(on_refuse), &upstream, "");
                for got in in_every_api(&gateway, false) {
                    let all = decoded(&got);
                    let is_hidden =
                        ["adword", "u0062", "u0061dword", "%62", "&#98;"].iter().all(|part| !all.contains(part));
                    assert!(is_hidden, "{answer}: {}", got.body);
                }
            }
        }
    }
}

#[test]
fn a_json_answer_leaves_in_the_encoding_of_the_gate() {
    let upstream = server("{ \"z\": \"\\u00e9 \\/ \\u0022\", \"a\" : [1.50, 1e3 , null] }\n", 4);
    let gateway = Gateway::new(&policy("stop"), &upstream, "");
    for stream in [true, false] {
        let mut body = ask("Go.", stream);
        body["response_format"] = json!({"type": "json_object"});
        let got = gateway.post("/v1/chat/completions", &body);
        assert_eq!(said(&got, "content"), "{\"z\":\"é / \\\"\",\"a\":[1.50,1e3,null]}");
        assert_eq!(finish(&got), "stop");
    }
}

#[test]
fn a_json_answer_that_is_not_json_is_judged_as_text() {
    let upstream = server("{\"a\": \"Birds sing.\", \"b\": \"\\u0062ad", 4);
    let gateway = Gateway::new(&policy("stop"), &upstream, "");
    let mut body = ask("Go.", false);
    body["response_format"] = json!({"type": "json_object"});
    let got = gateway.post("/v1/chat/completions", &body);
    assert_eq!((said(&got, "content").as_str(), finish(&got).as_str()), ("<ended>", "content_filter"));
}

#[test]
fn a_json_answer_with_a_key_twice_fails() {
    for answer in ["{\"a\": 1, \"a\": 2}", "{\"b\": {\"a\": 1, \"\\u0061\": 2}}"] {
        let upstream = server(answer, 4);
        let gateway = Gateway::new(&policy("stop"), &upstream, "");
        let mut body = ask("Go.", false);
        body["response_format"] = json!({"type": "json_object"});
        let got = gateway.post("/v1/chat/completions", &body);
        assert_eq!(got.status, 502, "{}", got.body);
        assert!(got.body.contains("a JSON object that has a key twice"), "{}", got.body);
    }
}

#[test]
fn a_document_in_too_many_strings_is_refused() {
    let mut answer = "{\"to\": \"Birds sing.\"}".to_owned();
    for depth in 1..=6 {
        let upstream = server(&answer, 50);
        let gateway = Gateway::new(&policy("stop"), &upstream, "");
        let mut body = ask("Go.", false);
        body["response_format"] = json!({"type": "json_object"});
        let got = gateway.post("/v1/chat/completions", &body);
        let rules = got.provenance()["streams"][0]["rules"].clone();
        assert_eq!(rules == json!(["JSON-DEPTH"]), depth > 4, "depth {depth}: {}", got.body);
        assert_eq!(finish(&got) == "stop", depth <= 4, "depth {depth}: {}", got.body);
        answer = format!("{{\"body\": {}}}", serde_json::to_string(&answer).unwrap());
    }
}
