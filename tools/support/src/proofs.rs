//! The proofs that there are, and which modules stand in which of them, from what the proofs elaborated.

use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of rtl whose every module must stand in a proof.
pub const FOLDERS: [&str; 6] = ["gate", "lane", "log", "hash", "attest", "ring"];
/// The document that names the proofs of each module.
pub const DOC: &str = "docs/verification.md";

/// The proofs, in order of their names.
pub fn all() -> Result<Vec<PathBuf>> {
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

/// The first task of a proof that claims something, rather than only covers.
pub fn claims_task(sby: &str) -> Result<String> {
    let lines = sby.lines().skip_while(|line| *line != "[tasks]").skip(1).take_while(|line| !line.starts_with('['));
    // A line is a task and the groups that it belongs to.
    let mut claims = lines.filter(|line| line.split_whitespace().all(|word| word != "cover"));
    let task = claims.find_map(|line| line.split_whitespace().next());
    task.map(str::to_owned).context("a proof has a task besides `cover`")
}

/// For each module of these folders, as `gate/sweep`, the proofs whose design holds logic of its file.
///
/// Read from the designs that the last `cargo xtask formal` left: a module that is a black box, or below one, leaves no logic.
pub fn modules_of(folders: &[&str]) -> Result<BTreeMap<String, BTreeSet<String>>> {
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
    for proof in all()? {
        let name = proof.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let sby = fs::read_to_string(&proof)?;
        let design = design(&sby, &name)?;
        for (module, proofs) in &mut modules {
            let (_, file) = module.rsplit_once('/').unwrap_or_default();
            let black = sby.contains(&format!("--blackboxed-module {file} "));
            if !black && (design.contains(&format!("\"{file}.sv:")) || design.contains(&format!("|{file}.sv:"))) {
                proofs.insert(name.clone());
            }
        }
    }
    Ok(modules)
}

/// The elaborated design of a proof's first task that proves.
fn design(sby: &str, name: &str) -> Result<String> {
    let task = claims_task(sby)?;
    let path = format!("target/formal/{name}_{task}/model/design.il");
    fs::read_to_string(&path).with_context(|| format!("`{path}` is not there: run `cargo xtask formal` first"))
}

#[cfg(test)]
mod tests {
    use super::claims_task;

    #[test]
    fn the_first_task_that_claims_is_found() {
        let task = |tasks: &str| claims_task(&format!("[tasks]\n{tasks}\n\n[options]\nmode prove\n")).ok();
        assert_eq!(task("prove\ncover").as_deref(), Some("prove"));
        assert_eq!(task("cover\nbmc").as_deref(), Some("bmc"));
        assert_eq!(task("pulse_cover cover\npulse prove\nlevel prove").as_deref(), Some("pulse"));
        assert_eq!(task("cover"), None);
    }
}
