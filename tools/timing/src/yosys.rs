//! Runs Yosys for the tasks `area` and `timing`, and lists the sources that it reads.

use anyhow::{Context, Result};
use portcullis_tools::tool::{capture, python_tool};
use std::fs;

/// Runs Yosys with a larger stack than the wheel's own command does.
const DEEP_YOSYS: &str = "tools/timing/src/deep_yosys.py";
/// The lists of sources: those of the card, and those of the text lane's bench.
const LISTS: [&str; 2] = ["rtl/portcullis.f", "rtl/text/tb/text_lane_tb.f"];

pub(crate) fn run(script: &str) -> Result<()> {
    capture(python_tool("python")?.args([DEEP_YOSYS, "-q", "-p", script]))?;
    Ok(())
}

/// The sources of the card and of the text lane, in the order in which they must be read.
pub(crate) fn sources() -> Result<Vec<String>> {
    let mut sources: Vec<String> = Vec::new();
    for list in LISTS {
        let text = fs::read_to_string(list).context(list)?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
        for line in lines.filter(|line| !line.contains("/tb/")) {
            if !sources.iter().any(|known| known == line) {
                sources.push(line.to_owned());
            }
        }
    }
    Ok(sources)
}
