//! Engines behind HTTP, end to end: the program against a server process over loopback, well-behaved and not; and the n-gram engine.
#![cfg(test)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// A server process; it is killed when the test ends.
struct Server {
    child: Child,
    address: String,
    folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const STEPS: &str = r#"["Ships carry grain over the sea."]
[" Write to x@example.org now. And more.", " Sailors sleep below deck."]
[{"text": " The voyage takes 9 days.", "logprobs": [-0.25, -0.5]}]
"#;

impl Server {
    fn start(steps: &str, extra: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("steps.jsonl"), steps).unwrap();
        let mut child = program()
            .args(["engine", "serve", "--steps"])
            .arg(folder.path().join("steps.jsonl"))
            .arg("--log")
            .arg(folder.path().join("log"))
            .args(extra)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { child, address: address.trim().to_owned(), folder }
    }

    fn run(&self, protocol: &str, extra: &[&str]) -> (Output, Vec<serde_json::Value>, String) {
        let input = self.folder.path().join("tasks.jsonl");
        std::fs::write(&input, r#"{"id":"a","intent":"Tell of ships.","facts":["Ships carry grain over the sea."]}"#)
            .unwrap();
        let output = self.folder.path().join("out.jsonl");
        let engine = format!("{protocol}:{}", self.address);
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
        let released =
            serde_json::from_str::<serde_json::Value>(&released).map(|v| v["text"].as_str().unwrap().to_owned());
        (out, lines, released.unwrap_or_default())
    }

    fn requests(&self) -> Vec<String> {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap().lines().map(str::to_owned).collect()
    }
}

fn termination(lines: &[serde_json::Value]) -> (String, String) {
    let end = &lines.last().unwrap()["summary"]["termination"];
    (end["trigger"].as_str().unwrap_or("").to_owned(), end["detail"].as_str().unwrap_or("").to_owned())
}

#[test]
fn a_server_is_driven_step_by_step_and_starved() {
    for protocol in ["openai", "llama"] {
        let server = Server::start(STEPS, &[]);
        let (out, lines, released) = server.run(protocol, &["--engine-seed", "40"]);
        assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
        assert_eq!(released, "Ships carry grain over the sea. Write to  now. The voyage takes 9 days.");
        assert_eq!(lines.last().unwrap()["summary"]["mode"], "driven");
        // Nothing but intent, facts and admitted text is ever sent, and nothing of what was refused.
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
    let server = Server::start(steps, &[]);
    let (_, lines, released) = server.run("llama", &["--engine-seed", "40"]);
    assert_eq!(released, "Good.");
    assert_eq!(lines.iter().filter(|l| l["determination"] == "reject").count(), 2);
    let requests = server.requests();
    let of = |seed: u32| requests[0].replace("\"seed\":40", &format!("\"seed\":{seed}"));
    assert_eq!(requests[..3], [of(40), of(41), of(42)]);
}

#[test]
fn slow_broken_and_lying_servers_end_the_stream_with_what_was_admitted() {
    for (fault, trigger, detail) in [
        ("slow", "engine", "no answer within 400 ms"),
        ("drop", "engine", "gone"),
        ("cut", "engine", "gone"),
        ("garbage", "engine", "gave no completion"),
        ("shape", "engine", "gave no completion"),
        ("utf8", "engine", "gave no completion"),
        ("endless", "engine", "longer than"),
        ("status", "engine", "status 500"),
        ("logprobs", "no_admissible_candidate", "LOGPROBS-INVALID"),
    ] {
        for protocol in ["openai", "llama"] {
            let server = Server::start(STEPS, &["--fault", fault, "--fault-after", "1"]);
            let start = Instant::now();
            let (out, lines, released) = server.run(protocol, &["--engine-deadline", "400"]);
            assert!(start.elapsed() < Duration::from_secs(20), "{fault}");
            // A refused candidate is a result; an engine that does not answer as it must is an error.
            let code = if trigger == "engine" { 1 } else { 0 };
            assert_eq!(out.status.code(), Some(code), "{fault}: {}", String::from_utf8_lossy(&out.stderr));
            let (was, why) = termination(&lines);
            assert!(was == trigger && why.contains(detail), "{fault} {protocol}: {was}: {why}");
            assert_eq!(released, "Ships carry grain over the sea.", "{fault}");
        }
    }
}

#[test]
fn a_server_that_is_not_there_and_a_bad_address_are_errors() {
    let server = Server::start(STEPS, &[]);
    let address = server.address.clone();
    drop(server);
    let mut gone = Server::start("", &[]);
    gone.address = address;
    for extra in [&[][..], &["--fail-on-refuse"]] {
        let (out, lines, released) = gone.run("openai", extra);
        assert_eq!((out.status.code(), released.as_str()), (Some(1), ""));
        assert_eq!(termination(&lines).0, "engine");
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(stderr.contains("error: 1 of 1 texts ended because no engine gave them"), "{stderr}");
    }
    gone.address = "https://example.org".into();
    let (out, _, _) = gone.run("openai", &[]);
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("local proxy"));
}

/// A task is not governed when nobody can write its text: not even beside texts that were.
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
