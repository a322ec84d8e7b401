//! RTL mutants: Yosys `mutate` changes one cell of one module. Then a proof of the module, or a test in simulation,
//! must fail.
//!
//! Each mutant is first tried with the proofs of its module, the smallest first, and if it survives these, in
//! simulation (`bench`). Results are stored in target/mutate, so that an interrupted run can continue.

mod bench;
mod design;
mod draw;
mod netlist;
mod prove;
mod report;

use anyhow::{Context, Result};
use bench::{MutantBench, MutantStage};
use portcullis_tools::parallel::on_every_core;
use portcullis_tools::proofs;
use portcullis_tools::setup;
use portcullis_tools::tool::say;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Folder for the designs, the stored results and the mutated netlists.
const FOLDER: &str = "target/mutate";

/// The result of one proof or test for a mutant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MutantTrialOutcome {
    /// The proof or the test failed, so the mutant is detected.
    Killed,
    Survived,
    /// There was no result in time, so the mutant is neither killed nor survived.
    TimedOut,
    /// The tools could not read the mutant, or the design lacks its cell; it is neither killed nor survived.
    Unusable,
}

#[derive(Clone, Serialize, Deserialize)]
struct Trial {
    /// The name of the proof or test, such as `proof deny_prove` or `test card_oracle`.
    by: String,
    outcome: MutantTrialOutcome,
}

#[derive(Clone, Serialize, Deserialize)]
struct RtlMutant {
    /// The module, such as `gate/sweep`.
    module: String,
    /// The proof in whose design the mutant was selected.
    proof: String,
    /// The Yosys command that makes the mutant.
    command: String,
    /// The trials so far, in order of execution. After a kill there are no more trials.
    tried: Vec<Trial>,
}

impl RtlMutant {
    fn killed(&self) -> bool {
        self.tried.iter().any(|trial| trial.outcome == MutantTrialOutcome::Killed)
    }

    fn was_tried(&self, by: &str) -> bool {
        self.tried.iter().any(|trial| trial.by == by)
    }
}

/// Which mutants to select and to run.
pub(crate) struct MutantSelection<'a> {
    pub(crate) count: usize,
    pub(crate) seed: u32,
    /// Folder of rtl from whose modules to select; `None` selects from the modules that the proofs must cover.
    pub(crate) folder: Option<&'a str>,
    /// Text that the module's name must contain.
    pub(crate) filter: Option<&'a str>,
    pub(crate) proofs_only: bool,
    /// Leaves out the tests on the whole card, whose build takes long.
    pub(crate) without_card: bool,
    /// Tries the tests before the proofs, which take longer for some modules.
    pub(crate) tests_first: bool,
    /// The numbers of the mutants to run; if empty, all run.
    pub(crate) only: &'a [usize],
}

/// The mutants with their results, and the file that stores them.
struct MutantStore {
    path: PathBuf,
    mutants: Mutex<Vec<RtlMutant>>,
}

impl MutantStore {
    fn read_or_draw(request: &MutantSelection, modules: &Modules) -> Result<Self> {
        let folder = request.folder.map(|f| format!("-{f}")).unwrap_or_default();
        let path = PathBuf::from(format!("{FOLDER}/rtl-{}-{}{folder}.json", request.count, request.seed));
        fs::create_dir_all(FOLDER)?;
        let mutants = if path.exists() {
            serde_json::from_str(&fs::read_to_string(&path)?).with_context(|| path.display().to_string())?
        } else {
            draw::draw(modules, request.count, request.seed)?
        };
        let kept = Self { path, mutants: Mutex::new(mutants) };
        kept.write(&kept.all())?;
        Ok(kept)
    }

    fn all(&self) -> Vec<RtlMutant> {
        self.mutants.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn get(&self, at: usize) -> Result<RtlMutant> {
        self.all().get(at).cloned().context("the mutant stands in the list")
    }

    fn note(&self, at: usize, trial: Trial) -> Result<()> {
        let mut all = self.mutants.lock().unwrap_or_else(PoisonError::into_inner);
        all.get_mut(at).context("the mutant stands in the list")?.tried.push(trial);
        self.write(&all)
    }

    fn write(&self, mutants: &[RtlMutant]) -> Result<()> {
        let new = self.path.with_extension("new");
        fs::write(&new, serde_json::to_string_pretty(mutants)?)?;
        Ok(fs::rename(new, &self.path)?)
    }
}

/// Modules, each with the proofs that contain it.
type Modules = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn run(request: &MutantSelection) -> Result<()> {
    setup::tools()?;
    let modules = proofs::modules_of(request.folder.as_ref().map_or(&proofs::FOLDERS[..], std::slice::from_ref))?;
    let kept = MutantStore::read_or_draw(request, &modules)?;
    let mutants = kept.all();
    say(&format!("{} RTL mutants; results in {}", mutants.len(), kept.path.display()));
    let wanted = |at: usize, m: &RtlMutant| {
        let named = request.only.is_empty() || request.only.contains(&at);
        named && !m.killed() && request.filter.is_none_or(|f| m.module.contains(f))
    };
    let open =
        || -> Vec<usize> { kept.all().iter().enumerate().filter(|(at, m)| wanted(*at, m)).map(|(at, _)| at).collect() };
    let proofs = || {
        let mut open = open();
        // Mutants of small proofs come first.
        open.sort_by_key(|at| (mutants.get(*at).map_or(u64::MAX, |m| prove::size(&m.proof)), *at));
        on_every_core(open, |at: usize| try_proofs(&kept, at, &modules)).map(drop)
    };
    if !request.tests_first {
        proofs()?;
    }
    if !request.proofs_only {
        for share in bench::shares(&kept.all(), &open())? {
            if request.without_card && share.stage == MutantStage::Card {
                continue;
            }
            let bench = MutantBench::build(share.stage, &kept.all(), share.tests)?;
            on_every_core(share.mutants, |at| try_tests(&kept, at, &bench))?;
        }
    }
    if request.tests_first {
        proofs()?;
    }
    println!("{}", report::table(&kept.all())?);
    Ok(())
}

/// Tries a mutant with the claims of the module's proofs, the smallest first, until one fails.
fn try_proofs(kept: &MutantStore, at: usize, modules: &Modules) -> Result<()> {
    let mutant = kept.get(at)?;
    let mut proofs: Vec<&String> = modules.get(&mutant.module).into_iter().flatten().collect();
    proofs.sort_by_key(|proof| prove::size(proof));
    for claim in proofs.iter().map(|proof| prove::claims(proof)).collect::<Result<Vec<_>>>()?.concat() {
        if try_one(kept, at, &mutant, format!("proof {}", claim.name()), || prove::judge(at, &mutant, &claim))? {
            break;
        }
    }
    Ok(())
}

/// Tries a mutant with the module's tests in simulation, until one fails.
fn try_tests(kept: &MutantStore, at: usize, bench: &MutantBench) -> Result<()> {
    let mutant = kept.get(at)?;
    let Some(tests) = bench.tests(at, &mutant) else {
        let by = bench.stage.name();
        return if mutant.was_tried(by) {
            Ok(())
        } else {
            kept.note(at, Trial { by: by.to_owned(), outcome: MutantTrialOutcome::Unusable })
        };
    };
    for test in tests {
        if try_one(kept, at, &mutant, format!("test {test}"), || bench.judge(test, at))? {
            break;
        }
    }
    Ok(())
}

/// Runs one trial, unless its result is stored; returns whether it killed the mutant.
fn try_one(
    kept: &MutantStore,
    at: usize,
    mutant: &RtlMutant,
    by: String,
    judge: impl FnOnce() -> Result<MutantTrialOutcome>,
) -> Result<bool> {
    if mutant.was_tried(&by) {
        return Ok(false);
    }
    let start = Instant::now();
    let outcome = judge()?;
    say(&format!("mutant {at} of {}, {by}: {outcome:?}, {} s", mutant.module, start.elapsed().as_secs()));
    kept.note(at, Trial { by, outcome })?;
    Ok(outcome == MutantTrialOutcome::Killed)
}

/// Copies the files of a proof's or of a bench's design into one folder, because designs are read from one folder.
fn copy_flat(files: &[PathBuf], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for path in files {
        fs::copy(path, folder.join(path.file_name().context("a file has a name")?))
            .with_context(|| path.display().to_string())?;
    }
    Ok(())
}
