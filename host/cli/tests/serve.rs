//! `card serve` as a process: its device as drivers see it, and its shutdown.
#![cfg(test)]
#![cfg(feature = "sim")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap());
    command
}

/// A served card; killed when the test ends.
struct Server(Child, tempfile::TempDir);

impl Server {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("card.sock");
        let mut serve = program();
        serve.args(["card", "serve", "--latency", "20", "--socket"]).arg(&socket).stdout(Stdio::piped());
        let mut child = serve.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, format!("listening on {}\n", socket.display()));
        Self(child, dir)
    }

    fn socket(&self) -> PathBuf {
        self.1.path().join("card.sock")
    }

    fn card(&self) -> String {
        format!("vfio-user:{}", self.socket().display())
    }

    fn end(&mut self, signal: rustix::process::Signal) -> Option<i32> {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), signal).unwrap();
        self.0.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run(args: &[&str], input: &str) -> Output {
    let mut child =
        program().args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn a_served_card_does_what_the_card_in_process_does() {
    let mut server = Server::new();
    let card = server.card();
    let info = run(&["card", "info", "--json", "--card", &card], "");
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
    assert!(info["card"].as_str().unwrap().contains("card.sock"), "{info}");
    assert_eq!(info["life"], "reset");
    assert_eq!(run(&["card", "selftest", "--card", &card], "").status.code(), Some(0));
    assert_eq!(run(&["card", "bench", "--verdicts", "100", "--card", &card], "").status.code(), Some(0));
    let text = "Write to ana.silva@example.org today. Nothing else here.\n";
    let [served, model] = [card.as_str(), "model"].map(|card| {
        let out = run(&["run", "--policy", "policies/pii", "--json", "--card", card], text);
        (out.status.code(), String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap())
    });
    assert_eq!((served.0, &served.1), (model.0, &model.1), "{}", served.2);
    assert_eq!(served.0, Some(3));
    // A second card cannot use the same socket.
    let taken = program().args(["card", "serve", "--socket"]).arg(server.socket()).output().unwrap();
    assert_eq!(taken.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&taken.stderr).contains("listens on"), "{taken:?}");
    assert_eq!(server.end(rustix::process::Signal::TERM), Some(0));
    assert!(!server.socket().exists());
    let gone = run(&["card", "info", "--card", &card], "");
    assert_eq!(gone.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&gone.stderr).contains("portcullis card serve"), "{gone:?}");
}

#[test]
fn a_bundle_of_a_served_card_verifies() {
    let mut server = Server::new();
    let dir = tempfile::tempdir().unwrap();
    let bundle = dir.path().join("bundle").display().to_string();
    let args = ["run", "--policy", "policies/pii", "--bundle", &bundle, "--card", &server.card()];
    let out = run(&args, "Nothing is wrong with this.\n");
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    std::fs::create_dir_all(dir.path().join("trust/sim-roots")).unwrap();
    let root = run(&["ca", "simulation"], "");
    std::fs::write(dir.path().join("trust/sim-roots/simulation.pem"), root.stdout).unwrap();
    let trust = dir.path().join("trust").display().to_string();
    let verified = run(&["verify", &bundle, "--trust", &trust, "--allow-sim"], "");
    assert_eq!(verified.status.code(), Some(10), "{}", String::from_utf8_lossy(&verified.stdout));
    // SIGINT, as from the keyboard.
    assert_eq!(server.end(rustix::process::Signal::INT), Some(0));
}
