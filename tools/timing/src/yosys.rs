//! Runs Yosys for both tasks, and lists the sources that it reads.

use anyhow::{Context, Result};
use portcullis_tools::tool::{capture, python_tool};
use std::fs;

/// Yosys with a larger stack than the wheel's own command has.
const DEEP_YOSYS: &str = "tools/timing/src/deep_yosys.py";
const LIST: &str = "rtl/portcullis.f";

pub(crate) fn run(script: &str) -> Result<()> {
    capture(python_tool("python")?.args([DEEP_YOSYS, "-q", "-p", script]))?;
    Ok(())
}

/// The card's sources, in the required order.
pub(crate) fn sources() -> Result<Vec<String>> {
    let list = fs::read_to_string(LIST).context(LIST)?;
    let lines = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    Ok(lines.map(str::to_owned).collect())
}
