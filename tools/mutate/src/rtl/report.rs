//! The results of the run, as the table in docs/explanation/verification.md.

use super::{MutantTrialOutcome, RtlMutant};
use anyhow::Result;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The final result of a mutant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MutantResult {
    ByProof,
    ByTest,
    Survived,
    NotRun,
}

fn end(mutant: &RtlMutant) -> MutantResult {
    let killer = mutant.tried.iter().find(|trial| trial.outcome == MutantTrialOutcome::Killed);
    match killer {
        Some(trial) if trial.by.starts_with("proof ") => MutantResult::ByProof,
        Some(_) => MutantResult::ByTest,
        None if mutant.tried.is_empty() => MutantResult::NotRun,
        None => MutantResult::Survived,
    }
}

pub(super) fn table(mutants: &[RtlMutant]) -> Result<String> {
    let mut text = String::from(
        "| module | made | killed by a proof | killed by a test | survived | not run |\n|---|---|---|---|---|---|\n",
    );
    let names: BTreeSet<_> = mutants.iter().map(|m| m.module.as_str()).collect();
    for name in names.iter().copied().map(Some).chain([None]) {
        let of: Vec<_> = mutants.iter().filter(|m| name.is_none_or(|n| n == m.module)).collect();
        let number = |wanted: MutantResult| of.iter().filter(|m| end(m) == wanted).count();
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            name.map_or_else(|| "all".to_owned(), |n| format!("`{n}`")),
            of.len(),
            number(MutantResult::ByProof),
            number(MutantResult::ByTest),
            number(MutantResult::Survived),
            number(MutantResult::NotRun)
        )?;
    }
    let trials = || mutants.iter().flat_map(|m| &m.tried);
    let red: BTreeSet<_> =
        trials().filter(|t| t.outcome == MutantTrialOutcome::Killed).map(|t| t.by.as_str()).collect();
    writeln!(text, "seen red: {}", red.into_iter().collect::<Vec<_>>().join(", "))?;
    for (at, mutant) in mutants.iter().enumerate().filter(|(_, m)| end(m) == MutantResult::Survived) {
        let tried: Vec<_> = mutant.tried.iter().map(|t| format!("{} {:?}", t.by, t.outcome)).collect();
        writeln!(text, "survivor {at} of {}: {}; {}", mutant.module, mutant.command, tried.join(", "))?;
    }
    Ok(text)
}
