//! Two composed policies are exchanged by a reload under load. Every stream is judged by one policy only.

use crate::process::{Process, root};
use crate::support::{Answer, Upstream, chat, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The first policy refuses the second sentence, the second policy refuses the third.
const SAID: &str =
    "The northern line is closed. Write to ana.silva@example.org today. Our counsel advised us to settle.";

fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    program.current_dir(root());
    program
}

/// Reads log lines up to the first that satisfies `is_it`, and returns it.
fn log(lines: &mut impl Iterator<Item = std::io::Result<String>>, is_it: impl Fn(&Value) -> bool) -> Value {
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).find(is_it).unwrap()
}

/// Composes the two policies under these member names.
fn compose(output: &Path, [pii, privilege]: [&str; 2]) {
    let mut compose = program();
    compose.args(["policy", "compose"]).arg(output);
    for (member, package) in [(pii, "policies/pii"), (privilege, "policies/privilege")] {
        compose.args(["--member", &format!("{member}={package}")]);
    }
    let out = compose.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

fn ask(base: &str, model: &str) -> Answer {
    let address = base.trim_start_matches("http://").trim_end_matches("/v1");
    let body = json!({"model": model, "messages": [{"role": "user", "content": "News?"}]}).to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n";
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    Answer::parse(&answer)
}

#[test]
fn composed_policies_are_exchanged_under_load() {
    let folder = tempfile::tempdir().unwrap();
    compose(&folder.path().join("house"), ["desk", "ward"]);
    compose(&folder.path().join("other"), ["ward", "desk"]);
    let policy = folder.path().join("policy");
    std::os::unix::fs::symlink(folder.path().join("house"), &policy).unwrap();
    let upstream = Upstream::new(Arc::new(|_, _: &Value| chat(SAID.split_inclusive(' ').map(text), "stop")));
    let bundles = folder.path().join("bundles");
    let model = |name: &str| {
        format!("[[model]]\nname = \"{name}\"\nmember = \"{name}\"\nupstream = \"http://{}/v1\"\n", upstream.address)
    };
    let head = format!("listen = \"127.0.0.1:0\"\npolicy = {policy:?}\nbundles = {bundles:?}\n");
    let config = folder.path().join("gateway.toml");
    std::fs::write(&config, head + &model("desk") + &model("ward")).unwrap();
    let mut serve = program();
    serve.args(["serve", "--card", "sim", "--config"]).arg(config).stderr(Stdio::piped());
    let (mut gateway, line) = Process::start(&mut serve);
    let base = line.strip_prefix("listening on ").unwrap();
    let mut errors = BufReader::new(gateway.0.stderr.take().unwrap()).lines();

    let (answers, over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let count = |session: &str| {
        let answers = answers.lock().unwrap();
        answers.iter().filter(|(_, answer): &&(_, Answer)| answer.provenance()["session"] == session).count()
    };
    let gap = std::thread::scope(|scope| {
        let _end = EndOnDrop(&over);
        for model in ["desk", "ward", "desk"] {
            let (answers, over) = (&answers, &over);
            scope.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    let answer = ask(base, model);
                    answers.lock().unwrap().push((model, answer));
                }
            });
        }
        let wait = |session| {
            while count(session) < 20 {
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        wait("session-000001");
        // A broken policy does not replace the current one.
        let broken = folder.path().join("broken");
        std::fs::create_dir(&broken).unwrap();
        exchange(&policy, &broken);
        gateway.signal(rustix::process::Signal::HUP);
        let said = log(&mut errors, |line| line["level"] == "ERROR");
        assert_eq!(said["message"], "the policies stay as they were: what was read is not fit for use");
        exchange(&policy, &folder.path().join("other"));
        gateway.signal(rustix::process::Signal::HUP);
        let said = log(&mut errors, |line| line["message"] == "session opened" && line["session"] == "session-000002");
        wait("session-000002");
        over.store(true, Ordering::SeqCst);
        said["gap_ms"].as_u64().unwrap()
    });
    assert!(gap > 0);
    gateway.end();

    let mut seen = BTreeSet::new();
    for (model, answer) in answers.into_inner().unwrap() {
        assert_eq!(answer.status, 200, "{}", answer.body);
        let (value, provenance) = (answer.json(), answer.provenance());
        let said = value["choices"][0]["message"]["content"].as_str().unwrap();
        let session = provenance["session"].as_str().unwrap();
        // In the first session `desk` has the policy for personal data; after the exchange `ward` has it.
        let is_pii = (session == "session-000001") == (model == "desk");
        let name = if session == "session-000001" { "house" } else { "other" };
        assert_eq!(provenance["policy"], format!("{name} 1.0.0/{model}"), "{provenance}");
        assert_eq!(said.contains("ana.silva"), !is_pii, "{session} {model}: {said}");
        assert!(said.starts_with("The northern line is closed.") && !said.contains("counsel"), "{said}");
        seen.insert((session.to_owned(), model));
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
    let trust = folder.path().join("trust/sim-roots");
    std::fs::create_dir_all(&trust).unwrap();
    std::fs::write(trust.join("simulation.pem"), program().args(["ca", "simulation"]).output().unwrap().stdout)
        .unwrap();
    for session in ["session-000001", "session-000002"] {
        let mut check = program();
        check.arg("check").arg(bundles.join(session)).args(["--allow-sim", "--trust"]).arg(folder.path().join("trust"));
        let out = check.output().unwrap();
        assert_eq!(out.status.code(), Some(10), "{session}: {}", String::from_utf8_lossy(&out.stdout));
    }
}

/// Ends the load when the test ends, even if the test panics.
struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Atomically points the link to another folder.
fn exchange(link: &Path, to: &Path) {
    let next = link.with_extension("next");
    std::os::unix::fs::symlink(to, &next).unwrap();
    std::fs::rename(next, link).unwrap();
}
