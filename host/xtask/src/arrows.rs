//! Checks which crates a package may depend on, and how many there are.
//!
//! The graph is that of `cargo tree -p PACKAGE`: only normal dependencies, and only the features that the package asks
//! for itself. `cargo metadata` joins the features of all packages of the workspace, so that its graph has arrows that
//! a build of one package does not have.

use anyhow::{Context, Result, ensure};
use portcullis_tools::tool::{capture, cargo};
use std::collections::{BTreeMap, BTreeSet};

/// Crates that reach a network, serve one, or open a database.
const OUTSIDE: [&str; 26] = [
    "async-std",
    "axum",
    "curl",
    "diesel",
    "h2",
    "hyper",
    "hyper-util",
    "isahc",
    "libsqlite3-sys",
    "mio",
    "native-tls",
    "openssl",
    "postgres",
    "quinn",
    "redb",
    "reqwest",
    "ring",
    "rusqlite",
    "rustls",
    "sled",
    "smol",
    "socket2",
    "sqlx",
    "tokio",
    "tokio-postgres",
    "ureq",
];
/// Packages of this project that belong to the operator, an issuer or a reader's proxy, not to an auditor.
const OPERATORS: [&str; 5] =
    ["portcullis-authority", "portcullis-gateway", "portcullis-issuer", "portcullis-proxy", "portcullis-recorder"];

/// What a package may depend on.
struct Limit {
    package: &'static str,
    /// Further arguments of `cargo tree`.
    features: &'static [&'static str],
    /// Lists of names of crates that it must not reach.
    never: &'static [&'static [&'static str]],
    /// The largest number of crates, itself included. Two versions of a crate count as two.
    most: Option<usize>,
}

const LIMITS: [Limit; 3] = [
    Limit { package: "portcullis-verify", features: &[], never: &[&OUTSIDE, &OPERATORS], most: None },
    Limit { package: "portcullis-audit", features: &[], never: &[&OUTSIDE, &OPERATORS], most: None },
    // Without the simulated card, as its users in this workspace name it.
    Limit { package: "portcullis-card", features: &["--no-default-features"], never: &[], most: Some(75) },
];

pub(crate) fn run() -> Result<()> {
    let mut faults = Vec::new();
    for limit in &LIMITS {
        let words = ["tree", "--locked", "--edges", "normal", "--prefix", "depth", "--format", "{p}", "--package"];
        let tree = capture(cargo().args(words).arg(limit.package).args(limit.features))?;
        let paths = paths(&tree).with_context(|| format!("cargo tree of {}", limit.package))?;
        eprintln!("    {}: {} crates", limit.package, paths.len());
        faults.extend(limit.faults(&paths));
    }
    ensure!(faults.is_empty(), "{} faults:\n  {}", faults.len(), faults.join("\n  "));
    Ok(())
}

impl Limit {
    /// The arrows that must not be there, each with its path; and whether there are too many crates.
    fn faults(&self, paths: &BTreeMap<String, Vec<String>>) -> Vec<String> {
        let names: BTreeSet<&str> = self.never.iter().flat_map(|list| list.iter().copied()).collect();
        let is_banned = |krate: &str| names.contains(name(krate));
        let banned = paths.iter().filter(|(krate, _)| is_banned(krate));
        let mut faults: Vec<String> = banned
            // What lies behind a crate that is reported needs no report of its own.
            .filter(|(_, path)| {
                path.split_last().is_none_or(|(_, before)| !before.iter().any(|krate| is_banned(krate)))
            })
            .map(|(krate, path)| format!("{} must not use {}: {}", self.package, name(krate), path.join(" -> ")))
            .collect();
        if let Some(most) = self.most.filter(|most| paths.len() > *most) {
            faults.push(format!("{} uses {} crates, and may use {most}", self.package, paths.len()));
        }
        faults
    }
}

fn name(krate: &str) -> &str {
    krate.split(' ').next().unwrap_or_default()
}

/// Each crate of a tree, by name and version, with the path of its first occurrence. A line of a tree has the depth,
/// the name, the version, and remarks. A crate that occurs again has its dependencies only where it occurs first.
fn paths(tree: &str) -> Result<BTreeMap<String, Vec<String>>> {
    let mut paths = BTreeMap::new();
    let mut path: Vec<String> = Vec::new();
    for line in tree.lines() {
        let wrong = || format!("not a line of a tree: `{line}`");
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let (depth, rest) = line.split_at_checked(digits).with_context(wrong)?;
        let depth: usize = depth.parse().with_context(wrong)?;
        let mut words = rest.split(' ');
        let (name, version) = words.next().zip(words.next()).with_context(wrong)?;
        ensure!(depth <= path.len() && !name.is_empty() && version.starts_with('v'), wrong());
        path.truncate(depth);
        path.push(name.to_owned());
        paths.entry(format!("{name} {version}")).or_insert_with(|| path.clone());
    }
    ensure!(!paths.is_empty(), "the tree is empty");
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::{LIMITS, Limit, OPERATORS, OUTSIDE, paths};

    const TREE: &str = "\
0portcullis-audit v0.1.0 (/work/host/audit)
1portcullis-gate v0.1.0 (/work/host/gate)
2serde v1.0.0
3serde_derive v1.0.0 (proc-macro)
2sha2 v0.11.0
1sha2 v0.10.0
1serde v1.0.0 (*)
";

    fn faults(tree: &str, most: Option<usize>) -> Vec<String> {
        let never: &[&[&str]] = &[&OUTSIDE, &OPERATORS];
        Limit { package: "portcullis-audit", features: &[], never, most }.faults(&paths(tree).unwrap())
    }

    #[test]
    fn a_network_a_database_and_the_operator_are_found_with_their_paths() {
        assert_eq!(faults(TREE, None), [""; 0]);
        for (more, fault) in [
            ("1portcullis-gate v0.1.0 (*)\n1ureq v3.5.1\n2rustls v0.23.1\n", "ureq: portcullis-audit -> ureq"),
            (
                "1portcullis-sealed v0.1.0 (/s)\n2store v0.1.0\n3rusqlite v0.37.0\n",
                "rusqlite: portcullis-audit -> portcullis-sealed -> store -> rusqlite",
            ),
            (
                "1portcullis-recorder v0.1.0 (/r)\n2tokio v1.0.0\n",
                "portcullis-recorder: portcullis-audit -> portcullis-recorder",
            ),
        ] {
            assert_eq!(faults(&format!("{TREE}{more}"), None), [format!("portcullis-audit must not use {fault}")]);
        }
        // A name that only begins like a listed one.
        assert_eq!(faults(&format!("{TREE}1tokio-like v1.0.0\n"), None), [""; 0]);
    }

    #[test]
    fn a_crate_is_counted_once_and_each_version_of_it() {
        assert_eq!(paths(TREE).unwrap().len(), 6);
        assert_eq!(faults(TREE, Some(6)), [""; 0]);
        assert_eq!(faults(TREE, Some(5)), ["portcullis-audit uses 6 crates, and may use 5"]);
    }

    #[test]
    fn a_tree_that_cannot_be_read_is_an_error() {
        for bad in ["", "portcullis-audit v0.1.0\n", "0portcullis-audit\n", "0a v1.0.0\n2b v1.0.0\n", "0a b\n"] {
            assert!(paths(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_auditors_packages_have_every_limit() {
        for package in ["portcullis-verify", "portcullis-audit"] {
            let limit = LIMITS.iter().find(|limit| limit.package == package).unwrap();
            assert_eq!(limit.never, [&OUTSIDE[..], &OPERATORS[..]]);
        }
    }
}
