//! The complete CI run from a fresh checkout: all checks except the long runs.
//!
//! Two tracks run at the same time: the cargo builds and tests, and the steps that only need the pinned tools (lint and
//! proofs of the RTL, benches of the shells). The second track has a low priority, so it mainly uses processors that
//! the first track leaves idle during a long compilation or test.

use crate::{claims, formal, independent, lint, look};
use anyhow::{Context, Result, bail, ensure};
use portcullis_tools::pages::FencedBlockUse;
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool::say;
use portcullis_tools::{cargo_test, demo, pages, setup, task};
use rustix::process::setpriority_process;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::Instant;

/// Smallest number of lines of the demo's output that the README must quote.
const QUOTED_LINES: usize = 5;
/// Niceness of the second track.
const LOW_PRIORITY: i32 = 15;

/// A part of CI. A job of .github/workflows/ci.yml runs one or more of them alone.
struct CiPart {
    name: &'static str,
    run: fn(&mut CheckTally) -> Result<()>,
}

const fn part(name: &'static str, run: fn(&mut CheckTally) -> Result<()>) -> CiPart {
    CiPart { name, run }
}

/// Builds, demo, lint, tests, virtual machine, claims and seeded faults.
const SOFTWARE: [CiPart; 9] = [
    part("setup", |t| {
        setup::run()?;
        t.pass(1);
        Ok(())
    }),
    part("demo", |t| {
        t.check("the README shows what the demo prints", readme());
        t.check("no lie of the hostile operator is admitted", demo::hostile());
        stock_tools(t)
    }),
    part("independent", independent::run),
    part("lint", |t| {
        lint::software(t);
        Ok(())
    }),
    part("test", cargo_test::run),
    part("vm", |t| task::counted(t, "vm", &["vm"])),
    part("look", look::run),
    part("claims", claims::run),
    part("mutate", |t| task::counted(t, "mutate", &["mutate"])),
];

/// Workspaces of their own. Their builds share little with the main one, so each is a job of the workflow, and not a
/// part of a run without names.
const BESIDE: [CiPart; 2] = [
    part("fuzz", |t| {
        t.check("clippy of fuzz", lint::clippy("fuzz"));
        Ok(())
    }),
    part("fleet", |t| {
        t.check("clippy of fleet", lint::clippy("fleet"));
        Ok(())
    }),
];

/// RTL lint, shell benches and proofs.
const HARDWARE: [CiPart; 2] = [
    part("rtl", |t| {
        lint::hardware(t);
        Ok(())
    }),
    part("formal", |t| formal::run(t, None, true)),
];

/// Runs the parts of the main workspace in two tracks, or only those with the given names, in the order of CI. Errors:
/// a name of no part.
pub(crate) fn run(tally: &mut CheckTally, only: &[String]) -> Result<()> {
    let names: Vec<_> = all().map(|part| part.name).collect();
    if let Some(other) = only.iter().find(|name| !names.contains(&name.as_str())) {
        bail!("CI has no part `{other}`; its parts are {}", names.join(", "));
    }
    let clock = Clock(Instant::now());
    clock.part(tally, "tools", |_| setup::tools());
    if only.is_empty() {
        thread::scope(|scope| {
            let hardware = scope.spawn(|| hardware(&clock));
            SOFTWARE.iter().for_each(|part| clock.part(tally, part.name, part.run));
            match hardware.join() {
                Ok(beside) => tally.add(beside),
                Err(_) => tally.fail("the track of the RTL", 1, "its thread ended early"),
            }
        });
    } else {
        // Most parts use the program that set-up builds.
        if SOFTWARE.iter().any(|part| only.iter().any(|name| part.name == name)) {
            clock.part(tally, "setup", |_| setup::run());
        }
        let chosen = all().filter(|part| only.iter().any(|name| part.name == name));
        chosen.for_each(|part| clock.part(tally, part.name, part.run));
    }
    say(&format!("[{} s] done, {} s of processor time", clock.seconds(), processor_seconds()?));
    Ok(())
}

fn all() -> impl Iterator<Item = &'static CiPart> {
    SOFTWARE.iter().chain(&HARDWARE).chain(&BESIDE)
}

fn hardware(clock: &Clock) -> CheckTally {
    let mut tally = CheckTally::default();
    // The children of this thread inherit its priority.
    if let Err(error) = setpriority_process(None, LOW_PRIORITY) {
        eprintln!("    the RTL's track keeps its priority: {error}");
    }
    HARDWARE.iter().for_each(|part| clock.part(&mut tally, part.name, part.run));
    tally
}

/// Time since the run began.
struct Clock(Instant);

impl Clock {
    fn seconds(&self) -> u64 {
        self.0.elapsed().as_secs()
    }

    /// Runs a part of CI. An error that ends the part early counts as one failure.
    fn part(&self, tally: &mut CheckTally, name: &str, task: impl FnOnce(&mut CheckTally) -> Result<()>) {
        let begin = self.seconds();
        say(&format!("[{begin} s] {name}"));
        if let Err(error) = task(tally) {
            tally.fail(name, 1, &format!("{error:#}"));
        }
        let end = self.seconds();
        say(&format!("[{end} s] {name} took {} s", end - begin));
    }
}

/// User and system time of the child processes that have ended, from proc_pid_stat(5).
fn processor_seconds() -> Result<u64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    // Fields 16 and 17, counted from 1; `fields` starts at field 3, the state. A tick is a hundredth of a second.
    let ticks: Vec<u64> = fields.skip(13).take(2).map(str::parse).collect::<Result<_, _>>()?;
    ensure!(ticks.len() == 2, "/proc/self/stat is too short");
    Ok(ticks.iter().sum::<u64>() / 100)
}

/// Checks the demo's bundle with a script that uses only stock tools.
fn stock_tools(tally: &mut CheckTally) -> Result<()> {
    const NAME: &str = "stock tools verify the demo's bundle";
    let output = Command::new("sh").arg("tests/stock-tools.sh").arg(demo::bundle()?).arg(demo::root()?).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    match output.status.code() {
        Some(0) => tally.pass(1),
        Some(4) => tally.skip(NAME, said.lines().find(|line| line.starts_with("SKIPPED")).unwrap_or_default()),
        code => tally.fail(NAME, 1, &format!("exit code {code:?}")),
    }
    Ok(())
}

/// Checks that the README quotes lines of the demo's output, in the order of that output.
fn readme() -> Result<()> {
    let readme = fs::read_to_string("README.md")?;
    let quotations =
        pages::blocks(&readme).into_iter().filter(|block| matches!(block.usage(), Ok(FencedBlockUse::Output)));
    let quoted = quotations.map(|block| block.text).next().context("README.md quotes no output")?;
    ensure!(quoted.lines().count() >= QUOTED_LINES, "README.md quotes next to nothing:\n{quoted}");
    let printed = demo::output(&demo::binary()?)?;
    if let Some(line) = pages::missing(&quoted, &printed) {
        bail!("README.md quotes `{line}`, which `cargo xtask demo` does not print in this place:\n{printed}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::all;
    use std::collections::BTreeSet;

    /// Each part of CI is in a job of the workflow, and each job names parts that exist.
    #[test]
    fn the_workflow_runs_every_part() {
        let workflow = include_str!("../../../.github/workflows/ci.yml");
        let listed = workflow.lines().filter_map(|line| line.trim().strip_prefix("- parts: "));
        let listed: BTreeSet<_> = listed.flat_map(str::split_whitespace).collect();
        assert_eq!(listed, all().map(|part| part.name).collect());
    }
}
