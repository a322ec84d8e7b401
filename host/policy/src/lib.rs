//! Policy packages: compiles validated Cedar into comparator rows and a table image.
//!
//! [`PolicyPackage`] reads the files of a package, and [`PolicyPackage::compile`] turns them into the rows of a
//! [`portcullis_image::TableImage`], which a card loads and hashes. [`context`] converts a descriptor into a Cedar
//! context, so that tests can compare the rows with `cedar-policy`. [`commands`] are the commands `portcullis policy
//! …`. This crate decides about descriptors only: `portcullis-mapping` finds the classes of a text.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use std::collections::BTreeMap;
//! # let manifest = portcullis_test_support::manifest!("example", "[[class]]\nname = \"mail\"\n\
//! #     pattern = [{ regex = '[a-z]{1,9}@example\\.org' }]\n");
//! use portcullis_core::wire::Determination;
//! use portcullis_policy::PolicyPackage;
//! use portcullis_policy::commands::eval_line;
//! use portcullis_policy::context::ContextConverter;
//! use portcullis_policy::decision::DescriptorDecision;
//!
//! // `manifest` is a `policy.toml` with one class, `mail`.
//! let rules = r#"
//!     @id("ALLOW") permit (principal, action, resource);
//!     @id("NO-MAIL") forbid (principal, action, resource) when { context.classes.contains("mail") };
//! "#;
//! let files = [("policy.toml", manifest), ("rules.cedar", rules)];
//! let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
//! let package = PolicyPackage::from_files(BTreeMap::from(files))?;
//! let compiled = package.compile()?;
//!
//! let line = r#"{"category": "assertion", "classes": ["mail"]}"#;
//! let entry = eval_line(ContextConverter::new(package.vocabulary()), line)?;
//! let banks = portcullis_image::ImageEvaluator::new(&compiled.image).evaluate(&entry);
//! let decision = DescriptorDecision::new(&compiled, &entry, &banks);
//! assert_eq!((decision.determination, decision.rule.as_deref()), (Determination::Reject, Some("NO-MAIL")));
//! # Ok(())
//! # }
//! ```

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
pub use error::{PolicyPackageError, PolicyProblem, PolicySourceRange};
pub use package::{PolicyPackage, TESTS_FILE};
pub use policies::{ImagePolicy, ImagePolicySet, is_composition};
