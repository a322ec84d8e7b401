//! The operator's view of a gateway: liveness, readiness, metrics, logs and drain. None of them contains text.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use portcullis_gateway::config::GatewayConfig;
use serde_json::{Value, json};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Gateway, Step, Upstream, admin, ask, chat, delta, event_head, log_lines, policy, request, text};

const KEY: &str = "authorization: Bearer the-admin-secret\r\n";

fn metrics(address: SocketAddr) -> String {
    let (status, body) = request(address, "GET", "/metrics", KEY);
    assert_eq!(status, 200);
    body
}

fn echo() -> Upstream {
    Upstream::new(Arc::new(|_, body: &Value| {
        let said = body["messages"][0]["content"].as_str().unwrap().to_owned();
        chat(said.split_inclusive(' ').map(text), "stop")
    }))
}

#[test]
fn metrics_count_what_happened() {
    let folder = tempfile::tempdir().unwrap();
    let (address, lines) = admin(&folder);
    let gateway = Gateway::new(&policy("redact"), &echo(), &lines);
    gateway.post("/v1/chat/completions", &ask("Birds sing. A badword stands here. Ships sail.", true));
    gateway.post("/v1/chat/completions", &json!({"model": "other", "messages": [{"role": "user", "content": "a"}]}));
    gateway.post("/v1/unknown-route", &json!({}));
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let found = metrics(address);
    let has = |line: &str| assert!(found.lines().any(|found| found == line), "{line} in\n{found}");
    has("portcullis_requests_total{route=\"/v1/chat/completions\",model=\"m\",status=\"2xx\"} 1");
    has("portcullis_requests_total{route=\"/v1/chat/completions\",model=\"none\",status=\"4xx\"} 1");
    has("portcullis_requests_total{route=\"none\",model=\"none\",status=\"4xx\"} 1");
    has("portcullis_determinations_total{verdict=\"admit\"} 2");
    has("portcullis_determinations_total{verdict=\"reject\"} 1");
    has("portcullis_refusals_total{rule=\"NO-BAD\"} 1");
    has(&format!("portcullis_released_bytes_total {}", "Birds sing.  Ships sail.".len()));
    has("portcullis_streams 0");
    has("portcullis_rotations_total 0");
    has("portcullis_queue{queue=\"streams_waiting\"} 0");
    has("portcullis_queue{queue=\"decide_streams\"} 0");
    let count = found.lines().find_map(|line| line.strip_prefix("portcullis_hold_seconds_count ")).unwrap();
    assert!(count.parse::<u64>().unwrap() > 0, "the admitted pieces were timed");
    assert!(!found.contains("unknown-route") && !found.contains("=\"other\""), "no label is a client's choice");
    drop(gateway);

    // The server is unreachable, and a session reaches its limit.
    let (address, lines) = admin(&folder);
    let models = format!("[[model]]\nname = \"m\"\nupstream = \"http://{dead}/v1\"\n");
    let rotation = "[rotation]\nrecords = 1\ndrain_ms = 50\n";
    let config = format!("listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n{lines}{rotation}{models}");
    let gateway = Gateway::with(&policy("redact"), &config);
    assert_eq!(gateway.post("/v1/chat/completions", &ask("Birds?", false)).status, 502);
    let detect = json!({"contents": ["Birds sing."]});
    assert_eq!(gateway.post("/api/v1/text/contents", &detect).status, 200);
    let until = Instant::now() + Duration::from_secs(20);
    while !metrics(address).contains("portcullis_rotations_total 1") {
        assert!(Instant::now() < until, "the session rotates");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(metrics(address).contains("portcullis_upstream_errors_total{kind=\"unreachable\"} 1"));
}

#[test]
fn the_admin_listener_wants_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let (address, lines) = admin(&folder);
    let gateway = Gateway::new(&policy("redact"), &echo(), &lines);
    for (method, path) in [("GET", "/metrics"), ("POST", "/drain")] {
        for head in ["", "authorization: Bearer other\r\n", "authorization: Basic the-admin-secret\r\n"] {
            assert_eq!(request(address, method, path, head).0, 401, "{method} {path}");
        }
    }
    assert_eq!(request(address, "GET", "/livez", "").0, 200);
    assert_eq!(request(address, "GET", "/readyz", "").0, 200);
    assert_eq!(request(address, "GET", "/v1/models", KEY).0, 404);
    assert_eq!(gateway.get("/metrics").status, 404, "clients do not reach the admin's routes");
}

#[test]
fn an_admin_listener_stays_on_the_loopback_interface() {
    let model = "[[model]]\nname = \"m\"\nupstream = \"http://127.0.0.1:1/v1\"\n";
    let config = format!("policy = \"p\"\n[admin]\nlisten = \"0.0.0.0:9090\"\nkey = {{ env = \"K\" }}\n{model}");
    let refused = GatewayConfig::parse(&config).unwrap().check().unwrap_err().to_string();
    assert!(refused.contains("0.0.0.0:9090") && refused.contains("admin"), "{refused}");
}

#[test]
fn drain_lets_answers_end_and_takes_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let (address, lines) = admin(&folder);
    let slow = Upstream::new(Arc::new(|_, _| {
        let pause = || Step::Wait(Duration::from_millis(300));
        chat([text("Birds sing. "), pause(), text("Ships sail. "), pause(), text("The end is near.")], "stop")
    }));
    let gateway = Gateway::new(&policy("redact"), &slow, &lines);
    let client = gateway.address;
    let answer = std::thread::scope(|scope| {
        let asking = scope.spawn(|| gateway.post("/v1/chat/completions", &ask("Birds?", false)));
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(request(address, "POST", "/drain", KEY), (202, "{\"draining\":true}".into()));
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(request(address, "GET", "/readyz", "").0, 503);
        assert_eq!(request(address, "GET", "/livez", "").0, 200);
        assert!(TcpStream::connect(client).is_err(), "no further connection is taken");
        asking.join().unwrap()
    });
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "Birds sing. Ships sail. The end is near.");
    gateway.wait().unwrap();
}

#[test]
fn no_log_line_and_no_metric_holds_text() {
    const MARKER: &str = "qzmarkerqz";
    let lines = log_lines();
    let server = Upstream::new(Arc::new(|_, body: &Value| {
        match body["temperature"].as_u64() {
            // All fields that a model server can write.
            Some(0) => {
                let function = json!({"name": MARKER, "arguments": json!({MARKER: MARKER}).to_string()});
                let call = json!([{"index": 0, "id": MARKER, "function": function}]);
                let all = [
                    json!({"content": format!("{MARKER} sings. A bad{MARKER} stands here. ")}),
                    json!({"reasoning_content": format!("{MARKER} thinks.")}),
                    json!({"tool_calls": call, MARKER: MARKER}),
                ];
                let mut steps = chat([delta(all[1].clone()), delta(all[0].clone()), delta(all[2].clone())], "stop");
                steps.insert(1, Step::Write(format!(": {MARKER}\nevent: {MARKER}\nid: {MARKER}\n").into_bytes()));
                steps
            }
            Some(1) => vec![Step::Write(
                format!("HTTP/1.1 500 {MARKER}\r\nx-{MARKER}: {MARKER}\r\ncontent-length: 10\r\n\r\n{MARKER}")
                    .into_bytes(),
            )],
            _ => vec![
                event_head(),
                Step::Write(format!("data: {{\"error\": {{\"message\": \"{MARKER}\"}}}}\n\n").into_bytes()),
            ],
        }
    }));
    let folder = tempfile::tempdir().unwrap();
    let (address, settings) = admin(&folder);
    let models =
        ["m", "*"].map(|name| format!("[[model]]\nname = \"{name}\"\nupstream = \"http://{}/v1\"\n", server.address));
    let config = format!("listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n{settings}{}", models.concat());
    let gateway = Gateway::with(&policy("redact"), &config);
    let head = format!(
        "x-{MARKER}: {MARKER}\r\nuser-agent: {MARKER}\r\nauthorization: Bearer {MARKER}\r\ndetector-id: {MARKER}\r\n"
    );
    let parameters = json!({"type": "object", "title": MARKER});
    let function = json!({"name": MARKER, "description": MARKER, "parameters": parameters});
    let tool = json!([{"type": "function", "function": function}]);
    let turn = json!([{"role": "system", "content": MARKER}, {"role": "user", "content": MARKER}]);
    let mut bodies = Vec::new();
    for temperature in 0..3 {
        for stream in [false, true] {
            bodies.push(("/v1/chat/completions".to_owned(), json!({
                "model": MARKER, "messages": turn, "tools": tool, "stream": stream, "stop": [MARKER], "user": MARKER,
                "temperature": temperature, "portcullis": {"nonce": MARKER},
            })));
        }
    }
    bodies.push((
        format!("/v1/chat/completions?{MARKER}={MARKER}"),
        json!({"model": "m", "messages": turn, MARKER: MARKER}),
    ));
    bodies.push(("/v1/completions".into(), json!({"model": MARKER, "prompt": MARKER, "suffix": MARKER})));
    bodies.push(("/v1/responses".into(), json!({"model": MARKER, "input": MARKER, "instructions": MARKER})));
    bodies.push((
        "/v1/messages".into(),
        json!({"model": MARKER, "max_tokens": 9, "system": MARKER, "messages": [turn[1]]}),
    ));
    bodies.push((format!("/{MARKER}"), json!(MARKER)));
    bodies.push((format!("/v1/portcullis/streams/{MARKER}/candidates"), json!({"text": MARKER})));
    bodies.push(("/beta/litellm_basic_guardrail_api".into(), json!({
        "input_type": "response", "texts": [format!("A bad{MARKER} word.")], "model": MARKER, "litellm_call_id": MARKER,
        "tool_calls": [{"function": {"name": MARKER, "arguments": MARKER}}],
    })));
    bodies.push(("/api/v1/text/contents".into(), json!({"contents": [format!("A bad{MARKER} word.")]})));
    bodies.push(("/api/v1/text/generation".into(), json!({"prompt": MARKER, "generated_text": MARKER})));
    bodies.push(("/api/v1/text/chat".into(), json!({"messages": turn, "tools": tool})));
    for (path, body) in &bodies {
        gateway.post_with(path, body, &head);
    }
    let opened = gateway.post("/v1/portcullis/streams", &json!({"model": "m", "task": MARKER, "nonce": MARKER})).json();
    let stream = format!("/v1/portcullis/streams/{}", opened["stream"].as_str().unwrap());
    let decided =
        gateway.post(&format!("{stream}/candidates"), &json!({"text": format!("A bad{MARKER} word. Ships sail.")}));
    assert!(decided.body.contains("NO-BAD"), "{}", decided.body);
    gateway.post(&format!("{stream}/candidates"), &json!({"call": {"name": MARKER, "arguments": MARKER}}));
    gateway.post(&format!("{stream}/close"), &json!({}));
    let counted = metrics(address);
    gateway.stop();
    assert!(!counted.to_lowercase().contains(MARKER), "{counted}");
    assert!(counted.contains("portcullis_refusals_total{rule=\"NO-BAD\"}"));
    let logged = String::from_utf8(lines.lock().unwrap().clone()).unwrap();
    let messages: Vec<Value> = logged.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for message in ["request", "answered", "session opened", "session ended", "the model's server failed"] {
        assert!(messages.iter().any(|line| line["message"] == message), "`{message}` is logged");
    }
    let found: Vec<&str> = logged.lines().filter(|line| line.to_lowercase().contains(MARKER)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// What is wrong with addresses and keys is found before a session is opened; [`Gateway::refused`] checks that.
#[test]
fn a_gateway_that_cannot_start_opens_no_session() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap();
    support::write_secret(&folder.path().join("short"), "fifteen-letters\n");
    support::write_secret(&folder.path().join("long"), "sixteen-letters!\n");
    let file = |name: &str| format!("{{ file = \"{}\" }}", folder.path().join(name).display());
    let admin = |address: &str, key: &str| format!("[admin]\nlisten = \"{address}\"\nkey = {}\n", file(key));
    let key = |name: &str| format!("[[key]]\nname = \"k\"\nsecret = {}\n", file(name));
    let tls = format!("[tls]\ncertificate = \"none.pem\"\nkey = \"{}\"\n", folder.path().join("long").display());
    for (listen, lines, told) in [
        (taken.to_string(), String::new(), "cannot listen on"),
        ("127.0.0.1:0".to_owned(), admin(&taken.to_string(), "long"), "cannot listen on"),
        ("127.0.0.1:0".to_owned(), admin("127.0.0.1:0", "short"), "at least 16"),
        ("127.0.0.1:0".to_owned(), key("none"), "cannot read"),
        ("127.0.0.1:0".to_owned(), key("short"), "at least 16"),
        ("127.0.0.1:0".to_owned(), tls, "none.pem"),
    ] {
        let model = "[[model]]\nname = \"m\"\nupstream = \"http://127.0.0.1:9/v1\"\n";
        let config = format!("listen = \"{listen}\"\npolicy = \"unused\"\n{lines}{model}");
        let why = Gateway::refused(&policy("stop"), GatewayConfig::parse(&config).unwrap()).to_string();
        assert!(why.contains(told), "{lines}: {why}");
    }
}

/// An answer that a stop or a rotation cuts off tells its client to ask again; it does not blame the gate.
#[test]
fn a_client_learns_that_the_gateway_shuts_down() {
    let slow = || {
        Upstream::new(Arc::new(|_, _| {
            let pause = || Step::Wait(Duration::from_secs(20));
            chat([text("Birds sing. "), pause(), text("Ships sail.")], "stop")
        }))
    };
    for stream in [false, true] {
        for rotation in [false, true] {
            let gateway = Gateway::new(&policy("redact"), &slow(), "[rotation]\ndrain_ms = 300\n");
            let asked = gateway.rotation.clone();
            let address = gateway.address;
            let asking = std::thread::spawn(move || {
                let body = ask("Birds?", stream).to_string();
                let mut client = TcpStream::connect(address).unwrap();
                client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
                let length = body.len();
                let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n";
                client.write_all(format!("{head}content-length: {length}\r\n\r\n{body}").as_bytes()).unwrap();
                let mut answer = String::new();
                std::io::Read::read_to_string(&mut client, &mut answer).unwrap();
                answer
            });
            std::thread::sleep(Duration::from_millis(500));
            if rotation {
                asked.ask()
            } else {
                gateway.stop()
            }
            let answer = asking.join().unwrap();
            assert!(answer.contains("shutting_down") && !answer.contains("gate_failed"), "{answer}");
            assert!(stream || answer.starts_with("HTTP/1.1 503"), "{answer}");
            assert!(stream || answer.to_lowercase().contains("retry-after"), "{answer}");
        }
    }
}
