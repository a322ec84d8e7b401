//! What the program itself says of labelled texts, on the simulated card.

use anyhow::{Context, Result};
use portcullis_tools::demo;
use portcullis_tools::tool::{capture, say};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

/// What became of one text.
#[derive(Default)]
pub(crate) struct Judged {
    /// Byte range, determination and rule of each mutation that was not split, in order.
    pub(crate) leaves: Vec<Leaf>,
    /// Whether anything was split.
    pub(crate) split: bool,
    /// Why it ended early, with the place of the last determination.
    pub(crate) stopped: Option<(String, usize)>,
}

pub(crate) struct Leaf {
    pub(crate) range: Range<usize>,
    pub(crate) admitted: bool,
    pub(crate) rule: String,
}

impl Judged {
    /// What was admitted, inert bytes left out.
    pub(crate) fn released<'a>(&self, text: &'a str) -> Vec<&'a str> {
        self.leaves.iter().filter(|l| l.admitted).filter_map(|l| text.get(l.range.clone())).collect()
    }
}

/// Governs `{"id", "text", "intent"}` lines on the simulated card; what became of each, by its id.
pub(crate) fn govern(policy: &str, anchors: Option<&Path>, lines: &[Value]) -> Result<BTreeMap<String, Judged>> {
    let folder = Path::new("target/measure");
    std::fs::create_dir_all(folder)?;
    let input = folder.join("input.jsonl");
    let text: String = lines.iter().map(|l| format!("{l}\n")).collect();
    std::fs::write(&input, text)?;
    say(&format!("judging {} texts on the simulated card", lines.len()));
    let mut command = Command::new(demo::binary()?);
    command.args(["run", "--card", "sim", "--json", "--policy", policy, "--input"]).arg(&input);
    if let Some(store) = anchors {
        command.arg("--anchors").arg(store);
    }
    let mut judged: BTreeMap<String, Judged> = BTreeMap::new();
    for line in capture(&mut command)?.lines() {
        let line: Value = serde_json::from_str(line)?;
        let of = judged.entry(text_of(&line["id"])).or_default();
        if let Some(summary) = line.get("summary") {
            let last = of.leaves.last().map_or(0, |l| l.range.start);
            of.stopped = summary["termination"]["trigger"].as_str().map(|t| (t.to_owned(), last));
        } else if line["determination"] == "decompose" {
            of.split = true;
        } else {
            of.leaves.push(Leaf {
                range: number(&line["start"])..number(&line["end"]),
                admitted: line["determination"] == "admit",
                rule: text_of(&line["rule"]),
            });
        }
    }
    Ok(judged)
}

pub(crate) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(crate) fn number(value: &Value) -> usize {
    value.as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
}

/// A share with its counts, in percent.
pub(crate) fn share(of: usize, all: usize) -> String {
    let tenths = (of * 1000).checked_div(all).unwrap_or(0);
    format!("{}.{} % ({of} of {all})", tenths / 10, tenths % 10)
}

/// Rows of a JSON Lines file.
pub(crate) fn rows(file: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    text.lines().map(|l| Ok(serde_json::from_str(l)?)).collect()
}
