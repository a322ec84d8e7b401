//! The co-resident gate, end to end: the same determinations as embedded, and clients that do not behave.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at its first surprise, its helpers included"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const KEY: &str = "0707070707070707070707070707070707070707070707070707070707070707";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    command.current_dir(root()).stdin(Stdio::null());
    command
}

struct Gate {
    child: Child,
    folder: tempfile::TempDir,
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Gate {
    fn start(extra: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut child = program()
            .args(["gated", "--policy", "policies/pii", "--salt-key", KEY, "--socket"])
            .arg(folder.path().join("gate"))
            .args(extra)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("listening"), "{line}");
        Self { child, folder }
    }

    fn address(&self) -> String {
        format!("unix:{}", self.folder.path().join("gate").display())
    }

    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.folder.path().join("gate")).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        stream
    }
}

/// Texts, candidates, and what cannot be: one corpus for every deployment.
fn corpus(folder: &Path) -> PathBuf {
    let path = folder.join("corpus.jsonl");
    let mut lines: Vec<String> = (0..40)
        .map(|n| format!(r#"{{"id":"{n}","text":"Sentence {n} is fine. Write to p{n}@example.org now; it is late."}}"#))
        .collect();
    lines.push(r#"{"id":"c","candidates":[["192.0.2.1","Call the desk."],[{"text":" Now.","logprobs":[-0.5]}],["x@example.org"]]}"#.into());
    std::fs::write(&path, lines.join("\n")).unwrap();
    path
}

fn json(args: &[&str], corpus: &Path) -> Vec<u8> {
    let out = program().args(["run", "--json", "--input"]).arg(corpus).args(args).output().unwrap();
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

#[test]
fn embedded_co_resident_and_card_give_the_same_determinations() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path());
    let embedded = json(&["--policy", "policies/pii", "--card", "model", "--salt-key", KEY], &corpus);
    assert!(embedded.len() > 10_000);
    let cards = program().args(["card", "list"]).output().unwrap();
    for card in String::from_utf8(cards.stdout).unwrap().lines().filter(|card| !card.contains(":")) {
        let direct = json(&["--policy", "policies/pii", "--card", card, "--salt-key", KEY], &corpus);
        let gate = Gate::start(&["--card", card]);
        assert_eq!(json(&["--gate", &gate.address()], &corpus), embedded, "co-resident, {card}");
        assert_eq!(direct, embedded, "{card}");
    }
}

#[test]
fn two_clients_take_turns() {
    let gate = Gate::start(&["--card", "model"]);
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path());
    let address = gate.address();
    let outputs: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..2).map(|_| scope.spawn(|| json(&["--gate", &address], &corpus))).collect();
        runs.into_iter().map(|r| r.join().unwrap()).collect()
    });
    assert_eq!(outputs[0], outputs[1]);
}

#[test]
fn the_engine_stays_with_the_client() {
    let gate = Gate::start(&["--card", "model"]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("text"), "Ships carry grain. Ships carry wool. The sea is wide. Sailors sleep.")
        .unwrap();
    std::fs::write(folder.path().join("in.jsonl"), r#"{"id":"a","intent":"Tell of ships."}"#).unwrap();
    let engine = format!("ngram:{}", folder.path().join("text").display());
    let input = folder.path().join("in.jsonl");
    let there = json(&["--gate", &gate.address(), "--engine", &engine], &input);
    let here = json(&["--policy", "policies/pii", "--card", "model", "--salt-key", KEY, "--engine", &engine], &input);
    assert_eq!(there, here);
    assert!(String::from_utf8(there).unwrap().contains("\"mode\":\"driven\""));
}

fn frame(payload: &[u8]) -> Vec<u8> {
    [&u32::try_from(payload.len()).unwrap().to_le_bytes(), payload].concat()
}

fn answer(stream: &mut UnixStream) -> String {
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    String::from_utf8_lossy(&all).into_owned()
}

#[test]
fn clients_that_do_not_behave_are_refused_and_the_gate_goes_on() {
    let gate = Gate::start(&["--card", "model", "--deadline", "500"]);
    for (bytes, expected) in [
        (frame(br#"{"Hello":{"version":99}}"#), "version 99"),
        (frame(b"nonsense"), "Failed"),
        (frame(br#"{"Proposal":{"Ok":"End"}}"#), "hello"),
        (u32::MAX.to_le_bytes().to_vec(), "at most"),
        (Vec::new(), "Failed"),
        ([frame(br#"{"Hello":{"version":1}}"#), frame(br#"{"Hello":{"version":1}}"#)].concat(), "an item was expected"),
    ] {
        let mut stream = gate.connect();
        stream.write_all(&bytes).unwrap();
        let said = answer(&mut stream);
        assert!(said.contains(expected), "{expected}: {said}");
    }
    // One that goes away in the middle of its stream, or leaves a proposal unanswered.
    let mut stream = gate.connect();
    stream.write_all(&frame(br#"{"Hello":{"version":1}}"#)).unwrap();
    let item = br#"{"Govern":{"number":0,"item":{"Prompt":{"id":"a","task":{"intent":"x","facts":[]}}}}}"#;
    stream.write_all(&frame(item)).unwrap();
    drop(stream);
    let mut stream = gate.connect();
    stream.write_all(&[frame(br#"{"Hello":{"version":1}}"#), frame(item)].concat()).unwrap();
    assert!(answer(&mut stream).contains("\"trigger\":\"engine\""));
    // The gate still serves.
    let folder = tempfile::tempdir().unwrap();
    assert!(!json(&["--gate", &gate.address()], &corpus(folder.path())).is_empty());
}

#[test]
fn a_user_who_is_not_allowed_is_refused() {
    use portcullis_gate::remote::{Gate, Served, ToClient, VERSION};
    let (client, server) = UnixStream::pair().unwrap();
    let policy = portcullis_policy::Package::load(&root().join("policies/pii")).unwrap();
    let compiled = policy.compile().unwrap();
    let card = portcullis_card::CardChoice::Model.open().unwrap();
    let session = portcullis_card::Session::open(card, &compiled.image, Default::default()).unwrap();
    let welcome = ToClient::Welcome {
        version: VERSION,
        policy: String::new(),
        package_digest: String::new(),
        image_digest: String::new(),
        thresholds: [0; 3],
        card: String::new(),
    };
    let nobody = [u32::MAX - 1];
    let deadline = std::time::Duration::from_secs(1);
    let served = Gate::new(session).serve(server, &nobody, deadline, &welcome, || unreachable!());
    assert!(matches!(served, Served::Refused(why) if why.contains("may not use this gate")));
    drop(client);
}

#[test]
fn without_a_gate_the_client_says_what_to_do() {
    let out = program().args(["run", "--gate", "unix:/nowhere/gate", "--input", "README.md"]).output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("portcullis gated"));
}
