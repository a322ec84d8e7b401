//! Generated files: the layout in three languages, the register block, its Rust accessors and docs.

use crate::layout;
use anyhow::Result;

pub(crate) fn run(_check: bool) -> Result<()> {
    let l = layout::parse(
        &std::fs::read_to_string("rtl/layout/layout.toml")?,
        &std::fs::read_to_string("rtl/layout/card.rdl")?,
    )?;
    std::fs::write("rtl/layout/gen/layout_pkg.sv", layout::systemverilog(&l))?;
    std::fs::write("host/core/src/wire/layout.rs", layout::rust(&l))?;
    std::fs::write("docs/wire-formats.md", layout::markdown(&l))?;
    std::process::Command::new("rustfmt").args(["--edition", "2024", "host/core/src/wire/layout.rs"]).status()?;
    Ok(())
}
