//! Log-probabilities of driven answers: each sentence is judged with the log-probabilities of its own tokens. They are
//! not sent to clients.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use portcullis_audit::replay;
use portcullis_evidence::bundle::{self, SnapshotFiles};
use portcullis_gateway::config::GatewayConfig;
use portcullis_mapping::LogProbs;
use serde_json::{Value, json};
use std::sync::Arc;
use support::{Gateway, Upstream, end, event, event_head, opener, policy, said};

/// Tokens with log-probabilities; one token contains the end of the first sentence and the start of the second.
const TOKENS: [(&str, &str); 7] = [
    ("Birds", "-0.125"),
    (" sing", "-0.25"),
    (". B", "-0.5"),
    ("ells", "-1.0625"),
    (" rüng", "-0.1234567891234567"),
    (" twice", "-2"),
    (".", "-0.001"),
];
const WHOLE: &str = "Birds sing. Bells rüng twice.";

/// The form in which a server sends log-probabilities.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// The field `content`, as in chat answers.
    Content,
    /// Parallel lists, as in vLLM's completions.
    Lists,
    /// Not at all.
    None,
    /// The tokens have other bytes than the text.
    Other,
    /// `null` in place of a number.
    Null,
}

fn server(form: Form) -> Upstream {
    Upstream::new(Arc::new(move |path, _: &Value| {
        let is_chat = path.ends_with("/chat/completions");
        let chunks = TOKENS.into_iter().enumerate().map(move |(at, (token, number))| {
            let raw: Value = serde_json::from_str(number).unwrap();
            let entry = |token: &str, number: Value| {
                json!({"token": token, "logprob": number, "bytes": token.as_bytes(),
                "top_logprobs": [{"token": "SECRET", "logprob": -1}]})
            };
            let numbers = match form {
                Form::Content => json!({"content": [entry(token, raw)]}),
                Form::Lists => json!({"tokens": [token], "token_logprobs": [raw], "top_logprobs": [{"SECRET": -1}]}),
                Form::None => Value::Null,
                Form::Other => json!({"content": [entry("x", raw)]}),
                Form::Null if at == 4 => json!({"tokens": [token], "token_logprobs": [null]}),
                Form::Null => json!({"tokens": [token], "token_logprobs": [raw]}),
            };
            let mut choice = json!({"index": 0, "finish_reason": null, "logprobs": numbers});
            let name = if is_chat { "delta" } else { "text" };
            choice[name] = if is_chat { json!({"content": token}) } else { json!(token) };
            event(&json!({"choices": [choice]}))
        });
        [event_head()].into_iter().chain(chunks).chain(end("stop")).collect()
    }))
}

/// The log-probabilities of the candidates in the first stream.
fn proposed(form: Form, kind: &str, path: &str) -> Vec<Value> {
    let (upstream, folder) = (server(form), tempfile::tempdir().unwrap());
    let config = format!(
        "listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n[[model]]\nname = \"m\"\nkind = \"{kind}\"\nmode = \"driven\"\n\
         upstream = \"http://{}/v1\"\n",
        upstream.address
    );
    let gateway = Gateway::over(GatewayConfig::parse(&config).unwrap(), opener(&policy("redact"), folder.path()));
    let body = match path {
        "/v1/completions" => json!({"model": "m", "prompt": "Tell:"}),
        _ => json!({"model": "m", "messages": [{"role": "user", "content": "Tell of birds."}]}),
    };
    let answer = gateway.post(path, &body);
    assert!(answer.body.contains(WHOLE), "{}", answer.body);
    assert!(!answer.body.contains("logprob\"") && !answer.body.contains("SECRET"), "{}", answer.body);
    let asked = upstream.asked.lock().unwrap()[0].clone();
    assert_eq!(asked["logprobs"], if path == "/v1/completions" { json!(1) } else { json!(true) });
    gateway.stop();
    let session = folder.path().join("session-1");
    let files = bundle::at(&session).unwrap();
    let report = replay(&SnapshotFiles::new(&*files), None, &mut || ()).unwrap();
    assert_eq!((report.replayed, report.reasons.len()), (report.streams, 0), "{:?}", report.reasons);
    let inputs = std::fs::read_to_string(session.join("inputs.jsonl")).unwrap();
    assert!(!inputs.contains("SECRET"));
    let line: Value = serde_json::from_str(inputs.lines().next().unwrap()).unwrap();
    let given = line["input"]["proposals"].as_array().unwrap().iter();
    given.filter_map(|given| given["Ok"].get("Candidate").or_else(|| given["Ok"].get("candidate")).cloned()).collect()
}

#[test]
fn each_sentence_has_the_numbers_of_its_tokens() {
    let first = LogProbs::placed(&[(5, "-0.125"), (10, "-0.25"), (13, "-0.5")]).unwrap();
    let second = [(1, "-0.5"), (5, "-1.0625"), (11, "-0.1234567891234567"), (17, "-2"), (18, "-0.001")];
    let second = LogProbs::placed(&second).unwrap();
    for (form, kind, path) in [
        (Form::Content, "llamacpp", "/v1/chat/completions"),
        (Form::Content, "vllm", "/v1/chat/completions"),
        (Form::Lists, "vllm", "/v1/completions"),
        (Form::Content, "llamacpp", "/v1/completions"),
    ] {
        let candidates = proposed(form, kind, path);
        let [one, two] = &candidates[..] else { panic!("{candidates:?}") };
        assert_eq!((one["text"].as_str(), two["text"].as_str()), (Some("Birds sing. "), Some("Bells rüng twice.")));
        let expected = |numbers: &LogProbs| json!({"Ok": serde_json::to_value(numbers).unwrap()});
        assert_eq!((&one["logprobs"], &two["logprobs"]), (&expected(&first), &expected(&second)), "{form:?}");
    }
}

#[test]
fn numbers_that_are_not_there_are_unknown() {
    for (form, known) in [(Form::None, 0), (Form::Other, 0), (Form::Null, 1)] {
        let candidates = proposed(form, "vllm", "/v1/completions");
        assert_eq!(candidates.len(), 2);
        let unknown = candidates.iter().filter(|c| c["logprobs"].is_null() && c["logprobs_absent"].is_string());
        assert_eq!(unknown.count(), 2 - known, "{form:?}: {candidates:?}");
    }
}

/// llama.cpp's server refuses log-probabilities together with tools. Log-probabilities that are requested but missing
/// are counted.
#[test]
fn what_is_not_known_is_counted() {
    let (upstream, folder) = (server(Form::None), tempfile::tempdir().unwrap());
    support::write_secret(&folder.path().join("key"), "the-key-of-an-admin");
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = format!(
        "listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n\
         [admin]\nlisten = \"{address}\"\nkey = {{ file = \"{}\" }}\n\
         [[model]]\nname = \"m\"\nkind = \"llamacpp\"\nmode = \"driven\"\nupstream = \"http://{}/v1\"\n",
        folder.path().join("key").display(),
        upstream.address
    );
    let gateway = Gateway::with(&policy("redact"), &config);
    let turn = json!([{"role": "user", "content": "Tell of birds."}]);
    let tools = json!([{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]);
    let answer = gateway.post("/v1/chat/completions", &json!({"model": "m", "messages": turn, "tools": tools}));
    assert_eq!(said(&answer, "content"), WHOLE);
    assert!(upstream.asked.lock().unwrap()[0].get("logprobs").is_none());
    let counted = || {
        let head =
            "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-api-key: the-key-of-an-admin\r\n\r\n";
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
        let line = text.lines().find(|line| line.starts_with("portcullis_unknown_uncertainty_total")).unwrap();
        line.rsplit(' ').next().unwrap().parse::<u32>().unwrap()
    };
    assert_eq!(counted(), 0, "none were asked for");
    gateway.post("/v1/chat/completions", &json!({"model": "m", "messages": turn}));
    assert_eq!(counted(), 2);
}
