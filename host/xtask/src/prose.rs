//! The form of prose: no line of a page or a comment is wider than the code, and some turns of phrase that readers
//! stumble over are not used.

use anyhow::{Result, ensure};
use portcullis_tools::tool::capture;
use std::fs;
use std::process::Command;

/// Columns of a line at most.
const COLUMNS: usize = 120;
/// Phrases to say in another way: "0 means no limit", "no one", "the client learns".
const PHRASES: [&str; 4] = ["is no", "nobody", "told", "that is none"];
/// Files that other things fix: what is generated, what digests are over, and what is kept as an earlier release wrote
/// it.
const FIXED: [&str; 16] = [
    "docs/explanation/area.md",
    "docs/reference/cli.md",
    "docs/explanation/long-runs.md",
    "docs/reference/registers.md",
    "docs/reference/top.md",
    "docs/explanation/timing.md",
    "docs/reference/wire-formats.md",
    "host/core/src/wire/layout.rs",
    "host/evidence/src/extract/README.md",
    "host/evidence/src/format/bundle/README.md",
    "host/regs/src/components/",
    "policies/",
    "rtl/csr/gen/",
    "rtl/layout/gen/",
    "tests/cases/",
    "tests/golden/",
];

/// Looks at every file of the repository.
pub(crate) fn run() -> Result<()> {
    let mut found = Vec::new();
    for path in capture(Command::new("git").args(["ls-files"]))?.lines() {
        let is_page = path.ends_with(".md");
        let has_comments = [".rs", ".sv", ".svh"].iter().any(|end| path.ends_with(end));
        if FIXED.iter().any(|fixed| path.starts_with(fixed)) || !(is_page || has_comments) {
            continue;
        }
        let text = fs::read_to_string(path)?;
        let faults = if is_page { page(&text) } else { comments(&text) };
        found.extend(faults.into_iter().map(|(line, fault)| format!("{path}:{line}: {fault}")));
    }
    ensure!(found.is_empty(), "{} lines:\n  {}", found.len(), found.join("\n  "));
    Ok(())
}

/// What is wrong with a page, by line. Code and tables that programs read are left alone.
fn page(text: &str) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let (mut is_code, mut before) = (false, "");
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let is_row = line.starts_with('|');
            faults.extend(wide(line).filter(|_| !is_row).map(|fault| (at + 1, fault)));
            let phrase = PHRASES.into_iter().find(|phrase| says(before, line, phrase));
            faults.extend(phrase.map(|phrase| (at + 1, format!("`{phrase}`"))));
        }
        before = line;
    }
    faults
}

/// What is wrong with the comments of a source file, by line. Their code and tables are left alone, as those of a page.
fn comments(text: &str) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let mut is_code = false;
    for (at, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_code = false;
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim_start();
        if comment.starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !comment.starts_with('|') {
            faults.extend(wide(line).map(|fault| (at + 1, fault)));
        }
    }
    faults
}

fn wide(line: &str) -> Option<String> {
    let columns = line.chars().count();
    (columns > COLUMNS).then(|| format!("{columns} columns"))
}

/// Whether a line says these words, outside of code and quotations. "There is no" is plain, across lines too.
fn says(before: &str, line: &str, phrase: &str) -> bool {
    let mut spoken = String::new();
    for (at, part) in line.split(['`', '"']).enumerate() {
        spoken.push_str(if at % 2 == 0 { part } else { "x" });
    }
    let words: Vec<String> = spoken
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .map(str::to_lowercase)
        .filter(|w| !w.is_empty())
        .collect();
    let wanted: Vec<&str> = phrase.split(' ').collect();
    let last = before.rsplit(' ').next().unwrap_or_default().to_lowercase();
    let is_there = |at: usize| at.checked_sub(1).and_then(|at| words.get(at)).unwrap_or(&last) == "there";
    let is_plain = |at: usize| phrase == "is no" && is_there(at);
    words.windows(wanted.len()).enumerate().any(|(at, found)| found == wanted && !is_plain(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_lines_and_phrases_are_found() {
        let wide = "a".repeat(121);
        let text = format!(
            "It is no good.\nThere is no limit, and there\nis no end.\n`told` and \"nobody\"\nNobody knows.\n{wide}\n```\n{wide} told\n```\n| {wide} |\n"
        );
        let found: Vec<_> = page(&text);
        assert_eq!(found, [(1, "`is no`".into()), (5, "`nobody`".into()), (6, "121 columns".into())]);
        assert_eq!(comments(&format!("fn a() {{}} // {wide}\n    // {wide}\n")), [(2, "128 columns".into())]);
    }
}
