//! Area of the card and its parts: Yosys for UltraScale+, written to docs/explanation/area.md.

use crate::yosys;
use anyhow::{Context, Result, ensure};
use portcullis_tools::parallel::on_every_core;
use portcullis_tools::setup;
use portcullis_tools::tool::say;
use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

/// The modules to synthesise separately, flattened: module, parameters, description. Parts of the whole follow it, and
/// their parts follow them.
const PARTS: [(&str, &str, &str); 14] = [
    ("portcullis_top", "", "The card: one lane, 256 policy rows, 64 entropy rows, one round of SHA-256 per clock"),
    ("card_csr", "", "— registers and table windows"),
    ("lifecycle", "", "— lifecycle: states, lock, faults, session records"),
    ("lane", "", "— lane: rings, entry check, banks, log"),
    ("bank", "-G Rows=256", "— — bank of 256 rows; the other has 64"),
    ("ring", "", "— — rings"),
    ("heartbeat", "", "— — heartbeat credit"),
    ("log_tree", "", "— — log tree with its hash core"),
    ("attest", "", "— attestation: hash core, key, table digest, checkpoints, signer"),
    ("device_key", "", "— — key derivation"),
    ("table_digest", "", "— — table digest"),
    ("checkpoint", "", "— — checkpoint assembly"),
    ("slh_dsa", "", "— — SLH-DSA-SHA2-128f signer, without hash core"),
    ("sha256", "-G Rounds=1", "SHA-256 core, one round per clock (two in a card)"),
];
/// The hash core with the simulated card's rounds, to show the cost of a faster core.
const FAST: (&str, &str, &str) = ("sha256", "-G Rounds=16", "SHA-256 core, 16 rounds per clock (simulation)");
/// Logic cells and 36-kbit block RAMs of the devices on AWS F2 and on a U55C, for comparison (AMD product tables:
/// VU47P, XCU55C).
const LUTS_VU47P: u64 = 1_303_680;

/// Numbers of cells that Yosys reports after mapping.
#[derive(Default)]
struct Cells {
    luts: u64,
    flops: u64,
    ramb18: u64,
    lutram: u64,
    carry4: u64,
}

pub(crate) fn run() -> Result<()> {
    setup::tools()?;
    let files = yosys::sources()?.join(" ");
    fs::create_dir_all("target/xtask")?;
    let parts: Vec<_> = PARTS.into_iter().chain([FAST]).collect();
    let done = on_every_core(parts.iter().enumerate().collect(), |(place, (module, parameters, _))| {
        let begun = Instant::now();
        let cells = synthesise(place, module, parameters, &files);
        say(&format!("synthesised {module} {parameters}: {} s", begun.elapsed().as_secs()));
        cells
    })?;
    let mut page = String::from(
        "# Area\n\nWritten by `cargo xtask area`: Yosys `synth_xilinx -family xcup -flatten`, before placement, each part on its own, so that\n\
         parts do not add up to the whole. LUT, flip-flop and RAM counts are usable estimates; carry cells are counted in the 7-series\n\
         form (two CARRY4 make one CARRY8). Not a timing result.\n\n\
         | part | module | LUTs | share of a VU47P's LUTs | flip-flops | RAMB18 | LUT RAM cells | CARRY4 |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (cells, (module, _, what)) in done.into_iter().zip(&parts) {
        let share = cells.luts * 10_000 / LUTS_VU47P;
        let _ = writeln!(
            page,
            "| {what} | `{module}` | {} | {}.{:02} % | {} | {} | {} | {} |",
            cells.luts,
            share / 100,
            share % 100,
            cells.flops,
            cells.ramb18,
            cells.lutram,
            cells.carry4
        );
    }
    print!("{page}");
    fs::write("docs/explanation/area.md", page)?;
    Ok(())
}

fn synthesise(place: usize, module: &str, parameters: &str, files: &str) -> Result<Cells> {
    let json = format!("target/xtask/area-{place}-{module}.json");
    let script = format!(
        "read_slang -j 1 {parameters} --top {module} {files}; synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top {module}; \
         tee -q -o {json} stat -json"
    );
    yosys::run(&script)?;
    count(&fs::read_to_string(&json)?)
}

/// Sums the cell types of the whole design.
fn count(json: &str) -> Result<Cells> {
    let stat: serde_json::Value = serde_json::from_str(json)?;
    let by_type = stat["design"]["num_cells_by_type"].as_object().context("Yosys counts cells by type")?;
    let mut cells = Cells::default();
    for (name, number) in by_type {
        let number = number.as_u64().unwrap_or(0);
        match name.as_str() {
            n if n.starts_with("LUT") => cells.luts += number,
            n if n.starts_with("FD") => cells.flops += number,
            n if n.starts_with("RAMB18") => cells.ramb18 += number,
            n if n.starts_with("RAMB36") => cells.ramb18 += 2 * number,
            n if n.starts_with("RAM") => cells.lutram += number,
            "CARRY4" => cells.carry4 += number,
            _ => {}
        }
    }
    ensure!(cells.luts > 0, "Yosys counted no LUTs");
    Ok(cells)
}
