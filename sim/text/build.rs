//! Verilates `text_tb` and `text_lane_tb`, and compiles them with the C++ side of the bench.

use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "../verilated/verilator.rs"]
mod verilator;

use verilator::{Result, Unit, Verilator};

/// Each top module, the class generated from it, and the list of its sources, one per line, relative to the workspace.
const TOPS: [(&str, &str, &str); 2] =
    [("text_tb", "Vtext", "rtl/text/tb/text_tb.f"), ("text_lane_tb", "Vtextlane", "rtl/text/tb/text_lane_tb.f")];
/// Functions that the model calls to print and to stop; the simulated card uses them, too.
const HOOKS: &str = "sim/verilated/cpp";
/// The memories that the tests disturb.
const MEMORIES: &str = "sim/verilated/hooks.vlt";

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
    for shared in [HOOKS, MEMORIES] {
        println!("cargo::rerun-if-changed={}", workspace.join(shared).display());
    }
    for (_, _, list) in TOPS {
        let text = fs::read_to_string(workspace.join(list)).map_err(|e| format!("cannot read `{list}`: {e}"))?;
        for source in text.lines().filter(|line| !line.starts_with('+')).chain([list]) {
            println!("cargo::rerun-if-changed={}", workspace.join(source).display());
        }
    }
    for own in ["cpp", "src/ffi.rs"] {
        println!("cargo::rerun-if-changed={own}");
    }
    // Files that an earlier run generated must not be compiled.
    if generated.exists() {
        fs::remove_dir_all(&generated)?;
    }
    let verilator = Verilator::find(&workspace)?;
    for (top, prefix, list) in TOPS {
        let arguments = [MEMORIES, "-f", list].map(str::to_owned).to_vec();
        verilator.run(&workspace, &Unit { top, prefix, arguments }, &generated)?;
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
    bench.include("cpp").files(["cpp/text_bench.cpp", "cpp/lane_bench.cpp"]);
    bench.opt_level(2).try_compile("portcullis_text_bench")?;

    let (start_up, clocked) = verilator::generated(generated)?;
    let mut model = cc::Build::new();
    configure(&mut model);
    model.warnings(false).debug(false).opt_level(3).files(clocked).try_compile("portcullis_text_model")?;

    // The runtime and the model's start-up code are compiled without optimisation for speed.
    let mut runtime = cc::Build::new();
    configure(&mut runtime);
    runtime.warnings(false).debug(false).opt_level(1).files(start_up).file(hooks.join("model_hooks.cpp"));
    runtime.files(["verilated.cpp", "verilated_threads.cpp"].map(|file| include.join(file)));
    runtime.try_compile("portcullis_text_runtime")?;
    Ok(())
}
