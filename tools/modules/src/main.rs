//! `cargo xtask modules`: checks for cycles of modules. In every crate of the workspace, no two files may use each
//! other, directly or indirectly.
//!
//! A module here is a file; a `mod name { … }` belongs to the file that contains it. A file uses another file if it
//! names an item that the other file defines: by an import that it uses itself, or by a path. A re-exported item counts
//! for the file that defines it, so a `mod.rs` that re-exports its children is not in a cycle with them. A folder's
//! module may use its own children and be used by them, because its task is to combine them; but a way from a child
//! back to it that leaves the folder is a circle. The crate's root may not do so, and with `--strict` no module may.
//! Test code and the bare name of a module do not count. Every workspace of the repository is read.

#![allow(clippy::indexing_slicing, reason = "only serde_json values are indexed, and a missing key of theirs is null")]

mod graph;
mod scan;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use graph::Uses;
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool::{self, WORKSPACES, capture, cargo};
use scan::CrateSource;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Circles of modules.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, max_term_width = 100)]
enum ModulesToolCommand {
    /// Fail where files of a crate use each other in a circle. `lint` does so too.
    Modules {
        /// Only the crates whose name contains this.
        filter: Option<String>,
        /// Count also what a folder's module uses of its own children.
        #[arg(long)]
        strict: bool,
    },
}

fn main() -> Result<()> {
    let ModulesToolCommand::Modules { filter, strict } = ModulesToolCommand::parse();
    std::env::set_current_dir(tool::root()?)?;
    let mut tally = CheckTally::default();
    for (name, root) in roots()? {
        if filter.as_ref().is_none_or(|filter| name.contains(filter)) {
            tally.check(&format!("no circle of modules in {name}"), check(&root, strict));
        }
    }
    tally.finish()
}

/// Every library and program of every workspace: its name, and its root file.
fn roots() -> Result<Vec<(String, PathBuf)>> {
    let mut roots = Vec::new();
    for workspace in WORKSPACES {
        let manifest = format!("{workspace}/Cargo.toml");
        let list = ["metadata", "--locked", "--no-deps", "--format-version", "1", "--manifest-path", &manifest];
        let metadata: serde_json::Value = serde_json::from_str(&capture(cargo().args(list))?)?;
        let packages = metadata["packages"].as_array().context("cargo metadata lists packages")?;
        for target in packages.iter().flat_map(|package| package["targets"].as_array().into_iter().flatten()) {
            let kind = target["kind"][0].as_str().unwrap_or_default();
            if let (Some(name), Some(path), "lib" | "bin") =
                (target["name"].as_str(), target["src_path"].as_str(), kind)
            {
                roots.push((format!("{kind} {name}"), PathBuf::from(path)));
            }
        }
    }
    roots.dedup();
    ensure!(!roots.is_empty(), "the workspaces hold no crate");
    Ok(roots)
}

fn check(root: &Path, strict: bool) -> Result<()> {
    let source = CrateSource::read(root)?;
    let uses = graph::uses(&source);
    let circles = graph::circles(&source, strict);
    if circles.is_empty() {
        return Ok(());
    }
    let mut text = String::new();
    for (knot, circle) in circles {
        let _ = write!(text, "\n        {} files use each other; the shortest circle:", knot.len());
        for (from, to) in circle.iter().zip(circle.iter().skip(1)) {
            let _ = write!(text, "\n          {}", shown(&source, &uses, *from, *to));
        }
    }
    bail!("{text}");
}

/// A use in the form `file:line: path`.
fn shown(source: &CrateSource, uses: &Uses, from: usize, to: usize) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let file = |at: usize| {
        let path = source.files.get(at).map(|file| file.path.as_path()).unwrap_or(Path::new("?"));
        path.strip_prefix(&here).unwrap_or(path).display().to_string()
    };
    let used = uses.get(&from).and_then(|used| used.get(&to));
    let (line, path) = used.map(|used| (used.line, used.path.as_str())).unwrap_or_default();
    format!("{}:{line} uses `{path}` of {}", file(from), file(to))
}

#[cfg(test)]
mod tests;
