//! Splitting: the released rest of a sentence must not assert more than the whole sentence did. If a released rest is
//! not in the lists of its case, a person must read it.

use super::Cases;
use super::policies::PolicyQuestion;
use super::survival::lowered;
use super::table::ShareTable;
use crate::judged::text_of;
use anyhow::Result;
use serde_json::{Value, json};

pub(crate) fn run(cases: &Cases<'_>) -> Result<()> {
    let rows = cases.rows("splits.jsonl")?;
    let judged = cases.policies.judge(&rows.iter().map(question).collect::<Vec<_>>())?;
    let mut table = ShareTable::new(&["what governs the part", "safe", "asserts something else", "to be read"]);
    for (row, of) in rows.iter().zip(&judged) {
        let left = lowered(&of.left);
        let held = |list: &Value| list.as_array().into_iter().flatten().any(|r| lowered(&text_of(r)) == left);
        let class = if held(&row["unsafe_remainders"]) {
            1
        } else if held(&row["acceptable"]) {
            0
        } else {
            2
        };
        for column in 0..3 {
            table.count(&text_of(&row["scope"]), column, column == class);
        }
        if class > 0 {
            let what = if class == 1 { "asserts something else" } else { "to be read" };
            cases.failed(row, &format!("{what}: {:?} of {:?}", of.left, text_of(&row["text"])));
        }
    }
    table.print("Splits");
    Ok(())
}

fn question(row: &Value) -> PolicyQuestion {
    let Some(entity) = row["entity"].as_str() else { return PolicyQuestion::of(row) };
    let mut store = format!("{}\n", json!({"entity": {"id": entity, "name": entity, "kind": "person"}}));
    for fact in row["facts"].as_array().into_iter().flatten() {
        store.push_str(&format!("{}\n", json!({"fact": {"entity": entity, "text": fact, "source": "case"}})));
    }
    PolicyQuestion { store: Some(store), intent: format!("Tell a life of {entity}."), ..PolicyQuestion::of(row) }
}
