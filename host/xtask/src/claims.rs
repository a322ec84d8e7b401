//! Checks docs/claims.toml: every requirement names existing code and an existing test, or is marked as open.

use crate::known_tests::KnownTests;
use anyhow::{Context, Result, bail, ensure};
use portcullis_tools::proofs::Proof;
use portcullis_tools::tally::Tally;
use portcullis_tools::tool::say;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;

/// The page that shows in which file a topic is implemented.
const WHERE: &str = "docs/reference/where-is-what.md";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    open: BTreeMap<String, String>,
    claim: BTreeMap<String, Claim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    text: String,
    /// Each entry is `path` or `path#symbol`.
    code: Vec<String>,
    /// Each entry is `binary::test`, `proof:name` or `canary:path`.
    tests: Vec<String>,
}

pub(crate) fn run(tally: &mut Tally) -> Result<()> {
    say("claims");
    let claims: Claims = toml::from_str(&fs::read_to_string("docs/claims.toml")?).context("docs/claims.toml")?;
    let tests = KnownTests::read()?;
    for id in claims.open.keys() {
        ensure!(!claims.claim.contains_key(id), "`{id}` is both claimed and open");
    }
    for (id, claim) in &claims.claim {
        tally.check(&format!("claim {id}"), check(claim, &tests));
    }
    tally.check(&format!("every row of {WHERE}"), places());
    eprintln!("    {} claimed, {} open: {}", claims.claim.len(), claims.open.len(), keys(&claims.open));
    Ok(())
}

fn keys(map: &BTreeMap<String, String>) -> String {
    map.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn check(claim: &Claim, tests: &KnownTests) -> Result<()> {
    ensure!(!claim.text.is_empty() && !claim.code.is_empty(), "a claim states a requirement and names its code");
    ensure!(!claim.tests.is_empty(), "nothing tests it");
    for code in &claim.code {
        let (path, symbol) = code.split_once('#').unwrap_or((code, ""));
        holds(path, symbol)?;
    }
    for test in &claim.tests {
        match test.split_once(':') {
            Some(("proof", name)) if !name.starts_with(':') => {
                Proof::named(name)?;
            }
            _ => ensure!(tests.contains(test), "no test `{test}`"),
        }
    }
    Ok(())
}

/// Checks the page [`WHERE`]: each row must end with a file and a name that occurs in that file.
fn places() -> Result<()> {
    let page = fs::read_to_string(WHERE).context(WHERE)?;
    let rows: Vec<Vec<&str>> =
        page.lines().filter(|line| line.contains("` | `")).map(|line| line.split('`').collect()).collect();
    ensure!(!rows.is_empty(), "{WHERE} has no rows");
    for row in rows {
        let [_, path, _, name, _] = row[..] else { bail!("a row has a file and a name, not {row:?}") };
        holds(path, name)?;
    }
    Ok(())
}

fn holds(path: &str, name: &str) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("`{path}`"))?;
    ensure!(text.contains(name), "`{path}` does not hold `{name}`");
    Ok(())
}
