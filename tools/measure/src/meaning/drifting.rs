//! Drift, both with the store of `measure drift` and without a store. Without a store, a splice counts as found if its
//! first sentences cause a halt because of drift, or a refusal because of the topic.

use super::policies::{CasePolicyName, PolicyQuestion, World};
use super::table::ShareTable;
use super::{Cases, script};
use crate::judged::{MeasuredJudgement, number, text_of};
use crate::{biographies, drift};
use anyhow::Result;
use portcullis_tools::tool::say;
use serde_json::Value;
use std::ops::Range;
use std::path::Path;

/// Number of sentences after the splice within which the splice must be found.
const WITHIN: usize = 3;
const BIOGRAPHY: &str = "another biography: found";
const DOMAIN: &str = "another domain: found";

pub(crate) fn run(cases: &Cases<'_>, folder: &Path) -> Result<()> {
    println!("\nDrift with a store:\n");
    let models = biographies::read(folder)?;
    drift::tables(&models, |model, biographies, lines| {
        say(&format!("judging {} texts, spliced and whole, of {model}", lines.len()));
        let policy = cases.policies.get(&CasePolicyName::shipped("biography"))?;
        let texts = lines.iter().map(|l| (l["text"].as_str().unwrap_or_default(), text_of(&l["intent"])));
        let judged = policy.texts(Some(&biographies::lines(model, biographies.iter())), texts)?;
        Ok(lines.iter().map(|l| text_of(&l["id"])).zip(judged).collect())
    })?;
    let mut halts = ShareTable::new(&["model", BIOGRAPHY, DOMAIN, "unspliced: ended or refused"]);
    let mut slopes = Vec::new();
    for (model, _) in &models {
        let file = folder.join(format!("factscore_{model}.jsonl")).to_string_lossy().into_owned();
        let answers = cases.folder.join("answers.jsonl").to_string_lossy().into_owned();
        let kinds: [&[&str]; 3] = [
            &["--kind", "biography", "--donor", &file],
            &["--kind", "domain", "--donor", &answers, "--skip", "biography"],
            &["--whole"],
        ];
        for (column, kind) in kinds.iter().enumerate() {
            let host = ["--seed", "1", "--host", &file];
            let rows = script::lines(cases, "drift.py", host.iter().chain(*kind))?;
            say(&format!("judging {} texts of {model} without a store", rows.len()));
            let judge = |world| {
                let questions: Vec<PolicyQuestion> = rows.iter().map(|row| question(row, world)).collect();
                cases.policies.judge(&questions)
            };
            for (row, of) in rows.iter().zip(&judge(World::Open)?) {
                halts.count(model, column, found(row, of));
            }
            for (row, of) in rows.iter().zip(&judge(World::OpenWithoutHalt)?) {
                slopes.push((model, column, steepest(row, of)));
            }
        }
    }
    halts.print("Drift without a store: halts and refusals within three foreign sentences");
    let mut whole: Vec<u16> = slopes.iter().filter(|(_, column, _)| *column == 2).map(|(.., slope)| *slope).collect();
    whole.sort_unstable_by(|a, b| b.cmp(a));
    // The lowest slope threshold that at most one in fifty unspliced texts reaches.
    let threshold = whole.get(whole.len() / 50).map_or(0, |slope| slope.saturating_add(1));
    let mut best = ShareTable::new(&["model", BIOGRAPHY, DOMAIN, "unspliced: ended"]);
    for (model, column, slope) in slopes {
        best.count(model, column, slope >= threshold);
    }
    best.print(&format!("The same by the slope alone, with the best threshold for 2 % false halts, {threshold}"));
    Ok(())
}

/// A row's text under `biography` in an open world, with the row's subject as intent.
fn question(row: &Value, world: World) -> PolicyQuestion {
    PolicyQuestion {
        policy: CasePolicyName { package: Some("biography".to_owned()), world },
        store: None,
        intent: biographies::intent(&text_of(&row["subject"])),
        text: text_of(&row["text"]),
    }
}

/// The bytes in which drift must be found: the first sentences after the splice, or the whole text without a splice.
fn place(row: &Value) -> Range<usize> {
    let starts: Vec<usize> = row["starts"].as_array().into_iter().flatten().map(number).collect();
    starts.first().copied().unwrap_or(0)..starts.get(WITHIN).copied().unwrap_or(usize::MAX)
}

/// Whether a halt because of drift, or a refusal because of the topic, occurs in the range [`place`].
fn found(row: &Value, of: &MeasuredJudgement) -> bool {
    let halts = of.stopped.iter().filter(|(why, _)| why == "drift_halt").map(|(_, at)| *at);
    let topics = of.leaves.iter().filter(|l| !l.admitted && l.rule == "LINEAGE-TOPIC-SHIFT").map(|l| l.range.start);
    halts.chain(topics).any(|at| place(row).contains(&at))
}

/// The highest slope in the range [`place`].
fn steepest(row: &Value, of: &MeasuredJudgement) -> u16 {
    of.leaves.iter().filter(|l| place(row).contains(&l.range.start)).map(|l| l.slope).max().unwrap_or(0)
}
