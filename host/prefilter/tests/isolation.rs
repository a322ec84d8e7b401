//! No library that decodes or normalises text can be reached from the evaluators, and they have nowhere to keep anything.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failing test stops here")]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// What normalises, decodes, folds or translates text, by the names of crates.
const NONE_OF: [&str; 20] = [
    "unicode-normalization",
    "unicode-security",
    "unicode-segmentation",
    "icu_normalizer",
    "icu_casemap",
    "icu_properties",
    "idna",
    "stringprep",
    "encoding_rs",
    "base64",
    "base64ct",
    "hex",
    "percent-encoding",
    "htmlescape",
    "html-escape",
    "punycode",
    "caseless",
    "unidecode",
    "deunicode",
    "flate2",
];

#[test]
fn no_normalising_library_is_reachable() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--offline", "--manifest-path"]).arg(manifest);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: BTreeMap<&str, &str> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| (p["id"].as_str().unwrap(), p["name"].as_str().unwrap()))
        .collect();
    let nodes: BTreeMap<&str, &Value> =
        metadata["resolve"]["nodes"].as_array().unwrap().iter().map(|n| (n["id"].as_str().unwrap(), n)).collect();
    let root = names.iter().find(|(_, name)| **name == "portcullis-prefilter").unwrap().0;
    let mut reached = BTreeSet::new();
    let mut open = vec![*root];
    while let Some(id) = open.pop() {
        if !reached.insert(names[id]) {
            continue;
        }
        for dependency in nodes[id]["deps"].as_array().unwrap() {
            // Neither what only tests need nor what only builds: null is a plain dependency.
            let plain = dependency["dep_kinds"].as_array().unwrap().iter().any(|k| k["kind"].is_null());
            if plain {
                open.push(dependency["pkg"].as_str().unwrap());
            }
        }
    }
    assert!(reached.contains("aho-corasick") && reached.len() > 5, "{reached:?}");
    let found: Vec<_> = NONE_OF.iter().filter(|n| reached.contains(**n)).collect();
    assert!(found.is_empty(), "{found:?}");
    assert!(reached.iter().all(|n| !n.starts_with("icu") && !n.contains("unicode-norm")), "{reached:?}");
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
