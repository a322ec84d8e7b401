//! Verilates `text_tb` and `text_lane_tb`, and compiles them with the C++ side of the bench.

use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "../verilated/netlist.rs"]
mod netlist;
#[path = "../verilated/verilator.rs"]
mod verilator;

use verilator::{Result, VerilatedModule, Verilator};

struct Top {
    module: &'static str,
    /// The class generated from the module.
    class: &'static str,
    /// The list of the module's sources, one per line, relative to the workspace.
    list: &'static str,
    /// Environment variable: a netlist of the module that replaces these sources.
    netlist: &'static str,
}

const TOPS: [Top; 2] = [
    Top { module: "text_tb", class: "Vtext", list: "rtl/text/tb/text_tb.f", netlist: "PORTCULLIS_TEXT_NETLIST" },
    Top {
        module: "text_lane_tb",
        class: "Vtextlane",
        list: "rtl/text/tb/text_lane_tb.f",
        netlist: "PORTCULLIS_TEXT_LANE_NETLIST",
    },
];
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
    for list in TOPS.map(|top| top.list) {
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
    for Top { module, class, list, netlist } in TOPS {
        let arguments = match netlist::from_environment(&workspace, netlist)? {
            Some(netlist) => vec![netlist],
            None => [MEMORIES, "-f", list].map(str::to_owned).to_vec(),
        };
        verilator.run(&workspace, &VerilatedModule { top: module, prefix: class, arguments }, &generated)?;
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
