//! Recall on the project's own labelled values: of `tests/cases/bytes/bypass.jsonl`, as many written forms of each
//! value are found as the record says, value by value. `UPDATE_SNAPSHOTS=1` writes a record that is not smaller.
#![cfg(test)]

use portcullis_core::manifest::PackageManifest;
use portcullis_core::state::{AgentProfile, SemanticState, StreamIntent};
use portcullis_core::wire::Granularity;
use portcullis_mapping::{SpanInput, TextMapper};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// For each policy and value: the forms that are found, and all.
type Recall = BTreeMap<(String, String), [usize; 2]>;

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

/// A mapping, a state, and the names of the classes.
type Policy = (TextMapper, SemanticState, Vec<String>);

fn policy(name: &str) -> Policy {
    let dir = tests().join("../policies").join(name);
    let manifest: PackageManifest = toml::from_str(&std::fs::read_to_string(dir.join("policy.toml")).unwrap()).unwrap();
    let paths = manifest.classes.iter().flat_map(|class| &class.vocabulary);
    let files = paths.map(|path| (path.clone(), std::fs::read(dir.join(path)).unwrap())).collect();
    let context = AgentProfile::default().context(&manifest).unwrap();
    let state = SemanticState::new(&manifest, [0; 32], [0; 32], StreamIntent::default(), context);
    let mapper = TextMapper::new(&manifest, &files).unwrap();
    (mapper, state, manifest.classes.into_iter().map(|class| class.name).collect())
}

/// The class of a value of `pii`; the phrases of other policies may have any class.
fn class_of(secret: &str) -> Option<&'static str> {
    let classes = [
        ("card", "credit_card"),
        ("iban", "iban"),
        ("email", "email"),
        ("ipv", "ip_address"),
        ("phone", "phone"),
        ("ssn", "us_ssn"),
        ("person", "declared_person"),
    ];
    classes.iter().find(|(start, _)| secret.starts_with(start)).map(|(_, class)| *class)
}

/// Whether a piece of the text has the class of the value.
fn is_found((mapper, state, names): &Policy, text: &str, secret: &str) -> bool {
    let class = class_of(secret).map(|class| names.iter().position(|name| name == class).unwrap());
    let wanted = class.map_or(u128::MAX, |class| 1 << class);
    let text = mapper.read(text.to_owned(), Granularity::Span);
    text.pieces().iter().filter(|piece| !piece.inert).any(|piece| {
        let (span, granularity) = (&piece.range, Granularity::Span);
        let input = SpanInput {
            text: &text,
            span,
            granularity,
            inert_prefix: false,
            depth: 0,
            alternatives: 0,
            choice: None,
            uncertainty: None,
        };
        mapper.map(state, input).mutation.classes.0 & wanted != 0
    })
}

fn measured() -> Recall {
    let rows = std::fs::read_to_string(tests().join("cases/bytes/bypass.jsonl")).unwrap();
    let mut policies = BTreeMap::new();
    let mut recall = Recall::new();
    for row in rows.split('\n').filter(|row| !row.is_empty()) {
        let row: Value = serde_json::from_str(row).unwrap();
        let name = row["policy"].as_str().unwrap();
        let policy = policies.entry(name.to_owned()).or_insert_with(|| policy(name));
        let counts = recall.entry((name.to_owned(), row["secret"].as_str().unwrap().to_owned())).or_default();
        counts[0] += usize::from(is_found(policy, row["text"].as_str().unwrap(), row["secret"].as_str().unwrap()));
        counts[1] += 1;
    }
    recall
}

#[test]
fn as_many_labelled_values_are_found_as_before() {
    let file = tests().join("recall.txt");
    let recorded = std::fs::read_to_string(&file).unwrap_or_default();
    let recall = measured();
    let mut text = String::new();
    let mut fewer = Vec::new();
    for ((policy, secret), [found, all]) in &recall {
        let name = format!("{policy} {secret}");
        writeln!(text, "{name}: {found} of {all}").unwrap();
        let line = recorded.lines().find_map(|line| line.strip_prefix(&name)?.strip_prefix(": "));
        let before: usize = line.map_or(0, |line| line.split(' ').next().unwrap().parse().unwrap());
        fewer.extend((*found < before).then(|| format!("{name}: {found} of {all}, before {before}")));
    }
    assert_eq!(fewer, Vec::<String>::new(), "fewer values are found than before");
    assert!(recall.len() > 10, "{text}");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some_and(|value| value == "1") {
        std::fs::write(&file, &text).unwrap();
    }
    let recorded = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(recorded, text, "more values are found: `UPDATE_SNAPSHOTS=1 cargo test --test recall` records that");
}
