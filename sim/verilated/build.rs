//! Runs Verilator on the files of `rtl/portcullis.f`, and compiles the generated C++.

use std::path::{Path, PathBuf};
use std::{env, fs};

mod netlist;
#[path = "src/params.rs"]
#[allow(unreachable_pub, reason = "public for the library, of which this is a part too")]
mod params;
mod verilator;

use verilator::{Result, VerilatedModule, Verilator};

const FILE_LIST: &str = "rtl/portcullis.f";
/// Environment variable: SHA-256 rounds per clock in the simulated card. Hardware has one; sixteen need fewer simulated
/// clocks. The results are identical.
const ROUNDS: &str = "PORTCULLIS_ROUNDS";
const DEFAULT_ROUNDS: &str = "16";
/// Environment variable: log2 of the clocks in RUN after which the simulated card hashes its tables again. The card's
/// default is 24; the default here is small enough for a test.
const PATROL: &str = "PORTCULLIS_PATROL";
const DEFAULT_PATROL: &str = "17";
/// Exposes the tables' RAM to the harness, so that a test can invert a bit of it.
const HOOKS: &str = "sim/verilated/hooks.vlt";
/// Environment variable: whether idle parts sleep (1) or not (0). Outside, the card behaves the same.
const SLEEP: &str = "PORTCULLIS_SLEEP";
/// Environment variable: a netlist of `portcullis_top` with the same parameters. It replaces the sources of the card
/// with one lane.
const NETLIST: &str = "PORTCULLIS_NETLIST";
/// Environment variable: lanes of the second card, which the feature `lanes` adds: 2, 4 or 8. The first card has one
/// lane and is fastest.
const LANES: &str = "PORTCULLIS_LANES";
const DEFAULT_LANES: &str = "4";
const CANARY: &str = "sim/verilated/canary.sv";

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
    let several = env::var_os("CARGO_FEATURE_LANES").is_some();
    let parameter = |name: &str, default: &str| {
        println!("cargo::rerun-if-env-changed={name}");
        let value = env::var(name).unwrap_or_else(|_| default.to_owned());
        println!("cargo::rustc-env={name}={value}");
        value
    };
    let rounds = parameter(ROUNDS, DEFAULT_ROUNDS);
    let lanes = parameter(LANES, DEFAULT_LANES);
    let sleep = parameter(SLEEP, "1");
    let patrol = parameter(PATROL, DEFAULT_PATROL);
    if verilator::only_lints() {
        println!("cargo::metadata=compiled=no");
        return Ok(());
    }

    let mut common = vec!["--unroll-count".to_owned(), "16".to_owned()];
    if trace {
        common.push("--trace-fst".to_owned());
    }
    let files = sources(&workspace)?;
    let netlist = netlist::from_environment(&workspace, NETLIST)?;
    let card = |lanes: &str| {
        let mut card = common.clone();
        card.push(format!("-GWatchdogLog2={}", params::WATCHDOG_LOG2));
        card.extend([format!("-GRounds={rounds}"), format!("-GLanes={lanes}"), format!("-GSleep={sleep}")]);
        card.extend([format!("-GPatrolLog2={patrol}"), format!("-GTextEngines={}", params::TEXT_ENGINES)]);
        card.push(HOOKS.to_owned());
        card.extend(files.iter().cloned());
        card
    };
    let one = netlist.map_or_else(|| card("1"), |netlist| common.iter().cloned().chain([netlist]).collect());
    // The canary is built like the card, so it shows whether assertions are active in the card.
    let mut canary = common.clone();
    canary.push(CANARY.to_owned());
    for file in [CANARY, HOOKS] {
        println!("cargo::rerun-if-changed={}", workspace.join(file).display());
    }
    // The harness includes the header of every generated class.
    let mut units = vec![
        VerilatedModule { top: "portcullis_top", prefix: "Vcard", arguments: one },
        VerilatedModule { top: "canary", prefix: "Vcanary", arguments: canary },
    ];
    if several {
        // A single table that is swept, as the reference for the card's speed.
        let bank: Vec<String> = common.iter().cloned().chain(files.iter().cloned()).collect();
        units.push(VerilatedModule { top: "portcullis_top", prefix: "Vlanes", arguments: card(&lanes) });
        units.push(VerilatedModule { top: "bank", prefix: "Vbank", arguments: bank });
    }
    let verilator = Verilator::find(&workspace)?;
    let model = out.join("model");
    // Files that an earlier run generated must not be compiled.
    if model.exists() {
        fs::remove_dir_all(&model)?;
    }
    for unit in &units {
        verilator.run(&workspace, unit, &model)?;
        leave_out_garbage(&model, unit.prefix)?;
        if unit.top == "portcullis_top" {
            settle_inputs_on_demand(&model, unit.prefix)?;
        }
    }
    compile(&verilator, &model, trace, several.then_some(lanes.as_str()))
}

/// Removes the code that frees objects of SystemVerilog classes. The RTL has no classes, and that code locks a mutex in
/// every evaluation.
fn leave_out_garbage(model: &Path, prefix: &str) -> Result<()> {
    const COLLECTS: &str = "vlSymsp->__Vm_deleter.deleteAll();";
    leave_out(model, |name| name == format!("{prefix}.cpp"), COLLECTS)
}

/// Removes the line by which each evaluation computes again what depends on the inputs: a third of a card's time. The
/// harness sets the same variable when it has changed an input (sim/cpp/card_model.h).
fn settle_inputs_on_demand(model: &Path, prefix: &str) -> Result<()> {
    const ALWAYS: &str = "vlSelfRef.__VicoFirstIteration = 1U;";
    let root = format!("{prefix}___024root");
    leave_out(model, |name| name.starts_with(&root) && name.ends_with(".cpp"), ALWAYS)
}

/// Removes `what` from the generated files that `among` names; it must stand in exactly one of them.
fn leave_out(model: &Path, among: impl Fn(&str) -> bool, what: &str) -> Result<()> {
    let mut found = 0;
    for entry in fs::read_dir(model)? {
        let path = entry?.path();
        if !path.file_name().and_then(|name| name.to_str()).is_some_and(&among) {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|e| format!("cannot read `{}`: {e}", path.display()))?;
        if text.contains(what) {
            found += text.matches(what).count();
            fs::write(&path, text.replace(what, ""))?;
        }
    }
    if found == 1 {
        return Ok(());
    }
    Err(format!("`{what}` stands {found} times in `{}`: Verilator writes it differently now", model.display()).into())
}

/// The entries of the file list, relative to the workspace. Makes cargo watch each of them.
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
    Ok(entries)
}

fn compile(verilator: &Verilator, model: &Path, trace: bool, lanes: Option<&str>) -> Result<()> {
    let include = verilator.include();
    let hooks = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("cpp");
    println!("cargo::rerun-if-changed={}", hooks.display());
    let vltstd = include.join("vltstd");
    let includes = [model, &include, &vltstd, &hooks];
    let defines = ["VM_COVERAGE=0", "VM_SC=0", "VM_TIMING=0", if trace { "VM_TRACE=1" } else { "VM_TRACE=0" }];
    let defines: Vec<&str> =
        defines.into_iter().chain(if trace { vec!["VM_TRACE_FST=1"] } else { vec!["VM_TRACE_FST=0"] }).collect();

    let base = || {
        let mut build = cc::Build::new();
        build.cpp(true).std("c++17").warnings(false).includes(includes);
        // Messages of the model go to the harness, not to the program's standard output.
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
    let (start_up, clocked) = verilator::generated(model)?;
    // With -O3 the build would take longer without a faster card. A program that is not optimised runs for seconds, so
    // that a short build matters more than a fast card.
    let is_short_lived = env::var("OPT_LEVEL").is_ok_and(|level| level == "0");
    let mut clock = base();
    clock.opt_level(if is_short_lived { 1 } else { 2 }).debug(false).files(clocked);
    clock.flag("-include").flag(hooks.join("assert_always.h"));
    // Verilated code clears and copies many small arrays in each clock. For these, GCC would use string instructions,
    // which are slow to start.
    for what in ["memset", "memcpy"] {
        clock.flag_if_supported(format!("-m{what}-strategy=unrolled_loop:512:noalign,libcall:-1:noalign"));
    }
    clock.compile("portcullis_model");

    // The runtime and the model's start-up code do not run in every clock. Less optimisation saves build time.
    let mut runtime = base();
    runtime.opt_level(1).debug(false).files(start_up).file(hooks.join("model_hooks.cpp"));
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
    println!("cargo::metadata=compiled=yes");
    println!("cargo::metadata=include={}", joined.to_string_lossy());
    let lanes = lanes.map(|lanes| format!(";PORTCULLIS_LANES={lanes}")).unwrap_or_default();
    println!("cargo::metadata=defines={}{lanes}", defines.join(";"));
    Ok(())
}
