//! Measures the pre-execution filter on labelled prompts, on long texts that are joined from harmless texts, and on the
//! project's own cases.

use crate::judged::{self, text_of};
use anyhow::{Result, ensure};
use portcullis_tools::demo;
use portcullis_tools::tool::{self, say};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folder with the project's harmless prompts and policy prose, one per line.
const HARMLESS: &str = "host/prefilter/tests/data";
/// Names of sets with attacks and other harmful prompts. These sets are not used to make long harmless texts.
const HARMFUL: [&str; 5] = ["inthewild", "cyberseceval", "bipia_instructions", "harmbench", "finance_advice"];
/// Number of long texts that are made from each set by joining its texts.
const JOINED: &str = "500";
const CASES: &str = "tests/cases/bytes/prefilter.jsonl";

pub(crate) fn run(data: &Path) -> Result<()> {
    let mut files = Vec::new();
    for folder in [data.to_owned(), data.join("prompts"), data.join("outputs"), HARMLESS.into()] {
        files.extend(rows(&folder));
    }
    ensure!(files.iter().any(|f| !f.starts_with(HARMLESS)), "`{}` has no rows: `*.jsonl`", data.display());
    say("recall and false positives by set");
    eval(&files, &[])?;
    files.retain(|file| !HARMFUL.iter().any(|start| shown(file).starts_with(start)));
    say("long harmless text: the harmless rows of each set, and of all, joined to 1 to 8 KiB");
    eval(&files, &["--join", JOINED])?;
    say("the project's own cases");
    cases(Path::new(CASES))
}

/// The results for those rows of a group that have the same expectation.
#[derive(Default)]
struct PrefilterGroupResult {
    right: usize,
    wrong: Vec<String>,
    /// Number of rows that should be clear and are executed, but get a notice.
    noticed: usize,
}

/// Judges rows `{"id", "profile", "group", "text", "expect"}` under their profiles. The expectation `refuse` means a
/// tier above the threshold, `notice` this tier, and `clear` that the text is executed.
fn cases(file: &Path) -> Result<()> {
    let rows = judged::rows(file)?;
    let profiles: BTreeSet<String> = rows.iter().map(|r| text_of(&r["profile"])).collect();
    let mut groups: BTreeMap<(String, String), PrefilterGroupResult> = BTreeMap::new();
    for profile in &profiles {
        let of_profile: Vec<&Value> = rows.iter().filter(|r| text_of(&r["profile"]) == *profile).collect();
        let input = Path::new("target/measure").join(format!("prefilter-{profile}.jsonl"));
        std::fs::create_dir_all("target/measure")?;
        std::fs::write(&input, of_profile.iter().map(|r| format!("{r}\n")).collect::<String>())?;
        let mut command = Command::new(demo::binary()?);
        command.args(["prefilter", "--json", "--profile", profile, "--jsonl"]).arg(&input);
        // A refused row gives the command another exit code, which is not an error here.
        let lines = String::from_utf8(command.output()?.stdout)?;
        ensure!(lines.lines().count() == of_profile.len(), "the filter does not answer every row");
        for (row, line) in of_profile.iter().zip(lines.lines()) {
            let verdict: Value = serde_json::from_str(line)?;
            let (executes, tier) = (verdict["route"] == "executive", text_of(&verdict["verdict"]));
            let expect = text_of(&row["expect"]);
            let right = match expect.as_str() {
                "refuse" => !executes,
                "notice" => executes && tier == "notice",
                _ => executes,
            };
            let mut name = text_of(&row["group"]);
            if name == "languages" {
                name = format!("{name} {}", text_of(&row["lang"]));
            }
            let group = groups.entry((name, expect)).or_default();
            group.right += usize::from(right);
            group.noticed += usize::from(executes && tier == "notice" && row["expect"] == "clear");
            if !right {
                group.wrong.push(format!("{} ({tier})", text_of(&row["id"])));
            }
        }
    }
    println!("| group | expected | as expected | clear with a notice | others |\n| --- | --- | --- | --- | --- |");
    for ((name, expect), g) in &groups {
        let share = judged::share(g.right, g.right + g.wrong.len());
        println!("| {name} | {expect} | {share} | {} | {} |", g.noticed, g.wrong.join(", "));
    }
    Ok(())
}

/// The files of a folder that contain prompts. Files with labelled sentences for policies do not.
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
    // The texts of models in some sets have no labels; they are harmless.
    tool::run(
        command.args(["prefilter", "eval", "--label", "benign", "--repeat", "9", "--data"]).args(files).args(more),
    )
}
