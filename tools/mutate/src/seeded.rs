//! Seeded faults: inserts each fault of tests/mutants.toml into a copy of the sources; then the fault's test must fail.

use anyhow::{Context, Result, bail, ensure};
use portcullis_tools::setup;
use portcullis_tools::tally::Tally;
use portcullis_tools::tool::{self, capture, say};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Deserialize)]
struct Mutants {
    mutant: Vec<Mutant>,
}

#[derive(Deserialize)]
struct Mutant {
    name: String,
    file: PathBuf,
    /// The text to replace; it occurs in the file exactly once.
    find: String,
    replace: String,
    /// Arguments of the `cargo test` that must fail.
    test: Vec<String>,
    /// Whether CI seeds this fault.
    #[serde(default)]
    ci: bool,
}

pub(crate) fn run(tally: &mut Tally, long: bool, filter: Option<&str>) -> Result<()> {
    setup::tools()?;
    let text = fs::read_to_string("tests/mutants.toml").context("tests/mutants.toml")?;
    let mutants: Mutants = toml::from_str(&text).context("tests/mutants.toml")?;
    let chosen: Vec<_> =
        mutants.mutant.iter().filter(|m| filter.map_or(long || m.ci, |f| m.name.contains(f))).collect();
    ensure!(!chosen.is_empty(), "no seeded fault was chosen");
    let copy = tool::root()?.join("target/mutate/tree");
    copy_tree(&copy)?;
    for mutant in chosen {
        say(&format!("seeded fault {}", mutant.name));
        tally.check(&format!("seeded fault {}", mutant.name), killed(&copy, mutant));
    }
    let unrun = mutants.mutant.len()
        - mutants.mutant.iter().filter(|m| filter.map_or(long || m.ci, |f| m.name.contains(f))).count();
    if unrun > 0 {
        eprintln!("    {unrun} further faults are seeded by `cargo xtask mutate --long`");
    }
    Ok(())
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
fn killed(copy: &Path, mutant: &Mutant) -> Result<()> {
    let file = copy.join(&mutant.file);
    let original = fs::read_to_string(&file).with_context(|| mutant.file.display().to_string())?;
    let count = original.matches(&mutant.find).count();
    ensure!(count == 1, "`{}` occurs {count} times in {}", mutant.find, mutant.file.display());
    fs::write(&file, original.replace(&mutant.find, &mutant.replace))?;
    let result = judge(copy, mutant);
    fs::write(&file, original)?;
    result
}

fn judge(copy: &Path, mutant: &Mutant) -> Result<()> {
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
        }
    }
}
