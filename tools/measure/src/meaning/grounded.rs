//! Labelled sentences of biographies in a closed world, counted as `measure grounding` does. Also measures how readable
//! the released parts are.

use super::policies::{CasePolicyName, PolicyQuestion};
use super::table::ShareTable;
use super::{Cases, script};
use crate::biographies::{Biography, intent, lines, read};
use crate::grounding::{self, rates, silent};
use crate::judged::{cues, text_of};
use anyhow::Result;
use portcullis_tools::tool::say;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

/// File with the released parts; a Python program reads it.
const PARTS: &str = "target/measure/parts.jsonl";

pub(crate) fn run(cases: &Cases<'_>, folder: &Path) -> Result<()> {
    let models = read(folder)?;
    let silent = silent()?;
    let head = ["model", "supported: whole", "unsupported: nothing", "mixed: parted"];
    let (mut own, mut open) = (ShareTable::new(&head), ShareTable::new(&head));
    let mut parts: Vec<(&str, String)> = Vec::new();
    for (at, (model, biographies)) in models.iter().enumerate() {
        let store = lines(model, biographies.iter());
        let released = measure(cases, &mut own, (model, biographies), &store, &silent)?;
        parts.extend(released.into_iter().map(|part| (model.as_str(), part)));
        let others = models.iter().enumerate().filter(|(other, _)| *other != at).flat_map(|(_, (_, b))| b.iter());
        measure(cases, &mut open, (model, biographies), &lines("others", others), &silent)?;
    }
    own.print("Labelled sentences in a closed world, own facts in the store");
    open.print("The same with the facts of the other models");
    read_parts(cases, &parts)
}

/// Counts the sentences of one model with one store. Returns the released parts of sentences that were split.
fn measure(
    cases: &Cases<'_>,
    table: &mut ShareTable,
    (model, biographies): (&str, &[Biography]),
    store: &str,
    silent: &BTreeSet<String>,
) -> Result<Vec<String>> {
    let labelled = grounding::cases(biographies);
    say(&format!("judging {} labelled sentences of {model}", labelled.len()));
    let question = |case: &grounding::Case<'_>| PolicyQuestion {
        policy: CasePolicyName::shipped("biography"),
        store: Some(store.to_owned()),
        intent: intent(case.person),
        text: case.sentence.text.clone(),
    };
    let judged = cases.policies.judge(&labelled.iter().map(question).collect::<Vec<_>>())?;
    let (counts, _) = rates(labelled.iter().zip(&judged), silent);
    for (column, (good, all)) in counts.into_iter().enumerate() {
        (0..all).for_each(|n| table.count(model, column, n < good));
    }
    let split = labelled.iter().zip(&judged).filter(|(_, of)| of.split);
    Ok(split.flat_map(|(case, of)| of.released(&case.sentence.text)).map(str::to_owned).collect())
}

/// Counts the parts that end with a preposition or contain no verb.
fn read_parts(cases: &Cases<'_>, parts: &[(&str, String)]) -> Result<()> {
    std::fs::create_dir_all("target/measure")?;
    let rows: String = parts.iter().map(|(_, part)| format!("{}\n", json!({"text": part}))).collect();
    std::fs::write(PARTS, rows)?;
    let prepositions = cues(&["prepositions"])?;
    let mut table = ShareTable::new(&["model", "no verb", "ends on a preposition", "either"]);
    for ((model, part), row) in parts.iter().zip(script::lines(cases, "generators.py", ["--parts", PARTS])?) {
        let verbless = row["verb"] == false;
        let last = part.split(|c: char| !c.is_alphanumeric()).rfind(|w| !w.is_empty()).unwrap_or_default();
        let open = prepositions.contains(&last.to_lowercase());
        for (column, bad) in [verbless, open, verbless || open].into_iter().enumerate() {
            table.count(model, column, bad);
        }
        if cases.list && (verbless || open) {
            println!("- {model}, part: {:?}", text_of(&row["text"]));
        }
    }
    table.print("Parts of split sentences that were released, own facts in the store");
    Ok(())
}
