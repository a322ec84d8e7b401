//! Reproduces faults between a model server and a client that occurred in other gateways. Refused text never reaches
//! the client, and every answer ends with a reason.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use support::{
    Answer, Gateway, PLACEHOLDER, REFUSAL, Script, Step, Upstream, ask, ask_with_tools, chat, delta, end, event,
    event_head, finish, offering, policy, said, text,
};

/// The modes in which each fault is tested.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Held,
    Driven,
}

const MODES: [Mode; 2] = [Mode::Held, Mode::Driven];

impl Mode {
    /// Lines for the model's configuration.
    fn lines(self) -> &'static str {
        match self {
            Self::Held => "",
            Self::Driven => "kind = \"vllm\"\nmode = \"driven\"\n",
        }
    }

    fn gateway(self, on_refuse: &str, upstream: &Upstream, settings: &str) -> Gateway {
        let model = format!("[[model]]\nname = \"m\"\nupstream = \"http://{}/v1\"\n{}", upstream.address, self.lines());
        let config = format!("listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n{settings}\n{model}");
        Gateway::with(&policy(on_refuse), &config)
    }
}

/// The word in the last message selects the answer. If the request has a seed, the gate wants an alternative after a
/// refusal; this server has none.
fn server(plays: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static) -> Upstream {
    let script: Script = Arc::new(move |_, body: &Value| {
        if body["seed"].is_i64() {
            return chat([], "stop");
        }
        let asked = body["messages"].as_array().and_then(|all| all.last()).map_or(&body["prompt"], |m| &m["content"]);
        plays(asked.as_str().unwrap_or_default())
    });
    Upstream::new(script)
}

fn one(steps: Vec<Step>) -> Upstream {
    server(move |_| steps.clone())
}

/// Asserts that a refused word of these tests occurs in no form. Digests and random names of 32 or more hexadecimal
/// digits are ignored, since they can contain such a word by chance.
fn assert_clean(answer: &Answer) {
    let is_name = |run: &str| run.len() >= 32 && run.bytes().all(|b| b.is_ascii_hexdigit());
    let mut runs = answer.body.split(|c: char| !c.is_ascii_alphanumeric());
    assert!(!runs.any(|run| run.contains("bad") && !is_name(run)), "a refused word left: {}", answer.body);
}

/// A streamed answer gets the verdicts of a whole answer. The last span of an answer can be refused.
#[test]
fn a_stream_gets_the_verdicts_of_a_whole_answer() {
    let upstream = server(|asked| chat(asked.split_inclusive(' ').map(text), "stop"));
    // A driven answer ends if there is no alternative, under both `stop` and `redact`.
    let all = [(Mode::Held, "stop", REFUSAL), (Mode::Held, "redact", PLACEHOLDER)];
    let all = all.into_iter().chain([(Mode::Driven, "stop", REFUSAL), (Mode::Driven, "redact", REFUSAL)]);
    for (mode, on_refuse, mark) in all {
        let gateway = mode.gateway(on_refuse, &upstream, "");
        for stream in [false, true] {
            let clean = gateway.post("/v1/chat/completions", &ask("Birds sing. Ships sail.", stream));
            assert_eq!((clean.status, said(&clean, "content").as_str()), (200, "Birds sing. Ships sail."));
            assert_eq!(finish(&clean), "stop");
            let refused = gateway.post("/v1/chat/completions", &ask("Birds sing. A badword stands here.", stream));
            let left = said(&refused, "content");
            // The placeholder stands where the first withheld byte was, behind the space.
            let space = if mark == PLACEHOLDER { " " } else { "" };
            assert_eq!((refused.status, left.trim_end()), (200, format!("Birds sing.{space}{mark}").as_str()));
            assert_eq!(finish(&refused), if mark == REFUSAL { "content_filter" } else { "stop" });
            assert_eq!(refused.provenance()["streams"][0]["rules"], json!(["NO-BAD"]));
            assert_clean(&refused);
        }
    }
}

/// Tool calls arrive in pieces. A refused call is not sent; an admitted call is sent only when it is complete.
#[test]
fn tool_calls_are_held_until_they_are_whole() {
    let call = |name: &str, arguments: &str| -> Vec<Step> {
        let first = json!({"index": 0, "id": "up", "type": "function", "function": {"name": name, "arguments": ""}});
        let pieces = arguments.as_bytes().chunks(2).map(|piece| {
            let piece = String::from_utf8(piece.to_vec()).unwrap();
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}))
        });
        chat([delta(json!({"tool_calls": [first]}))].into_iter().chain(pieces), "tool_calls")
    };
    let upstream = server(move |asked| match asked {
        "drop" => call("drop_table", "{\"name\":\"users\"}"),
        "shell" => call("run", "{\"command\": \"rm -rf /\"}"),
        "word" => call("say", "{\"text\": \"a badword\"}"),
        "escaped" => call("say", "{\"text\": \"a b\\u0061dword\"}"),
        "broken" => call("say", "{\"text\": "),
        _ => call("look", "{ \"port\" : 7 }"),
    });
    for mode in MODES {
        let gateway = mode.gateway("stop", &upstream, "");
        for stream in [false, true] {
            for what in ["drop", "shell", "word", "escaped", "broken"] {
                let answer = gateway.post("/v1/chat/completions", &ask_with_tools(what, stream));
                assert_eq!(
                    (answer.status, finish(&answer).as_str()),
                    (200, "content_filter"),
                    "{what}: {}",
                    answer.body
                );
                assert!(
                    !answer.body.contains("tool_calls") && !answer.body.contains("rm -rf"),
                    "{what}: {}",
                    answer.body
                );
                assert_clean(&answer);
            }
            let answer = gateway.post("/v1/chat/completions", &ask_with_tools("look", stream));
            let calls = match stream {
                false => answer.json()["choices"][0]["message"]["tool_calls"].clone(),
                true => {
                    answer.events().iter().find_map(|e| e["choices"][0]["delta"].get("tool_calls").cloned()).unwrap()
                }
            };
            assert_eq!(calls[0]["function"], json!({"name": "look", "arguments": "{\"port\":7}"}));
            assert_ne!(calls[0]["id"], "up", "the upstream's words are not handed on");
            assert_eq!(finish(&answer), "tool_calls");
        }
    }
}

/// Text in channels other than the content is judged. Text in other fields is dropped.
#[test]
fn every_channel_is_judged_and_no_other_field_leaves() {
    let bad = json!({"token": "bad", "bytes": [98], "logprob": -1, "top_logprobs": [{"token": "badly"}]});
    let upstream = server(move |asked| match asked {
        "reasoning" => chat([delta(json!({"reasoning_content": "I think. A badword."})), text("Fine.")], "stop"),
        "reason" => chat([delta(json!({"reasoning": "A badword."})), text("Fine.")], "stop"),
        "refusal" => chat([delta(json!({"refusal": "A badword."}))], "stop"),
        "audio" => chat([delta(json!({"audio": {"transcript": "badword"}}))], "stop"),
        "fields" => {
            let logprobs = json!({"content": [bad]});
            let choice = json!({"index": 0, "delta": {"content": "Fine."}, "logprobs": logprobs, "token_ids": "badly"});
            let chunk = json!({"id": "bad", "model": "/bad", "system_fingerprint": "bad", "choices": [choice], "prompt_text": "bad"});
            chat([event(&chunk)], "stop")
        }
        _ => chat([delta(json!({"reasoning_content": "I think."})), text("Fine.")], "stop"),
    });
    for mode in MODES {
        let gateway = mode.gateway("stop", &upstream, "");
        for stream in [false, true] {
            for what in ["reasoning", "reason", "refusal"] {
                let answer = gateway.post("/v1/chat/completions", &ask(what, stream));
                assert_clean(&answer);
                if mode == Mode::Driven {
                    // A model that writes outside the answer's own channel cannot be driven.
                    assert_eq!(answer.status, 502, "{what}: {}", answer.body);
                    continue;
                }
                assert_eq!(
                    (answer.status, finish(&answer).as_str()),
                    (200, "content_filter"),
                    "{what}: {}",
                    answer.body
                );
                assert!(!answer.body.contains("Fine."), "what stands behind a refusal does not leave: {}", answer.body);
                assert_clean(&answer);
            }
            let answer = gateway.post("/v1/chat/completions", &ask("audio", stream));
            assert_eq!(answer.status, 502, "{}", answer.body);
            assert_clean(&answer);
            let answer = gateway.post("/v1/chat/completions", &ask("fields", stream));
            assert_eq!(said(&answer, "content"), "Fine.");
            assert_clean(&answer);
            if mode == Mode::Driven {
                continue;
            }
            let answer = gateway.post("/v1/chat/completions", &ask("fine", stream));
            assert_eq!(
                (said(&answer, "reasoning_content"), said(&answer, "content")),
                ("I think.".into(), "Fine.".into())
            );
        }
        let strict = format!(
            "[[model]]\nname = \"m\"\nupstream = \"http://{}/v1\"\nstrict_upstream = true\n{}",
            upstream.address,
            mode.lines()
        );
        let strict =
            Gateway::with(&policy("stop"), &format!("listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n{strict}"));
        assert_eq!(strict.post("/v1/chat/completions", &ask("fields", false)).status, 502);
        let fine = strict.post("/v1/chat/completions", &ask("fine", false)).status;
        assert_eq!(fine, if mode == Mode::Driven { 502 } else { 200 });
    }
}

/// A client joins the parts of a channel, so the gate judges them as one text. Text in another channel, or a call,
/// between two parts cannot hide a word.
#[test]
fn a_channel_is_one_text() {
    let upstream = server(|asked| match asked {
        "thought" => {
            let thought = |text: &str| delta(json!({"reasoning_content": text}));
            chat([text("A ba"), thought("I think."), text("dword here.")], "stop")
        }
        "back" => {
            let thought = |text: &str| delta(json!({"reasoning_content": text}));
            chat([thought("A ba"), text("Fine."), thought("dword here.")], "stop")
        }
        _ => {
            let call = json!({"index": 0, "id": "a", "function": {"name": "look", "arguments": "{}"}});
            chat([text("A ba"), delta(json!({"tool_calls": [call]})), text("dword here.")], "stop")
        }
    });
    for mode in MODES {
        let gateway = mode.gateway("stop", &upstream, "");
        for what in ["thought", "back", "call"] {
            for stream in [false, true] {
                let answer = gateway.post("/v1/chat/completions", &ask_with_tools(what, stream));
                assert!(answer.body.contains("upstream_error"), "{what}: {}", answer.body);
                assert!(!answer.body.contains("dword"), "{what}: {}", answer.body);
            }
        }
    }
}

/// A call's arguments are sent exactly as they were judged, numbers included. Two calls without an index stay two
/// calls.
#[test]
fn arguments_leave_as_they_were_judged() {
    let arguments = "{\"a\":1e2,\"b\":123456789012345678901,\"c\":1.10,\"d\":1e999}";
    let upstream = server(move |_| {
        let call = |name: &str, arguments: &str| {
            delta(json!({"tool_calls": [{"id": name, "function": {"name": name, "arguments": arguments}}]}))
        };
        chat([call("look", arguments), call("see", "{}")], "tool_calls")
    });
    for mode in MODES {
        let gateway = mode.gateway("stop", &upstream, "");
        let answer = gateway.post("/v1/chat/completions", &ask_with_tools("go", false)).json();
        let calls = answer["choices"][0]["message"]["tool_calls"].as_array().unwrap();
        let left: Vec<&str> = calls.iter().map(|call| call["function"]["arguments"].as_str().unwrap()).collect();
        assert_eq!(left, [arguments, "{}"]);
        assert!(
            calls
                .iter()
                .all(|call| call["id"].as_str().unwrap().len() <= 40 && call["id"] != calls[0]["function"]["name"])
        );
        assert_ne!(calls[0]["id"], calls[1]["id"]);
        // A whole answer contains the arguments as JSON, not as a string.
        let turn = json!([{"role": "user", "content": "go"}]);
        let message = gateway
            .post("/v1/messages", &offering("/v1/messages", json!({"model": "m", "max_tokens": 9, "messages": turn})));
        assert!(message.body.contains(&format!("\"input\":{arguments}")), "{}", message.body);
    }
}

/// Reasoning that a server writes under both common names counts only once.
#[test]
fn a_thought_under_two_names_is_one() {
    let upstream =
        one(chat([delta(json!({"reasoning": "I think.", "reasoning_content": "I think."})), text("Fine.")], "stop"));
    let gateway = Gateway::new(&policy("stop"), &upstream, "");
    let answer = gateway.post("/v1/chat/completions", &ask("a", false));
    assert_eq!((said(&answer, "reasoning_content"), said(&answer, "content")), ("I think.".into(), "Fine.".into()));
}

/// The card fails. Text that was sent before stays valid, no text follows, and answer and service end with the reason.
#[test]
fn a_card_that_dies_ends_every_answer_with_a_stated_reason() {
    let upstream = server(|_| chat((0..6).map(|n| text(&format!("Bird number {n} sings. "))), "stop"));
    let mut served = 0;
    let whole: String = (0..6).map(|n| format!("Bird number {n} sings. ")).collect();
    for (mode, submissions) in MODES.into_iter().flat_map(|mode| (1..14).map(move |submissions| (mode, submissions))) {
        let gateway = Gateway::with_mortal_card(&policy("stop"), &upstream, submissions, mode.lines());
        let broken = (0..).find_map(|turn| {
            let answer = gateway.post("/v1/chat/completions", &ask("go", (turn + submissions) % 2 == 0));
            let is_whole = answer.status == 200 && answer.body.contains("\"stop\"");
            served += u32::from(is_whole);
            (!is_whole).then_some(answer)
        });
        let answer = broken.unwrap();
        if answer.status == 200 {
            assert!(answer.body.contains("gate_failed"), "{submissions}: {}", answer.body);
            assert!(whole.starts_with(&said(&answer, "content")), "{submissions}: {}", answer.body);
        } else {
            assert!([500, 503].contains(&answer.status), "{submissions}: {}", answer.body);
        }
        let ended = gateway.wait().unwrap_err();
        assert!(matches!(ended, portcullis_gateway::ServeError::Session(_)), "{ended}");
    }
    assert!(served > 0);
}

/// The upstream's error message contains text, which the client must not get.
#[test]
fn errors_do_not_quote() {
    let status = |status: &str, body: &str| {
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        vec![Step::Write([head.as_bytes(), body.as_bytes()].concat())]
    };
    let upstream = server(move |asked| match asked {
        "400" => status("400 Bad Request", "{\"error\":{\"message\":\"badword\"}}"),
        "500" => status("500 badness", "badword"),
        _ => chat([text("Fine. "), event(&json!({"error": {"message": "badword"}}))], "stop"),
    });
    for mode in MODES {
        let gateway = mode.gateway("stop", &upstream, "");
        for (what, code) in [("400", "upstream_error"), ("500", "upstream_error"), ("event", "upstream_error")] {
            for stream in [false, true] {
                let answer = gateway.post("/v1/chat/completions", &ask(what, stream));
                assert!(answer.body.contains(code), "{what}: {}", answer.body);
                assert_clean(&answer);
            }
        }
    }
}

/// The body is cut after every byte, and uses every form of line end.
#[test]
fn every_cut_of_a_body_gives_the_same_answer() {
    let events = |line_end: &str| {
        let lines = [
            "\u{feff}: a comment".to_owned(),
            String::new(),
            format!("data:{}", json!({"choices": [{"index": 0, "delta": {"content": "Grüße, 世界. "}}]})),
            String::new(),
            "data: {\"choices\": [{\"index\": 0, \"delta\":".to_owned(),
            "data: {\"content\": \"Ende gut.\"}}]}".to_owned(),
            "id: 7".to_owned(),
            String::new(),
            format!("data: {}", json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})),
            String::new(),
            "data: [DONE]".to_owned(),
            String::new(),
        ];
        lines.map(|line| line + line_end).concat()
    };
    let upstream = server(move |asked| {
        let (end, cut) = asked.split_once(' ').unwrap();
        let body = events(match end {
            "lf" => "\n",
            "crlf" => "\r\n",
            _ => "\r",
        });
        let (first, second) = body.as_bytes().split_at(cut.parse::<usize>().unwrap() % body.len());
        vec![
            event_head(),
            Step::Write(first.to_vec()),
            Step::Wait(Duration::from_millis(1)),
            Step::Write(second.to_vec()),
        ]
    });
    for mode in MODES {
        let gateway = mode.gateway("stop", &upstream, "");
        for end in ["lf", "crlf", "cr"] {
            for cut in (0..330).step_by(3) {
                let answer = gateway.post("/v1/chat/completions", &ask(&format!("{end} {cut}"), false));
                assert_eq!(
                    (answer.status, said(&answer, "content").as_str()),
                    (200, "Grüße, 世界. Ende gut."),
                    "{end} {cut}"
                );
            }
        }
    }
}

/// Answers that are too long or do not end.
#[test]
fn what_has_no_end_is_cut_off() {
    let upstream = server(|asked| match asked {
        "line" => vec![event_head(), Step::Write(vec![b'a'; 3 << 20])],
        "event" => vec![event_head(), Step::Write("data: abc\n".repeat(400_000).into_bytes())],
        _ => {
            let deltas = std::iter::repeat_n(text("Birds sing. "), 40_000);
            chat(deltas, "stop")
        }
    });
    for mode in MODES {
        let gateway = mode.gateway("stop", &upstream, "[limits]\nstream_bytes = 2_000_000\n");
        for what in ["line", "event"] {
            assert_eq!(gateway.post("/v1/chat/completions", &ask(what, false)).status, 502, "{what}");
        }
        let answer = gateway.post("/v1/chat/completions", &ask("stream", true));
        let last = &answer.body[answer.body.len() - 300..];
        match mode {
            Mode::Held => assert!(answer.body.contains("upstream_error"), "{last}"),
            // A driven stream reaches the limit of candidates first.
            Mode::Driven => assert!(answer.body.contains("limit: the engine was asked"), "{last}"),
        }
    }
}

/// Interleaved choices, wrong indices, and data at wrong places.
#[test]
fn choices_and_ends_that_are_out_of_place() {
    let choice =
        |index: Value, content: &str| event(&json!({"choices": [{"index": index, "delta": {"content": content}}]}));
    let stop = |index: u32| event(&json!({"choices": [{"index": index, "delta": {}, "finish_reason": "stop"}]}));
    let done = || Step::Write(b"data: [DONE]\n\n".to_vec());
    let upstream = server(move |asked| match asked {
        "two" => {
            let pieces = [
                choice(json!(1), "Two. A b"),
                choice(json!(0), "One. "),
                choice(json!(1), "adword."),
                choice(json!(0), "More."),
            ];
            [event_head()].into_iter().chain(pieces).chain([stop(0), stop(1), done()]).collect()
        }
        "gap" => vec![event_head(), choice(json!(5), "x"), stop(0), done()],
        "huge" => vec![event_head(), choice(json!(1_u64 << 31), "x"), stop(0), done()],
        "wrong" => vec![event_head(), choice(json!("0"), "x"), stop(0), done()],
        "after done" => [chat([text("Fine.")], "stop"), vec![text(" A badword."), done()]].concat(),
        "after finish" => vec![event_head(), text("Fine."), stop(0), text(" More badword."), done()],
        "two done" => [chat([text("Fine.")], "stop"), vec![done()]].concat(),
        "no done" => vec![event_head(), text("Fine."), stop(0)],
        _ => vec![event_head(), text("Fine.")],
    });
    for mode in MODES {
        let gateway = mode.gateway("stop", &upstream, "");
        // In a driven answer, each choice has its own request.
        if mode == Mode::Held {
            let two = json!({"model": "m", "n": 2, "messages": [{"role": "user", "content": "two"}]});
            let answer = gateway.post("/v1/chat/completions", &two);
            let choices = answer.json()["choices"].clone();
            assert_eq!(choices[0]["message"]["content"], "One. More.");
            assert_eq!(choices[1]["message"]["content"], format!("Two.{REFUSAL}"));
            assert_eq!(
                (&choices[0]["finish_reason"], &choices[1]["finish_reason"]),
                (&json!("stop"), &json!("content_filter"))
            );
        }
        for what in ["gap", "huge", "wrong"] {
            assert_eq!(gateway.post("/v1/chat/completions", &ask(what, false)).status, 502, "{what}");
        }
        for what in ["after done", "after finish", "two done", "no done"] {
            let answer = gateway.post("/v1/chat/completions", &ask(what, false));
            assert_eq!((answer.status, said(&answer, "content").as_str()), (200, "Fine."), "{what}");
        }
        assert_eq!(gateway.post("/v1/chat/completions", &ask("neither", false)).status, 502);
    }
}

/// Values of a wrong type.
#[test]
fn values_of_another_kind_close_the_answer() {
    let kinds = [json!(7), json!(["a badword"]), json!({"a": "badword"}), json!(true)];
    let upstream = server(move |asked| {
        let (field, at) = asked.split_once(' ').unwrap();
        chat([text("Birds sing. "), delta(json!({field: kinds[at.parse::<usize>().unwrap()]})), text("More.")], "stop")
    });
    for mode in MODES {
        let gateway = mode.gateway("stop", &upstream, "");
        for field in ["content", "refusal", "reasoning_content", "reasoning"] {
            for at in 0..4 {
                for stream in [false, true] {
                    let answer = gateway.post("/v1/chat/completions", &ask(&format!("{field} {at}"), stream));
                    assert!(answer.body.contains("upstream_error"), "{field}: {}", answer.body);
                    assert_clean(&answer);
                }
            }
        }
    }
    // `null` counts as absent, and an unknown field is dropped.
    let upstream = one(chat(
        [delta(json!({"content": null, "audio": null})), delta(json!({"strange": "badword"})), text("Fine.")],
        "stop",
    ));
    for mode in MODES {
        let gateway = mode.gateway("stop", &upstream, "");
        assert_eq!(said(&gateway.post("/v1/chat/completions", &ask("a", false)), "content"), "Fine.");
    }
}

/// Invalid answers, cut at every byte.
#[test]
fn answers_that_are_none_end_with_a_stated_reason() {
    let plain = |kind: &str, body: &str| {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
        vec![Step::Write([head.as_bytes(), body.as_bytes()].concat())]
    };
    let whole: Vec<u8> = chat([text("Birds sing. "), text("Ships sail.")], "stop")
        .into_iter()
        .flat_map(|step| if let Step::Write(bytes) = step { bytes } else { Vec::new() })
        .collect();
    let bytes = whole.len();
    // After this point only the usage and `[DONE]` are missing.
    let finished = String::from_utf8(whole.clone()).unwrap().find("\"stop\"").unwrap() + "\"stop\"}]}\n\n".len();
    let upstream = server(move |asked| match asked {
        "html" => plain("text/html", "<html>badword</html>"),
        "json" => plain("application/json", "{\"choices\":[{\"message\":{\"content\":\"badword\"}}]}"),
        "empty" => plain("text/event-stream", ""),
        "gzip" => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n\r\nbadword";
            vec![Step::Write(head.as_bytes().to_vec())]
        }
        "nothing" => Vec::new(),
        "moved" => vec![Step::Write(
            b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_vec(),
        )],
        cut => vec![Step::Write(whole[..cut.parse::<usize>().unwrap()].to_vec())],
    });
    for mode in MODES {
        let gateway = mode.gateway("stop", &upstream, "");
        for what in ["html", "json", "empty", "gzip", "nothing", "moved"] {
            let answer = gateway.post("/v1/chat/completions", &ask(what, true));
            assert_eq!(answer.status, 502, "{what}: {}", answer.body);
            assert_clean(&answer);
        }
        for cut in 1..bytes {
            let answer = gateway.post("/v1/chat/completions", &ask(&cut.to_string(), true));
            if cut >= finished {
                assert_eq!((answer.status, finish(&answer).as_str()), (200, "stop"), "{cut}");
            } else {
                assert!(answer.body.contains("upstream_error"), "cut at {cut}: {}", answer.body);
                assert!(answer.status == 502 || answer.body.ends_with("data: [DONE]\n\n"), "cut at {cut}");
            }
        }
    }
}

/// The numbers of tokens that answers report.
#[test]
fn the_usage_counts_what_was_released() {
    let upstream = server(|asked| chat(asked.split_inclusive(' ').map(text), "stop"));
    for mode in MODES {
        let gateway = mode.gateway("stop", &upstream, "");
        let usage = |asked: &str| gateway.post("/v1/chat/completions", &ask(asked, false)).json()["usage"].clone();
        // A whole answer has the server's count. A driven answer can come from several requests, so its pieces are
        // counted.
        let whole = if mode == Mode::Driven { 2 } else { 9 };
        let counted = json!({"prompt_tokens": 5, "completion_tokens": whole, "total_tokens": 5 + whole});
        assert_eq!(usage("Birds sing."), counted);
        // Two of six pieces were released.
        assert_eq!(usage("Birds sing. A badword stands here.")["completion_tokens"], 2);
    }
}

/// A request that asks for text that the gate does not judge, or for storage, is refused before it reaches the server.
#[test]
fn fields_that_ask_for_unjudged_text_are_refused() {
    let upstream = one(chat([text("Fine.")], "stop"));
    for mode in MODES {
        let gateway = mode.gateway("stop", &upstream, "");
        let asked = upstream.asked.lock().unwrap().len();
        for stream in [false, true] {
            for (path, field, value) in [
                ("/v1/chat/completions", "echo", json!(true)),
                ("/v1/chat/completions", "return_prompt_text", json!(true)),
                ("/v1/chat/completions", "prompt_logprobs", json!(1)),
                ("/v1/chat/completions", "store", json!(true)),
                ("/v1/completions", "echo", json!(true)),
                ("/v1/completions", "return_prompt_text", json!(true)),
                ("/v1/completions", "prompt_logprobs", json!(1)),
                ("/v1/completions", "store", json!(true)),
                ("/v1/responses", "store", json!(true)),
            ] {
                let mut body = match path {
                    "/v1/chat/completions" => ask("A question.", stream),
                    "/v1/completions" => json!({"model": "m", "stream": stream, "prompt": "A question."}),
                    _ => json!({"model": "m", "stream": stream, "input": "A question."}),
                };
                body[field] = value;
                let answer = gateway.post(path, &body);
                assert_eq!(answer.status, 400, "{mode:?} {path} {field}: {}", answer.body);
                assert_eq!(answer.json()["error"]["param"], field, "{mode:?} {path}");
            }
        }
        assert_eq!(upstream.asked.lock().unwrap().len(), asked, "{mode:?}: the model's server was asked");
    }
}

/// Clients that read slowly, do not read, or disconnect.
#[test]
fn a_client_that_leaves_ends_the_upstream() {
    let endless = || {
        server(|_| {
            let pieces =
                (0..2_000).flat_map(|_| [text("Birds sing in spring. "), Step::Wait(Duration::from_millis(1))]);
            [event_head()].into_iter().chain(pieces).chain(end("stop")).collect()
        })
    };
    for mode in MODES {
        let upstream = endless();
        let gateway = mode.gateway("stop", &upstream, "[limits]\nclient_ms = 300\n");
        let body = ask("go", true).to_string();
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut client = std::net::TcpStream::connect(gateway.address).unwrap();
        std::io::Write::write_all(&mut client, request.as_bytes()).unwrap();
        let mut some = [0; 600];
        std::io::Read::read_exact(&mut client, &mut some).unwrap();
        drop(client);
        let since = Instant::now();
        while upstream.cut.load(Ordering::SeqCst) == 0 {
            assert!(since.elapsed() < Duration::from_secs(20), "the upstream still writes");
            std::thread::sleep(Duration::from_millis(10));
        }
        // A client that sends its request too slowly is disconnected.
        let slow = mode.gateway("stop", &upstream, "[limits]\nrequest_ms = 200\n");
        let answer = slow.raw(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{");
        assert_eq!(answer.status, 400);
        assert!(answer.body.contains("in time"), "{}", answer.body);
    }
}

/// A model server that sends nothing.
#[test]
fn silence_is_bounded() {
    let long = Duration::from_secs(60);
    let upstream = server(move |asked| match asked {
        "head" => vec![Step::Wait(long)],
        "first" => vec![event_head(), Step::Wait(long)],
        "comments" => [event_head()]
            .into_iter()
            .chain((0..600).flat_map(|_| [Step::Write(b":\n\n".to_vec()), Step::Wait(Duration::from_millis(100))]))
            .collect(),
        _ => vec![event_head(), text("Birds sing. "), text("Ships"), Step::Wait(long)],
    });
    let limits = "[limits]\nfirst_token_ms = 300\nbetween_tokens_ms = 300\nwhole_ms = 2000\nkeep_alive_ms = 100\n";
    for mode in MODES {
        let gateway = mode.gateway("stop", &upstream, limits);
        for what in ["head", "first", "comments", "between"] {
            for stream in [false, true] {
                let since = Instant::now();
                let answer = gateway.post("/v1/chat/completions", &ask(what, stream));
                assert!(answer.body.contains("upstream_timeout"), "{what}: {}", answer.body);
                // The limits are a fraction of this, and the server is silent for longer.
                assert!(since.elapsed() < Duration::from_secs(40), "{what}: {:?}", since.elapsed());
                if stream {
                    assert!(answer.body.contains(":\n\n"), "a comment keeps the connection alive: {}", answer.body);
                }
            }
        }
    }
}
