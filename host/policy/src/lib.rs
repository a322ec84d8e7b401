//! Policy packages: compiles validated Cedar into comparator rows and a table image.
//!
//! [`package`] reads the files, and [`compile`] turns them into the rows of a [`portcullis_image::TableImage`], which a
//! card loads and hashes. [`context`] converts a descriptor into a Cedar context, so that tests can compare the rows
//! with `cedar-policy`.

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

pub use compile::{CompiledPackage, CompiledRule, RowCapacity};
pub use composition::PackageComposition;
pub use error::{PolicyPackageError, PolicyProblem};
pub use package::PolicyPackage;
pub use policies::{ImagePolicy, ImagePolicySet, is_composition};
