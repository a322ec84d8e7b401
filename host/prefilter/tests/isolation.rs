//! The evaluators cannot reach a library that decodes or normalises text, and cannot store anything.
#![cfg(test)]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Every crate from which the filter is built. Each was reviewed and does not decode, normalise, fold or translate
/// text. An unlisted crate fails the test until it is reviewed and listed.
const LOOKED_AT: [&str; 40] = [
    "aho-corasick",
    "bitflags",
    "block-buffer",
    "cfg-if",
    "cmov",
    "const-oid",
    "cpufeatures",
    "crypto-common",
    "ctutils",
    "digest",
    "equivalent",
    "errno",
    "foldhash",
    "hashbrown",
    "hybrid-array",
    "indexmap",
    "itoa",
    "libc",
    "linux-raw-sys",
    "memchr",
    "portcullis-prefilter",
    "portcullis-settings",
    "rustix",
    "serde",
    "serde_core",
    "serde_json",
    "serde_spanned",
    "sha2",
    "strsim",
    "thiserror",
    "toml",
    "toml_datetime",
    "toml_parser",
    "toml_writer",
    "typenum",
    "unicode-width",
    "windows-link",
    "windows-sys",
    "winnow",
    "zmij",
];

/// The output of `cargo metadata` for the workspace.
fn metadata() -> Value {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--manifest-path"]).arg(manifest);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Names of the crates that the filter's code can reach at run time.
fn reached(metadata: &Value) -> BTreeSet<String> {
    let by_id = |list: &'_ Value| -> BTreeMap<String, Value> {
        list.as_array().unwrap().iter().map(|p| (p["id"].as_str().unwrap().to_owned(), p.clone())).collect()
    };
    let (packages, nodes) = (by_id(&metadata["packages"]), by_id(&metadata["resolve"]["nodes"]));
    let root = packages.iter().find(|(_, p)| p["name"] == "portcullis-prefilter").unwrap().0.clone();
    let (mut open, mut seen) = (vec![root], BTreeSet::new());
    let mut names = BTreeSet::new();
    while let Some(id) = open.pop() {
        let kinds = |t: &Value| t["kind"].as_array().unwrap().iter().any(|k| k == "proc-macro");
        // A macro and its dependencies run only in the compiler.
        if packages[&id]["targets"].as_array().unwrap().iter().any(kinds) || !seen.insert(id.clone()) {
            continue;
        }
        names.insert(packages[&id]["name"].as_str().unwrap().to_owned());
        for dependency in nodes[&id]["deps"].as_array().unwrap() {
            // Only ordinary dependencies have the kind null; dependencies of tests and build scripts do not count.
            if dependency["dep_kinds"].as_array().unwrap().iter().any(|k| k["kind"].is_null()) {
                open.push(dependency["pkg"].as_str().unwrap().to_owned());
            }
        }
    }
    names
}

fn unknown(metadata: &Value) -> Vec<String> {
    reached(metadata).into_iter().filter(|n| !LOOKED_AT.contains(&n.as_str())).collect()
}

#[test]
fn no_normalising_library_is_reachable() {
    let metadata = metadata();
    assert_eq!(unknown(&metadata), [""; 0], "a dependency that nobody has looked at");
    let reached = reached(&metadata);
    let gone: Vec<_> = LOOKED_AT.iter().filter(|n| !reached.contains(**n)).collect();
    assert!(gone.is_empty(), "no longer a dependency: {gone:?}");
}

/// The check finds an added library at any depth of the dependencies.
#[test]
fn a_normalising_library_would_be_seen() {
    let mut metadata = metadata();
    let target = serde_json::json!([{"kind": ["lib"]}]);
    let id = "unicode-normalization 0.1.24";
    let package = serde_json::json!({"id": id, "name": "unicode-normalization", "targets": target});
    metadata["packages"].as_array_mut().unwrap().push(package);
    let nodes = metadata["resolve"]["nodes"].as_array_mut().unwrap();
    nodes.push(serde_json::json!({"id": id, "deps": []}));
    let under = nodes.iter_mut().find(|n| n["id"].as_str().unwrap().contains("toml_parser")).unwrap();
    let edge = |kind: Value| serde_json::json!({"pkg": id, "dep_kinds": [{"kind": kind}]});
    under["deps"].as_array_mut().unwrap().push(edge("dev".into()));
    assert_eq!(unknown(&metadata), [""; 0]);
    let nodes = metadata["resolve"]["nodes"].as_array_mut().unwrap();
    let under = nodes.iter_mut().find(|n| n["id"].as_str().unwrap().contains("toml_parser")).unwrap();
    under["deps"].as_array_mut().unwrap().push(edge(Value::Null));
    assert_eq!(unknown(&metadata), ["unicode-normalization"]);
}

#[test]
fn evaluators_have_nowhere_to_keep_anything() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut open = vec![source.join("evaluator"), source.join("rules")];
    let mut read = 0;
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path()));
            continue;
        }
        read += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        for word in [
            "static ",
            "Cell<",
            "Mutex",
            "RwLock",
            "Atomic",
            "OnceLock",
            "LazyLock",
            "thread_local",
            "Instant",
            "SystemTime",
            "std::fs",
            "std::env",
            "to_lowercase",
            "to_uppercase",
            "from_utf8_lossy",
            "chars()",
        ] {
            let lines = text.lines().filter(|l| !l.trim_start().starts_with("//"));
            let at = lines.filter(|l| l.contains(word) && !l.contains("&'static ")).collect::<Vec<_>>();
            assert!(at.is_empty(), "{}: {word}: {at:?}", path.display());
        }
    }
    assert!(read >= 9, "{read}");
}
