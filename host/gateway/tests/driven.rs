//! Driven answers: the model continues from admitted text, and never receives refused text.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use serde_json::{Value, json};
use std::sync::Arc;
use support::{Answer, Gateway, REFUSAL, Step, Upstream, delta, end, event, event_head, finish, policy, said, text};

/// Sentence number `place` of the text that belongs to a seed.
fn sentence(place: usize, seed: i64) -> String {
    match (place, seed) {
        (2, 0 | 1) => "A badword stands here. ".into(),
        (2, _) => format!("Bells ring {seed} times. "),
        (5.., _) => String::new(),
        _ => format!("Bird {place} sings. "),
    }
}

/// A server that can continue from given text.
fn server(kind: &'static str, sentence: fn(usize, i64) -> String) -> Upstream {
    Upstream::new(Arc::new(move |path, body: &Value| {
        let chat = path.ends_with("/chat/completions");
        let begun = if chat {
            let last = body["messages"].as_array().unwrap().last().unwrap();
            let begun = (last["role"] == "assistant").then(|| last["content"].as_str().unwrap().to_owned());
            let is_told = body.get("continue_final_message") == Some(&json!(true));
            assert_eq!(is_told, begun.is_some() && kind != "llamacpp");
            begun
        } else {
            body["prompt"].as_str().unwrap().strip_prefix("Tell:").map(str::to_owned).filter(|begun| !begun.is_empty())
        };
        let begun = begun.unwrap_or_default();
        assert!(!begun.ends_with(' ') && !begun.contains("bad"), "{begun:?}");
        let seed = body["seed"].as_i64().unwrap_or(0);
        let mut place = begun.matches('.').count();
        // Models write a space as the start of a word.
        let mut all = if begun.is_empty() { String::new() } else { " ".to_owned() };
        loop {
            let next = sentence(place, seed);
            if next.is_empty() {
                break;
            }
            all.push_str(&next);
            place += 1;
        }
        let all = all.trim_end();
        let begins = |(at, c): (usize, char)| (at == 0 || c == ' ').then_some(at);
        let begins: Vec<usize> = all.char_indices().filter_map(begins).chain([all.len()]).collect();
        let mut words: Vec<&str> = begins.windows(2).map(|at| &all[at[0]..at[1]]).collect();
        let most = body["max_tokens"].as_u64().map_or(usize::MAX, |most| most as usize);
        let reason = if words.len() > most { "length" } else { "stop" };
        words.truncate(most);
        let said = words.into_iter().map(|word| match chat {
            true => text(word),
            false => event(&json!({"choices": [{"index": 0, "text": word, "finish_reason": null}]})),
        });
        [event_head()].into_iter().chain(said).chain(end(reason)).collect()
    }))
}

fn gateway(upstream: &Upstream, kind: &str) -> Gateway {
    let model =
        format!("name = \"m\"\nkind = \"{kind}\"\nmode = \"driven\"\nupstream = \"http://{}/v1\"", upstream.address);
    Gateway::with(&policy("redact"), &format!("listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n[[model]]\n{model}\n"))
}

fn ask(fields: &Value) -> Value {
    let mut body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Tell of birds."}]});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body
}

fn asked(upstream: &Upstream) -> Vec<Value> {
    std::mem::take(&mut *upstream.asked.lock().unwrap())
}

const WHOLE: &str = "Bird 0 sings. Bird 1 sings. Bells ring 2 times. Bird 3 sings. Bird 4 sings.";

#[test]
fn a_refused_sentence_is_followed_by_another_from_admitted_text() {
    for kind in ["llamacpp", "vllm", "sglang"] {
        let upstream = server(kind, sentence);
        let gateway = gateway(&upstream, kind);
        let answer = gateway.post("/v1/chat/completions", &ask(&json!({})));
        assert_eq!((said(&answer, "content").as_str(), finish(&answer).as_str()), (WHOLE, "stop"), "{}", answer.body);
        let provenance = answer.provenance();
        assert_eq!(provenance["mode"], "driven_conversation");
        let stream = &provenance["streams"][0];
        // The same sentence was refused twice, because seeds 0 and 1 both give it.
        assert_eq!((&stream["rejected"], &stream["rules"]), (&json!(2), &json!(["NO-BAD"])));
        let asked = asked(&upstream);
        assert_eq!(asked.len(), 3, "an answer of which nothing was refused is read on");
        assert_eq!((asked[0].get("seed"), &asked[1]["seed"], &asked[2]["seed"]), (None, &json!(1), &json!(2)));
        for again in &asked[1..] {
            let messages = again["messages"].as_array().unwrap();
            assert_eq!(messages.len(), 2);
            assert_eq!(messages[1], json!({"role": "assistant", "content": "Bird 0 sings. Bird 1 sings."}));
        }
    }
}

/// All dialects support driven answers; without a refusal there is only one request to the server.
#[test]
fn every_route_is_driven() {
    let upstream = server("vllm", |place, _| if place < 3 { format!("Bird {place} sings. ") } else { String::new() });
    let gateway = gateway(&upstream, "vllm");
    let text = "Bird 0 sings. Bird 1 sings. Bird 2 sings.";
    let messages = json!([{"role": "user", "content": "Tell of birds."}]);
    for (path, body) in [
        ("/v1/chat/completions", json!({"model": "m", "messages": messages})),
        ("/v1/completions", json!({"model": "m", "prompt": "Tell:"})),
        ("/v1/responses", json!({"model": "m", "input": "Tell of birds."})),
        ("/v1/messages", json!({"model": "m", "max_tokens": 99, "messages": messages})),
    ] {
        let answer = gateway.post(path, &body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert!(answer.body.contains(text), "{path}: {}", answer.body);
        assert_eq!(answer.provenance()["mode"], "driven_conversation");
        assert_eq!(asked(&upstream).len(), 1, "{path}");
    }
}

#[test]
fn where_no_alternative_is_left_the_answer_ends() {
    let upstream = server("llamacpp", |place, _| match place {
        0 => "Bird 0 sings. ".into(),
        1 => "A badword stands here. ".into(),
        _ => String::new(),
    });
    let gateway = gateway(&upstream, "llamacpp");
    let answer = gateway.post("/v1/chat/completions", &ask(&json!({"max_tokens": 40})));
    assert_eq!(said(&answer, "content"), format!("Bird 0 sings.{REFUSAL}"), "{}", answer.body);
    assert_eq!(finish(&answer), "content_filter");
    assert!((2..20).contains(&asked(&upstream).len()));
}

/// The client's limits apply to all requests together: refused tokens do not count, and a stop text may span the texts
/// of two requests.
#[test]
fn the_clients_bounds_hold() {
    let upstream = server("vllm", sentence);
    let gateway = gateway(&upstream, "vllm");
    let answer = gateway.post("/v1/chat/completions", &ask(&json!({"max_tokens": 8, "stream": false})));
    let value = answer.json();
    let choice = &value["choices"][0];
    assert_eq!(choice["message"]["content"], "Bird 0 sings. Bird 1 sings. Bells ring");
    assert_eq!((&choice["finish_reason"], &value["usage"]["completion_tokens"]), (&json!("length"), &json!(8)));
    let asked_for: Vec<Value> = asked(&upstream).iter().map(|body| body["max_tokens"].clone()).collect();
    assert_eq!(asked_for, [8, 2, 2]);

    let answer = gateway.post("/v1/chat/completions", &ask(&json!({"stop": ["1 sings. Bells"]})));
    assert_eq!((said(&answer, "content").as_str(), finish(&answer).as_str()), ("Bird 0 sings. Bird 1 sings. ", "stop"));
    asked(&upstream);

    // Each choice uses its own seeds.
    let answer = gateway.post("/v1/chat/completions", &ask(&json!({"n": 2, "seed": 0, "stream": false})));
    let value = answer.json();
    assert_eq!(value["choices"][0]["message"]["content"], WHOLE);
    assert_eq!(value["choices"][1]["message"]["content"], WHOLE.replace(" 2 times", " 1048576 times"));
    assert!(asked(&upstream).iter().all(|body| body.get("n").is_none()));
}

/// Text without sentence ends is judged in long spans, with any kind of white space.
#[test]
fn a_text_without_sentences_is_driven() {
    for space in [" ", "\u{3000}", ""] {
        // The words must differ, because a repetitive text is refused.
        let syllable = |at: u32| ["ba", "ke", "li", "mo", "nu", "pa", "re", "si", "to", "vu", "wa"][at as usize % 11];
        let word = |at: u32| format!("{}{}{}{space}", syllable(at), syllable(at / 11), syllable(at / 121 + at % 7));
        let long = format!("{space}{}", (0..900).map(word).collect::<String>());
        let whole = long.clone();
        let upstream = Upstream::new(Arc::new(move |_, body: &Value| {
            assert_eq!(body["messages"].as_array().unwrap().len(), 1, "nothing was refused");
            let pieces: Vec<char> = long.chars().collect();
            let said = pieces.chunks(100).map(|piece| text(&piece.iter().collect::<String>()));
            [event_head()].into_iter().chain(said).chain(end("stop")).collect()
        }));
        let gateway = gateway(&upstream, "llamacpp");
        let answer = gateway.post("/v1/chat/completions", &ask(&json!({})));
        assert_eq!(
            (said(&answer, "content").trim(), finish(&answer).as_str()),
            (whole.trim(), "stop"),
            "{}",
            answer.body
        );
    }
}

/// A refused tool call is replaced by the call for the next seed.
#[test]
fn tool_calls_are_steps() {
    let upstream = Upstream::new(Arc::new(|_, body: &Value| {
        let name = if body["seed"].as_i64().is_none() { "drop_table" } else { "look" };
        let call = |arguments: &str| {
            let function = json!({"name": name, "arguments": arguments});
            delta(json!({"tool_calls": [{"index": 0, "id": "x", "type": "function", "function": function}]}))
        };
        let begun = body["messages"].as_array().unwrap().last().unwrap()["role"] == "assistant";
        let said: Vec<Step> = if begun { vec![] } else { vec![text("Let me "), text("look.")] };
        [event_head()].into_iter().chain(said).chain([call("{\"a\": 1}")]).chain(end("tool_calls")).collect()
    }));
    let gateway = gateway(&upstream, "vllm");
    let tools = json!([{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}},
        {"type": "function", "function": {"name": "drop_table"}}]);
    let answer = gateway.post("/v1/chat/completions", &ask(&json!({"stream": false, "tools": tools})));
    let value = answer.json();
    let choice = &value["choices"][0];
    assert_eq!(choice["message"]["content"], "Let me look.", "{value}");
    assert_eq!(choice["message"]["tool_calls"][0]["function"]["name"], "look");
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(value["portcullis"]["streams"][0]["rejected"], 1);
    assert_eq!(asked(&upstream).len(), 2);
}

/// A request that cannot be driven ends with an error, or is refused before the server is asked.
#[test]
fn what_cannot_be_driven_is_refused() {
    let thinks = Upstream::new(Arc::new(|_, _: &Value| {
        let said = [delta(json!({"reasoning_content": "Think."})), text("Birds sing.")];
        [event_head()].into_iter().chain(said).chain(end("stop")).collect()
    }));
    let thinking = gateway(&thinks, "vllm");
    let answer: Answer = thinking.post("/v1/chat/completions", &ask(&json!({"stream": false})));
    assert_eq!(answer.status, 502, "{}", answer.body);
    assert!(answer.body.contains("cannot be driven"), "{}", answer.body);
    let json = json!({"response_format": {"type": "json_object"}});
    let answer = thinking.post("/v1/chat/completions", &ask(&json));
    assert_eq!((answer.status, answer.json()["error"]["param"].as_str()), (400, Some("response_format")));
    assert_eq!(asked(&thinks).len(), 1);

    // The server cuts off its answer, or stops between two sentences.
    let dies = Upstream::new(Arc::new(|_, body: &Value| {
        let begun = body["messages"].as_array().unwrap().last().unwrap()["role"] == "assistant";
        let status = Step::Write(b"HTTP/1.1 500 no\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec());
        let said = [event_head(), text("Birds sing. "), text("A badword stands here. "), text("More.")];
        if begun { vec![status] } else { said.to_vec() }
    }));
    let dying = gateway(&dies, "vllm");
    let answer = dying.post("/v1/chat/completions", &ask(&json!({})));
    assert_eq!(said(&answer, "content"), "Birds sing.");
    assert!(answer.body.contains("upstream_error") && !answer.body.contains("badword"), "{}", answer.body);
}
