//! Policy packages: compiles validated Cedar into comparator rows and a table image.
//!
//! [`package`] reads the files, and [`compile`] turns them into the rows of a [`portcullis_image::Image`], which a card
//! loads and hashes. [`context`] converts a descriptor into a Cedar context, so
//! that tests can compare the rows with `cedar-policy`.

pub mod checks;
pub mod commands;
pub mod compile;
pub mod composition;
pub mod context;
mod cube;
pub mod decision;
pub mod error;
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
