//! `cargo xtask area` and `cargo xtask timing`: the card's use of a device, and the speed of its parts.

#![allow(clippy::indexing_slicing, reason = "only serde_json values are indexed, and a missing key of theirs is null")]

mod area;
mod timing;
mod yosys;

use anyhow::Result;
use clap::Parser;
use portcullis_tools::tool;

/// What the card takes of a part, and how fast its parts are.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, max_term_width = 100)]
enum TimingToolCommand {
    /// Synthesise the card and its parts with Yosys and write docs/explanation/area.md.
    Area {
        /// Only these; the other rows of the page stay as they are.
        modules: Vec<String>,
    },
    /// Place and route parts of the card on an ECP5 and write docs/explanation/timing.md; fails where one is too slow.
    /// Takes two hours on two cores; modules that did not change since are not routed again.
    Timing {
        /// Only these; the other rows of the page stay as they are.
        modules: Vec<String>,
    },
}

fn main() -> Result<()> {
    let task = TimingToolCommand::parse();
    std::env::set_current_dir(tool::root()?)?;
    match task {
        TimingToolCommand::Area { modules } => area::run(&modules),
        TimingToolCommand::Timing { modules } => timing::run(&modules),
    }
}
