//! `anchors build`: makes stores from lines and from passages.
#![cfg(test)]

use std::path::Path;
use std::process::{Command, Output};

fn build(folder: &Path, passages: &str) -> Output {
    let people = "{\"entity\":{\"id\":\"ana\",\"name\":\"Ana Silva\"}}\n";
    std::fs::write(folder.join("people.jsonl"), people).unwrap();
    std::fs::write(folder.join("lives.jsonl"), passages).unwrap();
    Command::new(env!("CARGO_BIN_EXE_portcullis"))
        .current_dir(folder)
        .args(["anchors", "build", "--output", "facts.sqlite", "--passages", "lives.jsonl", "people.jsonl"])
        .output()
        .unwrap()
}

#[test]
fn a_passage_becomes_facts_with_their_source() {
    let folder = tempfile::tempdir().unwrap();
    let text = "Ana Silva was born in Porto. Carl Moe taught her. He died in 1950.";
    let out = build(folder.path(), &format!("{{\"entity\":\"ana\",\"text\":\"{text}\",\"source\":\"Lives\"}}\n"));
    let said = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success() && said.contains("1 entities, 2 facts"), "{said}");
    assert!(String::from_utf8(out.stderr).unwrap().contains("He died in 1950."));
}

#[test]
fn a_passage_that_cannot_be_read_says_where_and_builds_nothing() {
    for (passages, wanted) in [
        ("{\"entity\":\"ana\"}\n", "line 1"),
        ("{\"entity\":\"bo\",\"text\":\"Bo left.\",\"source\":\"Lives\"}\n", "`bo`"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let out = build(folder.path(), passages);
        let said = String::from_utf8(out.stderr).unwrap();
        assert!(!out.status.success() && said.contains(wanted), "{said}");
        assert!(!folder.path().join("facts.sqlite").exists());
    }
}
