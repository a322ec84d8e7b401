//! Builds and tests `fleet/`, and prints its rates. It is a workspace of its own, so that no other build waits for the
//! crates of an SQL engine.

use crate::fleet_load;
use anyhow::Result;
use portcullis_tools::cargo_test;
use portcullis_tools::tally::Tally;
use portcullis_tools::tool::{self, cargo, say};
use std::process::Command;

/// Build folder. It is separate, since the engine is built in the release profile only.
const TARGET: &str = "target/fleet";
/// Number of records of the measurement.
const RECORDS: &str = "20000000";
/// Tests, clippy and the measurement cover the cluster too. The tests run all scenes on both.
const CLUSTER: &str = "--features=cluster";

pub(crate) fn run(tally: &mut Tally) -> Result<()> {
    cargo_test::counted(tally, of_fleet(&["test", "--release", "--locked", "--no-fail-fast", CLUSTER])?)?;
    let mut clippy = of_fleet(&["clippy", "--release", "--locked", "--all-targets", CLUSTER, "--", "-D", "warnings"])?;
    tally.check("clippy of fleet", tool::run(&mut clippy));
    // The default build, without the cluster: other features of the engine, and code that only it has.
    let mut embedded = of_fleet(&["clippy", "--release", "--locked", "--all-targets", "--", "-D", "warnings"])?;
    tally.check("clippy of fleet without the cluster", tool::run(&mut embedded));
    fleet_load::run(tally, program)?;
    say("rates on this machine");
    let mut measure = of_fleet(&["run", "--release", "--locked", CLUSTER, "--example", "measure", "--", RECORDS])?;
    tally.check("rates of fleet", tool::run(&mut measure));
    Ok(())
}

/// `cargo` in the workspace of the audit.
fn of_fleet(arguments: &[&str]) -> Result<Command> {
    let (root, mut command) = (tool::root()?, cargo());
    command.args(arguments).current_dir(root.join("fleet")).env("CARGO_TARGET_DIR", root.join(TARGET));
    Ok(command)
}

/// The program itself, still without arguments.
fn program() -> Result<Command> {
    of_fleet(&["run", "--quiet", "--release", "--locked", CLUSTER, "--"])
}
