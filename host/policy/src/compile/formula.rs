//! A rule in negation normal form, and its disjunctive normal form as cubes.

use crate::cube::simplify::simplify;
use crate::cube::{Condition, Cube, Universe};

/// Conjunctions that one rule may pass through while it is expanded; past this it is too large for any table.
pub(super) const EXPANSION_LIMIT: usize = 1024;

/// Conditions joined by "and" and "or"; negation is in the conditions only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Formula {
    True,
    False,
    Is(Condition),
    All(Vec<Formula>),
    Any(Vec<Formula>),
}

/// A rule that expands to more than [`EXPANSION_LIMIT`] conjunctions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Formula {
    pub(super) const fn constant(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }

    /// The formula's descriptors as cubes, in canonical order. Rows are counted at every step, so a formula that
    /// explodes stops early.
    pub(super) fn cubes(&self, universe: &Universe) -> Result<Vec<Cube>, TooLarge> {
        match self {
            Self::True => Ok(vec![universe.all.clone()]),
            Self::False => Ok(Vec::new()),
            Self::Is(condition) => Ok(universe.cube(*condition).into_iter().collect()),
            Self::Any(parts) => {
                let mut cubes = Vec::new();
                for part in parts {
                    cubes.extend(part.cubes(universe)?);
                    cubes = bounded(cubes)?;
                }
                Ok(cubes)
            }
            Self::All(parts) => {
                let mut cubes = vec![universe.all.clone()];
                for part in parts {
                    let with = part.cubes(universe)?;
                    let mut product = Vec::new();
                    for cube in &cubes {
                        for other in &with {
                            product.extend(cube.and(other));
                        }
                        if product.len() > 2 * EXPANSION_LIMIT {
                            product = bounded(product)?;
                        }
                    }
                    cubes = bounded(product)?;
                }
                Ok(cubes)
            }
        }
    }
}

fn bounded(cubes: Vec<Cube>) -> Result<Vec<Cube>, TooLarge> {
    if cubes.len() > 8 * EXPANSION_LIMIT {
        return Err(TooLarge);
    }
    let cubes = simplify(cubes);
    if cubes.len() > EXPANSION_LIMIT { Err(TooLarge) } else { Ok(cubes) }
}
