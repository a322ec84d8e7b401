//! Tasks in separate programs: `xtask-NAME`. They are built with the features of the whole workspace, so that
//! dependencies are built only once.

use crate::tally::CheckTally;
use crate::tool::{cargo, root, run, shown, target_dir};
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Builds the program of a task. Errors: the build fails.
pub fn program(name: &str) -> Result<Command> {
    let name = format!("xtask-{name}");
    run(cargo().args(["build", "--quiet", "--locked", "--workspace", "--bin", &name]))?;
    Ok(Command::new(root()?.join(target_dir()).join("debug").join(name)))
}

/// Runs a task's program, and adds the counts in its closing lines. Errors: the program cannot be built or started, or
/// prints no counts at its end.
pub fn counted(tally: &mut CheckTally, name: &str, arguments: &[impl AsRef<OsStr>]) -> Result<()> {
    let mut command = program(name)?;
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {}", shown(&command)))?;
    let stdout = child.stdout.take().context("a task has an output")?;
    let mut closed = false;
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        match tally.read(&line) {
            Some(last) => closed |= last,
            None => println!("{line}"),
        }
    }
    let status = child.wait()?;
    ensure!(closed, "{} ended with {status} and counted nothing", shown(&command));
    Ok(())
}
