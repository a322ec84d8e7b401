//! The runs that take too long for CI. Each run has a row in docs/explanation/long-runs.md, with the commit, result and
//! time of its last execution.

use crate::{fleet, package};
use anyhow::{Context, Result, ensure};
use portcullis_tools::tally::CheckTally;
use portcullis_tools::task;
use portcullis_tools::tool::{self, capture, cargo, say};
use portcullis_tools::{cargo_test, setup};
use std::fs;
use std::process::Command;
use std::time::Instant;

pub(crate) const DOC: &str = "docs/explanation/long-runs.md";
/// Environment variable that enables the long random runs of tests.
const LONG: &str = "PORTCULLIS_LONG";

enum LongRunKind {
    /// `cargo test` of the workspace with these arguments, with the variable [`LONG`] set.
    Tests(&'static [&'static str]),
    SeededFaults,
    /// Tests of the card in a virtual machine without an IOMMU.
    WithoutIommu,
    /// Every proof of the RTL, including the long ones.
    Proofs,
    Package,
    /// Build, tests and figures of the audit of many bundles, which is a workspace of its own.
    Fleet,
    /// A search for known vulnerabilities of dependencies.
    Advisories,
}

pub(crate) struct LongRun {
    pub(crate) name: &'static str,
    what: &'static str,
    /// The folders and files that the run tests. Its row is old once one of them has changed.
    pub(crate) of: &'static [&'static str],
    task: LongRunKind,
}

const fn run_of(name: &'static str, what: &'static str, of: &'static [&'static str], task: LongRunKind) -> LongRun {
    LongRun { name, what, of, task }
}

/// The runs, in order of execution.
pub(crate) const RUNS: [LongRun; 22] = [
    run_of(
        "bundles",
        "1,000,000 changed bundles: `verify` and `check` affirm none",
        &["host/evidence", "host/recorder"],
        LongRunKind::Tests(&["--test", "campaign"]),
    ),
    run_of(
        "chaos",
        "100,000 entries over vfio-user with bus faults and resets",
        &["rtl", "host/card", "sim"],
        LongRunKind::Tests(&["--test", "card", "card_chaos::"]),
    ),
    run_of(
        "kills",
        "100 kills of card and driver",
        &["rtl", "host/card", "sim"],
        LongRunKind::Tests(&["--test", "card", "may_die"]),
    ),
    run_of(
        "deaths",
        "1,000 killed recorders, 200 killed runs, every disk from 64 to 1,024 KiB, 60,000 torn bundles: all completed",
        &["host/recorder", "host/evidence"],
        LongRunKind::Tests(&[
            "--lib",
            "--test",
            "crash",
            "--test",
            "all",
            "--",
            "killed",
            "disk",
            "death",
            "--nocapture",
        ]),
    ),
    run_of(
        "upsets",
        "10,000 inverted bits in the card's memories: none admits what the card otherwise would not",
        &["rtl", "host/card/tests", "sim"],
        LongRunKind::Tests(&["--test", "card", "card_upsets::"]),
    ),
    run_of(
        "erasure",
        "500 killed `withhold`: one whole bundle and a named rest, which the next run removes",
        &["host/evidence"],
        LongRunKind::Tests(&["--test", "all", "withhold::"]),
    ),
    run_of(
        "stalls",
        "100,000 entries over vfio-user",
        &["rtl", "host/card", "sim"],
        LongRunKind::Tests(&["--test", "card", "card_vfio_user::"]),
    ),
    run_of(
        "oracle",
        "4,000 policies, each on 500 descriptors, against Cedar",
        &["host/policy", "host/image"],
        LongRunKind::Tests(&["--test", "policy_oracle"]),
    ),
    run_of(
        "card-oracle",
        "the same through the simulated card",
        &["rtl", "host/policy", "host/card"],
        LongRunKind::Tests(&["--test", "card", "card_oracle::"]),
    ),
    run_of(
        "chunks",
        "228,000 random texts in random chunks: read as in one piece",
        &["host/mapping"],
        LongRunKind::Tests(&["--test", "streaming"]),
    ),
    run_of(
        "lane",
        "10,000 made patterns, 1,000,000 texts: the tables of a text lane miss nothing that the mapping finds",
        &["host/lane", "host/mapping"],
        LongRunKind::Tests(&["--test", "lane"]),
    ),
    run_of(
        "differential",
        "2,000 worlds on model and simulated card",
        &["rtl", "host/card", "sim"],
        LongRunKind::Tests(&["--test", "card", "card_differential::"]),
    ),
    run_of(
        "answers",
        "10,020 answers through the gateway, held and driven, by four routes: byte for byte what the records admitted",
        &["host/gateway", "host/gate", "host/mapping"],
        LongRunKind::Tests(&["--test", "all", "records::"]),
    ),
    run_of(
        "walk",
        "a secret in every place of an answer of each kind of server, whole and in pieces: no client reads it",
        &["host/gateway", "host/gate"],
        LongRunKind::Tests(&["--test", "all", "--", "--ignored", "walk::", "--nocapture"]),
    ),
    run_of(
        "clients",
        "LiteLLM and its proxy, LangChain, LlamaIndex and Node.js before the gateway, a real model behind it",
        &["host/gateway"],
        LongRunKind::Tests(&["--test", "gateway", "--", "--ignored"]),
    ),
    run_of(
        "tickets",
        "64 seats on PostgreSQL: sessions a second, and 50 crashes of the database lose and double no ticket",
        &["host/authority", "host/issuer"],
        LongRunKind::Tests(&["--test", "authority", "--", "--ignored", "rate::", "--nocapture", "--test-threads", "1"]),
    ),
    run_of("proofs", "every proof of the RTL to its end", &["rtl"], LongRunKind::Proofs),
    run_of("faults", "every seeded fault turns its test red", &["tests/mutants.toml"], LongRunKind::SeededFaults),
    run_of(
        "without-iommu",
        "the card in a machine without an IOMMU",
        &["host/card", "tests/vm"],
        LongRunKind::WithoutIommu,
    ),
    run_of(
        "package",
        "Debian package, static verifier, lists of parts and checksums, in target/package",
        &["tools/long", "host/cli", "host/verify"],
        LongRunKind::Package,
    ),
    run_of(
        "fleet",
        "the audit of many bundles: planted contradictions, and its rates",
        &["fleet", "host/evidence"],
        LongRunKind::Fleet,
    ),
    run_of("advisories", "no dependency has a published security advisory", &["Cargo.lock"], LongRunKind::Advisories),
];

/// Executes the runs that match `filter`, or all runs, and writes their rows.
pub(crate) fn run(tally: &mut CheckTally, filter: Option<&str>) -> Result<()> {
    setup::tools()?;
    let chosen: Vec<_> = RUNS.iter().filter(|run| filter.is_none_or(|f| run.name.contains(f))).collect();
    let names: Vec<_> = RUNS.iter().map(|run| run.name).collect();
    ensure!(!chosen.is_empty(), "no run has this name; there are: {}", names.join(", "));
    let commit = commit()?;
    for run in chosen {
        say(&format!("{}: {}", run.name, run.what));
        let begin = Instant::now();
        let mut own = CheckTally::default();
        if let Err(error) = start(&mut own, &run.task) {
            own.fail(run.name, 1, &format!("{error:#}"));
        }
        let row = format!(
            "| `{}` | {} | {} | {} | {} s |",
            run.name,
            run.what,
            commit,
            own.counts(),
            begin.elapsed().as_secs()
        );
        record(run.name, &row)?;
        tally.add(own);
    }
    Ok(())
}

fn start(tally: &mut CheckTally, task: &LongRunKind) -> Result<()> {
    match task {
        LongRunKind::Tests(arguments) => {
            let mut command = cargo();
            command.args(["test", "--locked", "--workspace", "--no-fail-fast"]).args(*arguments).env(LONG, "1");
            if !arguments.contains(&"--") {
                command.args(["--", "--nocapture"]);
            }
            cargo_test::with_programs(tally, &mut command)?;
            cargo_test::counted(tally, command)
        }
        LongRunKind::SeededFaults => task::counted(tally, "mutate", &["mutate", "--long"]),
        LongRunKind::Proofs => {
            let said = capture(cargo().args(["xtask", "formal"]))?;
            let closed = said.lines().filter_map(|line| tally.read(line)).any(|last| last);
            ensure!(closed, "the proofs ended and counted nothing");
            Ok(())
        }
        LongRunKind::Package => package::run(tally),
        LongRunKind::Fleet => fleet::run(tally),
        LongRunKind::Advisories => {
            advisories(tally);
            Ok(())
        }
        LongRunKind::WithoutIommu => task::counted(tally, "vm", &["vm", "--without-iommu"]),
    }
}

/// The version of cargo-deny to install if cargo-deny is missing.
const DENY: &str = "0.20.2";

/// Checks every crate in the lock file against the RustSec database, which is fetched from GitHub. If it cannot be
/// fetched, the check counts as skipped.
fn advisories(tally: &mut CheckTally) {
    const NAME: &str = "advisories";
    let checked = || -> Result<Option<String>> {
        let tools = tool::root()?.join("target/deny");
        if !tools.join("bin/cargo-deny").is_file() {
            say(&format!("cargo install cargo-deny {DENY}"));
            let install = ["install", "cargo-deny", "--version", DENY, "--locked", "--root"];
            tool::run(cargo().args(install).arg(&tools))?;
        }
        let mut deny = Command::new(tools.join("bin/cargo-deny"));
        if let Err(error) = capture(deny.args(["--locked", "fetch", "db"])) {
            return Ok(Some(format!("the database of advisories cannot be fetched: {error:#}")));
        }
        capture(Command::new(tools.join("bin/cargo-deny")).args(["--locked", "check", "advisories"]))?;
        Ok(None)
    };
    match checked() {
        Ok(Some(why)) => tally.skip(NAME, why.lines().next().unwrap_or_default()),
        Ok(None) => tally.check(NAME, Ok(())),
        Err(error) => tally.check(NAME, Err(error)),
    }
}

/// The current commit, followed by "and changes" if tracked files differ from it.
fn commit() -> Result<String> {
    let hash = capture(Command::new("git").args(["rev-parse", "--short=9", "HEAD"]))?;
    // Rows that other runs have written do not count as changes.
    let others = format!(":!{DOC}");
    let status = ["status", "--porcelain", "--untracked-files=no", "--", ".", &others];
    let clean = capture(Command::new("git").args(status))?.is_empty();
    Ok(format!("{}{}", hash.trim(), if clean { "" } else { " and changes" }))
}

/// Replaces or adds the row with this name in the document.
fn record(name: &str, row: &str) -> Result<()> {
    let text = fs::read_to_string(DOC).context(DOC)?;
    let start = format!("| `{name}` |");
    let mut lines: Vec<&str> = text.lines().collect();
    match lines.iter_mut().find(|line| line.starts_with(&start)) {
        Some(line) => *line = row,
        None => lines.push(row),
    }
    fs::write(DOC, lines.join("\n") + "\n").context(DOC)
}
