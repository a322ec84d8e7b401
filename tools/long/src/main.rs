//! `cargo xtask long` and `cargo xtask fuzz`: runs that take too long for CI.

mod fleet;
mod fleet_load;
mod fuzz;
mod long;
mod package;
mod stale;

use anyhow::Result;
use clap::Parser;
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool;

/// Runs that take too long for CI.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, max_term_width = 100)]
enum LongToolCommand {
    /// The runs that take too long for CI. Each writes its row of docs/explanation/long-runs.md.
    Long {
        /// Only the runs whose name contains this.
        filter: Option<String>,
        /// Run nothing: only name the rows that are older than the last change of what they test.
        #[arg(long, conflicts_with = "filter")]
        stale: bool,
    },
    /// Fuzz every parser of hostile bytes, guided by coverage.
    Fuzz {
        /// Only the targets whose name contains this.
        target: Option<String>,
        /// Time for each target.
        #[arg(long, default_value_t = 600)]
        seconds: u32,
        /// Replace the kept corpus by what was found, minimised.
        #[arg(long)]
        keep: bool,
    },
}

fn main() -> Result<()> {
    let task = LongToolCommand::parse();
    std::env::set_current_dir(tool::root()?)?;
    match task {
        LongToolCommand::Fuzz { target, seconds, keep } => fuzz::run(target.as_deref(), seconds, keep),
        LongToolCommand::Long { stale: true, .. } => stale::print(),
        LongToolCommand::Long { filter, .. } => {
            let mut tally = CheckTally::default();
            long::run(&mut tally, filter.as_deref())?;
            tally.finish()
        }
    }
}
