//! OpenTelemetry traces: the data that a collector gets. A collector that does not answer delays no client.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::{Gateway, Upstream, ask, chat, policy, text};

const REASONS: &str = "gen_ai.response.finish_reasons";
const MARKER: &str = "qzmarkerqz";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// The requests that a collector got: head and body of each.
pub(crate) type Received = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// A collector that accepts traces in OTLP over HTTP.
pub(crate) fn collector() -> (SocketAddr, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, received) = (listener.local_addr().unwrap(), Received::default());
    let kept = Arc::clone(&received);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || {
                let (mut reader, mut writer) = (BufReader::new(&stream), &stream);
                loop {
                    let (mut head, mut length) = (String::new(), 0);
                    loop {
                        let mut line = String::new();
                        if reader.read_line(&mut line).unwrap_or(0) == 0 {
                            return;
                        }
                        if line == "\r\n" {
                            break;
                        }
                        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                            length = value.trim().parse().unwrap();
                        }
                        head.push_str(&line);
                    }
                    let mut body = vec![0; length];
                    reader.read_exact(&mut body).unwrap();
                    kept.lock().unwrap().push((head, body));
                    writer
                        .write_all(
                            b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n",
                        )
                        .unwrap();
                }
            });
        }
    });
    (address, received)
}

/// The received spans, each with its service name.
pub(crate) fn spans(received: &Received) -> Vec<(String, Span)> {
    let mut spans = Vec::new();
    for (head, body) in received.lock().unwrap().iter() {
        assert!(head.starts_with("POST /v1/traces "), "{head}");
        assert!(head.to_lowercase().contains("content-type: application/x-protobuf"), "{head}");
        for resource in ExportTraceServiceRequest::decode(body.as_slice()).unwrap().resource_spans {
            let attributes = resource.resource.unwrap().attributes;
            let service = attributes.iter().find(|attribute| attribute.key == "service.name").unwrap();
            let Some(Any::StringValue(service)) = service.value.clone().unwrap().value else { panic!("a name") };
            let all = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
            spans.extend(all.map(|span| (service.clone(), span)));
        }
    }
    spans
}

/// Waits until this many spans have been received.
fn await_spans(received: &Received, count: usize) -> Vec<Span> {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let found = spans(received);
        if found.len() >= count {
            assert!(found.iter().all(|(service, _)| service == "portcullis"));
            return found.into_iter().map(|(_, span)| span).collect();
        }
        assert!(Instant::now() < until, "{} of {count} spans came", found.len());
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn value(any: Any) -> Value {
    match any {
        Any::StringValue(text) => json!(text),
        Any::IntValue(number) => json!(number),
        Any::BoolValue(flag) => json!(flag),
        Any::DoubleValue(number) => json!(number),
        Any::ArrayValue(array) => array.values.into_iter().map(|any| value(any.value.unwrap())).collect(),
        other => panic!("{other:?}"),
    }
}

fn attributes(span: &Span) -> BTreeMap<String, Value> {
    let pair = |attribute: &opentelemetry_proto::tonic::common::v1::KeyValue| {
        (attribute.key.clone(), value(attribute.value.clone().unwrap().value.unwrap()))
    };
    span.attributes.iter().map(pair).collect()
}

fn settings(address: SocketAddr, more: &str) -> String {
    format!("[traces]\nendpoint = \"http://{address}/v1/traces\"\n{more}")
}

#[test]
fn a_collector_gets_spans_without_text() {
    let (address, received) = collector();
    let upstream = Upstream::new(Arc::new(|_, body: &Value| {
        let said = body["messages"][0]["content"].as_str().unwrap();
        if said.contains("break") {
            return vec![support::Step::Write(b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n".to_vec())];
        }
        if said.contains("whole") {
            return chat([text(&format!("The {MARKER} sings."))], "stop");
        }
        chat([text(&format!("The {MARKER} sings. A bad{MARKER} stands here."))], "stop")
    }));
    let key = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(key.path(), "collector-key").unwrap();
    let header = format!("headers = {{ x-collector = {{ file = \"{}\" }} }}\n", key.path().display());
    let gateway = Gateway::new(&policy("stop"), &upstream, &settings(address, &header));
    let mut body = ask(&format!("Say {MARKER}."), true);
    body["max_tokens"] = json!(7);
    body["user"] = json!(MARKER);
    let head = format!(
        "traceparent: 00-{TRACE}-{PARENT}-01\r\ntracestate: {MARKER}={MARKER}\r\nbaggage: {MARKER}={MARKER}\r\n"
    );
    let answer = gateway.post_with("/v1/chat/completions", &body, &head);
    assert!(answer.body.contains(MARKER), "{}", answer.body);
    let found = await_spans(&received, 2);
    let of_kind = |kind: i32| found.iter().find(|span| span.kind == kind).unwrap();
    let (server, client) = (of_kind(2), of_kind(3));
    assert_eq!(server.name, "POST /v1/chat/completions");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!((hex(&server.trace_id), hex(&server.parent_span_id)), (TRACE.to_owned(), PARENT.to_owned()));
    assert_eq!((hex(&client.trace_id), &client.parent_span_id), (TRACE.to_owned(), &server.span_id));
    let about = attributes(server);
    assert_eq!(about["http.response.status_code"], 200);
    assert_eq!(about["http.route"], "/v1/chat/completions");
    assert!(server.end_time_unix_nano >= client.end_time_unix_nano && client.end_time_unix_nano > 0);

    assert_eq!(client.name, "chat m");
    let about = attributes(client);
    for (key, expected) in [
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.provider.name", json!("openai")),
        ("gen_ai.request.model", json!("m")),
        ("gen_ai.request.stream", json!(true)),
        ("gen_ai.request.max_tokens", json!(7)),
        (REASONS, json!(["content_filter"])),
        ("server.address", json!("127.0.0.1")),
        ("server.port", json!(upstream.address.port())),
        ("portcullis.mode", json!("held")),
        ("portcullis.admitted", json!(1)),
        ("portcullis.rejected", json!(1)),
        ("portcullis.rules", json!(["NO-BAD"])),
    ] {
        assert_eq!(about[key], expected, "{key} of {about:#?}");
    }
    assert_eq!(about["gen_ai.response.id"], answer.provenance()["answer"]);
    assert!(about["gen_ai.response.time_to_first_chunk"].as_f64().is_some_and(|time| (0.0..60.0).contains(&time)));

    // The usage is known for an answer that is read to its end. After a refusal, the gateway does not wait for it.
    gateway.post("/v1/chat/completions", &ask("whole", false));
    let found = await_spans(&received, 4);
    let whole: Vec<_> =
        found.iter().map(attributes).filter(|about| about.get(REASONS) == Some(&json!(["stop"]))).collect();
    assert_eq!(whole.len(), 1, "{whole:?}");
    assert_eq!(whole[0]["gen_ai.usage.input_tokens"], 5);

    // Errors have codes: for a model server that fails, and for a refused request.
    gateway.post("/v1/chat/completions", &ask("break", false));
    gateway.post("/v1/chat/completions", &json!({"model": MARKER, MARKER: MARKER}));
    let found = await_spans(&received, 7);
    let codes: Vec<Value> = found.iter().filter_map(|span| attributes(span).remove("error.type")).collect();
    assert_eq!(codes.iter().filter(|code| **code == "upstream_error").count(), 2, "{codes:?}");
    assert!(codes.contains(&json!("invalid_request")) || codes.contains(&json!("model_not_found")), "{codes:?}");
    gateway.stop();
    for (head, body) in received.lock().unwrap().iter() {
        assert!(head.to_lowercase().contains("x-collector: collector-key"), "{head}");
        let all = [head.as_bytes(), body].concat();
        assert!(!all.windows(MARKER.len()).any(|at| at.eq_ignore_ascii_case(MARKER.as_bytes())), "text left");
    }
}

/// A collector that accepts connections but never answers, and an unreachable one.
#[test]
fn a_collector_that_does_not_answer_delays_no_request() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let upstream = Upstream::new(Arc::new(|_, _| chat([text("Birds sing.")], "stop")));
    for address in [silent.local_addr().unwrap(), gone] {
        let gateway = Gateway::new(&policy("stop"), &upstream, &settings(address, "queue = 4\ntimeout_ms = 60000\n"));
        let begun = Instant::now();
        for _ in 0..60 {
            assert_eq!(gateway.post("/v1/chat/completions", &ask("Birds?", true)).status, 200);
        }
        // If each request waited once for the collector, this would take a minute.
        assert!(begun.elapsed() < Duration::from_secs(30), "60 answers took {:?}", begun.elapsed());
        let begun = Instant::now();
        gateway.stop();
        assert!(begun.elapsed() < Duration::from_secs(20), "the end took {:?}", begun.elapsed());
    }
}

#[test]
fn a_configuration_of_traces_is_checked() {
    use portcullis_gateway::config::GatewayConfig;
    let model = "[[model]]\nname = \"m\"\nupstream = \"http://127.0.0.1:1/v1\"\n";
    let check = |lines: &str| {
        let config = GatewayConfig::parse(&format!("policy = \"p\"\n[traces]\n{lines}\n{model}")).unwrap();
        config.check().map_err(|error| error.to_string())
    };
    assert_eq!(check("endpoint = \"https://otel.example/v1/traces\"\nheaders = { a = { env = \"A\" } }"), Ok(()));
    for (lines, word) in [
        ("endpoint = \"otel.example:4318\"", "not a URL"),
        ("endpoint = \"http://otel.example/v1/traces\"\nheaders = { a = { env = \"A\" } }", "use https"),
        ("endpoint = \"http://127.0.0.1:4318/v1/traces\"\nqueue = 0", "above zero"),
    ] {
        assert!(check(lines).unwrap_err().contains(word), "{lines}");
    }
}
