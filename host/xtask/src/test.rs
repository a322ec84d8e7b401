//! Every test of the workspace, counted.

use crate::setup;
use crate::tally::Tally;
use crate::tool::{cargo, say};
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// Environment variable that asks tests for their long random runs.
const LONG: &str = "PORTCULLIS_LONG";

pub(crate) fn run(tally: &mut Tally, long: bool) -> Result<()> {
    setup::tools()?;
    say(if long { "tests, with the long random runs" } else { "tests" });
    let mut command = cargo();
    command.args(["test", "--locked", "--workspace", "--no-fail-fast"]).stdin(Stdio::null()).stdout(Stdio::piped());
    if long {
        command.env(LONG, "1");
    }
    let mut child = command.spawn().context("cannot start cargo test")?;
    let stdout = child.stdout.take().context("cargo test has an output")?;
    let mut failed = 0;
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        println!("{line}");
        if let Some(counts) = counts(&line) {
            tally.pass(counts.passed);
            failed += counts.failed;
        } else if let Some(name) = line.strip_prefix("test ").and_then(|l| l.split_once(" ... ignored")) {
            let why = name.1.trim_start_matches([',', ' ']);
            // Those have a part of CI to themselves.
            if why != crate::vm::IGNORED {
                tally.skip(name.0, why);
            }
        }
    }
    let status = child.wait()?;
    if !status.success() {
        tally.fail("cargo test", failed, &format!("{failed} tests failed, {status}"));
    }
    Ok(())
}

/// How many tests passed, from the closing line of a program of which none failed.
pub(crate) fn passed(line: &str) -> Option<usize> {
    counts(line).filter(|counts| counts.failed == 0).map(|counts| counts.passed)
}

struct Counts {
    passed: usize,
    failed: usize,
}

/// Reads libtest's closing line: `test result: ok. 3 passed; 0 failed; …`.
fn counts(line: &str) -> Option<Counts> {
    let rest = line.strip_prefix("test result: ")?;
    let number = |word: &str| -> Option<usize> {
        rest.split(word).next()?.rsplit([' ', ';']).find(|w| !w.is_empty())?.parse().ok()
    };
    Some(Counts { passed: number(" passed")?, failed: number(" failed")? })
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn closing_lines_are_read() {
        let c = counts(
            "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        )
        .unwrap();
        assert_eq!((c.passed, c.failed), (12, 3));
        assert!(counts("running 3 tests").is_none());
    }
}
