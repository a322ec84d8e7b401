//! The co-resident gate gives the same determinations as the embedded one; it also has to handle misbehaving clients.
#![cfg(test)]

use portcullis_test_support::root;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const KEY: &str = "0707070707070707070707070707070707070707070707070707070707070707";

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    command.current_dir(root()).stdin(Stdio::null());
    command
}

struct Gate {
    child: Child,
    folder: tempfile::TempDir,
    socket: PathBuf,
    /// Reads the gate's messages, so that the gate never blocks on its pipe.
    said: Option<JoinHandle<String>>,
}

/// The command for `gated` on this socket, with resource limits set by a shell.
fn program_of(limit: &str, extra: &[&str], socket: &Path) -> Command {
    let mut command = Command::new("sh");
    command.current_dir(root()).stdin(Stdio::null()).arg("-c").arg(format!("{limit}\nexec \"$@\"")).arg("sh");
    command.arg(env!("CARGO_BIN_EXE_portcullis")).args(["gated", "--policy", "policies/pii", "--salt-key", KEY]);
    command.arg("--socket").arg(socket).args(extra).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Gate {
    fn start(extra: &[&str]) -> Self {
        Self::limited("", extra)
    }

    fn limited(limit: &str, extra: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("gate");
        Self::of(program_of(limit, extra, &socket), Some((folder, socket)))
    }

    /// Starts a gate with this command, and waits until it listens.
    fn of(mut command: Command, place: Option<(tempfile::TempDir, PathBuf)>) -> Self {
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let socket = line.trim_end().strip_prefix("listening on ").map(PathBuf::from);
        let (folder, socket) = place.or_else(|| Some((tempfile::tempdir().unwrap(), socket?))).unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let said = std::thread::spawn(move || {
            let mut said = Vec::new();
            let _ = stderr.read_to_end(&mut said);
            String::from_utf8_lossy(&said).into_owned()
        });
        let gate = Self { child, folder, socket, said: Some(said) };
        assert!(line.starts_with("listening"), "{line}");
        gate
    }

    fn address(&self) -> String {
        format!("unix:{}", self.socket.display())
    }

    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    fn greeted(&self) -> UnixStream {
        let mut stream = self.connect();
        stream.write_all(&frame(br#"{"Hello":{"version":1}}"#)).unwrap();
        assert!(said_until(&mut stream, "thresholds"));
        stream
    }

    /// Stops the gate, which must exit with 0; returns its stderr.
    #[track_caller]
    fn end(&mut self) -> String {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), rustix::process::Signal::TERM)
            .unwrap();
        let code = self.child.wait().unwrap().code();
        let said = self.said.take().unwrap().join().unwrap();
        assert_eq!(code, Some(0), "{said}");
        assert!(!self.socket.exists());
        said
    }
}

/// Texts, candidates, and invalid input: one corpus for all deployments.
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
fn two_clients_at_once_get_the_same() {
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
    // A client that disconnects in the middle of its stream, or does not answer a request for a proposal.
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

/// A client of a user without permission receives the reason, and occupies neither a thread nor a connection.
#[test]
fn a_user_who_is_not_allowed_is_refused() {
    if !rustix::process::getuid().is_root() {
        return skipped("only root can start a process of another user");
    }
    let gate = Gate::start(&["--card", "model", "--clients", "1", "--allow-uid", "4242"]);
    std::fs::set_permissions(gate.folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    // This client keeps the only connection that the gate allows.
    let mut held = gate.greeted();
    let as_user = |uid: u32| {
        let mut command = program();
        command.args(["run", "--gate", &gate.address(), "--input", "README.md"]).uid(uid).gid(uid);
        command.output()
    };
    let Ok(out) = as_user(4343) else { return skipped("another user cannot start the program from this folder") };
    assert!(String::from_utf8_lossy(&out.stderr).contains("user 4343 may not use this gate"), "{out:?}");
    let out = as_user(4242).unwrap();
    assert!(String::from_utf8_lossy(&out.stderr).contains("every connection of the gate is in use"), "{out:?}");
    held.write_all(&frame(&item_with_text("a"))).unwrap();
    assert!(said_until(&mut held, "\"Done\""));
}

/// Idle connections use up all file descriptors of the process. The gate neither loops nor stops, and still serves
/// other clients.
#[test]
fn idle_connections_that_use_up_every_file_hold_nobody() {
    let mut gate = Gate::limited("ulimit -n 30", &["--card", "model"]);
    let idle: Vec<UnixStream> = (0..100).map(|_| gate.connect()).collect();
    served_meanwhile(&gate);
    std::thread::sleep(Duration::from_millis(500));
    drop(idle);
    let said = gate.end();
    assert!(said.lines().count() < 300, "{} lines: {said}", said.lines().count());
}

/// Connections for which the system provides no thread are closed, and the gate continues.
#[test]
fn connections_without_a_thread_are_turned_away() {
    // Threads of 64 MiB, in an address space with room for a few of them and for the heap.
    let limit = "export RUST_MIN_STACK=67108864; ulimit -v 900000";
    let mut gate = Gate::limited(limit, &["--card", "model", "--clients", "900"]);
    let idle: Vec<UnixStream> = (0..100).map(|_| gate.connect()).collect();
    std::thread::sleep(Duration::from_millis(300));
    drop(idle);
    served_meanwhile(&gate);
    let said = gate.end();
    assert!(said.contains("no thread for a connection"), "{said}");
}

/// Connections that never send a greeting make room for those that do.
#[test]
fn connections_are_capped_and_the_silent_ones_go_first() {
    let mut gate = Gate::start(&["--card", "model", "--clients", "4"]);
    let idle: Vec<UnixStream> = (0..50).map(|_| gate.connect()).collect();
    served_meanwhile(&gate);
    let tasks = std::fs::read_dir(format!("/proc/{}/task", gate.child.id())).unwrap();
    let name = |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.unwrap().path().join("comm"));
    // The workers that map texts are as many as the machine has processors, not as the connections.
    let threads = tasks.map(name).filter(|name| name.as_ref().is_ok_and(|name| !name.starts_with("mapping"))).count();
    assert!(threads <= 8, "{threads} threads for at most 4 connections");
    drop(idle);
    gate.end();
}

/// A client whose engine never answers, and a client that never reads, do not delay others.
#[test]
fn a_stalled_client_holds_nobody() {
    let mut gate = Gate::start(&["--card", "model", "--deadline", "60000"]);
    let mut silent = gate.greeted();
    silent.write_all(&frame(&item_with_prompt("a"))).unwrap();
    assert!(said_until(&mut silent, "\"Propose\""));
    let mut deaf = gate.greeted();
    let long = "This sentence is as fine as any. ".repeat(20_000);
    deaf.write_all(&frame(&item_with_text(&long))).unwrap();
    let start = Instant::now();
    served_meanwhile(&gate);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    // These two clients do not delay the shutdown either.
    let start = Instant::now();
    gate.end();
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// Among many clients, one is slow, one disconnects in the middle of its stream, and one sends garbage. Each of the
/// others gets the same answer as it gets alone.
#[test]
fn many_clients_are_served_side_by_side() {
    let mut gate = Gate::start(&["--card", "model", "--deadline", "60000"]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("text"), "Ships carry grain. Ships carry wool. The sea is wide. Sailors sleep.")
        .unwrap();
    let engine = format!("ngram:{}", folder.path().join("text").display());
    let tasks = folder.path().join("tasks.jsonl");
    let task = |n: u32| format!(r#"{{"id":"{n}","intent":"Tell of ships."}}"#);
    std::fs::write(&tasks, (0..4).map(task).collect::<Vec<_>>().join("\n")).unwrap();
    let (texts, address) = (corpus(folder.path()), gate.address());
    let alone = [
        json(&["--policy", "policies/pii", "--card", "model", "--salt-key", KEY], &texts),
        json(&["--policy", "policies/pii", "--card", "model", "--salt-key", KEY, "--engine", &engine], &tasks),
    ];
    // This client gives its proposal only after all others are served.
    let mut slow = gate.greeted();
    slow.write_all(&frame(&item_with_prompt("slow"))).unwrap();
    assert!(said_until(&mut slow, "\"Propose\""));
    let outputs: Vec<(usize, Vec<u8>)> = std::thread::scope(|scope| {
        let misbehave = scope.spawn(|| {
            for _ in 0..20 {
                let mut dying = gate.greeted();
                dying.write_all(&frame(&item_with_text(&"This sentence is fine. ".repeat(50)))).unwrap();
                assert!(said_until(&mut dying, "\"released\""));
                drop(dying);
                let mut dying = gate.greeted();
                dying.write_all(&frame(&item_with_prompt("a"))).unwrap();
                assert!(said_until(&mut dying, "\"Propose\""));
                drop(dying);
                let mut garbage = gate.greeted();
                garbage.write_all(&frame(&item_with_prompt("a"))).unwrap();
                assert!(said_until(&mut garbage, "\"Propose\""));
                garbage.write_all(&frame(b"nonsense")).unwrap();
                assert!(said_until(&mut garbage, "\"trigger\":\"engine\""));
            }
        });
        let run = |kind: usize| {
            let (address, texts, tasks, engine) = (&address, &texts, &tasks, &engine);
            scope.spawn(move || match kind {
                0 => (kind, json(&["--gate", address], texts)),
                _ => (kind, json(&["--gate", address, "--engine", engine], tasks)),
            })
        };
        let runs: Vec<_> = (0..6).map(|n| run(n % 2)).collect();
        let outputs = runs.into_iter().map(|run| run.join().unwrap()).collect();
        misbehave.join().unwrap();
        outputs
    });
    for (kind, output) in outputs {
        assert!(output == alone[kind], "{}", String::from_utf8_lossy(&output));
    }
    let answer = br#"{"Proposal":{"Ok":{"Candidate":{"text":"Ships carry grain.\n\n","logprobs":null}}}}"#;
    slow.write_all(&frame(answer)).unwrap();
    assert!(said_until(&mut slow, "\"released\""), "the slow client goes on where it was");
    drop(slow);
    gate.end();
}

/// A socket that a killed gate left behind is replaced. The socket of a running gate, or another file, is not.
#[test]
fn a_dead_socket_is_replaced_and_a_live_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("gate");
    let start = || program_of("", &["--card", "model"], &socket);
    let mut killed = Gate::of(start(), None);
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert!(socket.exists());
    let mut gate = Gate::of(start(), None);
    let second = start().output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("another process listens"), "{second:?}");
    gate.end();
    assert!(!socket.exists());

    std::fs::write(&socket, "somebody's file").unwrap();
    let other = start().output().unwrap();
    assert!(String::from_utf8_lossy(&other.stderr).contains("is not a socket"), "{other:?}");
    assert_eq!(std::fs::read(&socket).unwrap(), b"somebody's file");
    std::fs::remove_file(&socket).unwrap();
    if !rustix::process::getuid().is_root() {
        return skipped("only root can start a process of another user");
    }
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let Ok(denied) = start().uid(4343).gid(4343).output() else {
        return skipped("another user cannot start the program from this folder");
    };
    let why = String::from_utf8_lossy(&denied.stderr);
    assert!(why.contains("Permission denied") && !why.contains("already"), "{why}");
}

/// The service leaves the same evidence as `run`: a ledger and a bundle, here of two concurrent clients.
#[cfg(feature = "sim")]
#[test]
fn a_service_leaves_bundle_and_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let (bundle, ledger) = (folder.path().join("b"), folder.path().join("l"));
    let more = ["--bundle", bundle.to_str().unwrap(), "--ledger", ledger.to_str().unwrap()];
    let mut gate = Gate::start(&more);
    let (corpus, address) = (corpus(folder.path()), gate.address());
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..2).map(|_| scope.spawn(|| json(&["--gate", &address], &corpus))).collect();
        runs.into_iter().for_each(|run| drop(run.join().unwrap()));
    });
    // A stream that is in progress when the service ends.
    let mut cut = gate.greeted();
    cut.write_all(&frame(&item_with_prompt("a"))).unwrap();
    assert!(said_until(&mut cut, "\"Propose\""));
    let said = gate.end();
    assert!(said.contains("bundle written to"), "{said}");
    let sim_roots = folder.path().join("trust/sim-roots");
    std::fs::create_dir_all(&sim_roots).unwrap();
    let root = program().args(["ca", "simulation"]).output().unwrap().stdout;
    std::fs::write(sim_roots.join("simulation.pem"), root).unwrap();
    let verified = program()
        .args(["verify", "--allow", "sim", "--allow", "not-enforced", "--json", "--trust"])
        .arg(folder.path().join("trust"))
        .arg(&bundle)
        .output()
        .unwrap();
    assert_eq!(verified.status.code(), Some(10), "{verified:?}");
    let report: serde_json::Value = serde_json::from_slice(&verified.stdout).unwrap();
    for property in ["policy", "complete"] {
        assert_eq!(report["properties"][property]["status"], "affirmed", "{report}");
    }
    // Both clients chose the same ids; that is the only finding.
    let reasons = report["properties"]["replayable"]["reasons"].as_array().unwrap();
    let codes: Vec<_> = reasons.iter().map(|reason| &reason["code"]).collect();
    assert_eq!(codes, ["id-twice"], "{report}");
    let replayed = program().arg("replay").arg(&bundle).output().unwrap();
    assert!(String::from_utf8_lossy(&replayed.stdout).starts_with("83 of 83 streams replay"), "{replayed:?}");
    let shown = program().args(["lineage", "show"]).arg(&ledger).output().unwrap();
    assert!(shown.status.success() && shown.stdout.len() > 10_000, "{shown:?}");
}

fn item_with_text(text: &str) -> Vec<u8> {
    let item = serde_json::json!({ "Text": { "id": "a", "text": text, "task": { "intent": "", "facts": [] } } });
    serde_json::to_vec(&serde_json::json!({ "Govern": { "number": 0, "item": item } })).unwrap()
}

fn item_with_prompt(id: &str) -> Vec<u8> {
    let item = serde_json::json!({ "Prompt": { "id": id, "task": { "intent": "Tell of ships.", "facts": [] } } });
    serde_json::to_vec(&serde_json::json!({ "Govern": { "number": 0, "item": item } })).unwrap()
}

/// Reads until the gate has sent `expected`; returns false if it closed the connection first.
fn said_until(stream: &mut UnixStream, expected: &str) -> bool {
    let mut said = Vec::new();
    let mut some = [0; 4096];
    while !String::from_utf8_lossy(&said).contains(expected) {
        match stream.read(&mut some) {
            Ok(0) | Err(_) => return false,
            Ok(bytes) => said.extend_from_slice(&some[..bytes]),
        }
    }
    true
}

#[track_caller]
fn served_meanwhile(gate: &Gate) {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.jsonl");
    std::fs::write(&input, r#"{"id":"a","text":"This sentence is fine."}"#).unwrap();
    // While connections wait in a queue, a client may be refused.
    for _ in 0..40 {
        let out = program().args(["run", "--gate", &gate.address(), "--input"]).arg(&input).output().unwrap();
        if out.status.code() == Some(0) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("no one else is served");
}

/// Prints a line that the tally of skipped tests counts.
fn skipped(why: &str) {
    // Print past the test harness, which captures the output.
    std::io::stdout().write_all(format!("\nSKIPPED {why}\n").as_bytes()).unwrap();
}

#[test]
fn without_a_gate_the_client_says_what_to_do() {
    let out = program().args(["run", "--gate", "unix:/nowhere/gate", "--input", "README.md"]).output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("portcullis gated"));
}
