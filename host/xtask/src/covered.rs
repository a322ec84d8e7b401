//! Checks that docs/explanation/verification.md names, for each module, exactly the proofs that include its logic.

use anyhow::{Context, Result, ensure};
use portcullis_tools::proofs::{DOC, FOLDERS, modules_of};
use portcullis_tools::tally::CheckTally;
use std::collections::BTreeSet;
use std::fs;

/// Checks that every module is in a proof, and that the document names exactly the proofs of each module.
pub(crate) fn check(tally: &mut CheckTally) -> Result<()> {
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
