//! Engines behind HTTP: the program with a server process over loopback, well-behaved or not; and the n-gram engine.
#![cfg(test)]

use portcullis_test_support::engine::{Fault, Server};
use portcullis_test_support::root;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    command.current_dir(root()).stdin(Stdio::null());
    command
}

const STEPS: &str = r#"["Ships carry grain over the sea."]
[" Write to x@example.org now. And more.", " Sailors sleep below deck."]
[{"text": " The voyage takes 9 days.", "logprobs": [-0.25, -0.5]}]
"#;

/// Governs a task with the engine at this address; returns the run, its determinations and the released text.
fn run(protocol: &str, address: &str, extra: &[&str]) -> (Output, Vec<serde_json::Value>, String) {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("tasks.jsonl"), folder.path().join("out.jsonl"));
    std::fs::write(&input, r#"{"id":"a","intent":"Tell of ships.","facts":["Ships carry grain over the sea."]}"#)
        .unwrap();
    let engine = format!("{protocol}:{address}");
    let out = program()
        .args(["run", "--policy", "policies/pii", "--card", "model", "--json", "--engine", &engine, "--input"])
        .arg(&input)
        .arg("--output")
        .arg(&output)
        .args(extra)
        .output()
        .unwrap();
    let lines = String::from_utf8_lossy(&out.stdout).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let released = std::fs::read_to_string(output).unwrap_or_default();
    let released = serde_json::from_str::<serde_json::Value>(&released).map(|v| v["text"].as_str().unwrap().to_owned());
    (out, lines, released.unwrap_or_default())
}

fn termination(lines: &[serde_json::Value]) -> (String, String) {
    let end = &lines.last().unwrap()["summary"]["termination"];
    (end["trigger"].as_str().unwrap_or("").to_owned(), end["detail"].as_str().unwrap_or("").to_owned())
}

#[test]
fn a_server_is_driven_step_by_step_and_starved() {
    for protocol in ["openai", "llama"] {
        let server = Server::start(STEPS, None);
        let (out, lines, released) = run(protocol, &server.address, &["--engine-seed", "40"]);
        assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
        assert_eq!(released, "Ships carry grain over the sea. Write to  now. The voyage takes 9 days.");
        assert_eq!(lines.last().unwrap()["summary"]["mode"], "driven");
        // Requests contain only intent, facts and admitted text, not refused text.
        for request in server.requests() {
            let body: serde_json::Value = serde_json::from_str(&request).unwrap();
            let prompt = body["prompt"].as_str().unwrap();
            assert!(prompt.starts_with("Tell of ships.\n- Ships carry grain over the sea.\n\n"), "{prompt}");
            assert!(released.starts_with(prompt.split_once("\n\n").unwrap().1), "{prompt}");
            assert!(!request.contains("example.org") && !request.contains("PII"), "{request}");
            let mut keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
            keys.sort_unstable();
            let expected: &[&str] = if protocol == "openai" {
                &["logprobs", "max_tokens", "n", "prompt", "seed", "stream", "temperature"]
            } else {
                &["cache_prompt", "n_predict", "n_probs", "prompt", "seed", "stream", "temperature"]
            };
            assert_eq!(keys, expected);
        }
    }
}

#[test]
fn an_alternative_is_the_same_bytes_with_another_seed() {
    let steps = "[\"x@example.org\", \"y@example.org\", \"Good.\"]\n";
    let server = Server::start(steps, None);
    let (_, lines, released) = run("llama", &server.address, &["--engine-seed", "40"]);
    assert_eq!(released, "Good.");
    assert_eq!(lines.iter().filter(|l| l["determination"] == "reject").count(), 2);
    let requests = server.requests();
    let of = |seed: u32| requests[0].replace("\"seed\":40", &format!("\"seed\":{seed}"));
    assert_eq!(requests[..3], [of(40), of(41), of(42)]);
}

#[test]
fn slow_broken_and_lying_servers_end_the_stream_with_what_was_admitted() {
    for (fault, trigger, detail) in [
        (Fault::Slow, "engine", "no answer within 400 ms"),
        (Fault::Drop, "engine", "gone"),
        (Fault::Cut, "engine", "gone"),
        (Fault::Garbage, "engine", "gave no completion"),
        (Fault::Shape, "engine", "gave no completion"),
        (Fault::Utf8, "engine", "gave no completion"),
        (Fault::Endless, "engine", "longer than"),
        (Fault::Status, "engine", "status 500"),
        (Fault::Logprobs, "no_admissible_candidate", "LOGPROBS-INVALID"),
    ] {
        for protocol in ["openai", "llama"] {
            let server = Server::start(STEPS, Some((fault, 1)));
            let start = Instant::now();
            let (out, lines, released) = run(protocol, &server.address, &["--engine-deadline", "400"]);
            assert!(start.elapsed() < Duration::from_secs(20), "{fault:?}");
            // A refused candidate is a normal result; an invalid answer of the engine is an error.
            let code = if trigger == "engine" { 1 } else { 0 };
            assert_eq!(out.status.code(), Some(code), "{fault:?}: {}", String::from_utf8_lossy(&out.stderr));
            let (was, why) = termination(&lines);
            assert!(was == trigger && why.contains(detail), "{fault:?} {protocol}: {was}: {why}");
            assert_eq!(released, "Ships carry grain over the sea.", "{fault:?}");
        }
    }
}

#[test]
fn a_server_that_is_not_there_and_a_bad_address_are_errors() {
    let server = Server::start(STEPS, None);
    let address = server.address.clone();
    drop(server);
    for extra in [&[][..], &["--fail-on-refuse"]] {
        let (out, lines, released) = run("openai", &address, extra);
        assert_eq!((out.status.code(), released.as_str()), (Some(1), ""));
        assert_eq!(termination(&lines).0, "engine");
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(stderr.contains("error: 1 of 1 texts ended because no engine gave them"), "{stderr}");
    }
    let (out, _, _) = run("openai", "example.org", &[]);
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("no http:// or https:// address"));
}

/// The prompt changes with admitted formatting. If the same prompt is sent again, its seed differs: after refusals,
/// after a skipped candidate, and after a rollback.
#[test]
fn no_request_is_made_twice() {
    let refused = r#"["x@example.org","y@example.org","z@example.org","x@example.org"]"#;
    let steps = format!("[\"---\\n\"]\n[\"Ships sail.\"]\n[\"\\n***\\n\"]\n{refused}\n[\" Sailors sleep.\"]\n");
    for extra in [
        &[][..],
        &["--on-refuse", "skip", "--max-proposals", "40"],
        &["--release", "end", "--max-proposals", "40"],
        &["--release", "end", "--on-refuse", "skip", "--max-proposals", "40"],
    ] {
        let server = Server::start(&steps, None);
        let (_, _, released) = run("llama", &server.address, extra);
        let requests = server.requests();
        let unlike: std::collections::BTreeSet<_> = requests.iter().collect();
        assert_eq!(unlike.len(), requests.len(), "{extra:?}");
        let prompt: serde_json::Value = serde_json::from_str(&requests[1]).unwrap();
        assert!(prompt["prompt"].as_str().unwrap().ends_with("---\n"), "what is held is in the prompt");
        assert!(released.is_empty() || released.starts_with("---\nShips sail."), "{released}");
    }
}

/// A server behind TLS with its own CA. Stop sequences and the chat template are sent unchanged.
#[test]
fn a_server_behind_tls_is_asked_with_its_authority_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(path("key.pem"))
        .arg("-out")
        .arg(path("ca.pem"))
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        println!("\nSKIPPED no openssl to make a certificate with");
        return;
    }
    std::fs::write(path("template"), "<|user|>{prompt}<|model|>").unwrap();
    let server = r#"
import http.server, json, ssl, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert body["stop"] == ["\n\n", "<|end|>"] and body["prompt"].startswith("<|user|>Tell of ships."), body
        text = "" if body["prompt"].endswith("sail.") else "Ships sail."
        answer = json.dumps({"choices": [{"text": text}]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
"#;
    let mut process = Command::new("python3")
        .args(["-c", server])
        .args([path("ca.pem"), path("key.pem")])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut port = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(process.stdout.take().unwrap()), &mut port).unwrap();
    let address = format!("https://localhost:{}", port.trim());
    let (template, ca) = (path("template").display().to_string(), path("ca.pem").display().to_string());
    let asked = ["--engine-template", &template, "--engine-stop", "\n\n", "--engine-stop", "<|end|>"];
    let (out, lines, released) = run("openai", &address, &[&asked[..], &["--engine-ca", &ca]].concat());
    assert_eq!(out.status.code(), Some(0), "{:?}", termination(&lines));
    assert_eq!(released, "Ships sail.");
    // A client without the CA of the server does not trust the server.
    let (out, lines, released) = run("openai", &address, &asked);
    assert_eq!((out.status.code(), released.as_str()), (Some(1), ""));
    assert!(termination(&lines).1.contains("gone"), "{:?}", termination(&lines));
    process.kill().unwrap();
    process.wait().unwrap();
}

/// A task for which no engine was set is not governed, but the texts in the same input are.
#[test]
fn a_task_without_an_engine_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.jsonl");
    std::fs::write(&input, "{\"id\":\"a\",\"text\":\"Fine.\"}\n{\"id\":\"b\",\"intent\":\"Tell of ships.\"}\n")
        .unwrap();
    for json in [&[][..], &["--json"]] {
        let out = program()
            .args(["run", "--policy", "policies/pii", "--card", "model", "--input"])
            .arg(&input)
            .args(json)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("error: 1 of 2 texts ended because no engine gave them"), "{stderr}");
        let stdout = String::from_utf8_lossy(&out.stdout).into_owned();
        let total = "total: 2 texts; 1 admitted, 0 rejected, 0 decomposed, 1 without an engine's answer";
        assert_eq!(stdout.lines().last() == Some(total), json.is_empty(), "{stdout}");
    }
}

#[test]
fn n_grams_of_a_text_are_governed() {
    let folder = tempfile::tempdir().unwrap();
    let text = "Ships carry grain. Ships carry wool over the sea. Write to x@example.org now. The sea is wide. Sailors sleep. ";
    std::fs::write(folder.path().join("text"), text).unwrap();
    let engine = format!("ngram:{}", folder.path().join("text").display());
    let args =
        ["run", "--policy", "policies/pii", "--card", "model", "--json", "--format", "jsonl", "--on-refuse", "skip"];
    std::fs::write(folder.path().join("in"), r#"{"id":"a","intent":"Tell of ships."}"#).unwrap();
    let run = || {
        let mut command = program();
        command.args(args).args(["--engine", &engine, "--release", "end", "--max-proposals", "200", "--input"]);
        command.arg(folder.path().join("in")).args(["--output"]).arg(folder.path().join("out"));
        let out = command.output().unwrap();
        assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
        (out.stdout, std::fs::read_to_string(folder.path().join("out")).unwrap())
    };
    let (stdout, released) = run();
    assert!(!released.contains("x@example.org") && released.len() > 100, "{released}");
    assert_eq!(run(), (stdout, released), "the same seed gives the same run");
}
