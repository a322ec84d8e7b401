//! The runs that take too long for CI. Each run has a row in docs/explanation/long-runs.md, with the commit, result and
//! time of its last execution.

use crate::{fleet, package};
use anyhow::{Context, Result, ensure};
use portcullis_tools::tally::Tally;
use portcullis_tools::task;
use portcullis_tools::tool::{self, capture, cargo, say};
use portcullis_tools::{cargo_test, setup};
use std::fs;
use std::process::Command;
use std::time::Instant;

const DOC: &str = "docs/explanation/long-runs.md";
/// Environment variable that enables the long random runs of tests.
const LONG: &str = "PORTCULLIS_LONG";

enum Task {
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

struct Run {
    name: &'static str,
    what: &'static str,
    task: Task,
}

const fn tests(name: &'static str, what: &'static str, arguments: &'static [&'static str]) -> Run {
    Run { name, what, task: Task::Tests(arguments) }
}

/// The runs, in order of execution.
const RUNS: [Run; 22] = [
    tests("bundles", "1,000,000 changed bundles: `verify` and `check` affirm none", &["--test", "campaign"]),
    tests("chaos", "100,000 entries over vfio-user with bus faults and resets", &["--test", "card", "card_chaos::"]),
    tests("kills", "100 kills of card and driver", &["--test", "card", "may_die"]),
    tests(
        "deaths",
        "1,000 killed recorders, 200 killed runs, every disk from 64 to 1,024 KiB, 60,000 torn bundles: all completed",
        &["--lib", "--test", "crash", "--test", "all", "--", "killed", "disk", "death", "--nocapture"],
    ),
    tests(
        "upsets",
        "10,000 inverted bits in the card's memories: none admits what the card otherwise would not",
        &["--test", "card", "card_upsets::"],
    ),
    tests(
        "erasure",
        "500 killed `withhold`: one whole bundle and a named rest, which the next run removes",
        &["--test", "all", "withhold::"],
    ),
    tests("stalls", "100,000 entries over vfio-user", &["--test", "card", "card_vfio_user::"]),
    tests("oracle", "4,000 policies, each on 500 descriptors, against Cedar", &["--test", "policy_oracle"]),
    tests("card-oracle", "the same through the simulated card", &["--test", "card", "card_oracle::"]),
    tests("chunks", "228,000 random texts in random chunks: read as in one piece", &["--test", "streaming"]),
    tests(
        "lane",
        "10,000 made patterns, 1,000,000 texts: the tables of a text lane miss nothing that the mapping finds",
        &["--test", "lane"],
    ),
    tests("differential", "2,000 worlds on model and simulated card", &["--test", "card", "card_differential::"]),
    tests(
        "answers",
        "10,020 answers through the gateway, held and driven, by four routes: byte for byte what the records admitted",
        &["--test", "all", "records::"],
    ),
    tests(
        "walk",
        "a secret in every place of an answer of each kind of server, whole and in pieces: no client reads it",
        &["--test", "all", "--", "--ignored", "walk::", "--nocapture"],
    ),
    tests(
        "clients",
        "LiteLLM and its proxy, LangChain, LlamaIndex and Node.js before the gateway, a real model behind it",
        &["--test", "gateway", "--", "--ignored"],
    ),
    tests(
        "tickets",
        "64 seats on PostgreSQL: sessions a second, and 50 crashes of the database lose and double no ticket",
        &["--test", "authority", "--", "--ignored", "rate::", "--nocapture", "--test-threads", "1"],
    ),
    Run { name: "proofs", what: "every proof of the RTL to its end", task: Task::Proofs },
    Run { name: "faults", what: "every seeded fault turns its test red", task: Task::SeededFaults },
    Run { name: "without-iommu", what: "the card in a machine without an IOMMU", task: Task::WithoutIommu },
    Run {
        name: "package",
        what: "Debian package, static verifier, lists of parts and checksums, in target/package",
        task: Task::Package,
    },
    Run { name: "fleet", what: "the audit of many bundles: planted contradictions, and its rates", task: Task::Fleet },
    Run { name: "advisories", what: "no dependency has a published security advisory", task: Task::Advisories },
];

/// Executes the runs that match `filter`, or all runs, and writes their rows.
pub(crate) fn run(tally: &mut Tally, filter: Option<&str>) -> Result<()> {
    setup::tools()?;
    let chosen: Vec<_> = RUNS.iter().filter(|run| filter.is_none_or(|f| run.name.contains(f))).collect();
    let names: Vec<_> = RUNS.iter().map(|run| run.name).collect();
    ensure!(!chosen.is_empty(), "no run has this name; there are: {}", names.join(", "));
    let commit = commit()?;
    for run in chosen {
        say(&format!("{}: {}", run.name, run.what));
        let begin = Instant::now();
        let mut own = Tally::default();
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

fn start(tally: &mut Tally, task: &Task) -> Result<()> {
    match task {
        Task::Tests(arguments) => {
            let mut command = cargo();
            command.args(["test", "--locked", "--workspace", "--no-fail-fast"]).args(*arguments).env(LONG, "1");
            if !arguments.contains(&"--") {
                command.args(["--", "--nocapture"]);
            }
            cargo_test::with_programs(tally, &mut command)?;
            cargo_test::counted(tally, command)
        }
        Task::SeededFaults => task::counted(tally, "mutate", &["mutate", "--long"]),
        Task::Proofs => {
            let said = capture(cargo().args(["xtask", "formal"]))?;
            let closed = said.lines().filter_map(|line| tally.read(line)).any(|last| last);
            ensure!(closed, "the proofs ended and counted nothing");
            Ok(())
        }
        Task::Package => package::run(tally),
        Task::Fleet => fleet::run(tally),
        Task::Advisories => {
            advisories(tally);
            Ok(())
        }
        Task::WithoutIommu => task::counted(tally, "vm", &["vm", "--without-iommu"]),
    }
}

/// The version of cargo-deny to install if cargo-deny is missing.
const DENY: &str = "0.20.2";

/// Checks every crate in the lock file against the RustSec database, which is fetched from GitHub. If it cannot be
/// fetched, the check counts as skipped.
fn advisories(tally: &mut Tally) {
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
