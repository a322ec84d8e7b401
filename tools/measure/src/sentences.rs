//! Measures the cases in a folder that is organised like `tests/cases/sentences`: sentences that an abbreviation or a
//! line break divides, amounts, doses, contradictions over boundaries, loops of an engine, and misleading labels.

use crate::judged::{MeasuredJudgement, MeasuredPolicy, rows, share, text_of};
use crate::meaning::{PERMIT_ALL, permit_all};
use anyhow::{Context, Result};
use portcullis_core::state::StreamTask;
use portcullis_gate::{AnswerCandidate, ReleaseMode, StreamInput};
use portcullis_tools::tool::say;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Largest number of letters and digits of a value, from its start, that may leave.
const MAY_LEAVE: usize = 4;
/// Number of proposals after which a loop must have met a refusal.
const ROUNDS: usize = 8;
pub(crate) fn run(folder: &Path, list: bool) -> Result<()> {
    let file = |name: &str| rows(&folder.join(name));
    abbreviations(folder, &file("abbreviations.jsonl")?, list)?;
    expected(&folder.join("policies/letters"), "money.jsonl", "form", &file("money.jsonl")?, list)?;
    expected(Path::new("policies/clinical"), "doses.jsonl", "group", &file("doses.jsonl")?, list)?;
    contradictions(&file("contradictions.jsonl")?, list)?;
    loops(&file("loops.jsonl")?, list)?;
    labels(&file("labels.jsonl")?, list)
}

/// Rows that are right, of all, by a key; printed in the order of the keys.
#[derive(Default)]
struct RightTable(BTreeMap<String, (usize, usize)>);

impl RightTable {
    fn add(&mut self, key: String, is_right: bool) {
        let count = self.0.entry(key).or_default();
        count.0 += usize::from(is_right);
        count.1 += 1;
    }

    fn print(&self, head: &str) {
        println!("\n| {head} | right |\n| --- | --- |");
        self.0.iter().for_each(|(key, (of, all))| println!("| {key} | {} |", share(*of, *all)));
        let (of, all) = self.0.values().fold((0, 0), |(of, all), count| (of + count.0, all + count.1));
        println!("| all | {} |", share(of, all));
    }
}

/// Whether the gate does with a text what its row expects.
fn is_right(row: &Value, judged: &MeasuredJudgement) -> bool {
    judged.leaves.iter().any(|leaf| !leaf.admitted) == (row["expect"] == "refuse")
}

fn texts(policy: &MeasuredPolicy, rows: &[&Value], key: &str) -> Result<Vec<MeasuredJudgement>> {
    let texts = rows.iter().map(|row| row[key].as_str().context("a row has a text"));
    policy.texts(None, texts.collect::<Result<Vec<_>>>()?.into_iter().map(|text| (text, String::new())))
}

/// Judges the sentences as they are plain and as they are written, each under its policy.
fn abbreviations(folder: &Path, rows: &[Value], list: bool) -> Result<()> {
    let mut by_policy = BTreeMap::<String, Vec<&Value>>::new();
    rows.iter().for_each(|row| by_policy.entry(text_of(&row["policy"])).or_default().push(row));
    let (mut plain_right, mut right) = (RightTable::default(), RightTable::default());
    for (name, rows) in by_policy {
        let own = folder.join("policies").join(&name);
        let policy = MeasuredPolicy::load(&if own.is_dir() { own } else { Path::new("policies").join(&name) })?;
        let judged = texts(&policy, &rows, "plain")?.into_iter().zip(texts(&policy, &rows, "text")?);
        for (row, (plain, written)) in rows.iter().zip(judged) {
            let key = format!("{} {}", text_of(&row["lang"]), text_of(&row["form"]));
            plain_right.add(key.clone(), is_right(row, &plain));
            // A row whose plain text fails says nothing about the form.
            if is_right(row, &plain) {
                right.add(key, is_right(row, &written));
                if list && !is_right(row, &written) {
                    println!("{}: not {}: {:?}", text_of(&row["id"]), text_of(&row["expect"]), text_of(&row["text"]));
                }
            }
        }
    }
    plain_right.print("plain sentence");
    right.print("as written, of those whose plain sentence is right");
    Ok(())
}

/// Judges texts of one policy, each with what it expects.
fn expected(policy: &Path, file: &str, key: &str, rows: &[Value], list: bool) -> Result<()> {
    let policy = MeasuredPolicy::load(policy)?;
    let rows: Vec<&Value> = rows.iter().collect();
    let mut right = RightTable::default();
    for (row, judged) in rows.iter().zip(texts(&policy, &rows, "text")?) {
        right.add(format!("{} {}", text_of(&row[key]), text_of(&row["expect"])), is_right(row, &judged));
        if list && !is_right(row, &judged) {
            println!("{}: not {}: {:?}", text_of(&row["id"]), text_of(&row["expect"]), text_of(&row["text"]));
        }
    }
    right.print(file);
    Ok(())
}

/// The package that permits everything and any citation, with these lines of its section `[continuity]`.
fn permitting(continuity: &str) -> Result<MeasuredPolicy> {
    let manifest = PERMIT_ALL.replacen("[enumerations]", "citations = \"any\"\n[enumerations]", 1);
    MeasuredPolicy::new(permit_all(&format!("{manifest}[continuity]\n{continuity}"))?)
}

/// Counts the texts in which a contradiction is refused.
fn contradictions(rows: &[Value], list: bool) -> Result<()> {
    let policy = permitting("repetitions = 0\n")?;
    let rows: Vec<&Value> = rows.iter().collect();
    let mut right = RightTable::default();
    for (row, judged) in rows.iter().zip(texts(&policy, &rows, "text")?) {
        let is_claim = |rule: &str| rule.starts_with("CONTRADICT-") || rule.starts_with("CLAIMS-");
        let is_found = judged.leaves.iter().any(|leaf| !leaf.admitted && is_claim(&leaf.rule));
        let is_right = is_found == (row["expect"] == "contradiction");
        right.add(format!("{} {}", text_of(&row["expect"]), text_of(&row["between"])), is_right);
        if list && !is_right {
            println!("{}: not {}: {:?}", text_of(&row["id"]), text_of(&row["expect"]), text_of(&row["text"]));
        }
    }
    right.print("contradictions.jsonl");
    Ok(())
}

/// Counts the loops that meet a refusal soon, and the work that leaves whole.
fn loops(rows: &[Value], list: bool) -> Result<()> {
    let policy = permitting("contradiction = false\n")?;
    say(&format!("judging {} runs of an engine", rows.len()));
    let proposals = |row: &Value| row["proposals"].as_array().into_iter().flatten().map(text_of).collect::<Vec<_>>();
    let candidate = |text: String| vec![AnswerCandidate { text, logprobs: None, logprobs_absent: None, call: None }];
    let items = rows.iter().map(|row| StreamInput::Candidates {
        id: text_of(&row["id"]),
        steps: proposals(row).into_iter().map(candidate).collect(),
        task: StreamTask::default(),
    });
    let judged = policy.judge(None, items.collect(), ReleaseMode::Span)?;
    let mut right = RightTable::default();
    for (row, judged) in rows.iter().zip(judged) {
        let whole: String = proposals(row).concat();
        let refused = judged.leaves.iter().filter(|leaf| !leaf.admitted).map(|leaf| leaf.candidate).min();
        let is_stopped = refused.is_some_and(|first| first < ROUNDS);
        let is_right = if row["kind"] == "loop" { is_stopped } else { judged.left == whole };
        right.add(format!("{} {}", text_of(&row["kind"]), text_of(&row["form"])), is_right);
        if list && !is_right {
            println!("{}: first refused proposal {refused:?}", text_of(&row["id"]));
        }
    }
    right.print("loops.jsonl");
    Ok(())
}

/// Counts the values that do not leave, by class and by what is expected.
fn labels(rows: &[Value], list: bool) -> Result<()> {
    let policy = MeasuredPolicy::load(&PathBuf::from("policies/pii"))?;
    let rows: Vec<&Value> = rows.iter().collect();
    let mut stays = RightTable::default();
    for (row, judged) in rows.iter().zip(texts(&policy, &rows, "text")?) {
        let value = text_of(&row["value"]);
        let tail: String = value.chars().filter(|c| c.is_alphanumeric()).skip(MAY_LEAVE).collect();
        let left: String = judged.left.chars().filter(|c| c.is_alphanumeric()).collect();
        stays.add(format!("{} {}", text_of(&row["class"]), text_of(&row["expect"])), !left.contains(&tail));
        if list && row["expect"] == "refuse" && left.contains(&tail) {
            println!("{}: {value:?} leaves: {:?}", text_of(&row["id"]), text_of(&row["text"]));
        }
    }
    stays.print("labels.jsonl: the value stays; `ambiguous` may leave");
    Ok(())
}
