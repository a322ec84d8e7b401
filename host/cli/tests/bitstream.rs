//! `portcullis bitstream`: a correct folder verifies, and each change is named.
#![cfg(test)]

use portcullis_test_support::{copy_folder, root};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const TARGETS: [&str; 4] = ["aws_f2", "alveo_u55c", "alveo_u250", "ecp5"];

fn bitstream(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_portcullis")).arg("bitstream").args(args).current_dir(root()).output().unwrap()
}

/// Seals a file of arbitrary bytes; returns the folder and the output of `seal`.
fn seal(target: &str, key: &str, more: &[&str]) -> (TempDir, Output) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("card.bit"), b"no real bitstream").unwrap();
    let folder = dir.path().to_str().unwrap().to_owned();
    let tool = "Vivado 2025.1";
    let mut args = vec!["seal", &folder, "--target", target, "--commit", COMMIT, "--tool", tool, "--key", key];
    args.extend(more);
    args.extend(["--", "card.bit"]);
    let out = bitstream(&args);
    (dir, out)
}

/// The exit code of `verify`, and its failed checks as `name: found`.
fn verify(dir: &Path, more: &[&str]) -> (i32, Vec<String>) {
    let out = bitstream(&[&["verify", dir.to_str().unwrap(), "--json"], more].concat());
    let report: serde_json::Value = serde_json::from_slice(&out.stdout)
        .unwrap_or_else(|_| panic!("no report: {}", String::from_utf8_lossy(&out.stderr)));
    let checks = report["checks"].as_array().unwrap();
    let amiss = checks.iter().filter(|c| c["result"] != "ok");
    let amiss = amiss.map(|c| format!("{}: {}", c["check"].as_str().unwrap(), c["found"].as_str().unwrap()));
    (out.status.code().unwrap(), amiss.collect())
}

#[test]
fn the_folders_of_the_repository_are_of_these_sources_and_nothing_was_built() {
    let source = root();
    for target in TARGETS {
        let (code, amiss) = verify(&root().join("bitstreams").join(target), &["--source", source.to_str().unwrap()]);
        assert_eq!(code, 5, "{target}: {amiss:?}");
        assert!(amiss.len() == 1 && amiss[0].starts_with("build: nothing was built"), "{target}: {amiss:?}");
    }
}

#[test]
fn what_was_sealed_verifies_by_its_kind_of_key() {
    let ids = ["--afi", "afi-0123456789abcdef0", "agfi-0123456789abcdef0"];
    let policy = ["--policy", "00000000000000000000000000000000000000000000000000000000000000ff"];
    for (target, key, more, code) in [
        ("alveo_u55c", "device", &[][..], 0),
        ("alveo_u250", "class", &policy[..], 0),
        ("aws_f2", "class", &ids[..], 0),
        ("aws_f2", "test", &[], 10),
        ("ecp5", "test", &[], 10),
    ] {
        let (dir, out) = seal(target, key, more);
        assert_eq!(out.status.code(), Some(code), "{target} {key}: {}", String::from_utf8_lossy(&out.stderr));
        let (again, amiss) = verify(dir.path(), &["--source", root().to_str().unwrap()]);
        assert_eq!(again, code, "{target} {key}: {amiss:?}");
        assert_eq!(amiss.len(), usize::from(code == 10), "{target} {key}: {amiss:?}");
    }
}

#[test]
fn every_changed_field_is_named() {
    let (dir, _) = seal("aws_f2", "class", &["--afi", "afi-0123456789abcdef0", "agfi-0123456789abcdef0"]);
    let path = dir.path().join("manifest.toml");
    let good = fs::read_to_string(&path).unwrap();
    let other = "f".repeat(64);
    let changes: &[(&str, &str, &str)] = &[
        ("schema = ", "2", "schema: "),
        ("target = ", "\"aws_f1\"", "target: `aws_f1`"),
        ("design_id = ", "\"ffffffffffffffffffffffffffffffff\"", "design id: "),
        ("map_digest = ", &format!("\"{other}\""), "map digest: "),
        ("layout_digest = ", &format!("\"{other}\""), "layout digest: "),
        ("registers_digest = ", &format!("\"{other}\""), "registers digest: "),
        ("shell_digest = ", &format!("\"{other}\""), "shell digest: "),
        ("commit = ", "\"0123\"", "commit: "),
        ("tool = ", "\" \"", "tool: "),
        ("production = ", "false", "key: a key of its own is marked as not for production"),
        ("key = ", "\"test\"", "key: a test key is marked as production"),
        ("key = ", "\"device\"", "key: key flags are 0x06"),
        ("key_flags = ", "5", "key: key flags are 0x05"),
        ("policy = ", "\"frozen\"", "policy: "),
        ("afi = ", "\"agfi-0123456789abcdef0\"", "image: "),
        ("agfi = ", "\"agfi-0\"", "image: "),
        ("name = ", "\"../card.bit\"", "../card.bit: not the name of a file beside"),
        ("name = ", "\"manifest.toml\"", "manifest.toml: not the name of a file beside"),
        ("sha256 = ", &format!("\"{other}\""), "card.bit: "),
        ("sha256 = ", "\"12\"", "card.bit: `12` is not a SHA-256 digest"),
    ];
    for (key, value, wanted) in changes {
        let mut changed = 0;
        let text = good.lines().map(|line| {
            let hit = line.starts_with(key);
            changed += usize::from(hit);
            if hit { format!("{key}{value}\n") } else { format!("{line}\n") }
        });
        let text: String = text.collect();
        assert_eq!(changed, 1, "`{key}` stands once in\n{good}");
        fs::write(&path, text).unwrap();
        let (code, amiss) = verify(dir.path(), &[]);
        assert_eq!(code, 3, "{key}{value}: {amiss:?}");
        assert!(amiss.len() == 1 && amiss[0].starts_with(wanted), "{key}{value}: {amiss:?}");
    }
    // Checks that every line with an assignment was changed above, except those of the list of sources.
    for line in good.lines().filter(|l| l.contains(" = ")) {
        let told = changes.iter().any(|(key, _, _)| line.starts_with(key)) || line.starts_with("shell_sources");
        assert!(told, "no change of `{line}` was tried");
    }
    fs::write(&path, good.replace("rtl/lib/dma_fence.sv", "rtl/shells/common/other.sv")).unwrap();
    let (code, amiss) = verify(dir.path(), &[]);
    assert!(code == 3 && amiss[0].starts_with("shell sources: "), "{code} {amiss:?}");
    fs::write(&path, format!("colour = \"red\"\n{good}")).unwrap();
    let (code, amiss) = verify(dir.path(), &[]);
    assert!(code == 3 && amiss[0].contains("is not a manifest") && amiss[0].contains("colour"), "{code} {amiss:?}");
    fs::write(&path, good).unwrap();
    assert_eq!(verify(dir.path(), &[]).0, 0);
}

#[test]
fn a_changed_file_contradicts_and_a_missing_one_warns() {
    let (dir, _) = seal("alveo_u55c", "device", &[]);
    fs::write(dir.path().join("card.bit"), b"another").unwrap();
    let (code, amiss) = verify(dir.path(), &[]);
    assert!(code == 3 && amiss[0].starts_with("card.bit: "), "{code} {amiss:?}");
    fs::remove_file(dir.path().join("card.bit")).unwrap();
    let (code, amiss) = verify(dir.path(), &[]);
    assert!(code == 5 && amiss == ["card.bit: not here, so not compared"], "{code} {amiss:?}");
    fs::remove_file(dir.path().join("manifest.toml")).unwrap();
    let out = bitstream(&["verify", dir.path().to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("manifest.toml"));
}

#[test]
fn a_changed_source_is_told_by_what_it_belongs_to() {
    let tree = tempfile::tempdir().unwrap();
    for folder in ["rtl", "bitstreams"] {
        copy_folder(&root().join(folder), &tree.path().join(folder));
    }
    let source = ["--source", tree.path().to_str().unwrap()];
    let built = seal("alveo_u250", "device", &[]).0;
    assert_eq!(verify(built.path(), &source), (0, vec![]));
    for (file, wanted) in [
        ("rtl/gate/resolve.sv", &["source design: "][..]),
        ("rtl/layout/card.rdl", &["source registers: "]),
        ("rtl/layout/layout.toml", &["source layout: "]),
        ("rtl/lib/dma_fence.sv", &["source shell: "]),
        ("bitstreams/alveo_u250/pins.xdc", &["source shell: "]),
    ] {
        let path = tree.path().join(file);
        let good = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{good}\n")).unwrap();
        let (code, amiss) = verify(built.path(), &source);
        assert_eq!((code, amiss.len()), (3, wanted.len()), "{file}: {amiss:?}");
        assert!(amiss.iter().zip(wanted).all(|(a, w)| a.starts_with(w)), "{file}: {amiss:?}");
        fs::write(&path, good).unwrap();
    }
    fs::remove_file(tree.path().join("rtl/gate/resolve.sv")).unwrap();
    let out = bitstream(&[&["verify", built.path().to_str().unwrap()], &source[..]].concat());
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("rtl/gate/resolve.sv"));
}

#[test]
fn seal_refuses_what_cannot_be() {
    let ids = ["--afi", "afi-0123456789abcdef0", "agfi-0123456789abcdef0"];
    for (target, key, more, cause) in [
        ("aws_f2", "device", &[][..], "an AFI is the same on every card"),
        ("ecp5", "class", &[], "ecp5 is for timing only"),
        ("aws_f1", "class", &[], "unknown target `aws_f1`"),
        ("alveo_u55c", "device", &ids, "only aws_f2 has an AFI"),
        ("aws_f2", "class", &["--afi", "agfi-0123456789abcdef0", "afi-0123456789abcdef0"], "are no ids of an AFI"),
        ("aws_f2", "class", &["--policy", "12"], "is not a policy digest"),
    ] {
        let (dir, out) = seal(target, key, more);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(1), "{target} {key}: {said}");
        assert!(said.contains(cause), "{target} {key}: {said}");
        assert!(!dir.path().join("manifest.toml").exists(), "{target} {key}: a manifest was written");
    }
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    for (commit, file, cause) in [
        ("HEAD", "card.bit", "`HEAD` is not a commit"),
        (COMMIT, "../card.bit", "not the name of a file"),
        (COMMIT, "card.bit", "cannot read"),
    ] {
        let common = ["seal", folder, "--target", "alveo_u55c", "--tool", "Vivado", "--key", "device", "--commit"];
        let out = bitstream(&[&common[..], &[commit, file]].concat());
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(1) && said.contains(cause), "{commit} {file}: {said}");
    }
}
