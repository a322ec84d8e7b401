//! Vocabulary entries that come from public rules. Each has a sentence to refuse, and a similar sentence to release.

use super::Cases;
use super::policies::{CasePolicyName, PolicyQuestion};
use super::survival::{whole, withheld};
use super::table::ShareTable;
use crate::judged::text_of;
use anyhow::Result;

pub(crate) fn run(cases: &Cases<'_>) -> Result<()> {
    let rows = cases.rows("vocabulary.jsonl")?;
    let mut table = ShareTable::new(&["policy", "to be refused: refused", "to be accepted: whole"]);
    for (column, key) in ["refuse", "accept"].into_iter().enumerate() {
        let question = |row| PolicyQuestion {
            policy: CasePolicyName::of(row),
            text: text_of(&row[key]),
            ..PolicyQuestion::default()
        };
        let questions: Vec<PolicyQuestion> = rows.iter().map(question).collect();
        let judged = cases.policies.judge(&questions)?;
        for ((row, question), of) in rows.iter().zip(&questions).zip(&judged) {
            let good = whole(of, &question.text) == (key == "accept");
            table.count(&text_of(&row["policy"]), column, good);
            if !good {
                let withheld = withheld(of, &question.text);
                cases.failed(row, &format!("{key}, {}: {:?}: {withheld}", text_of(&row["entry"]), question.text));
            }
        }
    }
    table.print("Vocabulary by public rules");
    Ok(())
}
