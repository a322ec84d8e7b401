//! A rule in negation normal form, and its disjunctive normal form as cubes.

use crate::cube::simplify::simplify;
use crate::cube::{Cube, CubeCondition, Universe};

/// Largest number of conjunctions at any step of a rule's expansion; a larger rule would not fit into any table.
pub(super) const EXPANSION_LIMIT: usize = 1024;

/// Conditions combined by "and" and "or"; negation occurs only inside conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Formula {
    True,
    False,
    Is(CubeCondition),
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

    /// Expands the formula into cubes, in canonical order. Checks the number of cubes at every step, so that the
    /// expansion of a rule that is too large stops early.
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
