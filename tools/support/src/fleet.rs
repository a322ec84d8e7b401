//! `cargo` in the workspace of the fleet's audit. It is a workspace of its own, so that no other build waits for the
//! crates of an SQL engine.

use crate::tool::{self, cargo};
use anyhow::Result;
use std::process::Command;

/// Build folder. It is separate, since the engine is built in the release profile only.
const TARGET: &str = "target/fleet";
/// The option of cargo that adds the cluster.
pub const CLUSTER: &str = "--features=cluster";
/// Number of records of the measurement.
const RECORDS: &str = "20000000";

/// `cargo` with these arguments. Errors: the folder of the repository is not found.
pub fn command(arguments: &[&str]) -> Result<Command> {
    let (root, mut command) = (tool::root()?, cargo());
    command.args(arguments).current_dir(root.join("fleet")).env("CARGO_TARGET_DIR", root.join(TARGET));
    Ok(command)
}

/// The program `fleet` with the cluster, still without arguments. Errors: as [`command`].
pub fn program() -> Result<Command> {
    command(&["run", "--quiet", "--release", "--locked", CLUSTER, "--"])
}

/// Measures the rates of the audit, and prints them. Errors: the build or the measurement fails.
pub fn measure() -> Result<()> {
    tool::run(&mut command(&["run", "--release", "--locked", CLUSTER, "--example", "measure", "--", RECORDS])?)
}
