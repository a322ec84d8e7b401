//! No circles of modules: in no crate of the workspace may two files use each other, be it through others.
//!
//! A module is a file; a `mod name { … }` belongs to the file that it stands in. A file uses another where it names something that the
//! other defines: by an import that it uses itself, or by a path. What a module only exports counts for the file that defines it, so a
//! `mod.rs` that gathers its children is in no circle with them. A module of a folder may use its own children and be used by them, for
//! to compose them is its task; the crate's root may not, and with `--strict` no module may. Code for tests does not count, nor a
//! module's name alone.

mod graph;
mod scan;

use crate::tally::Tally;
use crate::tool::{capture, cargo};
use anyhow::{Context, Result, bail, ensure};
use graph::Uses;
use scan::Source;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Checks every crate of the workspace whose name contains `filter`; with `strict`, parents and their own children too.
pub(crate) fn run(tally: &mut Tally, filter: Option<&str>, strict: bool) -> Result<()> {
    for (name, root) in roots()? {
        if filter.is_none_or(|filter| name.contains(filter)) {
            tally.check(&format!("no circle of modules in {name}"), check(&root, strict));
        }
    }
    Ok(())
}

/// Every library and program of the workspace: its name, and the file that it begins with.
fn roots() -> Result<Vec<(String, PathBuf)>> {
    let metadata = capture(cargo().args(["metadata", "--locked", "--no-deps", "--format-version", "1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists packages")?;
    let mut roots = Vec::new();
    for target in packages.iter().flat_map(|package| package["targets"].as_array().into_iter().flatten()) {
        let kind = target["kind"][0].as_str().unwrap_or_default();
        if let (Some(name), Some(path), "lib" | "bin") = (target["name"].as_str(), target["src_path"].as_str(), kind) {
            roots.push((format!("{kind} {name}"), PathBuf::from(path)));
        }
    }
    ensure!(!roots.is_empty(), "the workspace holds no crate");
    Ok(roots)
}

fn check(root: &Path, strict: bool) -> Result<()> {
    let source = Source::read(root)?;
    let uses = graph::uses(&source, strict);
    let circles = graph::circles(&uses);
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

/// A use, as `file:line: path`.
fn shown(source: &Source, uses: &Uses, from: usize, to: usize) -> String {
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
