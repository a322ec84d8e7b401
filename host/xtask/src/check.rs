//! The quick check: format, clippy and unit tests of the changed packages and of all packages that depend on them.
//!
//! All packages are built with the features of the whole workspace, so that CI and tests can use the same builds.

use anyhow::{Context, Result};
use portcullis_tools::cargo_test;
use portcullis_tools::tally::Tally;
use portcullis_tools::tool::{self, capture, cargo, say};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders with files that a package in another folder is built from.
const ELSEWHERE: [(&str, &str); 2] = [("rtl", "portcullis-verilated"), ("policies", "portcullis-policy")];
/// Files that affect the build of every package.
const COMMON: [&str; 4] = ["Cargo.toml", "Cargo.lock", "clippy.toml", ".cargo"];

/// A package of the workspace: its folder, and its dependencies, including those of its tests.
struct Package {
    folder: PathBuf,
    needs: BTreeSet<String>,
}

/// Checks the changes since `base`; without `base`, the changes since the branch left `main`.
pub(crate) fn run(tally: &mut Tally, base: Option<&str>) -> Result<()> {
    let changed = changed(base)?;
    let packages = packages()?;
    let affected = affected(&packages, &changed);
    say(&format!("{} changed files; packages: {}", changed.len(), join(&affected)));
    tally.check("rustfmt", tool::run(cargo().args(["fmt", "--all", "--check"])));
    if affected.is_empty() {
        return Ok(());
    }
    let clippy = ["clippy", "--quiet", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"];
    tally.check("clippy", tool::run(cargo().args(clippy)));
    say("unit tests");
    for program in cargo_test::unit_tests(cargo())? {
        if affected.contains(&program.package) {
            cargo_test::run_program(tally, &program)?;
        }
    }
    Ok(())
}

fn join(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// Files that differ from `base`, and untracked files.
fn changed(base: Option<&str>) -> Result<Vec<PathBuf>> {
    let git = |words: &[&str]| capture(Command::new("git").args(words));
    let base = match base {
        Some(base) => base.to_owned(),
        None => git(&["merge-base", "HEAD", "main"]).context("no branch `main`: name the commit to compare with")?,
    };
    let tracked = git(&["diff", "--name-only", "--no-renames", base.trim()])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(tracked.lines().chain(new.lines()).map(PathBuf::from).collect())
}

fn packages() -> Result<BTreeMap<String, Package>> {
    let metadata = capture(cargo().args(["metadata", "--locked", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let root = tool::root()?;
    let mut packages = BTreeMap::new();
    for package in metadata["packages"].as_array().context("cargo metadata lists packages")? {
        let text = |value: &Value| value.as_str().map(str::to_owned).context("cargo metadata names packages");
        let manifest = PathBuf::from(text(&package["manifest_path"])?);
        let folder = manifest.parent().and_then(|folder| folder.strip_prefix(&root).ok());
        let needs = package["dependencies"].as_array().into_iter().flatten();
        let needs = needs.filter(|need| need["path"].is_string()).map(|need| text(&need["name"]));
        packages.insert(
            text(&package["name"])?,
            Package {
                folder: folder.context("a package of the workspace")?.to_owned(),
                needs: needs.collect::<Result<_>>()?,
            },
        );
    }
    Ok(packages)
}

/// The packages with a changed file, and those that depend on them directly or indirectly.
fn affected(packages: &BTreeMap<String, Package>, changed: &[PathBuf]) -> BTreeSet<String> {
    let mut affected: BTreeSet<String> = BTreeSet::new();
    for file in changed {
        if COMMON.iter().any(|common| file.starts_with(common)) {
            return packages.keys().cloned().collect();
        }
        affected.extend(owner(packages, file));
    }
    loop {
        let more: Vec<_> = packages
            .iter()
            .filter(|(name, package)| !affected.contains(*name) && !package.needs.is_disjoint(&affected))
            .map(|(name, _)| name.clone())
            .collect();
        if more.is_empty() {
            return affected;
        }
        affected.extend(more);
    }
}

/// The package to which a file belongs: the package with the innermost folder.
fn owner(packages: &BTreeMap<String, Package>, file: &Path) -> Option<String> {
    let inside = packages.iter().filter(|(_, package)| file.starts_with(&package.folder));
    let innermost = inside.max_by_key(|(_, package)| package.folder.components().count()).map(|(name, _)| name.clone());
    let elsewhere =
        || ELSEWHERE.iter().find(|(folder, _)| file.starts_with(folder)).map(|(_, name)| (*name).to_owned());
    innermost.or_else(elsewhere)
}

#[cfg(test)]
mod tests {
    use super::{Package, affected};
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    #[test]
    fn a_change_affects_its_package_and_all_that_stands_on_it() {
        let package = |folder: &str, needs: &[&str]| Package {
            folder: folder.into(),
            needs: needs.iter().map(|need| (*need).to_owned()).collect(),
        };
        let packages = BTreeMap::from([
            ("core".to_owned(), package("host/core", &[])),
            ("gate".to_owned(), package("host/gate", &["core"])),
            ("cli".to_owned(), package("host/cli", &["gate"])),
            ("sim".to_owned(), package("sim", &[])),
            ("portcullis-verilated".to_owned(), package("sim/verilated", &[])),
        ]);
        let of = |files: &[&str]| {
            let files: Vec<_> = files.iter().map(PathBuf::from).collect();
            affected(&packages, &files).into_iter().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(&["host/core/src/lib.rs"]), "cli core gate");
        assert_eq!(of(&["host/cli/tests/cli.rs", "docs/reference/cli.md"]), "cli");
        assert_eq!(of(&["sim/verilated/build.rs"]), "portcullis-verilated");
        assert_eq!(of(&["rtl/gate/bank.sv"]), "portcullis-verilated");
        assert_eq!(of(&["README.md"]), "");
        assert_eq!(of(&["Cargo.lock"]).split(' ').count(), packages.len());
    }
}
