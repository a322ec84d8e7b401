//! A small package for tests of single rules.

use portcullis_policy::PolicyPackage;
use portcullis_policy::package::MANIFEST_FILE;
use std::collections::BTreeMap;

/// The fixture's declarations: classes, two quantities, several values of each enumeration.
pub const MANIFEST: &str = r#"[package]
name = "fixture"
version = "1.0.0"
description = "For tests."

[enumerations]
domain = ["general", "medical", "legal"]
audience = ["public", "professional"]
temporal = ["present", "past"]
register = ["plain", "formal", "technical"]

[limits]
max_depth = 2

[[class]]
name = "dosage"
[[class]]
name = "diagnosis"
[[class]]
name = "disclaimer"
[[class]]
name = "greeting"

[[quantity]]
name = "dose_mg"
[quantity.units]
mg = "1"
[[quantity]]
name = "age"
[quantity.units]
years = "1"
"#;

pub const PERMIT: &str = "@id(\"PERMIT\")\npermit (principal, action, resource);\n";

/// The files of the fixture with these Cedar rules in `rules.cedar`.
#[must_use]
pub fn files(rules: &str) -> BTreeMap<String, Vec<u8>> {
    files_with(MANIFEST, rules)
}

/// The files of a package with this manifest and these rules.
#[must_use]
pub fn files_with(manifest: &str, rules: &str) -> BTreeMap<String, Vec<u8>> {
    BTreeMap::from([
        (MANIFEST_FILE.to_owned(), manifest.as_bytes().to_vec()),
        ("rules.cedar".to_owned(), rules.as_bytes().to_vec()),
    ])
}

/// The fixture with these rules and a permit for everything.
///
/// # Panics
/// If the package does not load.
#[must_use]
pub fn package(rules: &str) -> PolicyPackage {
    PolicyPackage::from_files(files(&format!("{PERMIT}\n{rules}"))).expect("the fixture loads")
}

/// A forbid with the id `RULE` and this condition.
#[must_use]
pub fn forbid(condition: &str) -> String {
    format!("@id(\"RULE\")\nforbid (principal, action, resource)\nwhen {{ {condition} }};\n")
}
