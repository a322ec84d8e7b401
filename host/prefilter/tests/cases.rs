//! The cases of `tests/cases/bytes/prefilter.jsonl`: in each group, a minimum share must be judged correctly.
#![cfg(test)]

use portcullis_prefilter::{FilterPolicy, InputPrefilter, SeverityTier};
use serde_json::Value;
use std::collections::BTreeMap;

/// Minimum share of correct judgements in each group, in percent: the share reached so far, which must not decrease.
const LEAST: [(&str, usize); 10] = [
    ("encoded", 95),
    ("end-mark", 100),
    ("forget", 100),
    ("harmless", 100),
    ("joined", 100),
    ("languages", 100),
    ("mode", 100),
    ("persona", 100),
    ("quoted", 100),
    ("reveal", 100),
];

#[test]
fn each_group_of_cases_is_judged_as_expected() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/bytes/prefilter.jsonl");
    let text = std::fs::read_to_string(folder).unwrap();
    let mut filters = BTreeMap::new();
    let mut groups: BTreeMap<String, (usize, usize, Vec<String>)> = BTreeMap::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let of = |key: &str| row[key].as_str().unwrap().to_owned();
        let filter = filters
            .entry(of("profile"))
            .or_insert_with(|| InputPrefilter::new(FilterPolicy::profile(&of("profile")).unwrap()).unwrap());
        let report = filter.report(of("text").as_bytes());
        let right = match of("expect").as_str() {
            "refuse" => !report.is_executive(),
            "notice" => report.verdict() == SeverityTier::Notice,
            "clear" => report.is_executive(),
            other => panic!("{other}"),
        };
        let group = groups.entry(of("group")).or_default();
        group.0 += usize::from(right);
        group.1 += 1;
        if !right {
            let ids: Vec<_> = report.violations().map(|v| v.id.as_str()).collect();
            group.2.push(format!("{} {} {ids:?} {:?}", of("id"), of("expect"), of("text")));
        }
    }
    assert_eq!(groups.len(), LEAST.len());
    for (name, least) in LEAST {
        let (right, all, wrong) = &groups[name];
        assert!(right * 100 >= all * least, "{name}: {right} of {all}\n{}", wrong.join("\n"));
    }
}
