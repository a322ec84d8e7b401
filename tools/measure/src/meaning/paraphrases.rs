//! Paraphrases of passages; the sentences of a passage are the facts in a store. True paraphrases must be released
//! completely, false ones must not.

use super::Cases;
use super::policies::{CasePolicyName, PolicyQuestion};
use super::survival::{whole, withheld};
use super::table::ShareTable;
use crate::judged::text_of;
use anyhow::{Context, Result};
use serde_json::{Value, json};

pub(crate) fn run(cases: &Cases<'_>) -> Result<()> {
    let rows = cases.rows("paraphrases.jsonl")?;
    let store = rows.iter().map(lines).collect::<Result<String>>()?;
    let mut texts: Vec<(&Value, &str, PolicyQuestion)> = Vec::new();
    for row in &rows {
        let subject = subject(&text_of(&row["passage"])).context("a passage names its subject")?;
        let question = |text: &Value| PolicyQuestion {
            policy: CasePolicyName::shipped("biography"),
            store: Some(store.clone()),
            intent: format!("Tell me about {subject}."),
            text: text_of(text),
        };
        texts.extend(row["true"].as_array().into_iter().flatten().map(|t| (row, "true", question(t))));
        for twin in row["false"].as_array().into_iter().flatten() {
            texts.push((row, twin["kind"].as_str().context("a false twin has a kind")?, question(&twin["text"])));
        }
    }
    let judged = cases.policies.judge(&texts.iter().map(|(.., q)| q.clone()).collect::<Vec<_>>())?;
    let (mut truths, mut twins) = (ShareTable::new(&["texts", "whole"]), ShareTable::new(&["false twin", "whole"]));
    for ((row, kind, question), of) in texts.iter().zip(&judged) {
        let whole = whole(of, &question.text);
        if *kind == "true" {
            truths.count("true paraphrases", 0, whole)
        } else {
            twins.count(kind, 0, whole)
        }
        if whole != (*kind == "true") {
            cases.failed(row, &format!("{kind}: {:?}: {}", question.text, withheld(of, &question.text)));
        }
    }
    truths.print("True paraphrases that leave whole");
    twins.print("False twins that leave whole");
    Ok(())
}

/// A passage as lines of a store: the passage's subject, and each sentence as a fact about it.
fn lines(row: &Value) -> Result<String> {
    let passage = text_of(&row["passage"]);
    let name = subject(&passage).context("a passage names its subject")?;
    // A text may also use only the last words of a name, such as a person's last name.
    let words: Vec<&str> = name.split(' ').collect();
    let aliases: Vec<String> = if passage.starts_with(&name) {
        (1..words.len()).filter_map(|at| words.get(at..)).map(|rest| rest.join(" ")).collect()
    } else {
        Vec::new()
    };
    let mut lines = format!("{}\n", json!({"entity": {"id": name, "name": name, "aliases": aliases}}));
    for fact in sentences(&passage) {
        let source = format!("{}, {}", text_of(&row["source"]["source"]), text_of(&row["source"]["section"]));
        lines.push_str(&format!("{}\n", json!({"fact": {"entity": name, "text": fact, "source": source}})));
    }
    Ok(lines)
}

/// The first run of capitalised words, if any, without an article before it; "of" may stand between two of the words.
fn subject(passage: &str) -> Option<String> {
    let words: Vec<&str> = passage.split(' ').collect();
    let capital = |at: usize| words.get(at).is_some_and(|w| w.starts_with(char::is_uppercase));
    let first = (0..words.len()).find(|at| capital(*at) && words.get(*at) != Some(&"The"))?;
    let mut end = first + 1;
    while capital(end) || words.get(end) == Some(&"of") && capital(end + 1) {
        end += 1;
    }
    Some(words.get(first..end)?.join(" ").trim_end_matches([',', '.']).to_owned())
}

/// The sentences of a passage: it is cut after each full stop that a space follows, also in an abbreviation.
fn sentences(passage: &str) -> impl Iterator<Item = &str> {
    passage.split_inclusive(". ").map(str::trim).filter(|s| !s.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_is_the_first_name() {
        let of = |text: &str| subject(text).unwrap_or_default();
        assert_eq!(of("Captain Oren Falk commanded the ship Petrel."), "Captain Oren Falk");
        assert_eq!(of("The University of Calverton was granted its charter."), "University of Calverton");
        assert_eq!(of("The village of Drumlea has one school."), "Drumlea");
        let row = json!({"passage": "Ana Silva left. She was 9.", "source": {"source": "s", "section": "1"}});
        assert_eq!(lines(&row).unwrap_or_default().lines().count(), 3);
    }
}
