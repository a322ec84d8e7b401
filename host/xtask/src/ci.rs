//! The complete CI run from a fresh checkout: all checks except the long runs.
//!
//! Two tracks run at the same time: the cargo builds and tests, and the steps that only need the pinned tools (lint and
//! proofs of the RTL, benches of the shells). The second track has a low priority, so it mainly uses processors that
//! the first track leaves idle during a long compilation or test.

use crate::{claims, formal, independent, lint, look};
use anyhow::{Context, Result, bail, ensure};
use portcullis_tools::pages::Use;
use portcullis_tools::tally::Tally;
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

pub(crate) fn run(tally: &mut Tally) -> Result<()> {
    let clock = Clock(Instant::now());
    clock.part(tally, "tools", |_| setup::tools());
    thread::scope(|scope| {
        let hardware = scope.spawn(|| hardware(&clock));
        software(tally, &clock);
        match hardware.join() {
            Ok(beside) => tally.add(beside),
            Err(_) => tally.fail("the track of the RTL", 1, "its thread ended early"),
        }
    });
    say(&format!("[{} s] done, {} s of processor time", clock.seconds(), processor_seconds()?));
    Ok(())
}

/// Builds, demo, lint, tests, virtual machine, claims and seeded faults.
fn software(tally: &mut Tally, clock: &Clock) {
    clock.part(tally, "setup", |t| {
        setup::run()?;
        t.pass(1);
        Ok(())
    });
    clock.part(tally, "demo", |t| {
        t.check("the README shows what the demo prints", readme());
        t.check("no lie of the hostile operator is admitted", demo::hostile());
        stock_tools(t)
    });
    clock.part(tally, "independent verifier", independent::run);
    clock.part(tally, "lint", |t| {
        lint::software(t);
        Ok(())
    });
    clock.part(tally, "test", cargo_test::run);
    clock.part(tally, "vm", |t| task::counted(t, "vm", &["vm"]));
    clock.part(tally, "look", look::run);
    clock.part(tally, "claims", claims::run);
    clock.part(tally, "mutate", |t| task::counted(t, "mutate", &["mutate"]));
}

/// RTL lint, shell benches and proofs.
fn hardware(clock: &Clock) -> Tally {
    let mut tally = Tally::default();
    // The children of this thread inherit its priority.
    if let Err(error) = setpriority_process(None, LOW_PRIORITY) {
        eprintln!("    the RTL's track keeps its priority: {error}");
    }
    clock.part(&mut tally, "lint of the RTL", |t| {
        lint::hardware(t);
        Ok(())
    });
    clock.part(&mut tally, "formal", |t| formal::run(t, None, true));
    tally
}

/// Time since the run began.
struct Clock(Instant);

impl Clock {
    fn seconds(&self) -> u64 {
        self.0.elapsed().as_secs()
    }

    /// Runs a part of CI. An error that ends the part early counts as one failure.
    fn part(&self, tally: &mut Tally, name: &str, task: impl FnOnce(&mut Tally) -> Result<()>) {
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
fn stock_tools(tally: &mut Tally) -> Result<()> {
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
    let quotations = pages::blocks(&readme).into_iter().filter(|block| matches!(block.usage(), Ok(Use::Output)));
    let quoted = quotations.map(|block| block.text).next().context("README.md quotes no output")?;
    ensure!(quoted.lines().count() >= QUOTED_LINES, "README.md quotes next to nothing:\n{quoted}");
    let printed = demo::output()?;
    if let Some(line) = pages::missing(&quoted, &printed) {
        bail!("README.md quotes `{line}`, which `cargo xtask demo` does not print in this place:\n{printed}");
    }
    Ok(())
}
