//! Checks of `policy.toml` beyond the types of its values.

use crate::error::{PolicyProblem, PolicyProblemKind, PolicySourceRange, toml_problem};
use portcullis_core::manifest::PackageManifest;
use portcullis_core::wire::{BASIS_POINTS_MAX, CLASSES, QUANTITY_SLOTS};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Name of the manifest's file in a package.
pub const MANIFEST_FILE: &str = "policy.toml";
/// Largest number of values of a declared enumeration, which is the width of a row's mask.
pub(crate) const ENUMERATION_VALUES: usize = 32;
/// Largest length of a declared name, in bytes.
const NAME_BYTES: usize = 64;

pub(super) fn parse(text: &str) -> Result<PackageManifest, PolicyProblem> {
    toml::from_str(text).map_err(|error| toml_problem(MANIFEST_FILE, text, &error))
}

pub(super) fn check(manifest: &PackageManifest, files: &BTreeMap<String, Vec<u8>>) -> Vec<PolicyProblem> {
    let mut checks = PackageManifestChecker { problems: Vec::new(), text: files.get(MANIFEST_FILE) };
    let identity = &manifest.package;
    checks.name("package name", &identity.name);
    let version: Vec<_> = identity.version.split('.').collect();
    let numbers = version.iter().all(|part| part.parse::<u32>().is_ok_and(|number| number.to_string() == **part));
    checks.require(version.len() == 3 && numbers, &identity.version, || {
        format!("version `{}` is not `major.minor.patch`", identity.version)
    });
    let enumerations = &manifest.enumerations;
    for (what, values) in [
        ("domain", &enumerations.domain),
        ("audience", &enumerations.audience),
        ("temporal", &enumerations.temporal),
        ("register", &enumerations.register),
    ] {
        checks.require(!values.is_empty(), what, || format!("enumeration `{what}` declares no value"));
        checks.require(values.len() <= ENUMERATION_VALUES, what, || {
            format!("enumeration `{what}` declares {} values, a row has room for {ENUMERATION_VALUES}", values.len())
        });
        checks.names(what, values.iter().map(String::as_str));
    }
    checks.require(manifest.classes.len() <= CLASSES, "[[class]]", || {
        format!("{} classes, a row has room for {CLASSES}", manifest.classes.len())
    });
    checks.names("class", manifest.classes.iter().map(|class| class.name.as_str()));
    for class in &manifest.classes {
        for path in &class.vocabulary {
            checks.require(files.contains_key(path), path, || {
                format!("class `{}` names the vocabulary `{path}`, which the package does not hold", class.name)
            });
        }
    }
    checks.require(manifest.quantities.len() <= QUANTITY_SLOTS, "[[quantity]]", || {
        format!("{} quantities, a row has room for {QUANTITY_SLOTS}", manifest.quantities.len())
    });
    checks.names("quantity", manifest.quantities.iter().map(|quantity| quantity.name.as_str()));
    for quantity in &manifest.quantities {
        checks.require(is_identifier(&quantity.name), &quantity.name, || {
            format!("quantity `{}` is not a name that Cedar can write after a dot", quantity.name)
        });
        checks.require(quantity.min <= quantity.max, &quantity.name, || {
            format!("quantity `{}` has its min over its max", quantity.name)
        });
    }
    let slope = &manifest.trust_slope;
    checks.require(slope.warning <= slope.correction && slope.correction <= slope.halt, "[trust_slope]", || {
        "trust_slope: warning, correction and halt must not fall".into()
    });
    checks.require(slope.decay <= BASIS_POINTS_MAX, "decay", || "trust_slope.decay is over 10000 basis points".into());
    checks.require(slope.weights.iter().any(|w| *w > 0), "weights", || {
        "trust_slope.weights are all 0: no distance would ever gather".into()
    });
    checks.require(slope.window > 0, "window", || "trust_slope.window is 0: no distance would ever gather".into());
    checks.require(manifest.continuity.topic <= BASIS_POINTS_MAX, "topic", || {
        "continuity.topic is over 10000 basis points".into()
    });
    checks.require(manifest.limits.checkpoint > 0, "checkpoint", || "limits.checkpoint is 0".into());
    checks.require(manifest.limits.span_bytes > 0, "span_bytes", || "limits.span_bytes is 0: no span would fit".into());
    checks.problems
}

struct PackageManifestChecker<'a> {
    problems: Vec<PolicyProblem>,
    text: Option<&'a Vec<u8>>,
}

impl PackageManifestChecker<'_> {
    /// Reports `message` if `holds` is false. The problem points at the first occurrence of `near` in the manifest,
    /// preferably in quotes.
    fn require(&mut self, holds: bool, near: &str, message: impl FnOnce() -> String) {
        if holds {
            return;
        }
        let mut problem = PolicyProblem::new(PolicyProblemKind::Manifest, message());
        let text = self.text.and_then(|text| std::str::from_utf8(text).ok());
        let quoted = text.and_then(|text| text.find(&format!("\"{near}\"")).map(|at| at + 1));
        let offset = quoted.or_else(|| text.and_then(|text| text.find(near)));
        if let Some((text, offset)) = text.zip(offset) {
            let source = Arc::from(text);
            problem = problem
                .at(PolicySourceRange { file: MANIFEST_FILE.into(), source, offset, length: near.len() }, "here");
        }
        self.problems.push(problem);
    }

    fn name(&mut self, what: &str, name: &str) {
        self.require(is_name(name), name, || {
            format!("{what} `{name}`: a name is 1 to {NAME_BYTES} ASCII letters, digits, `_`, `-` and `.`, not starting with a dot")
        });
    }

    fn names<'n>(&mut self, what: &str, names: impl Iterator<Item = &'n str>) {
        let mut seen = BTreeSet::new();
        for name in names {
            self.name(what, name);
            self.require(seen.insert(name), name, || format!("{what} `{name}` is declared twice"));
        }
    }
}

/// Whether `name` is valid in paths, references and rules.
pub(crate) fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.len() <= NAME_BYTES && name.chars().all(allowed) && !name.starts_with('.')
}

/// Whether `context.quantity.NAME` is valid Cedar.
fn is_identifier(name: &str) -> bool {
    const RESERVED: [&str; 11] = ["true", "false", "if", "then", "else", "in", "is", "like", "has", "when", "unless"];
    let first = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !RESERVED.contains(&name)
        && name != "__cedar"
}
