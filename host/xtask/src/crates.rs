//! The picture of the crates in docs/explanation/architecture.md, made from the manifests.

use anyhow::{Context, Result, ensure};
use portcullis_tools::tool::{capture, cargo};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// The page with the picture.
pub(crate) const PAGE: &str = "docs/explanation/architecture.md";
const BEGIN: &str = "<!-- crates: made by cargo xtask gen -->\n";
const END: &str = "<!-- crates end -->";
/// The folders whose crates are in the picture.
const FOLDERS: [&str; 3] = ["host", "clients", "fleet/core"];
/// What the names of the project's crates begin with; the picture leaves it out.
const PREFIX: &str = "portcullis-";

/// The crates that each crate uses.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The page with the present picture.
pub(crate) fn page(before: &str) -> Result<String> {
    let (head, rest) = before.split_once(BEGIN).with_context(|| format!("{PAGE} lacks `{}`", BEGIN.trim_end()))?;
    let (_, tail) = rest.split_once(END).with_context(|| format!("{PAGE} lacks `{END}`"))?;
    let metadata = ["metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"];
    let graph = graph(&serde_json::from_str(&capture(cargo().args(metadata))?)?)?;
    Ok(format!("{head}{BEGIN}{}{END}{tail}", picture(&reduced(&graph))))
}

/// The normal dependencies among the crates of [`FOLDERS`]; optional ones only if a default feature turns them on.
fn graph(metadata: &Value) -> Result<Graph> {
    let root = metadata["workspace_root"].as_str().context("cargo metadata without a root")?;
    let mut graph = Graph::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let (name, manifest) = package["name"].as_str().zip(package["manifest_path"].as_str()).context("a package")?;
        if !FOLDERS.iter().any(|folder| Path::new(manifest).starts_with(Path::new(root).join(folder))) {
            continue;
        }
        let enabled = by_default(&package["features"]);
        let is_enabled =
            |of: &Value| of["optional"] == false || of["name"].as_str().is_some_and(|n| enabled.contains(n));
        let is_drawn = |of: &&Value| of["path"].is_string() && of["kind"].is_null() && is_enabled(of);
        let all = package["dependencies"].as_array().into_iter().flatten().filter(is_drawn);
        graph.insert(short(name), all.filter_map(|of| of["name"].as_str()).map(short).collect());
    }
    ensure!(!graph.is_empty(), "cargo metadata names no crate of {}", FOLDERS.join(", "));
    let drawn: BTreeSet<String> = graph.keys().cloned().collect();
    graph.values_mut().for_each(|uses| uses.retain(|name| drawn.contains(name)));
    Ok(graph)
}

/// The optional dependencies that the default features turn on.
fn by_default(features: &Value) -> BTreeSet<String> {
    let (mut seen, mut next) = (BTreeSet::new(), vec!["default"]);
    while let Some(feature) = next.pop() {
        let all = features[feature].as_array().into_iter().flatten().filter_map(Value::as_str);
        next.extend(all.filter(|name| seen.insert((*name).to_owned())));
    }
    seen.iter().filter_map(|name| name.strip_prefix("dep:")).map(str::to_owned).collect()
}

fn short(name: &str) -> String {
    name.strip_prefix(PREFIX).unwrap_or(name).to_owned()
}

/// The graph without the arrows that follow from others: its transitive reduction, because it has no circle.
fn reduced(graph: &Graph) -> Graph {
    let direct = |uses: &BTreeSet<String>| {
        let indirect: BTreeSet<&str> = uses.iter().flat_map(|name| reached(graph, name)).collect();
        uses.iter().filter(|name| !indirect.contains(name.as_str())).cloned().collect()
    };
    graph.iter().map(|(name, uses)| (name.clone(), direct(uses))).collect()
}

/// The crates that a crate uses, directly or indirectly.
fn reached<'a>(graph: &'a Graph, from: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        open.extend(graph.get(at).into_iter().flatten().map(String::as_str).filter(|next| found.insert(*next)));
    }
    found
}

/// The graph in the language of Mermaid. A crate without arrows stands by itself.
fn picture(graph: &Graph) -> String {
    let mut text = String::from("```mermaid\nflowchart TD\n");
    for (name, uses) in graph {
        for used in uses {
            let _ = writeln!(text, "  {name} --> {used}");
        }
        if uses.is_empty() && !graph.values().any(|others| others.contains(name)) {
            let _ = writeln!(text, "  {name}");
        }
    }
    text.push_str("```\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(arrows: &[(&str, &[&str])]) -> Graph {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        arrows.iter().map(|(name, uses)| ((*name).to_owned(), set(uses))).collect()
    }

    #[test]
    fn arrows_that_follow_from_others_are_left_out() {
        let chain = of(&[("a", &["b", "c", "d"]), ("b", &["c"]), ("c", &["d"]), ("d", &[])]);
        assert_eq!(reduced(&chain), of(&[("a", &["b"]), ("b", &["c"]), ("c", &["d"]), ("d", &[])]));
        // Two ways to one crate stay: neither follows from the other.
        let diamond = of(&[("a", &["b", "c", "d"]), ("b", &["d"]), ("c", &["d"]), ("d", &[])]);
        assert_eq!(reduced(&diamond), of(&[("a", &["b", "c"]), ("b", &["d"]), ("c", &["d"]), ("d", &[])]));
        assert_eq!(reduced(&reduced(&diamond)), reduced(&diamond));
    }

    #[test]
    fn only_normal_dependencies_of_crates_in_the_picture_are_drawn() {
        let uses = |name: &str, kind: Value, optional: bool, path: Value| json!({"name": name, "kind": kind, "optional": optional, "path": path});
        let dependencies = [
            uses("portcullis-core", Value::Null, false, json!("/p/host/core")),
            uses("portcullis-gate", Value::Null, true, json!("/p/host/gate")),
            uses("portcullis-lane", json!("dev"), false, json!("/p/host/lane")),
            uses("portcullis-tools", Value::Null, false, json!("/p/tools/support")),
            uses("serde", Value::Null, false, Value::Null),
            uses("portcullis-gateway", Value::Null, true, json!("/p/host/gateway")),
        ];
        let features = json!({"default": ["all"], "all": ["dep:portcullis-gateway"], "rare": ["dep:portcullis-gate"]});
        let package = |name: &str, folder: &str, dependencies: &[Value]| json!({"name": name, "manifest_path": format!("/p/{folder}/Cargo.toml"), "dependencies": dependencies, "features": features});
        let metadata = json!({"workspace_root": "/p", "packages": [
            package("portcullis-report", "host/report", &dependencies),
            package("portcullis-core", "host/core", &[]),
            package("portcullis-gate", "host/gate", &[]),
            package("portcullis-gateway", "host/gateway", &[]),
            package("portcullis-lane", "host/lane", &[]),
            package("portcullis-tools", "tools/support", &[]),
            package("portcullis-hosted", "hosted/x", &[]),
        ]});
        let graph = graph(&metadata).unwrap();
        let expected =
            [("core", &[][..]), ("gate", &[]), ("gateway", &[]), ("lane", &[]), ("report", &["core", "gateway"])];
        assert_eq!(graph, of(&expected));
        let shown = "```mermaid\nflowchart TD\n  gate\n  lane\n  report --> core\n  report --> gateway\n```\n";
        assert_eq!(picture(&graph), shown);
    }

    #[test]
    fn a_page_without_the_marks_is_an_error() {
        assert!(page("# Architecture\n").is_err());
        assert!(page(BEGIN).is_err());
    }
}
