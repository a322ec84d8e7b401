//! Every test of the workspace, counted.

use crate::setup;
use crate::tally::Tally;
use crate::tool::{cargo, say};
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Every test of the workspace.
///
/// # Errors
/// The tools are not there, or cargo does not start; tests that fail are counted.
pub fn run(tally: &mut Tally) -> Result<()> {
    setup::tools()?;
    say("tests");
    let mut command = cargo();
    command.args(["test", "--locked", "--workspace", "--no-fail-fast"]);
    counted(tally, command)
}

/// The reason of the tests that run in a virtual machine alone.
const VM: &str = "cargo xtask vm";

/// Runs `cargo test`, and counts what its test programs report.
pub fn counted(tally: &mut Tally, mut command: Command) -> Result<()> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot start cargo test")?;
    let stdout = child.stdout.take().context("cargo test has an output")?;
    let mut failed = 0;
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        println!("{line}");
        if let Some(counts) = counts(&line) {
            tally.pass(counts.passed);
            failed += counts.failed;
        } else if let Some(why) = line.strip_prefix("SKIPPED ") {
            tally.skip("part of a test", why);
        } else if let Some(name) = line.strip_prefix("test ").and_then(|l| l.split_once(" ... ignored")) {
            let why = name.1.trim_start_matches([',', ' ']);
            // Those have a part of CI to themselves.
            if why != VM {
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

/// A program of tests.
pub struct Program {
    /// As cargo names it: a file below `tests`.
    pub name: String,
    /// The program.
    pub path: PathBuf,
    /// Its package's folder, where it is run.
    pub folder: PathBuf,
}

/// Builds the programs of tests of these names, as `cargo test` does, by a command that is cargo's. Two packages may have one of a name.
pub fn programs(mut cargo: Command, names: &[&str]) -> Result<Vec<Program>> {
    cargo.args(["test", "--locked", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"]);
    for name in names {
        cargo.args(["--test", name]);
    }
    let output = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "the tests are not built: {}", output.status);
    let mut found = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(line)?;
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        let name = text(&message["target"]["name"]).filter(|name| names.contains(&name.as_str()));
        if let (Some(name), Some(path), Some(manifest)) =
            (name, text(&message["executable"]), text(&message["manifest_path"]))
        {
            let folder = Path::new(&manifest).parent().context("a manifest stands in a folder")?.to_owned();
            found.push(Program { name, path: path.into(), folder });
        }
    }
    for name in names {
        ensure!(found.iter().any(|program| program.name == *name), "cargo built no tests `{name}`");
    }
    Ok(found)
}

/// How many tests passed, from the closing line of a program of which none failed.
pub fn passed(line: &str) -> Option<usize> {
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
