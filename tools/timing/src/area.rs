//! Area of the card and its parts: Yosys for UltraScale+, written to docs/explanation/area.md.

use crate::yosys;
use anyhow::{Context, Result, bail, ensure};
use portcullis_tools::parallel::on_every_core;
use portcullis_tools::setup;
use portcullis_tools::tool::say;
use std::fs;
use std::time::Instant;

const PAGE: &str = "docs/explanation/area.md";
/// Modules that are synthesised and flattened separately: module, parameters, description. The list has the whole
/// first, then its parts, each followed by its own parts.
const PARTS: [(&str, &str, &str); 18] = [
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
    ("text_lane", "", "Text of a lane, in no card: three engines of 4,096 states, 1,024 slots"),
    ("text_window", "", "— text window: reads, SHA-256 core, comparison"),
    ("text_scan", "", "— text scan: three engines of 4,096 states"),
    ("text_lane", "-G Engines=1 -G States=512", "Text of a lane with one engine of 512 states"),
];
/// The hash core with as many rounds per clock as in simulation, to show what a faster core costs.
const FAST: (&str, &str, &str) = ("sha256", "-G Rounds=16", "SHA-256 core, 16 rounds per clock (simulation)");
/// LUTs and 36-kbit block RAMs of the devices on AWS F2 and on a U55C, for comparison (AMD product tables: VU47P,
/// XCU55C).
const LUTS_VU47P: u64 = 1_303_680;

/// Numbers of cells, as Yosys reports them after mapping.
#[derive(Default)]
struct CellCounts {
    luts: u64,
    flops: u64,
    ramb18: u64,
    uram: u64,
    lutram: u64,
    carry4: u64,
}

/// Synthesises `modules`, or all modules if the list is empty, and replaces their rows of the page; other rows stay.
pub(crate) fn run(modules: &[String]) -> Result<()> {
    let parts: Vec<_> = PARTS.into_iter().chain([FAST]).collect();
    if let Some(unknown) = modules.iter().find(|name| !parts.iter().any(|(module, ..)| module == name)) {
        bail!("no module `{unknown}` is synthesised on its own");
    }
    setup::tools()?;
    let files = yosys::sources()?.join(" ");
    fs::create_dir_all("target/xtask")?;
    let old = fs::read_to_string(PAGE).unwrap_or_default();
    let rows = on_every_core(parts.iter().enumerate().collect(), |(place, (module, parameters, what))| {
        let begin = format!("| {what} | `{module}` | ");
        if !modules.is_empty() && !modules.iter().any(|name| name == module) {
            let kept = old.lines().find(|line| line.starts_with(&begin));
            return Ok(kept.with_context(|| format!("{PAGE} has no row of `{module}` to keep"))?.to_owned());
        }
        let begun = Instant::now();
        let cells = synthesise(place, module, parameters, &files)?;
        say(&format!("synthesised {module} {parameters}: {} s", begun.elapsed().as_secs()));
        Ok::<_, anyhow::Error>(row(&begin, &cells))
    })?;
    let mut page = String::from(
        "# Area\n\nWritten by `cargo xtask area`: Yosys `synth_xilinx -family xcup -flatten`, before placement, each part on its own, so that\n\
         parts do not add up to the whole. LUT, flip-flop and RAM counts are usable estimates; carry cells are counted in the 7-series\n\
         form (two CARRY4 make one CARRY8). A LUT RAM cell takes up to eight LUTs, which the column of LUTs does not count.\n\
         Not a timing result.\n\n\
         | part | module | LUTs | share of a VU47P's LUTs | flip-flops | RAMB18 | URAM | LUT RAM cells | CARRY4 |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for row in rows {
        page += &row;
        page.push('\n');
    }
    print!("{page}");
    fs::write(PAGE, page)?;
    Ok(())
}

fn row(begin: &str, cells: &CellCounts) -> String {
    let share = cells.luts * 10_000 / LUTS_VU47P;
    let CellCounts { luts, flops, ramb18, uram, lutram, carry4 } = cells;
    let (whole, part) = (share / 100, share % 100);
    format!("{begin}{luts} | {whole}.{part:02} % | {flops} | {ramb18} | {uram} | {lutram} | {carry4} |")
}

fn synthesise(place: usize, module: &str, parameters: &str, files: &str) -> Result<CellCounts> {
    let json = format!("target/xtask/area-{place}-{module}.json");
    let script = format!(
        "read_slang -j 1 {parameters} --top {module} {files}; synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top {module}; \
         tee -q -o {json} stat -json"
    );
    yosys::run(&script)?;
    count(&fs::read_to_string(&json)?)
}

/// Adds up the numbers of cells of the whole design, by type.
fn count(json: &str) -> Result<CellCounts> {
    let stat: serde_json::Value = serde_json::from_str(json)?;
    let by_type = stat["design"]["num_cells_by_type"].as_object().context("Yosys counts cells by type")?;
    let mut cells = CellCounts::default();
    for (name, number) in by_type {
        let number = number.as_u64().unwrap_or(0);
        match name.as_str() {
            n if n.starts_with("LUT") => cells.luts += number,
            n if n.starts_with("FD") => cells.flops += number,
            n if n.starts_with("RAMB18") => cells.ramb18 += number,
            n if n.starts_with("RAMB36") => cells.ramb18 += 2 * number,
            n if n.starts_with("URAM") => cells.uram += number,
            n if n.starts_with("RAM") => cells.lutram += number,
            "CARRY4" => cells.carry4 += number,
            _ => {}
        }
    }
    ensure!(cells.luts > 0, "Yosys counted no LUTs");
    Ok(cells)
}
