//! `cargo xtask …`: set-up, generated files, lint, tests, proofs, benchmarks, area, claims, demo and CI.

#![allow(clippy::indexing_slicing, reason = "only serde_json values are indexed, and a missing key of theirs is null")]

mod arrows;
mod boards;
mod browser;
mod check;
mod ci;
mod claims;
mod covered;
mod crates;
mod dialect;
mod formal;
mod generate;
mod golden;
mod guards;
mod independent;
mod known_tests;
mod layout;
mod lexicon;
mod licences;
mod links;
mod lint;
mod look;
mod manifest;
mod prose;
mod registers;
mod requirements;
mod shells;
mod structure;
mod table;
mod top;
mod type_names;

use anyhow::Result;
use clap::{Parser, Subcommand};
use portcullis_tools::tally::CheckTally;
use portcullis_tools::{cargo_test, demo, pins, preflight, setup, task, tool};
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;

/// Tasks of the Portcullis workspace. Each sets up what it needs first.
#[derive(Parser)]
#[command(name = "cargo xtask", version, max_term_width = 100)]
struct XtaskArgs {
    #[command(subcommand)]
    task: XtaskCommand,
}

#[derive(Subcommand)]
enum XtaskCommand {
    /// Install the project-local tools into .venv and build the `portcullis` binary.
    Setup,
    /// Install a model server with a small model, and official clients, into target/clients: for
    /// docs/tutorials/your-model-server.md and its tests, which do so by themselves.
    Clients,
    /// What this machine lacks, with the package that has it, and what set-up and a first build take.
    Doctor,
    /// Make the hashes of the pinned Python packages again, from the package index.
    Pins,
    /// Make the generated files from their sources.
    Gen {
        /// Change nothing; fail where a checked-in file differs from what its source gives.
        #[arg(long)]
        check: bool,
    },
    /// Format, clippy, Verilator lint, dialect of the RTL, licences of dependencies, policy packages, pages.
    Lint {
        /// Only the form of pages and comments, links, and lists of folders and codes. Compiles nothing.
        #[arg(long)]
        pages: bool,
    },
    /// Fail where files of a crate use each other in a circle. `lint` does so too.
    Modules(ForwardedArgs),
    /// The bench of each shell: a whole card behind the pins of F2 and Alveo. `lint` runs them too: two minutes to
    /// build where a source changed, else ten seconds.
    Shells {
        /// Only the shells whose name contains this.
        filter: Option<String>,
        /// Seeds of the bus, each with every relation of the clocks.
        #[arg(long, default_value_t = 1)]
        seeds: u32,
    },
    /// The inner loop: format, clippy, and all tests of the packages that changed and of those that use them directly.
    Check {
        /// Names of packages, in place of those that changed; `portcullis-` may be left out.
        packages: Vec<String>,
        /// The commit to compare with; without one, where the branch left `main`.
        #[arg(long, value_name = "COMMIT", conflicts_with = "packages")]
        base: Option<String>,
    },
    /// What a contributor needs to trust a change: lint, and every test of the workspace. CI also proves the RTL,
    /// starts the virtual machine and seeds faults.
    Test,
    /// The runs that take too long for CI. Each writes its row of docs/explanation/long-runs.md.
    Long(ForwardedArgs),
    /// Prove the properties under rtl/formal.
    Formal {
        /// Only the proofs whose name contains this.
        filter: Option<String>,
        /// Prove nothing: only compare docs/explanation/verification.md with the designs that the last whole run left.
        #[arg(long, conflicts_with = "filter")]
        covered: bool,
        /// The proofs that take minutes for three clocks only, as CI does.
        #[arg(long)]
        quick: bool,
    },
    /// Seed faults and see that the tests find each of them.
    Mutate(ForwardedArgs),
    /// Fuzz every parser of hostile bytes, guided by coverage.
    Fuzz(ForwardedArgs),
    /// Measure, and print medians and ratios.
    Bench(ForwardedArgs),
    /// Synthesise one lane with Yosys and write docs/explanation/area.md.
    Area(ForwardedArgs),
    /// Place and route parts of the card on an ECP5 and write docs/explanation/timing.md; fails where one is too slow.
    /// Takes two hours on two cores; modules that did not change since are not routed again.
    Timing(ForwardedArgs),
    /// Check docs/claims.toml against the code and the names of the tests. Compiles nothing.
    Claims,
    /// Measure a policy on labelled data, with the program itself on the simulated card.
    Measure(ForwardedArgs),
    /// Judge the reports in a real browser, light and dark, at three widths and printed; pictures in target/report.
    Look,
    /// Test the driver in a virtual machine: a real kernel's VFIO and IOMMU.
    Vm(ForwardedArgs),
    /// Judge a few real sentences on the simulated card. Builds only what this needs.
    Demo {
        /// Instead, let an operator lie to a card that reads the texts itself, and show what card and verifier answer.
        #[arg(long)]
        hostile: bool,
    },
    /// Make the golden bundle of this release, its line in the list of releases and the test vectors again: before a
    /// release, once every format is as it shall be.
    Golden,
    /// What CI runs.
    Ci {
        /// Only these parts, such as `lint` or `formal`; a wrong name lists them.
        parts: Vec<String>,
    },
}

/// Arguments for a task that is a separate program; its `--help` lists them.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
struct ForwardedArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

fn main() -> Result<()> {
    // All paths below are relative to the workspace's root.
    let task = XtaskArgs::parse().task;
    std::env::set_current_dir(tool::root()?)?;
    let mut tally = CheckTally::default();
    match task {
        XtaskCommand::Setup => return setup::run(),
        XtaskCommand::Clients => {
            println!("{}", setup::clients()?.display());
            return Ok(());
        }
        XtaskCommand::Doctor => return preflight::doctor(),
        XtaskCommand::Pins => return pins::run(),
        XtaskCommand::Gen { check } => return generate::run(check),
        XtaskCommand::Lint { pages: true } => lint::pages(&mut tally),
        XtaskCommand::Lint { pages: false } => lint::run(&mut tally)?,
        XtaskCommand::Modules(words) => return start("modules", "modules", words),
        XtaskCommand::Shells { filter, seeds } => {
            setup::tools()?;
            shells::run(&mut tally, filter.as_deref(), seeds);
        }
        XtaskCommand::Check { packages, base } => check::run(&mut tally, &packages, base.as_deref())?,
        XtaskCommand::Test => {
            setup::tools()?;
            lint::software(&mut tally);
            cargo_test::run(&mut tally)?;
        }
        XtaskCommand::Formal { covered: true, .. } => covered::check(&mut tally)?,
        XtaskCommand::Formal { filter, quick, .. } => formal::run(&mut tally, filter.as_deref(), quick)?,
        XtaskCommand::Mutate(words) => return start("mutate", "mutate", words),
        XtaskCommand::Long(words) => return start("long", "long", words),
        XtaskCommand::Fuzz(words) => return start("long", "fuzz", words),
        XtaskCommand::Bench(words) => return start("measure", "bench", words),
        XtaskCommand::Measure(words) => return start("measure", "measure", words),
        XtaskCommand::Area(words) => return start("timing", "area", words),
        XtaskCommand::Timing(words) => return start("timing", "timing", words),
        XtaskCommand::Vm(words) => return start("vm", "vm", words),
        XtaskCommand::Claims => claims::run(&mut tally)?,
        XtaskCommand::Look => look::run(&mut tally)?,
        XtaskCommand::Demo { hostile: true } => return demo::hostile(),
        XtaskCommand::Demo { hostile: false } => return demo::run(),
        XtaskCommand::Golden => return golden::run(),
        XtaskCommand::Ci { parts } => ci::run(&mut tally, &parts)?,
    }
    tally.finish()
}

/// Replaces this process with another program, which does the task.
fn start(program: &str, name: &str, words: ForwardedArgs) -> Result<()> {
    Err(task::program(program)?.arg(name).args(words.words).exec().into())
}
