//! Rows of long runs that are older than what they test.

use crate::long::{DOC, LongRun, RUNS};
use anyhow::{Context, Result};
use portcullis_tools::tool::capture;
use std::fs;
use std::process::Command;

/// Prints each run that has no row, or whose row is of a commit before the last change of what the run tests. Errors:
/// the page or the history cannot be read.
pub(crate) fn print() -> Result<()> {
    let page = fs::read_to_string(DOC).context(DOC)?;
    let mut old = 0;
    for run in &RUNS {
        if let Some(why) = why_stale(run, &page, &changes)? {
            println!("    old: `{}`, {why}", run.name);
            old += 1;
        }
    }
    println!("{old} of {} rows of {DOC} are old; `cargo xtask long NAME` writes one again", RUNS.len());
    Ok(())
}

/// Counts the commits after a commit that changed one of some paths; `None` if the history has no such commit.
type CountChanges<'a> = &'a dyn Fn(&str, &[&str]) -> Result<Option<usize>>;

/// Why a run's row is old; `None` if it is not.
fn why_stale(run: &LongRun, page: &str, changes: CountChanges<'_>) -> Result<Option<String>> {
    let start = format!("| `{}` |", run.name);
    let Some(row) = page.lines().find(|line| line.starts_with(&start)) else {
        return Ok(Some("without a row".to_owned()));
    };
    let commit = row.split('|').nth(3).unwrap_or_default().trim();
    let Some(hash) = commit.strip_suffix(" and changes").map_or(Some(commit), |_| None) else {
        return Ok(Some(format!("of {commit}: of no commit")));
    };
    Ok(match changes(hash, run.of)? {
        None => Some(format!("of {hash}, which the history does not have")),
        Some(0) => None,
        Some(count) => Some(format!("of {hash}: {count} commits changed {} since", run.of.join(", "))),
    })
}

/// The number of commits after `commit` that changed one of `paths`; `None` if the history has no such commit.
fn changes(commit: &str, paths: &[&str]) -> Result<Option<usize>> {
    let known = Command::new("git").args(["cat-file", "-e", &format!("{commit}^{{commit}}")]).output()?;
    if !known.status.success() {
        return Ok(None);
    }
    let mut list = Command::new("git");
    list.args(["rev-list", "--count", &format!("{commit}..HEAD"), "--"]).args(paths);
    Ok(Some(capture(&mut list)?.trim().parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_old_once_what_it_tests_has_changed() {
        let run = &RUNS[0];
        let page = format!("| `{}` | what | abc123 | 1 passed | 2 s |\n", run.name);
        let why = |page: &str, count: Option<usize>| why_stale(run, page, &|_, _| Ok(count)).unwrap();
        assert_eq!(why(&page, Some(0)), None);
        assert!(why(&page, Some(3)).unwrap().contains("abc123: 3 commits changed"));
        assert!(why(&page, None).unwrap().contains("does not have"));
        assert!(why("", Some(0)).unwrap().contains("without a row"));
        assert!(why(&page.replace("abc123", "abc123 and changes"), Some(0)).unwrap().contains("of no commit"));
    }

    /// What runs test exists, so that its changes are seen.
    #[test]
    fn what_runs_test_exists() {
        let root = portcullis_tools::tool::root().unwrap();
        let paths = RUNS.iter().flat_map(|run| run.of);
        assert_eq!(paths.filter(|path| !root.join(path).exists()).collect::<Vec<_>>(), [&""; 0]);
    }
}
