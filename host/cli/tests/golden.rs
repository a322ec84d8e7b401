//! Bundles of earlier releases are checked by every later release.
#![cfg(test)]

use portcullis_core::releases;
use portcullis_test_support::root;
use std::process::{Command, Output};

const SIMULATED: i32 = 10;

fn run(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_portcullis")).current_dir(root()).args(words).output().unwrap()
}

/// Version, bundle and trust folder of each release.
fn golden() -> Vec<(String, String, String)> {
    let folders = std::fs::read_dir(root().join("tests/golden")).unwrap().map(|entry| entry.unwrap());
    let versions = folders.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap());
    versions.map(|v| (v.clone(), format!("tests/golden/{v}/bundle"), format!("tests/golden/{v}/trust"))).collect()
}

#[test]
fn every_golden_bundle_verifies() {
    assert!(!golden().is_empty());
    for (version, bundle, trust) in golden() {
        assert!(releases::all().any(|release| release.version == version), "{version} is in no list of releases");
        let output = run(&["verify", &bundle, "--trust", &trust, "--allow-sim"]);
        assert_eq!(output.status.code(), Some(SIMULATED), "{version}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

/// The release that made a bundle replays it; a later release names the release that can replay it.
#[test]
fn every_golden_bundle_replays_or_names_its_release() {
    let this = releases::all().last().unwrap();
    for (version, bundle, _) in golden() {
        let release = releases::all().find(|release| release.version == version).unwrap();
        let same =
            (release.mapping, release.context, release.map_digest) == (this.mapping, this.context, this.map_digest);
        let checked = run(&["check", &bundle, "--trust", &format!("tests/golden/{version}/trust"), "--allow-sim"]);
        assert_eq!(checked.status.code(), Some(SIMULATED), "{version}: {}", String::from_utf8_lossy(&checked.stdout));
        let output = run(&["replay", &bundle]);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert_eq!(output.status.code(), Some(if same { 0 } else { 5 }), "{version}: {said}");
        assert!(same || said.contains(&format!("release {version}")), "{said}");
    }
}
