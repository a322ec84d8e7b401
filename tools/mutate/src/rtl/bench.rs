//! Mutants that survive the proofs are tested in simulation.
//!
//! Two benches have tests: the whole simulated card, and the benches of the text lane (`sim/text`), which contain only
//! the modules of `rtl/text` and compare them with the walk in software. A bench replaces its designs by netlists that
//! contain all mutants. The tests for a mutant are those that docs/explanation/verification.md lists for its module.

use super::netlist::{self, SimulatedDesign};
use super::{FOLDER, MutantTrialOutcome, RtlMutant};
use crate::seeded;
use anyhow::{Context, Result, ensure};
use portcullis_tools::cargo_test::{self, TestProgram};
use portcullis_tools::parallel::on_every_core;
use portcullis_tools::proofs;
use portcullis_tools::tool::{self, say};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

#[path = "../../../../sim/verilated/src/params.rs"]
#[allow(unreachable_pub, reason = "public for the library, of which this is a part too")]
mod params;

/// Limit of processor time per test program, in seconds. On the original design, the longest takes less than a fifth.
const LIMIT_SECONDS: u32 = 600;
/// SHA-256 rounds per clock, both in the netlist of the card and for its tests.
const ROUNDS: &str = "16";
/// The test program of `sim/text`.
const TEXT: &str = "text";
/// Tests of `sim/text` that cannot run on a netlist: `upsets` finds memories by their names in the RTL, and two tests
/// read the message of an assertion, which Yosys does not keep. The assertions themselves are in the netlist.
const NOT_ON_NETLISTS: [&str; 2] = ["upsets::", "stops_the_model"];

/// What simulates a module for its tests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MutantStage {
    /// The benches of the text lane.
    Text,
    /// The whole card with one lane.
    Card,
}

impl MutantStage {
    pub(super) const ALL: [Self; 2] = [Self::Text, Self::Card];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Card => "card",
        }
    }

    /// What simulates this module, and the tests that the document lists for it. If the list has `sim/text`, only this
    /// bench is used: its tests compare all results of the text lane, and the card's tests compare fewer.
    pub(super) fn of(doc: &str, module: &str) -> Result<(Self, Vec<String>)> {
        let head = format!("| `{module}` |");
        let row = doc.lines().find(|line| line.starts_with(&head));
        let row = row.with_context(|| format!("{} has no {module}", proofs::DOC))?;
        let column = row.split('|').nth(4).unwrap_or_default();
        let paths: Vec<_> = column.split('`').skip(1).step_by(2).collect();
        if paths.contains(&"sim/text") {
            return Ok((Self::Text, vec![TEXT.to_owned()]));
        }
        let names = paths.iter().filter_map(|path| path.rsplit('/').next());
        let here = |name: &&str| {
            ["host/card/tests/card", "sim/tests"].iter().any(|f| Path::new(f).join(format!("{name}.rs")).is_file())
        };
        Ok((Self::Card, names.filter(here).map(str::to_owned).collect()))
    }

    fn designs(self) -> Vec<SimulatedDesign> {
        match self {
            Self::Text => [
                ("text_tb", "rtl/text/tb/text_tb.f", "PORTCULLIS_TEXT_NETLIST"),
                ("text_lane_tb", "rtl/text/tb/text_lane_tb.f", "PORTCULLIS_TEXT_LANE_NETLIST"),
            ]
            .map(|(top, list, variable)| SimulatedDesign { top, list, variable, parameters: String::new() })
            .into(),
            Self::Card => {
                let (watchdog, engines) = (params::WATCHDOG_LOG2, params::TEXT_ENGINES);
                vec![SimulatedDesign {
                    top: "portcullis_top",
                    list: "rtl/portcullis.f",
                    variable: "PORTCULLIS_NETLIST",
                    parameters: format!(
                        "-G Lanes=1 -G Rounds={ROUNDS} -G WatchdogLog2={watchdog} -G TextEngines={engines}"
                    ),
                }]
            }
        }
    }

    /// The package with the tests; `None` if they are in several.
    const fn package(self) -> Option<&'static str> {
        match self {
            Self::Text => Some("portcullis-text-bench"),
            Self::Card => None,
        }
    }

    const fn skipped(self) -> &'static [&'static str] {
        match self {
            Self::Text => &NOT_ON_NETLISTS,
            Self::Card => &[],
        }
    }
}

/// The test programs with the mutated designs; the tests of each module; the mutants that the designs contain.
pub(super) struct MutantBench {
    pub(super) stage: MutantStage,
    programs: Vec<TestProgram>,
    tests: Tests,
    holds: BTreeSet<usize>,
}

impl MutantBench {
    /// Makes the netlists with all stored mutants, and builds the tests of these modules. With no mutant active, the
    /// tests must pass.
    pub(super) fn build(stage: MutantStage, mutants: &[RtlMutant], tests: Tests) -> Result<Self> {
        say(&format!("simulation of the {} with every mutant in it", stage.name()));
        let mut cargo = Command::new("cargo");
        let tree = tool::root()?.join(FOLDER).join("tree-of-netlists");
        seeded::copy_tree(&tree)?;
        let _stale = seeded::StaleBuilds::since_now();
        let mut holds = BTreeSet::new();
        for design in stage.designs() {
            let Some(netlist) = design.netlist(mutants)? else { continue };
            let file = tree.join(design.file());
            // An unchanged file is not written again, because cargo would rebuild it.
            if fs::read_to_string(&file).ok().as_ref() != Some(&netlist.text) {
                fs::write(file, netlist.text)?;
            }
            cargo.env(design.variable, design.file());
            holds.extend(netlist.holds);
        }
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or(tool::root()?.join("target"), PathBuf::from);
        cargo.current_dir(&tree).env("CARGO_TARGET_DIR", target).env("PORTCULLIS_ROUNDS", ROUNDS);
        let names: BTreeSet<&str> = tests.values().flatten().map(String::as_str).collect();
        let programs = cargo_test::programs(cargo, stage.package(), &names.into_iter().collect::<Vec<_>>())?;
        let bench = Self { stage, programs, tests, holds };
        on_every_core((0..bench.programs.len()).collect(), |at| {
            let program = bench.programs.get(at).context("a place of the list")?;
            let start = Instant::now();
            let outcome = bench.run(program, 0)?;
            say(&format!("no mutant, test {}: {outcome:?}, {} s", program.name, start.elapsed().as_secs()));
            ensure!(outcome == MutantTrialOutcome::Survived, "`{}` fails on the undamaged netlist", program.name);
            Ok(())
        })?;
        Ok(bench)
    }

    /// The tests for a mutant; `None` if no design of the bench contains the mutated cell.
    pub(super) fn tests(&self, at: usize, mutant: &RtlMutant) -> Option<&[String]> {
        self.holds.contains(&at).then(|| self.tests.get(&mutant.module).map_or(&[][..], Vec::as_slice))
    }

    /// Runs the test programs called `test` until one fails.
    pub(super) fn judge(&self, test: &str, at: usize) -> Result<MutantTrialOutcome> {
        for program in self.programs.iter().filter(|program| program.name == test) {
            let outcome = self.run(program, netlist::number(at))?;
            if outcome != MutantTrialOutcome::Survived {
                return Ok(outcome);
            }
        }
        Ok(MutantTrialOutcome::Survived)
    }

    fn run(&self, program: &TestProgram, alive: usize) -> Result<MutantTrialOutcome> {
        let mut child = Command::new("sh")
            .args(["-c", &format!("ulimit -t {LIMIT_SECONDS}; exec \"$@\""), "sh"])
            .arg(&program.path)
            .args(&program.filter)
            .args(self.stage.skipped().iter().flat_map(|test| ["--skip", test]))
            .current_dir(&program.folder)
            .env(netlist::ALIVE, alive.to_string())
            .env("RUST_TEST_THREADS", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let said = BufReader::new(child.stdout.take().context("a test has an output")?);
        let failed =
            said.lines().map_while(Result::ok).any(|line| line.starts_with("test ") && line.ends_with("FAILED"));
        if failed {
            child.kill()?;
        }
        let status = child.wait()?;
        Ok(match (failed, status.success(), status.code()) {
            (true, ..) => MutantTrialOutcome::Killed,
            (false, true, _) => MutantTrialOutcome::Survived,
            // If a test ended by itself, it has failed; if it was killed, it ran out of time.
            (false, false, Some(_)) => MutantTrialOutcome::Killed,
            (false, false, None) => MutantTrialOutcome::TimedOut,
        })
    }
}

/// The tests of each module.
type Tests = BTreeMap<String, Vec<String>>;

/// The mutants that a stage tries.
pub(super) struct MutantShare {
    pub(super) stage: MutantStage,
    pub(super) mutants: Vec<usize>,
    pub(super) tests: Tests,
}

/// Divides the mutants `open` among the stages, by the rows of their modules. A stage without a mutant is left out.
pub(super) fn shares(mutants: &[RtlMutant], open: &[usize]) -> Result<Vec<MutantShare>> {
    let doc = fs::read_to_string(proofs::DOC).context(proofs::DOC)?;
    let mut shares = MutantStage::ALL.map(|stage| MutantShare { stage, mutants: Vec::new(), tests: Tests::new() });
    for (at, mutant) in open.iter().filter_map(|at| Some((*at, mutants.get(*at)?))) {
        let (stage, tests) = MutantStage::of(&doc, &mutant.module)?;
        for share in shares.iter_mut().filter(|share| share.stage == stage) {
            share.mutants.push(at);
            share.tests.insert(mutant.module.clone(), tests.clone());
        }
    }
    Ok(shares.into_iter().filter(|share| !share.mutants.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::MutantStage;

    #[test]
    fn a_module_that_lists_the_text_benches_is_tried_there() {
        let doc = "| `text/text_scan` | `text_scan` | unbounded | `card_text` of `sim`, `sim/text` |\n\
                   | `text/text_blocks` | `text_blocks` | unbounded | `no_such_test` of `sim` |\n";
        let of = |module| MutantStage::of(doc, module).map(|(stage, tests)| (stage == MutantStage::Text, tests)).ok();
        assert_eq!(of("text/text_scan"), Some((true, vec!["text".to_owned()])));
        assert_eq!(of("text/text_blocks"), Some((false, Vec::new())));
        assert_eq!(of("text/text_sca"), None);
    }
}
