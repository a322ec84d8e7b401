//! The proofs in rtl/formal/proofs.toml, and the modules in each proof, according to the elaborated designs.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of rtl in which every module must be in a proof.
pub const FOLDERS: [&str; 7] = ["gate", "lane", "log", "hash", "attest", "ring", "text"];
/// The document that lists the proofs of each module.
pub const DOC: &str = "docs/explanation/verification.md";
const TABLE: &str = "rtl/formal/proofs.toml";
const CARD: &str = "rtl/portcullis.f";
const STANDIN: &str = "sha256_standin";
const ASSERT: &str = "rtl/lib/assert.svh";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProofTable {
    proof: Vec<ProofRow>,
}

/// A proof in the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProofRow {
    name: String,
    #[serde(default)]
    card: bool,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    black_boxes: Vec<String>,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    then: Vec<String>,
    #[serde(default)]
    instead_of_prep: Vec<String>,
    tasks: Vec<TaskRow>,
    #[serde(default)]
    long: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskRow {
    name: String,
    mode: Option<ProofMode>,
    depth: u32,
    #[serde(default)]
    read: String,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum ProofMode {
    /// Proof by k-induction from reset.
    Prove,
    /// Check of all runs with this many clocks.
    Bmc,
    Cover,
}

#[derive(Clone, Debug)]
pub struct FormalProof {
    /// Name; the top module is `NAME_props`.
    pub name: String,
    /// Files relative to the workspace.
    pub files: Vec<PathBuf>,
    /// Modules that are replaced by black boxes, whose outputs are unconstrained.
    pub black_boxes: Vec<String>,
    /// Options for all tasks.
    options: Vec<String>,
    /// Yosys commands after the design was read.
    pub steps: Vec<String>,
    /// Tasks in the order of the table.
    pub tasks: Vec<ProofTask>,
    /// Whether the proof takes minutes; then CI runs it [shortened](Self::shortened).
    pub long: bool,
}

#[derive(Clone, Debug)]
pub struct ProofTask {
    /// The task's name, unique within its proof.
    pub name: String,
    pub mode: ProofMode,
    /// Number of clocks, or steps of the induction.
    pub depth: u32,
    /// Yosys command that reads the design.
    pub read: String,
}

/// All proofs, ordered by name. Errors: the table is invalid, or names a missing file.
pub fn all() -> Result<Vec<FormalProof>> {
    let table: ProofTable = toml::from_str(&fs::read_to_string(TABLE).context(TABLE)?).context(TABLE)?;
    let mut sources = BTreeMap::new();
    index(Path::new("rtl"), &mut sources)?;
    let mut proofs = Vec::new();
    for row in table.proof {
        let name = row.name.clone();
        proofs.push(proof(row, &sources).with_context(|| format!("{TABLE}: `{name}`"))?);
    }
    ensure!(!proofs.is_empty(), "{TABLE} states no proofs");
    ensure!(proofs.is_sorted_by(|a, b| a.name < b.name), "{TABLE} is not in the order of names");
    Ok(proofs)
}

/// SystemVerilog files by name without suffix. The names must be unique, because all files are read from one folder.
fn index(folder: &Path, sources: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            index(&path, sources)?;
        } else if path.extension().is_some_and(|e| e == "sv") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let other = sources.insert(name, path.clone());
            ensure!(other.is_none(), "two files have the name of {}", path.display());
        }
    }
    Ok(())
}

fn proof(row: ProofRow, sources: &BTreeMap<String, PathBuf>) -> Result<FormalProof> {
    let top = format!("{}_props", row.name);
    let mut files = Vec::new();
    if row.card {
        let list = fs::read_to_string(CARD).context(CARD)?;
        let card = list.lines().map(str::trim).filter(|line| line.ends_with(".sv") && !line.ends_with("/sha256.sv"));
        files.extend(card.map(PathBuf::from));
    }
    for name in row.card.then_some(STANDIN).into_iter().chain(row.files.iter().map(String::as_str)).chain([&*top]) {
        files.push(sources.get(name).with_context(|| format!("no file `{name}.sv` in rtl"))?.clone());
    }
    let names: Vec<_> = files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
    let names = names.join(" ");
    let boxes: String = row.black_boxes.iter().map(|name| format!(" --blackboxed-module {name}")).collect();
    let mut tasks = Vec::new();
    for task in row.tasks {
        let mode = match (task.mode, task.name.as_str()) {
            (Some(mode), _) => mode,
            (None, "prove") => ProofMode::Prove,
            (None, "bmc") => ProofMode::Bmc,
            (None, "cover") => ProofMode::Cover,
            (None, name) => anyhow::bail!("task `{name}` states no mode"),
        };
        let options = if task.read.is_empty() { String::new() } else { format!(" {}", task.read) };
        let read = format!("read_slang -j 1{options}{boxes} --top {top} {names}");
        tasks.push(ProofTask { name: task.name, mode, depth: task.depth, read });
    }
    files.push(PathBuf::from(ASSERT));
    let mut steps = row.instead_of_prep;
    if steps.is_empty() {
        steps.push(format!("prep -top {top}"));
    }
    steps.extend(row.then);
    if !row.black_boxes.is_empty() {
        steps.push("cutpoint -blackbox".to_owned());
    }
    ensure!(tasks.iter().any(ProofTask::claims), "no task claims anything");
    Ok(FormalProof {
        name: row.name,
        files,
        black_boxes: row.black_boxes,
        options: row.options,
        steps,
        tasks,
        long: row.long,
    })
}

impl ProofTask {
    /// Whether the task makes a claim; other tasks only have covers.
    #[must_use]
    pub fn claims(&self) -> bool {
        self.mode != ProofMode::Cover
    }
}

impl FormalProof {
    /// The proof with this name. Errors: as [`all`], or the name is unknown.
    pub fn named(name: &str) -> Result<Self> {
        all()?.into_iter().find(|proof| proof.name == name).with_context(|| format!("{TABLE} states no `{name}`"))
    }

    /// The proof with the same claims for the first three clocks only. This shows that the files fit together, and that
    /// no assertion fails immediately.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        self.tasks.retain(ProofTask::claims);
        for task in &mut self.tasks {
            (task.mode, task.depth) = (ProofMode::Bmc, task.depth.min(3));
        }
        self
    }

    /// Without covers: only the tasks that claim something.
    #[must_use]
    pub fn claims_only(mut self) -> Self {
        self.tasks.retain(ProofTask::claims);
        self
    }

    /// The folder where `cargo xtask formal` stores the design of the first task that makes a claim.
    #[must_use]
    pub fn model(&self) -> PathBuf {
        let task = self.tasks.iter().find(|task| task.claims()).map_or("", |task| task.name.as_str());
        PathBuf::from(format!("target/formal/{}_{task}/model", self.name))
    }

    /// The proof as an `sby` file.
    #[must_use]
    pub fn sby(&self) -> String {
        let lines = |of: &dyn Fn(&ProofTask) -> Vec<String>| -> String {
            self.tasks
                .iter()
                .flat_map(|task| of(task).into_iter().map(|line| format!("{}: {line}\n", task.name)))
                .collect()
        };
        let shared = |list: &[String]| -> String { list.iter().map(|line| format!("{line}\n")).collect() };
        let tasks: String = self.tasks.iter().map(|task| format!("{}\n", task.name)).collect();
        let options = lines(&|task| match task.mode {
            ProofMode::Prove => vec!["mode prove".to_owned(), format!("depth {}", task.depth)],
            ProofMode::Bmc => vec!["mode bmc".to_owned(), format!("depth {}", task.depth)],
            ProofMode::Cover => vec!["mode cover".to_owned(), "vcd off".to_owned(), format!("depth {}", task.depth)],
        });
        let reads = lines(&|task| vec![task.read.clone()]);
        let files: String = self.files.iter().map(|file| format!("{}\n", file.display())).collect();
        format!(
            "[tasks]\n{tasks}\n[options]\n{}{options}\n[engines]\nsmtbmc bitwuzla\n\n[script]\n{reads}{}\n[files]\n{files}",
            shared(&self.options),
            shared(&self.steps)
        )
    }
}

/// For each module in these folders, such as `gate/sweep`: the proofs whose design contains logic of the module's file.
///
/// The designs are those of the last `cargo xtask formal`; those of proofs without a file of these folders are not
/// read. A module that is a black box, or is inside one, has no logic in the design.
pub fn modules_of(folders: &[&str]) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for folder in folders {
        for entry in fs::read_dir(Path::new("rtl").join(folder))? {
            let path = entry?.path();
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if path.extension().is_some_and(|e| e == "sv") && !stem.ends_with("_pkg") {
                modules.insert(format!("{folder}/{stem}"), BTreeSet::new());
            }
        }
    }
    for proof in all()? {
        if !proof.files.iter().any(|file| folders.iter().any(|folder| file.starts_with(Path::new("rtl").join(folder))))
        {
            continue;
        }
        let design = design(&proof)?;
        for (module, proofs) in &mut modules {
            let (_, file) = module.rsplit_once('/').unwrap_or_default();
            let black = proof.black_boxes.iter().any(|name| name == file);
            if !black && (design.contains(&format!("\"{file}.sv:")) || design.contains(&format!("|{file}.sv:"))) {
                proofs.insert(proof.name.clone());
            }
        }
    }
    Ok(modules)
}

/// The elaborated design of the first task of a proof that makes a claim.
fn design(proof: &FormalProof) -> Result<String> {
    let path = proof.model().join("design.il");
    fs::read_to_string(&path)
        .with_context(|| format!("`{}` is not there: run `cargo xtask formal` first", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{ProofMode, ProofRow, proof};
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    #[test]
    fn a_row_becomes_what_sby_reads() {
        let row: ProofRow = toml::from_str(
            "name = \"a\"\nfiles = [\"b\", \"c\"]\nblack_boxes = [\"c\"]\n\
             tasks = [{ name = \"cover\", depth = 9 }, { name = \"two\", mode = \"prove\", depth = 2, read = \"-G N=2\" }]",
        )
        .unwrap();
        let sources: BTreeMap<_, _> =
            ["b", "c", "a_props"].map(|name| (name.to_owned(), PathBuf::from(format!("rtl/x/{name}.sv")))).into();
        let proof = proof(row, &sources).unwrap();
        assert_eq!(proof.model(), PathBuf::from("target/formal/a_two/model"));
        assert_eq!(proof.tasks[0].mode, ProofMode::Cover);
        let text = proof.sby();
        for needed in [
            "[tasks]\ncover\ntwo\n",
            "cover: mode cover\ncover: vcd off\ncover: depth 9\ntwo: mode prove\ntwo: depth 2\n",
            "two: read_slang -j 1 -G N=2 --blackboxed-module c --top a_props b.sv c.sv a_props.sv\nprep -top a_props\ncutpoint -blackbox\n",
            "[files]\nrtl/x/b.sv\nrtl/x/c.sv\nrtl/x/a_props.sv\nrtl/lib/assert.svh\n",
        ] {
            assert!(text.contains(needed), "{needed} is missing in\n{text}");
        }
    }

    #[test]
    fn a_proof_that_only_covers_claims_nothing() {
        let row: ProofRow =
            toml::from_str("name = \"a\"\nfiles = []\ntasks = [{ name = \"cover\", depth = 9 }]").unwrap();
        assert!(proof(row, &BTreeMap::from([("a_props".to_owned(), PathBuf::from("a_props.sv"))])).is_err());
    }
}
