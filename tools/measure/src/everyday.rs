//! Measures the cases in a folder that is organised like `tests/cases/everyday`: how much harmless text the shipped
//! policies of an open world damage, and which addresses that a client loads by itself leave.

use crate::judged::{MeasuredJudgement, MeasuredPolicy, rows, share, text_of};
use anyhow::{Context, Result};
use portcullis_tools::tool::say;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The shipped packages of an open world.
pub(crate) const POLICIES: [&str; 5] = ["clinical", "finance-suitability", "pii", "privilege", "residency"];
/// Files of harmless texts, each with the key by which its rows are grouped.
const HARMLESS: [(&str, &str); 3] = [("harmless.jsonl", "kind"), ("links.jsonl", "form"), ("numbers.jsonl", "kind")];

pub(crate) fn run(folder: &Path, list: bool) -> Result<()> {
    for name in POLICIES {
        let policy = MeasuredPolicy::load(&Path::new("policies").join(name))?;
        for (file, key) in HARMLESS {
            let rows = rows(&folder.join(file))?;
            let rows: Vec<Value> = rows.into_iter().filter(|row| !is_excepted(row, name)).collect();
            damage(&policy, name, file, key, &rows, list)?;
        }
        loads(&policy, name, &rows(&folder.join("loads.jsonl"))?, list)?;
    }
    Ok(())
}

/// Whether this policy may refuse a part of the text.
pub(crate) fn is_excepted(row: &Value, policy: &str) -> bool {
    row["except"].as_array().into_iter().flatten().any(|name| name == policy)
}

fn judged(policy: &MeasuredPolicy, rows: &[Value]) -> Result<Vec<MeasuredJudgement>> {
    let texts = rows.iter().map(|row| row["text"].as_str().context("a row has a text"));
    policy.texts(None, texts.collect::<Result<Vec<_>>>()?.into_iter().map(|text| (text, String::new())))
}

/// Prints how many texts of a file are touched, and how many of their bytes do not leave; by kind, and by rule.
fn damage(policy: &MeasuredPolicy, name: &str, file: &str, key: &str, rows: &[Value], list: bool) -> Result<()> {
    say(&format!("judging {} texts of {file} under {name}", rows.len()));
    let (mut kinds, mut rules) = (BTreeMap::<String, (usize, usize)>::new(), BTreeMap::<String, usize>::new());
    let (mut touched, mut lost, mut bytes) = (0, 0, 0);
    for (row, judged) in rows.iter().zip(judged(policy, rows)?) {
        let (id, text) = (text_of(&row["id"]), text_of(&row["text"]));
        let kind = kinds.entry(text_of(&row[key])).or_default();
        kind.1 += 1;
        bytes += text.len();
        if judged.left == text {
            continue;
        }
        kind.0 += 1;
        touched += 1;
        lost += text.len().saturating_sub(judged.left.len());
        let refused = judged.leaves.iter().filter(|leaf| !leaf.admitted);
        for rule in refused.clone().map(|leaf| &leaf.rule).collect::<std::collections::BTreeSet<_>>() {
            *rules.entry(rule.clone()).or_default() += 1;
        }
        if list {
            for leaf in refused {
                println!("{id}: {}: {:?}", leaf.rule, text.get(leaf.range.clone()).unwrap_or_default());
            }
        }
    }
    println!("{name}, {file}: touched {}, bytes {}", share(touched, rows.len()), share(lost, bytes));
    let kinds = kinds.iter().filter(|(_, counts)| counts.0 > 0);
    println!(
        "  kinds: {}",
        kinds.map(|(kind, (of, all))| format!("{kind} {of} of {all}")).collect::<Vec<_>>().join(", ")
    );
    println!("  texts by rule: {}", rules.iter().map(|(rule, n)| format!("{rule} {n}")).collect::<Vec<_>>().join(", "));
    Ok(())
}

/// Prints in how many texts the address that a client loads leaves as it is written.
fn loads(policy: &MeasuredPolicy, name: &str, rows: &[Value], list: bool) -> Result<()> {
    let mut forms = BTreeMap::<String, (usize, usize)>::new();
    for (row, judged) in rows.iter().zip(judged(policy, rows)?) {
        let leaks = judged.left.contains(&text_of(&row["address"]));
        let form = forms.entry(text_of(&row["form"])).or_default();
        form.0 += usize::from(leaks);
        form.1 += 1;
        if list && leaks {
            println!("{}: {:?} leaves", text_of(&row["id"]), text_of(&row["address"]));
        }
    }
    let (of, all) = forms.values().fold((0, 0), |(of, all), form| (of + form.0, all + form.1));
    println!("{name}, loads.jsonl: loaded addresses that leave {}", share(of, all));
    Ok(())
}
