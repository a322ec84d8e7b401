//! Policy packages: validated Cedar in, comparator rows and a table image out, and the software evaluator of an image.
//!
//! The road of a rule: [`package`] reads files, [`compile`] makes rows of them, [`image`] fixes the bytes that a card
//! loads and hashes, [`evaluate`] judges a descriptor by them, [`context`] shows the same descriptor to Cedar, so that
//! `cedar-policy` itself can be asked whether the rows are right.

pub mod commands;
pub mod compile;
pub mod composition;
pub mod context;
mod cube;
pub mod decision;
pub mod error;
pub mod evaluate;
pub mod image;
pub mod oracle;
pub mod package;
mod policies;
mod rules;
pub mod schema;
mod sources;
pub mod vocabulary;

pub use compile::{Capacity, Compiled, Rule};
pub use composition::Composition;
pub use error::{PolicyError, Problem};
pub use package::Package;
pub use policies::{Policies, Policy, is_composition};
