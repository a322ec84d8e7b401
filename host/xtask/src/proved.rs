//! Which modules stand in which proofs, from what the proofs elaborated; and docs/verification.md, which says so.

use crate::formal::{self, Proof};
use crate::tally::Tally;
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Folders of rtl whose every module must stand in a proof.
pub(crate) const FOLDERS: [&str; 6] = ["gate", "lane", "log", "hash", "attest", "ring"];
pub(crate) const DOC: &str = "docs/verification.md";

/// For each module of these folders, as `gate/sweep`, the proofs whose design holds logic of its file.
///
/// Read from the designs that the last `cargo xtask formal` left: a module that is a black box, or below one, leaves no logic.
pub(crate) fn modules_of(folders: &[&str]) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for folder in folders {
        for entry in fs::read_dir(Path::new("rtl").join(folder))? {
            let path = entry?.path();
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if path.extension().is_some_and(|e| e == "sv") && !stem.ends_with("_pkg") {
                modules.insert(format!("{folder}/{stem}"), BTreeSet::new());
            }
        }
    }
    for proof in formal::proofs()? {
        let design = design(&proof)?;
        for (module, proofs) in &mut modules {
            let (_, file) = module.rsplit_once('/').unwrap_or_default();
            let black = proof.black_boxes.iter().any(|name| name == file);
            if !black && (design.contains(&format!("\"{file}.sv:")) || design.contains(&format!("|{file}.sv:"))) {
                proofs.insert(proof.name.clone());
            }
        }
    }
    Ok(modules)
}

/// The elaborated design of a proof's first task that proves.
fn design(proof: &Proof) -> Result<String> {
    let path = proof.model().join("design.il");
    fs::read_to_string(&path)
        .with_context(|| format!("`{}` is not there: run `cargo xtask formal` first", path.display()))
}

/// Every module stands in a proof, and the document names exactly those that it stands in.
pub(crate) fn check(tally: &mut Tally) -> Result<()> {
    let doc = fs::read_to_string(DOC).context(DOC)?;
    for (module, proofs) in modules_of(&FOLDERS)? {
        tally.check(&format!("module {module} is proved and {DOC} says where"), stands(&doc, &module, &proofs));
    }
    Ok(())
}

fn stands(doc: &str, module: &str, proofs: &BTreeSet<String>) -> Result<()> {
    ensure!(!proofs.is_empty(), "no proof holds it: write one in rtl/formal");
    let names: Vec<_> = proofs.iter().map(|name| format!("`{name}`")).collect();
    let row = format!("| `{module}` | {} |", names.join(", "));
    ensure!(doc.contains(&row), "{DOC} has no row that begins `{row}`");
    Ok(())
}
