//! Cases made by hand: no word of a sentence that must be refused may be released, and every word of all other
//! sentences must be released. Connectives do not count.

use super::Cases;
use super::policies::PolicyQuestion;
use super::survival::{Fate, fate, withheld, words};
use super::table::ShareTable;
use crate::judged::{cues, number, text_of};
use anyhow::Result;
use serde_json::Value;
use std::ops::Range;

pub(crate) fn run(cases: &Cases<'_>) -> Result<()> {
    let rows = cases.rows("hand.jsonl")?;
    let silent = cues(&["connectives"])?;
    let judged = cases.policies.judge(&rows.iter().map(question).collect::<Vec<_>>())?;
    let mut table =
        ShareTable::new(&["group", "something to refuse: as expected", "nothing to refuse: as expected", "both"]);
    for (row, of) in rows.iter().zip(&judged) {
        let text = text_of(&row["text"]);
        let refuse: Vec<Range<usize>> =
            row["refuse"].as_array().into_iter().flatten().map(|r| number(&r[0])..number(&r[1])).collect();
        let wrong = words(&text).find(|word| {
            let inside = refuse.iter().any(|r| r.start <= word.start && word.end <= r.end);
            let connective = text.get(word.clone()).is_some_and(|w| silent.contains(&w.to_lowercase()));
            let bad = if inside { Fate::Released } else { Fate::Withheld };
            !connective && fate(of, word) == bad
        });
        for column in [usize::from(refuse.is_empty()), 2] {
            table.count(&text_of(&row["group"]), column, wrong.is_none());
        }
        if wrong.is_some() {
            cases.failed(row, &format!("{}; withheld: {}", text_of(&row["why"]), withheld(of, &text)));
        }
    }
    table.print("Hand-made cases");
    Ok(())
}

fn question(row: &Value) -> PolicyQuestion {
    let lines = row["store"].as_array();
    let store = lines.map(|lines| lines.iter().map(|line| format!("{line}\n")).collect());
    PolicyQuestion { store, ..PolicyQuestion::of(row) }
}
