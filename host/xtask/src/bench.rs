//! Measurements: criterion's benches, then the card from simulated clocks.

use crate::setup;
use crate::tool::{self, cargo, say};
use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    setup::tools()?;
    say("benches (medians of criterion, then the simulated card)");
    tool::run(cargo().args(["bench", "--locked", "--workspace", "--benches"]))?;
    tool::run(cargo().args([
        "run",
        "--quiet",
        "--locked",
        "--release",
        "--package",
        "portcullis",
        "--",
        "card",
        "bench",
        "--card",
        "sim",
    ]))
}
