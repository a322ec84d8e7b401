//! Checks the form of prose: the width of lines in pages and comments, the width of table cells, and phrases that are
//! hard to read.

use crate::table::CELL;
use anyhow::{Result, ensure};
use portcullis_tools::tool::capture;
use std::fs;
use std::process::Command;

/// Largest number of columns of a line.
const COLUMNS: usize = 120;
/// Phrases to avoid. Better are "0 means no limit", "no one", "the client learns", "a malformed number".
const PHRASES: [&str; 4] = ["is no", "nobody", "told", "that is none"];
/// Units that are counted: write "one line per record", not "one line a record".
const UNITS: [&str; 27] = [
    "bundle",
    "class",
    "column",
    "list",
    "clock",
    "connection",
    "determination",
    "file",
    "hour",
    "key",
    "lane",
    "level",
    "line",
    "minute",
    "query",
    "report",
    "row",
    "rule",
    "second",
    "session",
    "span",
    "step",
    "stream",
    "text",
    "verdict",
    "test",
    "page",
];
/// Words that end a count: the noun after them is not a unit.
const ENDS_OF_COUNTS: [&str; 17] = [
    "of", "in", "is", "as", "that", "for", "from", "with", "when", "which", "without", "by", "at", "on", "to", "or",
    "and",
];
/// Files that no person writes, that a digest covers, or that an earlier release wrote. For pages in `docs`, the table
/// cells are still checked.
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

pub(crate) fn run() -> Result<()> {
    let mut found = Vec::new();
    for path in capture(Command::new("git").args(["ls-files"]))?.lines() {
        let is_page = path.ends_with(".md");
        let has_comments = [".rs", ".sv", ".svh"].iter().any(|end| path.ends_with(end));
        let is_fixed = FIXED.iter().any(|fixed| path.starts_with(fixed));
        if !(is_page || has_comments) || is_fixed && !(is_page && path.starts_with("docs/")) {
            continue;
        }
        let text = fs::read_to_string(path)?;
        let mut faults = if is_page { cells(&text) } else { comments(&text) };
        if is_page && !is_fixed {
            faults.extend(page(&text));
        }
        if path.ends_with(".rs") {
            faults.extend(words(&text));
        }
        found.extend(faults.into_iter().map(|(line, fault)| format!("{path}:{line}: {fault}")));
    }
    ensure!(found.is_empty(), "{} lines:\n  {}", found.len(), found.join("\n  "));
    Ok(())
}

/// The faults of a page, by line. Code, and tables that programs read, are skipped.
fn page(text: &str) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let (mut is_code, mut before) = (false, "");
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let is_row = line.starts_with('|');
            faults.extend(wide(line).filter(|_| !is_row).map(|fault| (at + 1, fault)));
            faults.extend(unplain(before, line).map(|fault| (at + 1, fault)));
        }
        before = line;
    }
    faults
}

/// Table cells that are too wide, by line. A `|` in a cell is written as `\|`.
fn cells(text: &str) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let mut is_code = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code && line.starts_with('|') {
            let row = line.replace("\\|", "x");
            let widest = row.split('|').map(|cell| cell.trim().chars().count()).max().unwrap_or_default();
            faults.extend((widest > CELL).then(|| (at + 1, format!("a cell of {widest} characters"))));
        }
    }
    faults
}

/// The faults of a source file's comments, by line. Code and tables in them are skipped, as on a page.
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

/// Phrases to avoid in the comments of a Rust file, and in the doc comments that become help texts, by line.
fn words(text: &str) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let (mut is_code, mut before) = (false, "");
    for (at, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            (is_code, before) = (false, "");
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim_start();
        if comment.starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            faults.extend(unplain(before, comment).map(|fault| (at + 1, fault)));
        }
        before = comment;
    }
    faults
}

/// A phrase from [`PHRASES`], or a unit that is counted with "a" in place of "per".
fn unplain(before: &str, line: &str) -> Option<String> {
    let phrase = PHRASES.into_iter().find(|phrase| says(before, line, phrase)).map(|phrase| format!("`{phrase}`"));
    phrase.or_else(|| counted(line).map(|unit| format!("`a {unit}`, say `per {unit}`")))
}

/// The unit that a line counts with "a": "one object a line", "50 tokens a second".
fn counted(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.iter().enumerate().find_map(|(at, word)| {
        if !matches!(*word, "a" | "an") {
            return None;
        }
        let unit = *words.get(at + 1)?;
        let bare = unit.trim_end_matches(['.', ',', ';', ':', ')']);
        let next = words.get(at + 2);
        let ends = bare != unit || next.is_none_or(|next| matches!(*next, "and" | "into" | "at"));
        let counted = words.get(at.saturating_sub(3)..at)?.iter().rev();
        let is_count = |word: &str| {
            matches!(word, "one" | "two" | "three")
                || (word.starts_with(|first: char| first.is_ascii_digit()) && !word.ends_with('.'))
        };
        let has_count = counted.take_while(|word| !ENDS_OF_COUNTS.contains(*word)).any(|word| is_count(word));
        (UNITS.contains(&bare) && ends && has_count).then_some(bare)
    })
}

fn wide(line: &str) -> Option<String> {
    let columns = line.chars().count();
    (columns > COLUMNS).then(|| format!("{columns} columns"))
}

/// Whether a line has this phrase outside of code and quotations. "There is no", across lines too, and "is no longer"
/// are permitted.
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
    let goes_on =
        |at: usize| words.get(at + 2).is_some_and(|next| matches!(next.as_str(), "longer" | "more" | "earlier"));
    let is_plain = |at: usize| phrase == "is no" && (is_there(at) || goes_on(at));
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
        let source = "let told = 1;\n// It is no longer there.\n/// It is no end. `nobody`\n//! One object a line.\n";
        assert_eq!(words(source), [(3, "`is no`".into())]);
    }

    #[test]
    fn wide_cells_are_found() {
        let (fits, wide) = ("a".repeat(120), "a".repeat(121));
        let text = format!("| {fits} | {fits} |\n| b | {wide} |\n```\n| {wide} |\n```\n{wide}\n| {fits}\\||\n");
        assert_eq!(cells(&text), [(2, "a cell of 121 characters".into()), (7, "a cell of 121 characters".into())]);
    }

    #[test]
    fn what_is_counted_is_counted_per_unit() {
        for line in ["one JSON object a line", "It has 50 tokens a second.", "two blocks a level, and one more"] {
            assert!(counted(line).is_some(), "{line}");
        }
        for line in ["one part of a line", "a line", "1 a line that is empty", "one per line", "two of them in a row."]
        {
            assert_eq!(counted(line), None, "{line}");
        }
    }
}
