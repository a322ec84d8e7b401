//! Measures a policy on labelled text: one `{"id", "text", "label", "spans": [{"type", "start", "end"}]}` per line,
//! with offsets in characters.
//!
//! Recall of a type: share of its spans of which no byte is released. Precision: share of refused leaf spans that
//! overlap a label.

use crate::judged::{number, text_of};
use anyhow::{Context, Result};
use portcullis_tools::demo;
use portcullis_tools::tool::{capture, say};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

pub(crate) fn run(data: &Path, policy: &Path) -> Result<()> {
    say(&format!("judging {} on the simulated card", data.display()));
    let lines = capture(
        Command::new(demo::binary()?)
            .args(["run", "--card", "sim", "--json", "--policy"])
            .arg(policy)
            .arg("--input")
            .arg(data),
    )?;
    let mut refused: BTreeMap<String, Vec<Range<usize>>> = BTreeMap::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line)?;
        if line["determination"] == "reject" {
            refused.entry(text_of(&line["id"])).or_default().push(number(&line["start"])..number(&line["end"]));
        }
    }
    let mut types: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let (mut texts, mut leaves, mut right, mut clean, mut touched) = (0, 0, 0, 0, 0);
    for line in std::fs::read_to_string(data)?.lines() {
        let line: Value = serde_json::from_str(line)?;
        let body = line["text"].as_str().context("a line has a text")?;
        let refused = refused.get(&text_of(&line["id"])).map(Vec::as_slice).unwrap_or_default();
        let byte = |character: usize| body.char_indices().nth(character).map_or(body.len(), |(at, _)| at);
        let mut labels = Vec::new();
        for span in line["spans"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let range = byte(number(&span["start"]))..byte(number(&span["end"]));
            let gone = range.clone().all(|at| refused.iter().any(|r| r.contains(&at)));
            let of = types.entry(text_of(&span["type"])).or_default();
            of.0 += usize::from(gone);
            of.1 += 1;
            labels.push(range);
        }
        texts += 1;
        leaves += refused.len();
        right += refused.iter().filter(|r| labels.iter().any(|l| l.start < r.end && r.start < l.end)).count();
        if line["label"] == "clean" {
            clean += 1;
            touched += usize::from(!refused.is_empty());
        }
    }
    println!("| type | labelled | not in the output |\n| --- | --- | --- |");
    for (name, (gone, all)) in &types {
        println!("| {name} | {all} | {gone} |");
    }
    println!(
        "\n{texts} texts; {right} of {leaves} refused leaf spans overlap a label; {touched} of {clean} clean texts touched"
    );
    Ok(())
}
