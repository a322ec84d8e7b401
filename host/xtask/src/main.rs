//! `cargo xtask …`: set-up, generated files, lint, tests, proofs, benchmarks, area, claims, demo and CI.

#![allow(clippy::indexing_slicing, reason = "only serde_json values are indexed, and a missing key of theirs is null")]

mod area;
mod bench;
mod ci;
mod claims;
mod demo;
mod dialect;
mod formal;
mod fuzz;
mod generate;
mod golden;
mod guards;
mod independent;
mod layout;
mod lint;
mod long;
mod look;
mod manifest;
mod measure;
mod mutate;
mod mutate_rtl;
mod preflight;
mod proved;
mod registers;
mod setup;
mod shells;
mod tally;
mod test;
mod timing;
mod tool;
mod vm;

use anyhow::Result;
use clap::{Parser, Subcommand};
use tally::Tally;

/// Tasks of the Portcullis workspace. Each sets up what it needs first.
#[derive(Parser)]
#[command(name = "cargo xtask", version, max_term_width = 100)]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install the project-local tools into .venv and build the `portcullis` binary.
    Setup,
    /// Make the generated files from their sources.
    Gen {
        /// Change nothing; fail where a checked-in file differs from what its source gives.
        #[arg(long)]
        check: bool,
    },
    /// Format, clippy, Verilator lint, dialect of the RTL, licences of dependencies, policy packages.
    Lint,
    /// The bench of each shell: a whole card behind the pins of F2 and Alveo. `lint` runs them too: two minutes to build where a source
    /// changed, else ten seconds.
    Shells {
        /// Only the shells whose name contains this.
        filter: Option<String>,
        /// Seeds of the bus, each with every relation of the clocks.
        #[arg(long, default_value_t = 1)]
        seeds: u32,
    },
    /// Every test of the workspace.
    Test,
    /// The runs that take too long for CI. Each writes its row of docs/long-runs.md.
    Long {
        /// Only the runs whose name contains this.
        filter: Option<String>,
    },
    /// Prove the properties under rtl/formal.
    Formal {
        /// Only the proofs whose name contains this.
        filter: Option<String>,
        /// Prove nothing: only compare docs/verification.md with the designs that the last whole run left.
        #[arg(long, conflicts_with = "filter")]
        covered: bool,
    },
    /// Seed faults and see that the tests find each of them.
    Mutate {
        /// Every fault of tests/mutants.toml, not only those that CI seeds.
        #[arg(long)]
        long: bool,
        /// Instead, this many RTL mutants by Yosys, each to be killed by a proof of its module or by a test on the simulated card. Goes on
        /// where it was interrupted.
        #[arg(long, value_name = "N", conflicts_with = "long")]
        rtl: Option<usize>,
        /// Which RTL mutants are drawn.
        #[arg(long, default_value_t = 1, requires = "rtl")]
        seed: u32,
        /// Draw RTL mutants from the modules of this folder of rtl, instead of those that the proofs must cover.
        #[arg(long, requires = "rtl")]
        folder: Option<String>,
        /// Leave out the simulated card: only the proofs are tried.
        #[arg(long, requires = "rtl")]
        proofs_only: bool,
        /// Only the faults whose name, or the mutants whose module, contains this.
        filter: Option<String>,
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
    /// Measure, and print medians and ratios.
    Bench,
    /// Synthesise one lane with Yosys and write docs/area.md.
    Area,
    /// Place and route parts of the card on an ECP5 and write docs/timing.md; fails where one is too slow. Takes two hours on two
    /// cores; modules that did not change since are not routed again.
    Timing {
        /// Only this module; the page is then left alone.
        module: Option<String>,
    },
    /// Check docs/claims.toml against the code and the tests.
    Claims,
    /// Measure a policy on labelled data, with the program itself on the simulated card.
    #[command(subcommand)]
    Measure(measure::Measure),
    /// Take screenshots of a report in a real browser, where there is one.
    Look,
    /// Test the driver in a virtual machine: a real kernel's VFIO and IOMMU.
    Vm {
        /// Instead, the card in a machine without an IOMMU: outside CI, as it builds a kernel module.
        #[arg(long)]
        without_iommu: bool,
    },
    /// Judge a few real sentences on the simulated card.
    Demo,
    /// Make the golden bundle of this release, its line in the list of releases and the test vectors anew: before a release, once
    /// every format is as it shall be.
    Golden,
    /// What CI runs.
    Ci,
}

fn main() -> Result<()> {
    // Every path below is relative to the workspace's root.
    let task = Args::parse().task;
    std::env::set_current_dir(tool::root()?)?;
    let mut tally = Tally::default();
    match task {
        Task::Setup => return setup::run(),
        Task::Gen { check } => return generate::run(check),
        Task::Lint => lint::run(&mut tally)?,
        Task::Shells { filter, seeds } => {
            setup::tools()?;
            shells::run(&mut tally, filter.as_deref(), seeds);
        }
        Task::Test => test::run(&mut tally)?,
        Task::Long { filter } => long::run(&mut tally, filter.as_deref())?,
        Task::Formal { covered: true, .. } => proved::check(&mut tally)?,
        Task::Formal { filter, .. } => formal::run(&mut tally, filter.as_deref())?,
        Task::Mutate { rtl: Some(count), seed, folder, proofs_only, filter, .. } => {
            let (folder, filter) = (folder.as_deref(), filter.as_deref());
            return mutate_rtl::run(&mutate_rtl::Request { count, seed, folder, filter, proofs_only });
        }
        Task::Mutate { long, filter, .. } => mutate::run(&mut tally, long, filter.as_deref())?,
        Task::Fuzz { target, seconds, keep } => return fuzz::run(target.as_deref(), seconds, keep),
        Task::Bench => return bench::run(),
        Task::Area => return area::run(),
        Task::Timing { module } => return timing::run(module.as_deref()),
        Task::Claims => claims::run(&mut tally)?,
        Task::Measure(what) => return measure::run(&what),
        Task::Look => look::run(&mut tally)?,
        Task::Vm { without_iommu: true } => vm::without_iommu(&mut tally)?,
        Task::Vm { without_iommu: false } => vm::run(&mut tally)?,
        Task::Demo => return demo::run(),
        Task::Golden => return golden::run(),
        Task::Ci => ci::run(&mut tally)?,
    }
    tally.finish()
}
