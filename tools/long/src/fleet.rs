//! Builds and tests `fleet/`, audits a fleet under load, and prints the rates of the audit.

use crate::fleet_load;
use anyhow::Result;
use portcullis_tools::cargo_test;
use portcullis_tools::fleet::{CLUSTER, command, measure};
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool::{self, say};

/// Tests, clippy and the measurement cover the cluster too. The tests run all scenes on both.
pub(crate) fn run(tally: &mut CheckTally) -> Result<()> {
    cargo_test::counted(tally, command(&["test", "--release", "--locked", "--no-fail-fast", CLUSTER])?)?;
    let mut clippy = command(&["clippy", "--release", "--locked", "--all-targets", CLUSTER, "--", "-D", "warnings"])?;
    tally.check("clippy of fleet", tool::run(&mut clippy));
    // The default build, without the cluster: other features of the engine, and code that only it has.
    let mut embedded = command(&["clippy", "--release", "--locked", "--all-targets", "--", "-D", "warnings"])?;
    tally.check("clippy of fleet without the cluster", tool::run(&mut embedded));
    fleet_load::run(tally)?;
    say("rates on this machine");
    tally.check("rates of fleet", measure());
    Ok(())
}
