//! Runs and counts all tests of the workspace.

use crate::tally::CheckTally;
use crate::tool::{self, cargo, say, shown};
use crate::{debian, setup};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Environment variable and seed for proptest, so that a commit always gives the same result. Long runs use new seeds.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "2026");

/// Runs every test of the workspace. Errors: tools are missing, or cargo does not start. Failed tests are only counted.
pub fn run(tally: &mut CheckTally) -> Result<()> {
    setup::tools()?;
    say("tests");
    let mut command = cargo();
    command.args(["test", "--locked", "--workspace", "--no-fail-fast"]).env(SEED.0, SEED.1);
    with_programs(tally, &mut command)?;
    counted(tally, command)
}

/// Gives tests the programs that they use and that this machine may lack, from Debian's packages. Errors: the folder of
/// the repository is not found.
pub fn with_programs(tally: &mut CheckTally, command: &mut Command) -> Result<()> {
    // Tests of the gateway and of pages use curl.
    match debian::program("curl", &tool::root()?.join(tool::target_dir()).join("curl")) {
        Ok(None) => {}
        Ok(Some(folder)) => {
            let path = env::var_os("PATH").unwrap_or_default();
            command.env("PATH", env::join_paths(std::iter::once(folder).chain(env::split_paths(&path)))?);
        }
        Err(error) => tally.fail("curl, for tests", 1, &format!("it is not installed, and {error:#}")),
    }
    // Tests of the issuer's store use PostgreSQL; without it, they use only files.
    let folder = tool::root()?.join(tool::target_dir()).join("postgresql");
    match debian::unpacked("postgresql", "usr/lib/postgresql", &folder) {
        Ok(None) => {}
        Ok(Some(folder)) => drop(command.env("PORTCULLIS_POSTGRESQL", folder)),
        Err(error) => tally.skip("stores in a database", &format!("PostgreSQL is not installed, and {error:#}")),
    }
    Ok(())
}

/// The reason that is printed when a test is skipped because it only runs in a virtual machine.
const VM: &str = "cargo xtask vm";

/// Runs `cargo test` or a test program, and counts the reported results.
pub fn counted(tally: &mut CheckTally, mut command: Command) -> Result<()> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {}", shown(&command)))?;
    let stdout = child.stdout.take().context("a test has an output")?;
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
            // A separate part of CI runs the tests for the virtual machine.
            if why != VM {
                tally.skip(name.0, why);
            }
        }
    }
    let status = child.wait()?;
    if !status.success() {
        tally.fail(&shown(&command), failed, &format!("{failed} tests failed, {status}"));
    }
    Ok(())
}

/// The test programs that consist of many files, each a module. Every other test program is a single file.
pub const JOINED: [&str; 2] = ["all", "card"];

#[derive(Clone)]
pub struct TestProgram {
    /// The program's name: cargo's name of a file below `tests` or of a crate, or a module of a program in [`JOINED`].
    pub name: String,
    /// The filter for the program's tests; `None` for all tests.
    pub filter: Option<String>,
    pub package: String,
    pub path: PathBuf,
    /// The folder of the program's package; the program runs in this folder.
    pub folder: PathBuf,
}

/// Builds the tests with these names of a package or, with `None`, of the workspace, using the given cargo command. A
/// name is a program's name, or the name of a module `card_…` in the program `card`. Two packages may have programs
/// with the same name. Errors: the build fails, or there is no test with a name.
pub fn programs(cargo: Command, package: Option<&str>, names: &[&str]) -> Result<Vec<TestProgram>> {
    let built = built(cargo, package, names.iter().flat_map(|name| ["--test", target(name)]))?;
    let mut found = Vec::new();
    for name in names {
        let target = target(name);
        let before = found.len();
        found.extend(built.iter().filter(|program| program.name == target).map(|program| TestProgram {
            name: (*name).to_owned(),
            filter: (target != *name).then(|| format!("{name}::")),
            ..program.clone()
        }));
        ensure!(found.len() > before, "cargo built no tests `{name}`");
    }
    Ok(found)
}

/// The program that contains the tests called `name`.
fn target(name: &str) -> &str {
    if name.starts_with("card_") { "card" } else { name }
}

/// Builds the unit tests of the workspace and its test programs with these names. Errors: the build fails.
pub fn unit_tests_and(cargo: Command, names: &BTreeSet<String>) -> Result<Vec<TestProgram>> {
    let names = names.iter().flat_map(|name| ["--test", name.as_str()]);
    built(cargo, None, ["--lib", "--bins"].into_iter().chain(names))
}

/// Builds tests of the package `only`, or of the whole workspace, and returns their programs.
fn built<'a>(
    mut cargo: Command,
    only: Option<&'a str>,
    targets: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<TestProgram>> {
    cargo.args(["test", "--quiet", "--locked", "--no-run", "--message-format", "json-render-diagnostics"]);
    cargo.args(only.map_or(vec!["--workspace"], |name| vec!["--package", name]));
    let output = cargo.args(targets).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.context("cannot start cargo")?;
    ensure!(output.status.success(), "the tests are not built: {}", output.status);
    let mut found = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(line)?;
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        let program = text(&message["executable"]).filter(|_| message["profile"]["test"] == true);
        if let (Some(path), Some(name), Some(manifest)) =
            (program, text(&message["target"]["name"]), text(&message["manifest_path"]))
        {
            let folder = Path::new(&manifest).parent().context("a manifest stands in a folder")?.to_owned();
            let id = text(&message["package_id"]).unwrap_or_default();
            found.push(TestProgram { name, filter: None, package: package(&id), path: path.into(), folder });
        }
    }
    Ok(found)
}

/// The package's name from cargo's id, such as `path+file:///…/host/core#portcullis-core@0.1.0` or `…/name#0.1.0`.
fn package(id: &str) -> String {
    let (url, fragment) = id.rsplit_once('#').unwrap_or((id, ""));
    match fragment.split_once('@') {
        Some((name, _)) => name.to_owned(),
        None => url.rsplit('/').next().unwrap_or_default().to_owned(),
    }
}

/// Runs test programs as `cargo test` runs them, and counts their results. Errors: one cannot be started.
pub fn run_programs<'p>(tally: &mut CheckTally, programs: impl IntoIterator<Item = &'p TestProgram>) -> Result<()> {
    let mut variables = Command::new("env");
    variables.env(SEED.0, SEED.1);
    with_programs(tally, &mut variables)?;
    for program in programs {
        say(&format!("{} of {}", program.name, program.package));
        let mut command = Command::new(&program.path);
        command.arg("--quiet").args(&program.filter).current_dir(&program.folder);
        command.envs(variables.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("CARGO_MANIFEST_DIR", &program.folder);
        counted(tally, command)?;
    }
    Ok(())
}

/// The number of passed tests in a program's closing line; `None` if the line reports failures.
pub fn passed(line: &str) -> Option<usize> {
    counts(line).filter(|counts| counts.failed == 0).map(|counts| counts.passed)
}

struct TestCounts {
    passed: usize,
    failed: usize,
}

/// Parses libtest's closing line: `test result: ok. 3 passed; 0 failed; …`.
fn counts(line: &str) -> Option<TestCounts> {
    let rest = line.strip_prefix("test result: ")?;
    let number = |word: &str| -> Option<usize> {
        rest.split(word).next()?.rsplit([' ', ';']).find(|w| !w.is_empty())?.parse().ok()
    };
    Some(TestCounts { passed: number(" passed")?, failed: number(" failed")? })
}

#[cfg(test)]
mod tests {
    use super::{counts, package};

    #[test]
    fn closing_lines_are_read() {
        let c = counts(
            "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        )
        .unwrap();
        assert_eq!((c.passed, c.failed), (12, 3));
        assert!(counts("running 3 tests").is_none());
    }

    #[test]
    fn a_package_is_named_by_its_id() {
        assert_eq!(package("path+file:///tree/host/core#portcullis-core@0.1.0"), "portcullis-core");
        assert_eq!(package("path+file:///tree/host/xtask#0.1.0"), "xtask");
    }
}
