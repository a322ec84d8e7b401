//! The shells' benches: a whole card behind the pins of a shell, with models of the vendor's parts. Each bench runs
//! with several ratios of its two clocks and several seeds of the bus.

use anyhow::{Context, Result, anyhow, bail, ensure};
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool::{self, capture, say};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// A shell: its top, the lists of its sources, its bench.
pub(crate) struct Shell {
    pub(crate) name: &'static str,
    pub(crate) top: &'static str,
    pub(crate) lists: &'static [&'static str],
}

pub(crate) const SHELLS: [Shell; 2] = [
    Shell {
        name: "aws_f2",
        top: "portcullis_cl",
        lists: &["rtl/portcullis.f", "rtl/shells/shells.f", "rtl/shells/aws_f2/aws_f2.f"],
    },
    Shell {
        name: "alveo_xdma",
        top: "alveo_xdma",
        lists: &["rtl/portcullis.f", "rtl/shells/shells.f", "rtl/shells/alveo_xdma/alveo_xdma.f"],
    },
];
const BENCH: &str = "rtl/shells/tb";
/// Half periods of the card's clock; in the same units, the bus's half period is 8. The phase is random. `None` is the
/// shell's divider by two. The others: faster than the bus, an uneven ratio, half the frequency, and slow.
const CLOCKS: [Option<u32>; 5] = [None, Some(5), Some(11), Some(16), Some(30)];
/// Longest run of a bench. Benches take less than a second, so a run that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) fn run(tally: &mut CheckTally, filter: Option<&str>, seeds: u32) {
    say("benches of the shells");
    let wanted: Vec<_> = SHELLS.iter().filter(|s| filter.is_none_or(|f| s.name.contains(f))).collect();
    let results: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = wanted.iter().map(|shell| scope.spawn(|| bench(shell, seeds))).collect();
        running
            .into_iter()
            .map(|r| r.join().unwrap_or_else(|_| Err(anyhow!("the bench's thread ended early"))))
            .collect()
    });
    for (shell, result) in wanted.iter().zip(results) {
        tally.check(&format!("shell {}", shell.name), result);
    }
}

/// Builds the bench if its sources changed, and runs it.
fn bench(shell: &Shell, seeds: u32) -> Result<()> {
    let start = Instant::now();
    let top = format!("{}_tb", shell.name);
    let sources = [format!("{BENCH}/host_memory.sv"), format!("{BENCH}/{top}.sv")];
    let folder = format!("target/xtask/shells/{}", shell.name);
    let program = format!("{folder}/V{top}");
    let stamp = format!("{folder}/sources");
    let digest = digest(shell, &sources)?;
    if !Path::new(&program).exists() || fs::read_to_string(&stamp).ok().as_ref() != Some(&digest) {
        fs::create_dir_all(&folder)?;
        let mut build = tool::verilator()?;
        build.args(["--binary", "--timing", "--assert", "-O3", "--x-assign", "fast", "--x-initial", "fast"]);
        // The makefile in the package of Verilator leaves the option for the precompiled header empty.
        build.args(["-CFLAGS", "-fcoroutines", "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1", "-j", "1"]);
        build.args(["--top-module", &top, "-Mdir", &folder, "-Wno-fatal", &format!("+incdir+{BENCH}"), "rtl/lint.vlt"]);
        for list in shell.lists {
            build.args(["-f", list]);
        }
        capture(build.args(&sources))?;
        fs::write(&stamp, &digest)?;
    }
    let built = start.elapsed().as_secs();
    let ends = format!("{}: all checks passed", shell.name);
    let mut runs = 0;
    for clock in CLOCKS {
        // One more seed runs without assertions, because silicon has none; the bench's own checks must pass.
        for seed in 1..=seeds + 1 {
            let mut args = vec![format!("+verilator+seed+{seed}")];
            args.extend(clock.map(|half| format!("+card_half={half}")));
            args.extend((seed > seeds).then(|| "+verilator+noassert".to_owned()));
            let said = run_bounded(&program, &args).with_context(|| format!("{program} {}", args.join(" ")))?;
            ensure!(said.contains(&ends), "{program} {} did not reach its end:\n{said}", args.join(" "));
            runs += 1;
        }
    }
    say(&format!("{}: {runs} runs passed; {built} s to build, {} s in all", shell.name, start.elapsed().as_secs()));
    Ok(())
}

/// Digest over every file that the bench is built from.
fn digest(shell: &Shell, bench: &[String]) -> Result<String> {
    let mut files: Vec<String> = bench.to_vec();
    files.extend(
        ["rtl/shells/tb/session.svh", "rtl/shells/common/portcullis_key.vh", "rtl/lint.vlt"].map(str::to_owned),
    );
    files.extend(["rtl/shells/aws_f2/portcullis_ids.vh", "rtl/shells/aws_f2/standin/cl_ports.vh"].map(str::to_owned));
    for list in shell.lists {
        let text = fs::read_to_string(list)?;
        files.extend(text.lines().map(str::trim).filter(|l| l.starts_with("rtl/")).map(str::to_owned));
    }
    let mut all = Sha256::new();
    for file in files {
        all.update(Sha256::digest(fs::read(&file)?));
    }
    Ok(format!("{:x?}", all.finalize().as_slice()))
}

/// Runs a program that must end within `PATIENCE`; returns its standard output.
fn run_bounded(program: &str, args: &[String]) -> Result<String> {
    let path = tool::root()?.join(program);
    let log = format!("{program}.log");
    let out = fs::File::create(&log)?;
    let mut child = Command::new(path).args(args).stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out).spawn()?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            bail!("the bench did not end within {} s", PATIENCE.as_secs());
        }
        sleep(Duration::from_millis(20));
    };
    let said = fs::read_to_string(&log)?;
    ensure!(status.success(), "the bench ended with {status}:\n{said}");
    Ok(said)
}
