//! Measures policies on labelled data that the user has: the program itself judges, on the simulated card.

mod biographies;
mod drift;
mod grounding;
mod pii;
mod prefilter;

use crate::demo;
use crate::tool::{capture, say};
use anyhow::{Context, Result};
use clap::Subcommand;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is measured.
#[derive(Subcommand)]
pub(crate) enum Measure {
    /// Recall and precision of the policy `pii` on `{"id", "text", "label", "spans": [{"type", "start", "end"}]}` lines.
    Pii {
        /// The labelled file.
        data: PathBuf,
        /// The policy.
        #[arg(long, default_value = "policies/pii")]
        policy: PathBuf,
    },
    /// Closed-world grounding of the policy `biography` on FActScore's labelled biographies (`factscore_*.jsonl` of a folder).
    Grounding {
        /// The folder.
        data: PathBuf,
    },
    /// Recall and false positives of the pre-execution filter on the labelled sets of a folder, and on long harmless text.
    Prefilter {
        /// The folder, with `*.jsonl` in it or in `prompts` and `outputs` below it.
        data: PathBuf,
    },
    /// How soon a biography that turns into another one is stopped, and how often one that does not is.
    Drift {
        /// The folder.
        data: PathBuf,
    },
}

pub(crate) fn run(what: &Measure) -> Result<()> {
    demo::build()?;
    match what {
        Measure::Pii { data, policy } => pii::run(data, policy),
        Measure::Grounding { data } => grounding::run(data),
        Measure::Prefilter { data } => prefilter::run(data),
        Measure::Drift { data } => drift::run(data),
    }
}

/// What became of one text.
#[derive(Default)]
struct Judged {
    /// Byte range, determination and rule of each mutation that was not split, in order.
    leaves: Vec<Leaf>,
    /// Whether anything was split.
    split: bool,
    /// Why it ended early, with the place of the last determination.
    stopped: Option<(String, usize)>,
}

struct Leaf {
    range: Range<usize>,
    admitted: bool,
    rule: String,
}

impl Judged {
    /// What was admitted, inert bytes left out.
    fn released<'a>(&self, text: &'a str) -> Vec<&'a str> {
        self.leaves.iter().filter(|l| l.admitted).filter_map(|l| text.get(l.range.clone())).collect()
    }
}

/// Governs `{"id", "text", "intent"}` lines on the simulated card; what became of each, by its id.
fn govern(policy: &str, anchors: Option<&Path>, lines: &[Value]) -> Result<BTreeMap<String, Judged>> {
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

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn number(value: &Value) -> usize {
    value.as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
}

/// A share with its counts, in percent.
fn share(of: usize, all: usize) -> String {
    let tenths = (of * 1000).checked_div(all).unwrap_or(0);
    format!("{}.{} % ({of} of {all})", tenths / 10, tenths % 10)
}

/// Rows of a JSON Lines file.
fn rows(file: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    text.lines().map(|l| Ok(serde_json::from_str(l)?)).collect()
}
