//! Polarity: a class counts only where the writer affirms it. If a forbid rule tests the class, a hit refuses the text.
//! If a permit needs the class, a hit lets a later sentence pass.

use super::Cases;
use super::policies::{CasePolicyName, PolicyQuestion};
use super::survival::{Fate, fate, whole, withheld, words};
use super::table::ShareTable;
use crate::judged::text_of;
use anyhow::Result;
use serde_json::Value;

/// For each class that a permit needs, a sentence that is admitted only if the class was established before.
const OPENED: [(&str, &str); 4] = [
    ("disclaimer", "You have pneumonia."),
    ("risk_warning", "CFDs are traded daily."),
    ("safeguard", "Customer data is exported to Peru."),
    ("consent", "Customer data is exported to Peru."),
];

pub(crate) fn run(cases: &Cases<'_>) -> Result<()> {
    let mut rows = cases.rows("polarity.jsonl")?;
    let mut declared = Vec::new();
    for row in &rows {
        let policy = cases.policies.get(&CasePolicyName::of(row))?;
        declared.push(policy.package().manifest().classes.iter().any(|c| row["class"] == c.name.as_str()));
    }
    let mut kept = declared.iter();
    rows.retain(|_| kept.next() == Some(&true));
    let questions: Vec<PolicyQuestion> = rows.iter().map(question).collect();
    let judged = cases.policies.judge(&questions)?;
    let mut table = ShareTable::new(&["class", "affirmed: read so", "not affirmed: read so"]);
    for ((row, question), of) in rows.iter().zip(&questions).zip(&judged) {
        let affirmed = match opened(row) {
            Some(probe) => {
                let start = question.text.len() - probe.len();
                words(&question.text).filter(|w| w.start >= start).all(|w| fate(of, &w) == Fate::Released)
            }
            None => !whole(of, &question.text),
        };
        let expected = row["affirmed"] == true;
        table.count(&text_of(&row["class"]), usize::from(!expected), affirmed == expected);
        if affirmed != expected {
            let what = if expected { "affirmed" } else { "not affirmed" };
            let withheld = withheld(of, &question.text);
            cases.failed(row, &format!("{what} ({}): {:?}: {withheld}", text_of(&row["why"]), question.text));
        }
    }
    table.print("Polarity");
    let skipped = declared.iter().filter(|d| !**d).count();
    if skipped > 0 {
        println!("\n{skipped} rows are of a class that their policy does not declare: not judged.");
    }
    Ok(())
}

fn opened(row: &Value) -> Option<&'static str> {
    OPENED.iter().find(|(class, _)| row["class"] == *class).map(|(_, probe)| *probe)
}

fn question(row: &Value) -> PolicyQuestion {
    let mut question = PolicyQuestion::of(row);
    if let Some(probe) = opened(row) {
        question.text = format!("{} {probe}", question.text);
    }
    question
}
