//! Warnings, decided over rows and not by sampling: rules that can never match, and rules that decide nothing because
//! rules of the same or a higher class match wherever they do.

use super::{Compiled, Rule};
use crate::cube::Cube;
use crate::cube::solve::{Residue, residue};
use crate::error::{Kind, Problem};
use crate::package::PRELUDE_FILE;
use portcullis_core::wire::RowKind;

/// Splits that the search for an uncovered descriptor may make for one rule.
const BUDGET: u32 = 200_000;

/// Deciding order of the classes: a matching rule of a lower number decides first.
const fn class(kind: RowKind) -> u8 {
    match kind {
        RowKind::ForbidReject => 0,
        RowKind::ForbidDecompose => 1,
        RowKind::Permit | RowKind::Empty => 2,
    }
}

impl Compiled {
    /// What `policy check` warns of, by rule. The prelude's own rules are not judged: no author can change them.
    #[must_use]
    pub fn warnings(&self) -> Vec<Problem> {
        let judged = self.rules.iter().zip(&self.cubes);
        let own = judged.filter(|(rule, _)| rule.place.as_ref().is_none_or(|place| place.file != PRELUDE_FILE));
        own.filter_map(|(rule, cubes)| self.warning(rule, cubes)).collect()
    }

    fn warning(&self, rule: &Rule, cubes: &[Cube]) -> Option<Problem> {
        if cubes.is_empty() {
            let problem = Problem::new(Kind::NeverMatches, "it can never match");
            return Some(
                located(problem, rule).help("its conditions contradict each other: correct it or take it out"),
            );
        }
        let others = || {
            let all = self.rules.iter().zip(&self.cubes);
            all.filter(|(other, _)| {
                other.bank == rule.bank && other.id != rule.id && class(other.kind) <= class(rule.kind)
            })
        };
        let covers: Vec<&Cube> = others().flat_map(|(_, cubes)| cubes).collect();
        let mut budget = BUDGET;
        let uncovered = cubes.iter().any(|cube| residue(&self.universe, cube, &covers, &mut budget) != Residue::Empty);
        if uncovered {
            return None;
        }
        let overlapping = others().filter(|(_, covers)| covers.iter().any(|c| cubes.iter().any(|cube| cube.meets(c))));
        let names: Vec<_> = overlapping.map(|(other, _)| format!("`{}`", other.id)).collect();
        let message =
            format!("wherever it matches, rules of the same or a higher class match too: {}", names.join(", "));
        let help = "without it the package decides the same: take it out, or narrow the others";
        Some(located(Problem::new(Kind::Covered, message), rule).help(help))
    }
}

fn located(problem: Problem, rule: &Rule) -> Problem {
    let problem = problem.in_rule(&rule.id);
    match rule.first_line() {
        Some(place) => problem.at(place, "this rule"),
        None => problem,
    }
}
