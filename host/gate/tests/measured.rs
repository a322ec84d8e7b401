//! Quantities and numbered lists, with cases that were written before the code.

use crate::support;

use portcullis_policy::PolicyPackage;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use support::*;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn rows(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(format!("{ROOT}/tests/cases/bytes/{file}")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn shipped(name: &str) -> Arc<GatePolicy> {
    let folder = ["policies", "tests/cases/bytes/policies"].map(|dir| format!("{ROOT}/{dir}/{name}"));
    let folder = folder.iter().find(|dir| Path::new(dir).is_dir()).unwrap();
    let package = PolicyPackage::load(Path::new(folder)).unwrap_or_else(|e| panic!("{e:?}"));
    let compiled = package.compile().unwrap_or_else(|e| panic!("{e:?}"));
    Arc::new(GatePolicy::new(package, compiled).unwrap())
}

fn leaves(rows: &[Value]) -> Vec<String> {
    let mut policies: BTreeMap<String, Arc<GatePolicy>> = BTreeMap::new();
    let mut left = Vec::new();
    for row in rows {
        let policy = policies.entry(row["policy"].as_str().unwrap().to_owned());
        let policy = policy.or_insert_with_key(|name| shipped(name));
        left.push(released(&govern(policy, settings(), vec![text("a", row["text"].as_str().unwrap())])));
    }
    left
}

/// Compares rows, and returns the failing rows with the released text. `docs/explanation/mapping.md` names the rows of
/// `known`, which must still fail.
fn compare(file: &str, known: &[&str], holds: impl Fn(&Value, &str) -> bool) {
    let rows = rows(file);
    let failing: Vec<(&Value, String)> =
        rows.iter().zip(leaves(&rows)).filter(|(row, left)| !holds(row, left)).collect();
    let ids: Vec<&str> = failing.iter().map(|(row, _)| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, known, "{failing:#?}");
}

/// Whether a row's dose is refused, or its text released completely, as expected.
fn decided(row: &Value, left: &str) -> bool {
    let whole = left == row["text"].as_str().unwrap();
    match row["expect"].as_str().unwrap() {
        "release" => whole,
        "refuse" => !whole && row["absent"].as_str().is_none_or(|absent| !left.contains(absent)),
        _ => true,
    }
}

#[test]
fn doses_are_read_in_every_form_that_was_asked_for() {
    compare("quantities.jsonl", &[], decided);
}

#[test]
fn units_multiples_weights_tables_and_lists() {
    compare("measured.jsonl", &[], decided);
}

#[test]
fn a_refused_item_takes_its_number_with_it() {
    compare("enumerations.jsonl", &[], |row, left| {
        let text = row["text"].as_str().unwrap();
        let absent: Vec<(usize, usize)> = serde_json::from_value(row["absent"].clone()).unwrap();
        let part = |(start, end): &(usize, usize)| text.get(*start..*end).unwrap_or_default().to_owned();
        let gone = absent.iter().all(|range| !left.contains(part(range).trim()));
        let words = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
        let kept = words(text) - absent.iter().map(|range| words(&part(range))).sum::<usize>();
        gone && words(left) == kept
    });
}
