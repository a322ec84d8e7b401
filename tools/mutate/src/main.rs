//! `cargo xtask mutate`: inserts faults into a copy of the source tree; for each fault, a test or a proof must fail.

#![allow(clippy::indexing_slicing, reason = "only serde_json values are indexed, and a missing key of theirs is null")]

mod rtl;
mod seeded;

use anyhow::Result;
use clap::Parser;
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool;
use seeded::FaultSelection;

/// Seed faults and see that the tests find each of them.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, max_term_width = 100)]
enum MutateToolCommand {
    /// Seed faults and see that the tests find each of them.
    Mutate {
        /// Every fault of tests/mutants.toml, not only those that CI seeds.
        #[arg(long)]
        long: bool,
        /// Instead, the faults that `cargo xtask check` of their package must find.
        #[arg(long, conflicts_with_all = ["long", "rtl"])]
        check: bool,
        /// Instead, this many RTL mutants by Yosys, each to be killed by a proof of its module or by a test in
        /// simulation. Continues where it was interrupted.
        #[arg(long, value_name = "N", conflicts_with = "long")]
        rtl: Option<usize>,
        /// Which RTL mutants are drawn.
        #[arg(long, default_value_t = 1, requires = "rtl")]
        seed: u32,
        /// Draw RTL mutants from the modules of this folder of rtl, instead of those that the proofs must cover.
        #[arg(long, requires = "rtl")]
        folder: Option<String>,
        /// Leave out the simulation: only the proofs are tried.
        #[arg(long, requires = "rtl")]
        proofs_only: bool,
        /// Leave out the tests on the whole simulated card, which take long to build; the benches of the text lane
        /// are tried.
        #[arg(long, requires = "rtl")]
        without_card: bool,
        /// Try the tests before the proofs. The large proofs of the text scan take longer than its tests.
        #[arg(long, requires = "rtl", conflicts_with = "proofs_only")]
        tests_first: bool,
        /// Only the RTL mutants with these numbers.
        #[arg(long, requires = "rtl", value_delimiter = ',')]
        only: Vec<usize>,
        /// Only the faults whose name, or the mutants whose module, contains this.
        filter: Option<String>,
    },
}

fn main() -> Result<()> {
    let MutateToolCommand::Mutate {
        long,
        check,
        rtl,
        seed,
        folder,
        proofs_only,
        without_card,
        tests_first,
        only,
        filter,
    } = MutateToolCommand::parse();
    std::env::set_current_dir(tool::root()?)?;
    let (folder, filter) = (folder.as_deref(), filter.as_deref());
    if let Some(count) = rtl {
        return rtl::run(&rtl::MutantSelection {
            count,
            seed,
            folder,
            filter,
            proofs_only,
            without_card,
            tests_first,
            only: &only,
        });
    }
    let mut tally = CheckTally::default();
    let selection = match (long, check) {
        (_, true) => FaultSelection::Check,
        (true, false) => FaultSelection::Long,
        (false, false) => FaultSelection::Ci,
    };
    seeded::run(&mut tally, selection, filter)?;
    tally.finish()
}
