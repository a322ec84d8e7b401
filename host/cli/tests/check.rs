//! `check` of a bundle from a card that is not simulated: everything is affirmed, and one false input contradicts it.
//! The test has its own card key and its own certifying authority.
#![cfg(test)]

use portcullis_test_sessions as real;
use portcullis_test_support::world;

use portcullis_core::context::StreamMode;
use portcullis_evidence::bundle::MemoryFiles;
use std::path::Path;
use std::process::Command;
use world::{World, remanifest, sha};

const CONTRADICTED: i32 = 3;
const WARNED: i32 = 5;
const MARKED: i32 = 10;

struct Scene {
    folder: tempfile::TempDir,
    world: World,
}

impl Scene {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), world: World::new() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Writes the bundle, and a trust folder for its parties.
    fn write(&self, name: &str, files: &MemoryFiles) {
        world::write(&self.folder.path().join(name), &self.world.trust(false), &self.world, files);
    }

    /// Runs a command on the bundle at `path`, whose texts were complete before they were judged; returns exit code and
    /// stdout.
    fn run(&self, command: &str, path: &str, more: &[&str]) -> (i32, String) {
        let accepting = if command == "replay" { &[][..] } else { &["--allow", "not-enforced"] };
        self.run_strictly(command, path, &[accepting, more].concat())
    }

    fn run_strictly(&self, command: &str, path: &str, more: &[&str]) -> (i32, String) {
        let mut program = Command::new(env!("CARGO_BIN_EXE_portcullis"));
        program.args([command, path]).args(more);
        if command != "replay" {
            program.arg("--trust").arg(Path::new(path).with_file_name("trust"));
        }
        let out = program.output().unwrap();
        let said = String::from_utf8([out.stdout, out.stderr].concat()).unwrap();
        (out.status.code().unwrap(), said)
    }

    /// Exit codes of `verify`, `replay` and `check`.
    fn codes(&self, name: &str) -> [i32; 3] {
        let path = self.path(&format!("{name}/bundle"));
        ["verify", "replay", "check"].map(|command| self.run(command, &path, &[]).0)
    }
}

#[test]
fn a_real_bundle_is_affirmed_and_one_lie_is_not() {
    let scene = Scene::new();
    for lanes in [1, 4] {
        let name = format!("honest-{lanes}");
        let honest = real::session(&scene.world, &scene.world.card, lanes).files();
        scene.write(&name, &honest);
        assert_eq!(scene.codes(&name), [0; 3], "{lanes} lanes");
        let (code, said) = scene.run("check", &scene.path(&format!("{name}/bundle")), &[]);
        assert!(code == 0 && said.contains("assurance    L2"), "{said}");
        assert!(said.contains("4 of 4 streams replay") && said.starts_with("verdict      affirmed\n"), "{said}");

        // A false input of a stream: the card's signatures do not cover it, but the replay detects it.
        let mut files = honest.clone();
        let inputs = files.0.get_mut("inputs.jsonl").unwrap();
        let text = String::from_utf8(inputs.clone()).unwrap();
        *inputs = text.replace("The line is closed.", "The line is open.  ").into_bytes();
        assert_ne!(text.as_bytes(), *inputs);
        remanifest(&mut files);
        let name = format!("lie-{lanes}");
        scene.write(&name, &files);
        assert_eq!(scene.codes(&name), [0, CONTRADICTED, CONTRADICTED], "{lanes} lanes");
        let (_, said) = scene.run("check", &scene.path(&format!("{name}/bundle")), &["--json"]);
        let json: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&json["verify"]["status"], &json["status"]), (&"affirmed".into(), &"contradicted".into()));
        assert_eq!(json["replay"]["reasons"][0]["code"], "replay-differs", "{json}");
    }
}

/// Another trust folder does not trust the authority that certified the card.
#[test]
fn a_session_that_prevented_nothing_is_marked() {
    let scene = Scene::new();
    scene.write("b", &real::session(&scene.world, &scene.world.card, 1).files());
    let path = scene.path("b/bundle");
    for command in ["verify", "check"] {
        let (code, said) = scene.run_strictly(command, &path, &[]);
        assert_eq!(code, MARKED, "{said}");
        assert!(said.contains("not-enforced") && said.contains("streams were only recorded or observed"), "{said}");
        let (code, said) = scene.run_strictly(command, &path, &["--allow", "not-enforced"]);
        assert!(code == 0 && said.contains("streams were only recorded or observed"), "{said}");
        // Acceptance of simulated cards accepts nothing else.
        for sim in [&["--allow-sim"][..], &["--allow", "sim"]] {
            assert_eq!(scene.run_strictly(command, &path, sim).0, MARKED);
        }
        assert_eq!(scene.run_strictly(command, &path, &["--allow", "everything"]).0, 2);
    }
}

#[test]
fn another_trust_folder_affirms_nothing() {
    let scene = Scene::new();
    scene.write("b", &real::session(&scene.world, &scene.world.card, 1).files());
    std::fs::remove_dir_all(scene.path("b/trust/roots")).unwrap();
    assert_eq!(scene.codes("b"), [CONTRADICTED, 0, CONTRADICTED]);
}

/// The input of an observed stream must have a known form, as in every other mode.
#[test]
fn an_observed_stream_without_its_input_is_contradicted() {
    let scene = Scene::new();
    let files = real::session_in(&scene.world, &scene.world.card, 1, Some(StreamMode::Observed)).files();
    scene.write("b", &files);
    let (_, said) = scene.run("check", &scene.path("b/bundle"), &[]);
    assert!(said.contains("contradicted: replay-input") && said.contains("3 of 4 streams replay"), "{said}");
    assert_eq!(scene.codes("b"), [0, CONTRADICTED, CONTRADICTED]);
}

/// An unknown version is neither affirmed nor contradicted, and does not stop a command.
#[test]
fn an_unknown_version_is_a_named_warning() {
    let scene = Scene::new();
    type Change = fn(&mut Vec<u8>);
    let changes: [(&str, Change); 3] = [
        ("layout", |image| image[4] = 9),
        ("map", |image| image[64] ^= 1),
        ("short", |image| {
            image[4] = 9;
            image.truncate(40);
        }),
    ];
    for (name, change) in changes {
        let mut parts = real::session(&scene.world, &scene.world.card, 1);
        change(&mut parts.image);
        parts.ticket.policy = sha(&parts.image);
        scene.write(name, &parts.files());
        assert_eq!(scene.codes(name), [WARNED; 3], "{name}");
        let (_, said) = scene.run("check", &scene.path(&format!("{name}/bundle")), &["--json"]);
        let json: serde_json::Value = serde_json::from_str(&said).unwrap();
        for property in ["policy", "genuine", "complete", "replayable", "no_gaps"] {
            assert_eq!(json["verify"]["properties"][property]["status"], "warned", "{name}: {json}");
        }
        assert_eq!(json["replay"]["reasons"][0]["code"], "unknown-version", "{name}: {json}");
        let text = scene.path(&format!("{name}/bundle"));
        let out = Command::new(env!("CARGO_BIN_EXE_portcullis")).args(["inspect", &text]).output().unwrap();
        assert!(out.status.success(), "{name}");
    }
}
