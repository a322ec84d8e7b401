//! Measures the cases in a folder that is organised like `tests/cases/bytes`: written forms of values and phrases
//! (`bypass.jsonl`), look-alikes (`lookalikes.jsonl`), random harmless texts (`random.py`), and values that two
//! candidates divide. This process judges all cases, on the model of the card.

use crate::judged::{Leaf, MeasuredPolicy, rows, share, text_of};
use anyhow::{Context, Result};
use portcullis_core::state::StreamTask;
use portcullis_gate::{AnswerCandidate, ReleaseMode, StreamInput};
use portcullis_tools::tool::{capture, say};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Largest number of letters and digits of a value, from its start, that may be released.
const MAY_LEAVE: usize = 4;

pub(crate) fn run(folder: &Path, list: bool) -> Result<()> {
    let bypass = optional(&folder.join("bypass.jsonl"))?;
    if !bypass.is_empty() {
        written_forms(folder, &bypass, list)?;
    }
    let lookalikes = optional(&folder.join("lookalikes.jsonl"))?;
    if !lookalikes.is_empty() {
        touched(folder, "look-alikes", "group", &lookalikes, list)?;
    }
    let script = folder.join("random.py");
    if script.exists() {
        let printed = capture(Command::new("python3").arg(&script))?;
        let random = printed.lines().map(|l| Ok(serde_json::from_str(l)?)).collect::<Result<Vec<Value>>>()?;
        touched(folder, "random texts", "kind", &random, false)?;
    }
    if !bypass.is_empty() {
        cuts(folder, &bypass, list)?;
    }
    Ok(())
}

fn optional(file: &Path) -> Result<Vec<Value>> {
    if file.exists() { rows(file) } else { Ok(Vec::new()) }
}

/// Prints a table of shares: one line per name, in order of the names, and a line with the sum.
fn table(head: &str, of: &BTreeMap<String, [(usize, usize); 2]>) {
    println!("\n| {head} |\n| --- | --- | --- |");
    let mut sum = [(0, 0); 2];
    for (name, counts) in of {
        for (s, c) in sum.iter_mut().zip(counts) {
            *s = (s.0 + c.0, s.1 + c.1);
        }
        println!("| {name} | {} | {} |", share(counts[0].0, counts[0].1), share(counts[1].0, counts[1].1));
    }
    println!("| all | {} | {} |", share(sum[0].0, sum[0].1), share(sum[1].0, sum[1].1));
}

/// Counts the written forms that are released, per group; forms that must be refused have a separate column.
fn written_forms(folder: &Path, rows: &[Value], list: bool) -> Result<()> {
    say(&format!("judging {} written forms", rows.len()));
    let judged = judge(folder, rows, ReleaseMode::Span, |row| Ok(whole(row)))?;
    let (mut groups, mut secrets) = (BTreeMap::new(), BTreeMap::new());
    for (row, leaves) in rows.iter().zip(&judged) {
        let text = row["text"].as_str().context("a row has a text")?;
        let leaks = leaves_of_value(&[text], &value(row), leaves) > 0;
        let side = usize::from(row["fair"] != true);
        for (counts, key) in [(&mut groups, &row["group"]), (&mut secrets, &row["secret"])] {
            let count: &mut [(usize, usize); 2] = counts.entry(text_of(key)).or_default();
            count[side].0 += usize::from(leaks);
            count[side].1 += 1;
        }
        if list && leaks && side == 0 {
            println!("{} leaks: {}: {text:?}", text_of(&row["id"]), text_of(&row["form"]));
        }
    }
    table("group | promised, leak | not promised, leak", &groups);
    table("secret | promised, leak | not promised, leak", &secrets);
    Ok(())
}

/// Counts, per group, the harmless texts of which at least one byte is refused. Texts with a citation, and texts that
/// the policy should refuse, are counted separately.
fn touched(folder: &Path, what: &str, key: &str, rows: &[Value], list: bool) -> Result<()> {
    say(&format!("judging {} {what}", rows.len()));
    let judged = judge(folder, rows, ReleaseMode::Span, |row| Ok(whole(row)))?;
    let mut groups: BTreeMap<String, [(usize, usize); 2]> = BTreeMap::new();
    for (row, leaves) in rows.iter().zip(&judged) {
        // Only rules of the policy are counted, not findings of the other stages.
        let refused: Vec<&str> = leaves.iter().filter(|l| !l.admitted).map(|l| l.rule.as_str()).collect();
        let side = usize::from(row["why"].as_str().is_some_and(|why| why.starts_with("documented:")));
        let cites = row["why"].as_str().is_some_and(|why| why.starts_with("cites:"));
        let touched = refused.iter().any(|rule| !cites || !rule.starts_with("ANCHOR"));
        let count = groups.entry(text_of(&row[key])).or_default();
        count[side].0 += usize::from(touched);
        count[side].1 += 1;
        if list && touched && side == 0 {
            println!("{} touched by {refused:?}: {:?}", text_of(&row["id"]), text_of(&row["text"]));
        }
    }
    table(&format!("{what} | touched | documented, touched"), &groups);
    Ok(())
}

/// Counts the values that are released when two candidates divide them.
fn cuts(folder: &Path, rows: &[Value], list: bool) -> Result<()> {
    let cut = cut_rows(rows)?;
    say(&format!("judging {} cuts", cut.len()));
    let left = left_of_cuts(folder, &cut, ReleaseMode::Span)?;
    let mut groups: BTreeMap<String, [(usize, usize); 2]> = BTreeMap::new();
    for (row, left) in cut.iter().zip(left) {
        let count = groups.entry(text_of(&row["secret"])).or_default();
        count[0].0 += usize::from(left > 0);
        count[0].1 += 1;
        count[1].0 += usize::from(left >= 8);
        count[1].1 += 1;
        if list && left > 0 {
            println!("{} cut leaks {left}: {:?}", text_of(&row["id"]), parts(row));
        }
    }
    table("cuts of | more than four characters leave | more than eleven leave", &groups);
    Ok(())
}

/// Copies of each row that must be refused: one for each place at which its value can be cut into two parts.
fn cut_rows(rows: &[Value]) -> Result<Vec<Value>> {
    let mut cut = Vec::new();
    for row in rows.iter().filter(|row| row["fair"] == true) {
        let (text, range) = (row["text"].as_str().context("a row has a text")?, value(row));
        for at in range.start + 1..range.end {
            if let Some((first, second)) = text.split_at_checked(at) {
                let mut row = row.clone();
                row["parts"] = serde_json::json!([first, second]);
                cut.push(row);
            }
        }
    }
    Ok(cut)
}

fn parts(row: &Value) -> Vec<String> {
    row["parts"].as_array().into_iter().flatten().map(text_of).collect()
}

/// For each cut row, the number of wrongly released letters and digits if the two parts are successive candidates.
fn left_of_cuts(folder: &Path, cut: &[Value], release: ReleaseMode) -> Result<Vec<usize>> {
    let judged = judge(folder, cut, release, |row| {
        let candidate =
            |text: String| vec![AnswerCandidate { text, logprobs: None, logprobs_absent: None, call: None }];
        let steps = parts(row).into_iter().map(candidate).collect();
        Ok(StreamInput::Candidates { id: text_of(&row["id"]), steps, task: StreamTask::default() })
    })?;
    let left = |(row, leaves): (&Value, &Vec<Leaf>)| {
        let parts = parts(row);
        let texts: Vec<&str> = parts.iter().map(String::as_str).collect();
        leaves_of_value(&texts, &value(row), leaves)
    };
    Ok(cut.iter().zip(&judged).map(left).collect())
}

fn whole(row: &Value) -> StreamInput {
    StreamInput::Text { id: text_of(&row["id"]), text: text_of(&row["text"]), task: StreamTask::default() }
}

fn value(row: &Value) -> Range<usize> {
    crate::judged::number(&row["value"][0])..crate::judged::number(&row["value"][1])
}

/// Counts the released letters and digits of a value after its first [`MAY_LEAVE`]. `value`: range in `texts.concat()`.
fn leaves_of_value(texts: &[&str], value: &Range<usize>, leaves: &[Leaf]) -> usize {
    let mut offset = 0;
    let mut admitted: Vec<Range<usize>> = Vec::new();
    for (candidate, text) in texts.iter().enumerate() {
        let here = leaves.iter().filter(|l| l.admitted && l.candidate == candidate);
        admitted.extend(here.map(|l| l.range.start + offset..l.range.end + offset));
        offset += text.len();
    }
    let whole = texts.concat();
    let markup = markup(&whole);
    let seen = |at: &usize| !markup.iter().any(|range| range.contains(at));
    let inside = whole.char_indices().filter(|(at, c)| value.contains(at) && c.is_alphanumeric() && seen(at));
    inside.skip(MAY_LEAVE).filter(|(at, _)| admitted.iter().any(|a| a.contains(at))).count()
}

/// Ranges of tags, LaTeX commands and link targets; letters in them do not belong to a value.
fn markup(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, c) in text.char_indices() {
        let rest = text.get(at..).unwrap_or_default();
        let named = |tag: &str| {
            tag.get(1..).is_some_and(|t| t.starts_with(|c: char| c == '/' || c == '!' || c.is_ascii_alphabetic()))
        };
        let tag = || rest.find('>').filter(|end| rest.get(..*end).is_some_and(|tag| named(tag) && !tag.contains('@')));
        let command = || rest.find(|c: char| c != '\\' && !c.is_ascii_alphabetic());
        let target = || rest.starts_with("](").then(|| rest.find(')')).flatten();
        let name = || rest.starts_with("][").then(|| rest.get(2..)?.find(']').map(|end| end + 2)).flatten();
        let end = match c {
            '<' => tag(),
            '\\' => command().filter(|end| *end > 1),
            ']' => target().or_else(name),
            _ => None,
        };
        found.extend(end.map(|end| at..at + end));
    }
    found
}

/// The judged spans of each row, under the policy that the row names.
fn judge(
    folder: &Path,
    rows: &[Value],
    release: ReleaseMode,
    item: impl Fn(&Value) -> Result<StreamInput>,
) -> Result<Vec<Vec<Leaf>>> {
    let mut policies: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        policies.entry(text_of(&row["policy"])).or_default().push(at);
    }
    let mut judged: Vec<Vec<Leaf>> = rows.iter().map(|_| Vec::new()).collect();
    for (policy, of) in policies {
        let policy = MeasuredPolicy::load(&folder_of(folder, &policy))?;
        let items = of.iter().filter_map(|at| rows.get(*at)).map(&item).collect::<Result<Vec<_>>>()?;
        for (at, row) in of.into_iter().zip(policy.judge(None, items, release)?) {
            if let Some(leaves) = judged.get_mut(at) {
                *leaves = row.leaves;
            }
        }
    }
    Ok(judged)
}

/// The folder of a policy: in the folder of the cases, or among the shipped policies.
fn folder_of(folder: &Path, policy: &str) -> PathBuf {
    let own = folder.join("policies").join(policy);
    if own.exists() { own } else { Path::new("policies").join(policy) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cut_of_a_value_lets_more_of_it_leave_than_its_first_characters() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/bytes");
        std::env::set_current_dir(folder.join("../../..")).unwrap();
        let rows = rows(&folder.join("bypass.jsonl")).unwrap();
        let rows: Vec<Value> = rows.into_iter().filter(|row| row["fair"] == true).collect();
        let judged = judge(&folder, &rows, ReleaseMode::Span, |row| Ok(whole(row))).unwrap();
        // Some forms are released even if they are not cut. This is a documented limit, so their cuts are not counted.
        let held = |(row, leaves): &(&Value, &Vec<Leaf>)| {
            leaves_of_value(&[row["text"].as_str().unwrap()], &value(row), leaves) == 0
        };
        let held: Vec<Value> = rows.iter().zip(&judged).filter(held).map(|(row, _)| row.clone()).collect();
        let cut = cut_rows(&held).unwrap();
        assert!(cut.len() > 20_000, "{} cuts", cut.len());
        for release in [ReleaseMode::Span, ReleaseMode::Checkpoint, ReleaseMode::End] {
            let left = left_of_cuts(&folder, &cut, release).unwrap();
            let leaves: Vec<_> =
                cut.iter().zip(left).filter(|(_, left)| *left > 0).map(|(row, _)| parts(row)).collect();
            assert_eq!(leaves, Vec::<Vec<String>>::new(), "{release:?}");
        }
    }
}
