//! A gateway with several cards, one of which is another process that is killed.
#![cfg(feature = "sim")]

use crate::process::{Process, root};
use crate::support::{Answer, Upstream, ask, chat, post, said, text};
use serde_json::Value;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    program.current_dir(root());
    program
}

fn asked(address: &str) -> Answer {
    post(address, "/v1/chat/completions", &ask("Go on.", false), "").unwrap()
}

/// Asks until an answer comes from this card.
fn ask_until(address: &str, card: &str) {
    let since = Instant::now();
    loop {
        let answer = asked(address);
        assert_eq!((answer.status, said(&answer, "content").as_str()), (200, "Birds sing."), "{}", answer.body);
        if answer.provenance()["session"].as_str().unwrap() == format!("{card}/session-000001") {
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(120), "no answer comes from {card}");
    }
}

fn verify(bundle: &str, trust: &str) -> Output {
    program().args(["verify", bundle, "--trust", trust, "--allow-sim"]).output().unwrap()
}

/// Both cards answer, each under a bundle of its own. When the process of one card is killed, the other card answers
/// alone. At the end the exit code says that a card was lost. Nothing in the bundles of both cards is contradicted.
#[test]
fn a_killed_card_leaves_the_others_to_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let trust = path("trust");
    std::fs::create_dir_all(path("trust/sim-roots")).unwrap();
    let root = program().args(["ca", "simulation"]).output().unwrap();
    std::fs::write(path("trust/sim-roots/simulation.pem"), root.stdout).unwrap();
    let socket = path("card.sock");
    let (card, _) = Process::start(program().args(["card", "serve", "--socket", &socket]));
    let upstream = Upstream::new(Arc::new(|_, _: &Value| chat([text("Birds sing.")], "stop")));
    let base = format!("http://{}/v1", upstream.address);
    let mut serve = program();
    serve.args(["serve", "--policy", "policies/pii", "--listen", "127.0.0.1:0", "--upstream", &base]);
    serve.args(["--card", "sim", "--card", &format!("vfio-user:{socket}"), "--bundles", &path("bundles")]);
    serve.stderr(std::fs::File::create(path("err")).unwrap());
    let (gateway, line) = Process::start(&mut serve);
    let address = line.trim_start_matches("listening on http://").trim_end_matches("/v1").to_owned();
    for card in ["card-0", "card-1"] {
        ask_until(&address, card);
    }
    drop(card);
    let since = Instant::now();
    let log = || std::fs::read_to_string(path("err")).unwrap();
    while !log().contains("the card takes no more streams") {
        assert!(since.elapsed() < Duration::from_secs(60), "{}", log());
        let answer = asked(&address);
        assert!([200, 500, 503].contains(&answer.status), "{}", answer.body);
    }
    for _ in 0..10 {
        let answer = asked(&address);
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.provenance()["session"], "card-0/session-000001");
    }
    gateway.signal(rustix::process::Signal::TERM);
    assert_eq!(gateway.code(), Some(4), "{}", log());
    for card in ["card-0", "card-1"] {
        let verified = verify(&path(&format!("bundles/{card}/session-000001")), &trust);
        assert_eq!(verified.status.code(), Some(10), "{card}: {}", String::from_utf8_lossy(&verified.stdout));
    }
}

/// Settings that cannot hold for several cards are refused with a remedy.
#[test]
fn settings_of_several_cards_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], why: &str| {
        let mut serve = program();
        serve.args(["serve", "--policy", "policies/pii", "--upstream", "http://127.0.0.1:1/v1", "--bundles"]);
        let out = serve.arg(folder.path().join("bundles")).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.code() == Some(1) && said.contains(why), "{arguments:?}: {said}");
    };
    refused(&["--card", "sim", "--card", "sim", "--tickets", "t"], "`--tickets` is for one card");
    refused(&["--card", "vfio-user:x", "--card", "vfio-user:x"], "is configured twice");
}
