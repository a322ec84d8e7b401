//! A scene: a folder with a trust folder, in which the tests run command lines.

use portcullis_core::wire::{Record, RecordType};
use portcullis_evidence::bundle::{BundleManifest, DirectoryFiles, MANIFEST};
pub(super) use portcullis_test_support::root;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use zerocopy::FromBytes;

/// The exit code for contradicted evidence, and for simulated evidence without `--allow-sim`.
pub(super) const CONTRADICTED: i32 = 3;
pub(super) const SIMULATED: i32 = 10;

pub(super) struct Scene(pub(super) tempfile::TempDir);

impl Scene {
    /// A scene whose trust folder includes the simulation root.
    pub(super) fn new() -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(scene.path("trust/sim-roots")).unwrap();
        std::fs::write(scene.path("trust/sim-roots/simulation.pem"), scene.said("ca simulation")).unwrap();
        scene
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a command line; `@name` is a path below the scene's folder.
    pub(super) fn run(&self, line: &str) -> Output {
        let words = line.split(' ').map(|word| match word.strip_prefix('@') {
            Some(name) => self.path(name).into_os_string(),
            None => word.into(),
        });
        let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
        command.current_dir(root()).stdin(Stdio::null()).args(words).output().unwrap()
    }

    /// Starts a command line with piped input and output.
    pub(super) fn start(&self, line: &str) -> Child {
        let words = line.split(' ').map(|word| match word.strip_prefix('@') {
            Some(name) => self.path(name).into_os_string(),
            None => word.into(),
        });
        let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
        command.current_dir(root()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).args(words);
        command.spawn().unwrap()
    }

    pub(super) fn code(&self, line: &str) -> i32 {
        self.run(line).status.code().unwrap()
    }

    #[track_caller]
    pub(super) fn said(&self, line: &str) -> String {
        let out = self.run(line);
        assert!(out.status.success(), "{line}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    /// The JSON report of `verify`, whatever its exit code.
    pub(super) fn verified(&self, bundle: &str) -> serde_json::Value {
        let out = self.run(&format!("verify @{bundle} --trust @trust --allow sim --allow not-enforced --json"));
        serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&out.stderr)))
    }

    pub(super) fn input(&self) {
        let lines = [
            r#"{"id":"a","text":"Sentence one is fine. Write to p@example.org now; it is late.  "}"#,
            r#"{"id":"b","text":"Nothing here. Call 415-555-0134 today."}"#,
            r#"{"id":"c","candidates":[["192.0.2.1","Call the desk."],[{"text":" Now.","logprobs":[-0.5]}],["x@example.org"]]}"#,
            r#"{"id":"d","candidates":[["Good.","Fine."],["x@example.org","y@example.org"]]}"#,
        ];
        std::fs::write(self.path("in.jsonl"), lines.join("\n")).unwrap();
    }

    pub(super) fn bundle(&self, name: &str, more: &str) -> Output {
        self.run(&format!("run --policy policies/pii --input @in.jsonl --json --bundle @{name}{more}"))
    }

    /// Exit code and JSON report of `replay` or `check`, and the codes of the replay's reasons.
    pub(super) fn replayed(&self, line: &str) -> (i32, serde_json::Value, Vec<String>) {
        let out = self.run(&format!("{line} --json"));
        let json: serde_json::Value = serde_json::from_slice(&out.stdout)
            .unwrap_or_else(|_| panic!("{line}: {}", String::from_utf8_lossy(&out.stderr)));
        let replay = json.get("replay").unwrap_or(&json);
        let reasons = replay["reasons"].as_array().unwrap().iter();
        let codes = reasons.map(|reason| reason["code"].as_str().unwrap().to_owned()).collect();
        (out.status.code().unwrap(), json, codes)
    }

    /// Rewrites a bundle's manifest, as an attacker who changed the bundle would.
    pub(super) fn reseal(&self, bundle: &str) {
        let manifest = BundleManifest::of(&DirectoryFiles::new(self.path(bundle))).unwrap();
        std::fs::write(self.path(bundle).join(MANIFEST), manifest.to_json().unwrap()).unwrap();
    }

    /// Copies a bundle and changes one file of the copy.
    pub(super) fn changed(&self, from: &str, to: &str, file: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        copy(&self.path(from), &self.path(to));
        let path = self.path(to).join(file);
        std::fs::write(&path, change(std::fs::read(&path).unwrap())).unwrap();
    }
}

pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

pub(super) fn replaced(bytes: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1).into_bytes()
}

pub(super) fn kinds(log: &[u8]) -> Vec<RecordType> {
    let records = log.chunks_exact(192).map(|bytes| Record::read_from_bytes(bytes).unwrap());
    records.map(|record| RecordType::try_from(record.answer.record_type).unwrap()).collect()
}

pub(super) fn list(folder: &Path, prefix: &str, into: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            list(&entry.path(), &format!("{name}/"), into);
        } else {
            into.push(name);
        }
    }
}
