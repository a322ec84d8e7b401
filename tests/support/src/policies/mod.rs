//! Generated policies and descriptors. The random packages use every line of the lowering table. The descriptors have
//! values that are the policies' own constants or next to them. The same seed gives the same cases everywhere, so the
//! software evaluator, `cedar-policy` and the Verilated card can be compared.

mod descriptors;
mod expressions;
pub mod fixture;
mod rules;

pub use descriptors::Descriptors;
pub use expressions::Construct;

use crate::random::Random;
use portcullis_core::wire::{RangeColumn, SetColumn};
use portcullis_policy::error::PolicyProblemKind;
use portcullis_policy::{CompiledPackage, PolicyPackage};
use std::collections::BTreeMap;

/// How often each construct of the lowering table was generated.
pub type Coverage = BTreeMap<Construct, u64>;

#[derive(Clone, Debug)]
pub struct Case {
    pub seed: u64,
    pub package: PolicyPackage,
    pub compiled: CompiledPackage,
    pub coverage: Coverage,
    /// Number of attempts that Cedar's validation reported as impossible, or that exceeded the tables.
    pub discarded: u32,
    constants: Constants,
}

/// Constants in a policy's source, from which descriptors take values.
#[derive(Clone, Debug, Default)]
struct Constants {
    /// Indexed by range column; quantities come after the eleven fields.
    ranges: [Vec<i64>; RangeColumn::ALL.len()],
    sets: [Vec<u128>; SetColumn::ALL.len()],
}

impl Case {
    /// The case of `seed`. An attempt may be refused for a good reason: a condition is always false, or the rows exceed
    /// the tables. Then the next seed is used.
    ///
    /// # Panics If an attempt fails for another reason, or forty in a row are refused; then the generator is wrong.
    #[must_use]
    pub fn generate(seed: u64) -> Self {
        for attempt in 0..40 {
            let mut random = Random::new(seed.wrapping_mul(0x1000_0001).wrapping_add(attempt));
            let source = rules::package(&mut random);
            let package =
                PolicyPackage::from_files(source.files).unwrap_or_else(|e| panic!("seed {seed}: {}", e.render()));
            match package.compile() {
                Ok(compiled) => {
                    return Self {
                        seed,
                        package,
                        compiled,
                        coverage: source.coverage,
                        discarded: attempt as u32,
                        constants: source.constants,
                    };
                }
                Err(error) => {
                    let expected = |problem: &portcullis_policy::PolicyProblem| match problem.kind() {
                        PolicyProblemKind::Capacity => true,
                        PolicyProblemKind::Validation => problem.to_string().contains("impossible"),
                        _ => false,
                    };
                    assert!(error.problems().iter().all(expected), "seed {seed}: {}", error.render());
                }
            }
        }
        panic!("seed {seed}: forty attempts refused");
    }

    /// A case of a package that was not generated. The constants of its descriptors are the bounds of its rows.
    ///
    /// # Panics
    /// If the package does not compile.
    #[must_use]
    pub fn of(seed: u64, package: PolicyPackage) -> Self {
        let compiled = package.compile().expect("the package compiles");
        Self { seed, package, compiled, coverage: Coverage::new(), discarded: 0, constants: Constants::default() }
    }

    /// This case with another version of its package. Descriptors still use the constants of the first version.
    ///
    /// # Panics
    /// If the package does not compile.
    #[must_use]
    pub fn with_package(&self, package: PolicyPackage) -> Self {
        Self { compiled: package.compile().expect("the package compiles"), package, ..self.clone() }
    }

    /// An endless sequence of descriptors for the case.
    #[must_use]
    pub fn descriptors(&self) -> Descriptors<'_> {
        Descriptors::new(self)
    }
}
