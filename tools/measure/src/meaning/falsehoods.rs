//! False sentences, made from supported sentences of labelled biographies and judged with a store of the supported
//! facts. Counts the sentences that are released completely.

use super::policies::{CasePolicyName, PolicyQuestion};
use super::survival::whole;
use super::table::ShareTable;
use super::{Cases, script};
use crate::biographies::{SentenceSupport, intent, lines, read};
use crate::judged::{rows, text_of};
use anyhow::{Context, Result};
use portcullis_tools::tool::say;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;

const SEED: &str = "1";

pub(crate) fn run(cases: &Cases<'_>, folder: &Path) -> Result<()> {
    let mut table = ShareTable::new(&["model", "unchanged", "negate", "never", "modifier", "verb", "subject", "year"]);
    for (model, biographies) in &read(folder)? {
        let file = folder.join(format!("factscore_{model}.jsonl"));
        let people: Vec<String> = rows(&file)?.iter().map(|row| text_of(&row["topic"])).collect();
        let store = lines(model, biographies.iter());
        let question = |person: &str, text: String| PolicyQuestion {
            policy: CasePolicyName::shipped("biography"),
            store: Some(store.clone()),
            intent: intent(person),
            text,
        };
        let mut changed: Vec<(&'static str, PolicyQuestion)> = Vec::new();
        for biography in biographies {
            let supported = biography.sentences.iter().filter(|s| s.kind() == SentenceSupport::Supported);
            changed.extend(supported.map(|s| ("unchanged", question(&biography.person, s.text.clone()))));
        }
        let arguments = ["--seed".as_ref(), SEED.as_ref(), "--factscore".as_ref(), file.as_os_str()];
        for row in script::lines::<&OsStr>(cases, "generators.py", arguments)? {
            let person = person(&row, &people).context("a false sentence names the row it is made from")?;
            let kind = table.column(&text_of(&row["kind"])).context("a kind of false sentence that the table has")?;
            changed.push((kind, question(person, text_of(&row["false"]))));
        }
        say(&format!("judging {} sentences of {model}, as they are and made false", changed.len()));
        let judged = cases.policies.judge(&changed.iter().map(|(_, q)| q.clone()).collect::<Vec<_>>())?;
        for ((kind, question), of) in changed.iter().zip(&judged) {
            let whole = whole(of, &question.text);
            table.count_in(model, kind, whole);
            if whole && *kind != "unchanged" && cases.list {
                println!("- {model}, {kind}: {:?}", question.text);
            }
        }
    }
    table.print("Supported sentences that leave whole, and the same made false");
    Ok(())
}

/// The person whose biography a generated row comes from. The row's id contains the id of that biography's row.
fn person<'a>(row: &Value, people: &'a [String]) -> Option<&'a str> {
    let at: usize = row["id"].as_str()?.split_once('.')?.0.parse().ok()?;
    people.get(at).map(String::as_str)
}
