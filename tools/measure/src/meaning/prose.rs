//! Ordinary prose under each shipped policy with an open world: counts the texts that are released completely.

use super::policies::{CasePolicyName, PolicyQuestion};
use super::survival::whole;
use super::table::ShareTable;
use super::{Cases, labelled};
use crate::biographies;
use crate::judged::{rows, text_of};
use anyhow::Result;
use portcullis_tools::tool::say;
use serde_json::Value;
use std::path::Path;

/// Shipped policies whose world is open, in the order of the table's columns.
const POLICIES: [&str; 5] = ["clinical", "finance-suitability", "pii", "privilege", "residency"];

pub(crate) fn run(cases: &Cases<'_>, data: Option<&Path>) -> Result<()> {
    let own = rows(&cases.folder.join("answers.jsonl"))?;
    // Texts that belong to the subject of no policy: answers of the domain `general`, and biographies.
    let plain = |row: &&Value| {
        ["answer-general-", "answer-biography-"].iter().any(|start| text_of(&row["id"]).starts_with(start))
    };
    let mut sets = vec![("own answers, general and lives".to_owned(), texts(own.iter().filter(plain), "text"))];
    if let Some(data) = data {
        let folder = labelled(data);
        for (model, _) in biographies::read(&folder)? {
            let rows = rows(&folder.join(format!("factscore_{model}.jsonl")))?;
            sets.push((format!("biographies by {model}"), texts(rows.iter(), "output")));
        }
        let mails = [data.to_owned(), data.join("prompts")].map(|f| f.join("bipia_emails.jsonl"));
        if let Some(file) = mails.iter().find(|file| file.exists()) {
            sets.push(("mails".to_owned(), texts(rows(file)?.iter(), "text")));
        }
    }
    let mut table = ShareTable::new(&["texts", "clinical", "finance-suitability", "pii", "privilege", "residency"]);
    for (name, texts) in &sets {
        say(&format!("judging {} texts under {} policies: {name}", texts.len(), POLICIES.len()));
        for policy in POLICIES {
            let question = |text: &String| PolicyQuestion {
                policy: CasePolicyName::shipped(policy),
                text: text.clone(),
                ..PolicyQuestion::default()
            };
            let judged = cases.policies.judge(&texts.iter().map(question).collect::<Vec<_>>())?;
            for (text, of) in texts.iter().zip(&judged) {
                table.count_in(name, policy, whole(of, text));
            }
        }
    }
    table.print("Ordinary prose that survives whole");
    Ok(())
}

fn texts<'a>(rows: impl Iterator<Item = &'a Value>, key: &str) -> Vec<String> {
    rows.filter_map(|row| row[key].as_str()).filter(|t| !t.trim().is_empty()).map(str::to_owned).collect()
}
