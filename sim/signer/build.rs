//! Runs Verilator on `signer_tb` once per model, and compiles the results with the C++ side of the bench.

use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "src/models.rs"]
#[allow(unreachable_pub, reason = "public for the library, of which this is a part too")]
mod models;
#[path = "../verilated/verilator.rs"]
mod verilator;

use verilator::{Result, VerilatedModule, Verilator};

/// File list of the top module, relative to the workspace.
const FILE_LIST: &str = "rtl/attest/tb/signer_tb.f";
/// C++ functions that the model calls to print and to stop; the simulated card uses them, too.
const HOOKS: &str = "sim/verilated/cpp";

fn main() {
    if let Err(error) = build() {
        println!("cargo::error={error}");
        std::process::exit(1);
    }
}

fn build() -> Result<()> {
    if verilator::only_lints() {
        return Ok(());
    }
    let workspace = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let generated = PathBuf::from(env::var("OUT_DIR")?).join("model");
    let list = fs::read_to_string(workspace.join(FILE_LIST)).map_err(|e| format!("cannot read `{FILE_LIST}`: {e}"))?;
    for source in list.lines().filter(|line| !line.starts_with('+')).chain([FILE_LIST, HOOKS]) {
        println!("cargo::rerun-if-changed={}", workspace.join(source).display());
    }
    for own in ["cpp", "src/ffi.rs", "src/models.rs"] {
        println!("cargo::rerun-if-changed={own}");
    }
    // Files that an earlier run generated must not be compiled.
    if generated.exists() {
        fs::remove_dir_all(&generated)?;
    }
    let verilator = Verilator::find(&workspace)?;
    for model in models::MODELS {
        let parameters = [format!("-GRounds={}", model.rounds), format!("-GMessageBytes={}", model.message_bytes)];
        let options = ["--unroll-count", "32", "-f", FILE_LIST].map(str::to_owned);
        let arguments = parameters.into_iter().chain(options).collect();
        let prefix = format!("Vsigner{}", model.rounds);
        verilator.run(&workspace, &VerilatedModule { top: "signer_tb", prefix: &prefix, arguments }, &generated)?;
    }
    compile(&verilator.include(), &workspace.join(HOOKS), &generated)
}

fn compile(include: &Path, hooks: &Path, generated: &Path) -> Result<()> {
    let configure = |build: &mut cc::Build| {
        build.cpp(true).std("c++17").include(generated).include(hooks);
        // Suppresses warnings in Verilator's own headers.
        for path in [include.to_path_buf(), include.join("vltstd")] {
            build.flag("-isystem").flag(path);
        }
        for (name, value) in [("VM_COVERAGE", "0"), ("VM_SC", "0"), ("VM_TIMING", "0"), ("VM_TRACE", "0")] {
            build.define(name, value);
        }
        for name in ["VL_USER_STOP", "VL_USER_FINISH", "VL_USER_FATAL", "VL_IGNORE_UNKNOWN_ARCH"] {
            build.define(name, None);
        }
        // Messages of the model go to the bench, not to the program's standard output.
        build.flag("-include").flag(hooks.join("model_hooks.h"));
    };
    let mut bench = cxx_build::bridge("src/ffi.rs");
    configure(&mut bench);
    bench.include("cpp").file("cpp/signer_bench.cpp").opt_level(2).try_compile("portcullis_signer_bench")?;

    let (start_up, clocked) = verilator::generated(generated)?;
    let mut model = cc::Build::new();
    configure(&mut model);
    model.warnings(false).debug(false).opt_level(3).files(clocked).try_compile("portcullis_signer_model")?;

    // The runtime and the model's start-up code are compiled without optimisation for speed.
    let mut runtime = cc::Build::new();
    configure(&mut runtime);
    runtime.warnings(false).debug(false).opt_level(1).files(start_up).file(hooks.join("model_hooks.cpp"));
    runtime.files(["verilated.cpp", "verilated_threads.cpp"].map(|file| include.join(file)));
    runtime.try_compile("portcullis_signer_runtime")?;
    Ok(())
}
