//! Checks the licence and the name of every crate that any workspace of the repository uses. cargo-deny checks the rest
//! of its configuration, `cargo xtask long advisories`.

use anyhow::{Context, Result, ensure};
use portcullis_tools::tool::{WORKSPACES, capture, cargo};
use serde::Deserialize;
use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};
use std::fs;
use std::path::Path;

/// The permitted licences of dependencies, and the banned crates.
const DENY: &str = "deny.toml";

/// The parts of [`DENY`] that are checked here.
#[derive(Deserialize)]
struct Deny {
    licenses: Licences,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    name: String,
    reason: String,
}

/// Checks the crates of all lock files.
pub(crate) fn run() -> Result<()> {
    let Deny { licenses, bans } = read(Path::new("."))?;
    let licences = parsed(&licenses.allow)?;
    let (mut bad, mut count) = (Vec::new(), 0);
    for workspace in WORKSPACES {
        let manifest = format!("{workspace}/Cargo.toml");
        let words = ["metadata", "--locked", "--format-version", "1", "--manifest-path", &manifest];
        let metadata: Value = serde_json::from_str(&capture(cargo().args(words))?)?;
        let packages = metadata["packages"].as_array().context("cargo metadata lists packages")?;
        count += packages.len();
        for package in packages {
            let licence = package["license"].as_str().unwrap_or("none stated");
            if !is_permitted(licence, &licences) {
                bad.push(format!("{} {} of {manifest}: {licence}", package["name"], package["version"]));
            }
            if let Some(ban) = bans.deny.iter().find(|ban| package["name"] == ban.name.as_str()) {
                bad.push(format!("{} of {manifest}: {}", ban.name, ban.reason));
            }
        }
    }
    ensure!(bad.is_empty(), "not permitted by {DENY}:\n  {}", bad.join("\n  "));
    eprintln!("    {count} crates in {} workspaces", WORKSPACES.len());
    Ok(())
}

fn read(root: &Path) -> Result<Deny> {
    toml::from_str(&fs::read_to_string(root.join(DENY)).context(DENY)?).context(DENY)
}

/// The permitted licences. Errors: SPDX has no such licence.
fn parsed(allow: &[String]) -> Result<Vec<Licensee>> {
    allow.iter().map(|name| Licensee::parse(name).with_context(|| format!("{DENY}: `{name}`"))).collect()
}

/// Is the crate offered under permitted licences? `/` is an old form of `OR`.
fn is_permitted(expression: &str, licences: &[Licensee]) -> bool {
    let expression = Expression::parse_mode(expression, ParseMode::LAX);
    expression.is_ok_and(|it| it.evaluate(|required| licences.iter().any(|licence| licence.satisfies(required))))
}

#[cfg(test)]
mod tests {
    use super::{is_permitted, parsed, read};

    #[test]
    fn licence_expressions() {
        let licences = parsed(&read(&portcullis_tools::tool::root().unwrap()).unwrap().licenses.allow).unwrap();
        for good in [
            "MIT",
            "MIT OR Apache-2.0",
            "GPL-3.0 OR MIT",
            "Unlicense/MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "(GPL-3.0-only OR MIT) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0-only",
        ] {
            assert!(is_permitted(good, &licences), "{good}");
        }
        for bad in ["GPL-3.0", "MIT AND GPL-3.0", "none stated", "", "(GPL-3.0 OR MIT) AND LGPL-2.1-or-later", "MIT OR"]
        {
            assert!(!is_permitted(bad, &licences), "{bad}");
        }
        assert!(parsed(&["My-Own".to_owned()]).is_err());
    }
}
