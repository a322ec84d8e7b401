//! An answer continues an answer of an earlier session. Its bundle is checked together with the bundle of that session.

use crate::process::{Process, curl, root};
use crate::support::{Upstream, chat, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

const SAID: &str = "The northern line is closed.";
const SIMULATED: i32 = 10;
const WARNED: i32 = 5;
const NOT_A_BUNDLE: i32 = 3;

fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    program.current_dir(root());
    program
}

/// Exit code and output of a command about a bundle, with these earlier bundles.
fn run(command: &[&str], bundle: &Path, earlier: &[&Path]) -> (Option<i32>, String) {
    let mut run = program();
    run.args(command).arg(bundle);
    for bundle in earlier {
        run.arg("--earlier").arg(bundle);
    }
    let out = run.output().unwrap();
    (out.status.code(), String::from_utf8([out.stdout, out.stderr].concat()).unwrap())
}

#[test]
fn a_bundle_is_checked_beside_the_one_that_it_continues() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = Upstream::new(Arc::new(|_, _: &Value| chat(SAID.split_inclusive(' ').map(text), "stop")));
    let bundles = folder.path().join("bundles");
    let config = folder.path().join("gateway.toml");
    let head = format!("listen = \"127.0.0.1:0\"\npolicy = \"policies/pii\"\nbundles = {bundles:?}\n");
    let model = format!("[[model]]\nname = \"m\"\nupstream = \"http://{}/v1\"\n", upstream.address);
    std::fs::write(&config, head + &model).unwrap();
    let mut serve = program();
    serve.args(["serve", "--card", "sim", "--config"]).arg(config).stderr(Stdio::piped());
    let (mut gateway, line) = Process::start(&mut serve);
    let url = format!("{}/chat/completions", line.strip_prefix("listening on ").unwrap());
    let mut errors = BufReader::new(gateway.0.stderr.take().unwrap()).lines();

    let asked = json!({"role": "user", "content": "News?"});
    let answered = json!({"role": "assistant", "content": SAID});
    for (messages, session) in
        [(vec![asked.clone()], "session-000001"), (vec![asked.clone(), answered, asked], "session-000002")]
    {
        let (status, body) = curl(&url, Some(&json!({"model": "m", "messages": messages})));
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &body["portcullis"]["session"]), (200, &json!(session)), "{body}");
        assert_eq!(body["portcullis"]["continues"].is_string(), session == "session-000002", "{body}");
        gateway.signal(rustix::process::Signal::HUP);
        let opened = |line: &Value| line["message"] == "session opened" && line["session"] != session;
        errors.by_ref().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()).find(opened).unwrap();
    }
    gateway.end();

    let trust = folder.path().join("trust");
    std::fs::create_dir_all(trust.join("sim-roots")).unwrap();
    let root = program().args(["ca", "simulation"]).output().unwrap().stdout;
    std::fs::write(trust.join("sim-roots/simulation.pem"), root).unwrap();
    let [first, second] = ["session-000001", "session-000002"].map(|session| bundles.join(session));
    let check = ["check", "--allow-sim", "--trust", trust.to_str().unwrap()];

    assert_eq!(run(&check, &first, &[]).0, Some(SIMULATED));
    let (code, said) = run(&check, &second, &[]);
    assert!(code == Some(SIMULATED) && said.contains("warned: replay-predecessor"), "{said}");
    let (code, said) = run(&check, &second, &[&first]);
    assert!(code == Some(SIMULATED) && said.contains("1 of 1 streams replay"), "{said}");
    assert_eq!(run(&["replay"], &second, &[]).0, Some(WARNED));
    assert_eq!(run(&["replay"], &second, &[&first]).0, Some(0));
    // The earlier bundle cannot be replaced by another bundle, nor by a folder without a bundle.
    let (code, said) = run(&check, &second, &[&second]);
    assert!(code == Some(SIMULATED) && said.contains("warned: replay-predecessor"), "{said}");
    assert_eq!(run(&check, &second, &[&folder.path().join("trust")]).0, Some(NOT_A_BUNDLE));
    // If a text of the earlier bundle is changed, no stream continues from that bundle.
    let inputs = first.join("inputs.jsonl");
    let text = std::fs::read_to_string(&inputs).unwrap();
    let changed = text.replace("northern", "southern");
    assert_ne!(text, changed);
    std::fs::write(&inputs, changed).unwrap();
    let (code, said) = run(&["replay"], &second, &[&first]);
    assert!(code != Some(0) && said.contains("0 of 1 streams replay"), "{code:?} {said}");
}
