//! A ticket that a session cannot satisfy is refused before the session, so that no bundle is written that a verifier
//! would contradict.
#![cfg(test)]
#![cfg(feature = "sim")]

use portcullis_test_support::root;
use std::process::{Command, Output, Stdio};

struct Scene {
    folder: tempfile::TempDir,
    key: String,
    policy: String,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("in.txt"), "Call the desk.").unwrap();
        std::fs::write(folder.path().join("support.toml"), "domain = \"support\"\n").unwrap();
        let mut scene = Self { folder, key: String::new(), policy: String::new() };
        let info: serde_json::Value = serde_json::from_slice(&scene.run("card info --json").stdout).unwrap();
        scene.key = info["public_key"].as_str().unwrap().to_owned();
        let digests = String::from_utf8(scene.run("policy digest policies/pii").stdout).unwrap();
        let line = digests.lines().find(|line| line.starts_with("policy")).unwrap();
        scene.policy = line.split_whitespace().last().unwrap().to_owned();
        scene
    }

    /// Runs a command line; `@name` is a path below the scene's folder.
    fn run(&self, line: &str) -> Output {
        let words = line.split(' ').map(|word| match word.strip_prefix('@') {
            Some(name) => self.folder.path().join(name).into_os_string(),
            None => word.into(),
        });
        // A gate that accepts the ticket would serve until it is stopped.
        let mut command = Command::new("timeout");
        command.args(["20", env!("CARGO_BIN_EXE_portcullis")]).args(words);
        command.current_dir(root()).stdin(Stdio::null()).output().unwrap()
    }

    /// Exit code and standard error.
    fn said(&self, line: &str) -> (Option<i32>, String) {
        let out = self.run(line);
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    }

    fn issue(&self, more: &str) -> (Option<i32>, String) {
        let Self { key, policy, .. } = self;
        self.said(&format!(
            "ticket issue --store @tickets.sqlite --key @issuer.key --public-key {key} --policy {policy} {more}"
        ))
    }
}

#[test]
fn a_ticket_of_another_profile_is_refused_before_the_session() {
    let scene = Scene::new();
    assert_eq!(scene.issue("--profile @support.toml --output @1.cose"), (Some(0), String::new()));
    let run = "run --policy policies/pii --input @in.txt --ticket @1.cose --bundle @b";
    let gated = "gated --policy policies/pii --socket @gate --ticket @1.cose --bundle @b";
    for line in [run, gated] {
        let (code, said) = scene.said(line);
        assert_eq!(code, Some(1), "{line}: {said}");
        assert!(said.contains("the ticket permits other profiles") && said.contains("--profile"), "{line}: {said}");
        assert!(!scene.folder.path().join("b").exists(), "{line}: a bundle was begun");
    }
    let (code, said) = scene.said(&format!("{run} --profile @support.toml"));
    assert_eq!(code, Some(0), "{said}");
}

/// A session without `--text-lane` uses no text lane, so it cannot satisfy such a ticket.
#[test]
fn a_ticket_that_requires_the_text_lane_is_refused_before_the_session() {
    let scene = Scene::new();
    assert_eq!(scene.issue("--text-lane --output @1.cose"), (Some(0), String::new()));
    let (code, said) = scene.said("run --policy policies/pii --input @in.txt --ticket @1.cose --bundle @b");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("requires the text lane") && said.contains("`--text-lane`"), "{said}");
    assert!(!scene.folder.path().join("b").exists(), "a bundle was begun");
}

/// Each card with the key can have a session at the same time.
#[test]
fn each_seat_has_a_ticket() {
    let scene = Scene::new();
    for seat in [0, 1, 65_535] {
        assert_eq!(scene.issue(&format!("--seat {seat} --output @{seat}.cose")), (Some(0), String::new()));
        let (code, said) = scene.issue(&format!("--seat {seat} --output @again.cose"));
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("neither closed nor abandoned"), "{said}");
    }
    assert_eq!(scene.issue("--seat 65536 --output @more.cose").0, Some(2));
    // `ticket show` writes a lost ticket again, but overwrites no file.
    let again = |serial: u64| {
        let key = &scene.key;
        scene.said(&format!(
            "ticket show --store @tickets.sqlite --key @issuer.key --public-key {key} --seat 1 --serial {serial} --output @2.cose"
        ))
    };
    assert_eq!(again(1), (Some(0), String::new()));
    let read = |name: &str| std::fs::read(scene.folder.path().join(name)).unwrap();
    assert_eq!(read("2.cose"), read("1.cose"));
    assert_eq!(again(1).0, Some(1));
    assert!(again(2).1.contains("no such ticket"));
}
