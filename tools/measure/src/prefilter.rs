//! The pre-execution filter on labelled prompts, and on long harmless text made from e-mails, outputs and policy prose.

use anyhow::{Result, ensure};
use portcullis_tools::demo;
use portcullis_tools::tool::{self, say};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Harmless prompts and policy prose of the project, one a line.
const HARMLESS: &str = "host/prefilter/tests/data";
/// What long harmless text is joined from: names of files begin like this.
const JOINED_FROM: [&str; 3] = ["bipia_emails", "factscore_", "policies"];
/// So many joined texts.
const JOINED: &str = "1500";

pub(crate) fn run(data: &Path) -> Result<()> {
    let mut files = Vec::new();
    for folder in [data.to_owned(), data.join("prompts"), data.join("outputs"), HARMLESS.into()] {
        files.extend(rows(&folder));
    }
    ensure!(files.iter().any(|f| !f.starts_with(HARMLESS)), "`{}` has no rows: `*.jsonl`", data.display());
    say("recall and false positives by set");
    eval(&files, &[])?;
    let begins = |file: &PathBuf| {
        let name = shown(file);
        JOINED_FROM.iter().any(|start| name.starts_with(start))
    };
    files.retain(begins);
    say("long harmless text: e-mails, outputs and policy prose joined to 1 to 8 KiB");
    eval(&files, &["--join", JOINED])
}

/// Files of a folder that hold prompts; labelled sentences for policies are none.
fn rows(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    let is_rows =
        |p: &PathBuf| p.extension().is_some_and(|e| e == "jsonl" || e == "txt") && !shown(p).starts_with("presidio");
    let mut rows: Vec<_> = entries.filter(is_rows).collect();
    rows.sort();
    rows
}

fn shown(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

fn eval(files: &[PathBuf], more: &[&str]) -> Result<()> {
    let mut command = Command::new(demo::binary()?);
    tool::run(command.args(["prefilter", "eval", "--repeat", "9", "--data"]).args(files).args(more))
}
