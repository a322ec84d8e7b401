//! The inner loop: format, clippy, and all tests of the changed packages and of those that depend on them directly.
//!
//! A package further away sees a change only through one of these, whose tests are there to find it; `xtask test` runs
//! the tests of all. All packages are built with the features of the whole workspace, so that CI and tests can use the
//! same builds.

use anyhow::{Context, Result};
use portcullis_tools::cargo_test;
use portcullis_tools::setup;
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool::{self, capture, cargo, say};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders with files that a package in another folder is built from.
const ELSEWHERE: [(&str, &str); 2] = [("rtl", "portcullis-verilated"), ("policies", "portcullis-policy")];
/// Files that affect the build of every package.
const COMMON: [&str; 4] = ["Cargo.toml", "Cargo.lock", "clippy.toml", ".cargo"];

/// A package of the workspace.
struct WorkspacePackage {
    folder: PathBuf,
    /// Its dependencies, including those of its tests.
    needs: BTreeSet<String>,
    /// The names of its test programs, beside its unit tests.
    tests: BTreeSet<String>,
}

/// Checks the packages with these names; without names, those with changes since `base`; without `base`, since the
/// branch left `main`. `portcullis-` may be left out of a name.
pub(crate) fn run(tally: &mut CheckTally, names: &[String], base: Option<&str>) -> Result<()> {
    let packages = packages()?;
    let changed = if names.is_empty() { owners(&packages, &changed(base)?) } else { named(&packages, names)? };
    let affected = affected(&packages, changed);
    say(&format!("{} packages: {}", affected.len(), join(&affected)));
    tally.check("rustfmt", tool::run(cargo().args(["fmt", "--all", "--check"])));
    if affected.is_empty() {
        return Ok(());
    }
    let clippy = ["clippy", "--quiet", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"];
    tally.check("clippy", tool::run(cargo().args(clippy)));
    say("their tests");
    setup::tools()?;
    let tests = affected.iter().filter_map(|name| packages.get(name)).flat_map(|package| package.tests.clone());
    let programs = cargo_test::unit_tests_and(cargo(), &tests.collect())?;
    cargo_test::run_programs(tally, programs.iter().filter(|program| affected.contains(&program.package)))
}

/// The packages that a user names. Errors: there is no package with a name.
fn named(packages: &BTreeMap<String, WorkspacePackage>, names: &[String]) -> Result<BTreeSet<String>> {
    let find = |name: &String| {
        let long = format!("portcullis-{name}");
        let found = [name, &long].into_iter().find(|name| packages.contains_key(*name)).cloned();
        found.with_context(|| format!("no package `{name}`; there are {}", join(&packages.keys().cloned().collect())))
    };
    names.iter().map(find).collect()
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

fn packages() -> Result<BTreeMap<String, WorkspacePackage>> {
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
        let folder = folder.context("a package of the workspace")?.to_owned();
        let is_test =
            |target: &&Value| target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|k| k == "test"));
        let tests = package["targets"].as_array().into_iter().flatten().filter(is_test);
        let tests = tests.map(|target| text(&target["name"])).collect::<Result<_>>()?;
        packages
            .insert(text(&package["name"])?, WorkspacePackage { folder, needs: needs.collect::<Result<_>>()?, tests });
    }
    Ok(packages)
}

/// The packages with a changed file.
fn owners(packages: &BTreeMap<String, WorkspacePackage>, changed: &[PathBuf]) -> BTreeSet<String> {
    if changed.iter().any(|file| COMMON.iter().any(|common| file.starts_with(common))) {
        return packages.keys().cloned().collect();
    }
    changed.iter().filter_map(|file| owner(packages, file)).collect()
}

/// These packages, and those that depend on one of them directly.
fn affected(packages: &BTreeMap<String, WorkspacePackage>, mut changed: BTreeSet<String>) -> BTreeSet<String> {
    let dependents = packages.iter().filter(|(_, package)| !package.needs.is_disjoint(&changed));
    let dependents: Vec<_> = dependents.map(|(name, _)| name.clone()).collect();
    changed.extend(dependents);
    changed
}

/// The package to which a file belongs: the package with the innermost folder.
fn owner(packages: &BTreeMap<String, WorkspacePackage>, file: &Path) -> Option<String> {
    let inside = packages.iter().filter(|(_, package)| file.starts_with(&package.folder));
    let innermost = inside.max_by_key(|(_, package)| package.folder.components().count()).map(|(name, _)| name.clone());
    let elsewhere =
        || ELSEWHERE.iter().find(|(folder, _)| file.starts_with(folder)).map(|(_, name)| (*name).to_owned());
    innermost.or_else(elsewhere)
}

#[cfg(test)]
mod tests {
    use super::{WorkspacePackage, affected, join, named, owners};
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::PathBuf;

    #[test]
    fn a_change_affects_its_package_and_those_that_use_it() {
        let package = |folder: &str, needs: &[&str]| WorkspacePackage {
            folder: folder.into(),
            needs: needs.iter().map(|need| (*need).to_owned()).collect(),
            tests: BTreeSet::new(),
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
            join(&affected(&packages, owners(&packages, &files)))
        };
        assert_eq!(of(&["host/core/src/lib.rs"]), "core gate");
        assert_eq!(of(&["host/gate/src/lib.rs"]), "cli gate");
        assert_eq!(of(&["host/cli/tests/cli.rs", "docs/reference/cli.md"]), "cli");
        assert_eq!(of(&["sim/verilated/build.rs"]), "portcullis-verilated");
        assert_eq!(of(&["rtl/gate/bank.sv"]), "portcullis-verilated");
        assert_eq!(of(&["README.md"]), "");
        assert_eq!(of(&["Cargo.lock"]).split(' ').count(), packages.len());
        let names = |names: &[&str]| named(&packages, &names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        assert_eq!(join(&names(&["verilated", "gate"]).unwrap()), "gate portcullis-verilated");
        assert!(names(&["gates"]).unwrap_err().to_string().starts_with("no package `gates`; there are cli core"));
    }
}
