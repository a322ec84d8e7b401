//! Checks docs/claims.toml: every requirement names existing code and an existing test, or is marked as open.

use crate::known_tests::KnownTests;
use anyhow::{Context, Result, ensure};
use portcullis_tools::proofs::FormalProof;
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool::say;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;

/// The page that shows in which file a topic is implemented.
const WHERE: &str = "docs/reference/where-is-what.md";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckedClaims {
    open: BTreeMap<String, String>,
    claim: BTreeMap<String, CheckedClaim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckedClaim {
    text: String,
    /// Each entry is `path` or `path#symbol`.
    code: Vec<String>,
    /// Each entry is `binary::test`, `proof:name` or `canary:path`.
    tests: Vec<String>,
}

pub(crate) fn run(tally: &mut CheckTally) -> Result<()> {
    say("claims");
    let claims: CheckedClaims = toml::from_str(&fs::read_to_string("docs/claims.toml")?).context("docs/claims.toml")?;
    let tests = KnownTests::read()?;
    for id in claims.open.keys() {
        ensure!(!claims.claim.contains_key(id), "`{id}` is both claimed and open");
    }
    for (id, claim) in &claims.claim {
        tally.check(&format!("claim {id}"), check(claim, &tests));
    }
    tally.check(&format!("every place of {WHERE}"), places());
    eprintln!("    {} claimed, {} open: {}", claims.claim.len(), claims.open.len(), keys(&claims.open));
    Ok(())
}

fn keys(map: &BTreeMap<String, String>) -> String {
    map.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn check(claim: &CheckedClaim, tests: &KnownTests) -> Result<()> {
    ensure!(!claim.text.is_empty() && !claim.code.is_empty(), "a claim states a requirement and names its code");
    ensure!(!claim.tests.is_empty(), "nothing tests it");
    for code in &claim.code {
        let (path, symbol) = code.split_once('#').unwrap_or((code, ""));
        holds(path, symbol)?;
    }
    for test in &claim.tests {
        match test.split_once(':') {
            Some(("proof", name)) if !name.starts_with(':') => {
                FormalProof::named(name)?;
            }
            _ => ensure!(tests.contains(test), "no test `{test}`"),
        }
    }
    Ok(())
}

/// Checks the page [`WHERE`]: each item of its lists must end with a file and a name that occurs in that file.
fn places() -> Result<()> {
    let page = fs::read_to_string(WHERE).context(WHERE)?;
    let items = items(&page);
    ensure!(!items.is_empty(), "{WHERE} has no items");
    for item in items {
        let (path, name) = place(&item).with_context(|| format!("`{item}` does not end with a file and a name"))?;
        holds(path, name)?;
    }
    Ok(())
}

/// The items of a page's lists, each in one line.
fn items(page: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for line in page.lines() {
        match (line.strip_prefix("- "), line.strip_prefix("  "), items.last_mut()) {
            (Some(item), ..) => items.push(item.to_owned()),
            (None, Some(more), Some(item)) => *item = format!("{item} {more}"),
            _ => {}
        }
    }
    items
}

/// File and name of an item "question? `file`: `name`".
fn place(item: &str) -> Option<(&str, &str)> {
    let parts: Vec<&str> = item.split('`').collect();
    match parts[..] {
        [_, path, ": ", name, ""] => Some((path, name)),
        _ => None,
    }
}

fn holds(path: &str, name: &str) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("`{path}`"))?;
    ensure!(text.contains(name), "`{path}` does not hold `{name}`");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{items, place};

    #[test]
    fn items_end_with_a_place() {
        let page = "# A\n\n- Where is it? `a/b.rs`: `fn c`\n- Where is the other one, with the long\n  question? `d.rs`:\n  `e`\n\ntext\n";
        let items = items(page);
        assert_eq!(
            items.iter().map(|item| place(item)).collect::<Vec<_>>(),
            [Some(("a/b.rs", "fn c")), Some(("d.rs", "e"))]
        );
        for bad in ["Where? `a`", "Where? `a` `b`", "Where? `a`: `b`, too"] {
            assert_eq!(place(bad), None);
        }
    }
}
