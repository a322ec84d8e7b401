//! Ordinary answers in each domain under that domain's policy. All of them must be released, including disclaimers.

use super::Cases;
use super::policies::PolicyQuestion;
use super::survival::{whole, withheld};
use super::table::ShareTable;
use crate::judged::text_of;
use anyhow::Result;

pub(crate) fn run(cases: &Cases<'_>) -> Result<()> {
    let rows = cases.rows("answers.jsonl")?;
    let questions: Vec<PolicyQuestion> = rows.iter().map(PolicyQuestion::of).collect();
    let judged = cases.policies.judge(&questions)?;
    let mut table = ShareTable::new(&["policy", "whole", "with a disclaimer, whole"]);
    for ((row, question), of) in rows.iter().zip(&questions).zip(&judged) {
        let policy = question.policy.package.as_deref().unwrap_or("(permits everything)");
        let good = whole(of, &question.text);
        table.count(policy, 0, good);
        if row["disclaimer"] == true {
            table.count(policy, 1, good);
        }
        if !good {
            cases.failed(row, &format!("{policy}: {}: {:?}", withheld(of, &question.text), text_of(&row["text"])));
        }
    }
    table.print("Ordinary answers that survive");
    Ok(())
}
