//! Warnings, computed exactly from rows: rules that can never match, and rules that never decide. A rule never decides
//! if other rules of the same or a higher class together match every descriptor that the rule matches.

use super::{CompiledPackage, CompiledRule};
use crate::cube::Cube;
use crate::cube::solve::{Residue, residue};
use crate::error::{PolicyProblem, PolicyProblemKind};
use crate::package::PRELUDE_FILE;
use portcullis_core::wire::RowKind;

/// Largest number of splits per rule in the search for a descriptor that other rules do not cover.
const BUDGET: u32 = 200_000;

/// The number of a rule class; of all matching rules, a rule of the class with the lowest number decides.
const fn class(kind: RowKind) -> u8 {
    match kind {
        RowKind::ForbidReject => 0,
        RowKind::ForbidDecompose => 1,
        RowKind::Permit | RowKind::Empty => 2,
    }
}

impl CompiledPackage {
    /// The warnings of `policy check`, by rule. The prelude is left out, because authors cannot change it.
    #[must_use]
    pub fn warnings(&self) -> Vec<PolicyProblem> {
        let judged = self.rules.iter().zip(&self.cubes);
        let own = judged.filter(|(rule, _)| rule.place.as_ref().is_none_or(|place| place.file != PRELUDE_FILE));
        own.filter_map(|(rule, cubes)| self.warning(rule, cubes)).collect()
    }

    fn warning(&self, rule: &CompiledRule, cubes: &[Cube]) -> Option<PolicyProblem> {
        if cubes.is_empty() {
            let problem = PolicyProblem::new(PolicyProblemKind::NeverMatches, "it can never match");
            return Some(
                located(problem, rule).help("its conditions contradict each other: correct it or take it out"),
            );
        }
        let all = self.rules.iter().zip(&self.cubes);
        let decides_first = |other: &CompiledRule| {
            other.bank == rule.bank && other.id != rule.id && class(other.kind) <= class(rule.kind)
        };
        let overlaps = |covers: &[Cube]| covers.iter().any(|cover| cubes.iter().any(|cube| cube.meets(cover)));
        let mut others: Vec<(&CompiledRule, &[Cube])> = all
            .filter(|(other, covers)| decides_first(other) && overlaps(covers))
            .map(|(other, covers)| (other, covers.as_slice()))
            .collect();
        let mut budget = BUDGET;
        if !self.covered(cubes, &others, &mut budget) {
            return None;
        }
        // Removes each rule of `others` that is not needed: the remaining rules still cover `rule`.
        let mut at = 0;
        while at < others.len() {
            let kept = others.remove(at);
            if !self.covered(cubes, &others, &mut budget) {
                others.insert(at, kept);
                at += 1;
            }
        }
        let names: Vec<_> = others.iter().map(|(other, _)| format!("`{}`", other.id)).collect();
        let message =
            format!("wherever it matches, rules of the same or a higher class match too: {}", names.join(", "));
        let help = "without it the package decides the same: take it out, or narrow the others";
        Some(located(PolicyProblem::new(PolicyProblemKind::Covered, message), rule).help(help))
    }

    /// Whether `others` together match every descriptor that `cubes` match. Also `false` if the budget is spent.
    fn covered(&self, cubes: &[Cube], others: &[(&CompiledRule, &[Cube])], budget: &mut u32) -> bool {
        let covers: Vec<&Cube> = others.iter().flat_map(|(_, cubes)| *cubes).collect();
        cubes.iter().all(|cube| residue(&self.universe, cube, &covers, budget) == Residue::Empty)
    }
}

fn located(problem: PolicyProblem, rule: &CompiledRule) -> PolicyProblem {
    let problem = problem.in_rule(&rule.id);
    match rule.first_line() {
        Some(place) => problem.at(place, "this rule"),
        None => problem,
    }
}
