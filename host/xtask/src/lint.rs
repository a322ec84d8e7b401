//! Style checks: of the software (format, clippy, the build without the simulated card, licences) and of the
//! hardware (Verilator lint, the card's parameter guards, the shells' benches).

use crate::{dialect, generate, guards, links, prose, shells};
use anyhow::{Context, Result, ensure};
use portcullis_tools::tally::Tally;
use portcullis_tools::tool::{self, capture, cargo, say};
use portcullis_tools::{setup, task};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;

/// The permitted licences of dependencies, and the banned crates.
const DENY: &str = "deny.toml";

/// The parts of [`DENY`] that this program checks; cargo-deny checks the rest.
#[derive(Deserialize)]
struct Deny {
    licenses: Licences,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licences {
    allow: BTreeSet<String>,
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

pub(crate) fn run(tally: &mut Tally) -> Result<()> {
    setup::tools()?;
    hardware(tally);
    software(tally);
    Ok(())
}

/// The checks that need no Rust compiler. CI runs them while it builds.
pub(crate) fn hardware(tally: &mut Tally) {
    say("verilator --lint-only");
    tally.check("verilator lint", rtl());
    tally.check("dialect of the RTL", dialect::run());
    say("guards of the card's parameters");
    tally.check("parameter guards", guards::run());
    shells::run(tally, None, 1);
}

/// The checks of the generated files, and those that use cargo.
pub(crate) fn software(tally: &mut Tally) {
    tally.check("generated files", generate::run(true));
    pages(tally);
    say("rustfmt");
    tally.check("rustfmt", tool::run(cargo().args(["fmt", "--all", "--check"])));
    say("circles of modules");
    if let Err(error) = task::counted(tally, "modules", &["modules"]) {
        tally.fail("circles of modules", 1, &format!("{error:#}"));
    }
    say("licences of dependencies");
    tally.check("licences", licences());
    say("clippy");
    let clippy = ["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"];
    tally.check("clippy", tool::run(cargo().args(clippy)));
    say("the build without the simulated card");
    // The whole workspace except the simulated card. Dependencies that clippy has built are used again.
    let bare = ["check", "--locked", "--workspace", "--no-default-features"];
    let without = ["portcullis-sim", "portcullis-verilated"].map(|name| format!("--exclude={name}"));
    tally.check("no-default-features", tool::run(cargo().args(bare).args(without)));
}

pub(crate) fn pages(tally: &mut Tally) {
    say("form of pages and comments");
    tally.check("form of pages and comments", prose::run());
    say("links and commands of pages");
    tally.check("links of pages", links::run());
    tally.check("commands of pages", links::commands());
}

/// Lints the card with one lane, with eight lanes and with a text lane in each of eight lanes, the bench tops of the
/// signer and of the text scan, and both shells, one with several widths of ids, with assertions enabled. The waivers
/// are in rtl/lint.vlt.
fn rtl() -> Result<()> {
    let card = vec!["rtl/portcullis.f"];
    let mut tops = vec![
        ("portcullis_top", card.clone(), vec![]),
        ("portcullis_top", card.clone(), vec!["-GLanes=8"]),
        ("portcullis_top", card, vec!["-GLanes=8", "-GTextEngines=3"]),
        ("signer_tb", vec!["rtl/attest/tb/signer_tb.f"], vec![]),
        ("text_tb", vec!["rtl/text/tb/text_tb.f"], vec![]),
        ("text_lane_tb", vec!["rtl/text/tb/text_lane_tb.f"], vec![]),
    ];
    tops.extend(shells::SHELLS.iter().map(|shell| (shell.top, shell.lists.to_vec(), vec![])));
    // The shell for Alveo adapts to the width of the ids of the vendor's block.
    for shell in shells::SHELLS.iter().filter(|shell| shell.name == "alveo_xdma") {
        for width in ["-DPORTCULLIS_BLOCK_ID_BITS=1", "-DPORTCULLIS_BLOCK_ID_BITS=4", "-DPORTCULLIS_BLOCK_ID_BITS=20"] {
            tops.push((shell.top, shell.lists.to_vec(), vec![width]));
        }
    }
    for (top, lists, parameters) in tops {
        let mut lint = tool::verilator()?;
        lint.args(["--lint-only", "-Wall", "--assert", "--no-timing", "--top-module", top, "rtl/lint.vlt"]);
        lint.args(parameters);
        for list in lists {
            lint.args(["-f", list]);
        }
        tool::run(&mut lint)?;
    }
    Ok(())
}

/// Checks the licence and the name of every crate in the lock file.
fn licences() -> Result<()> {
    let Deny { licenses, bans } = toml::from_str(&fs::read_to_string(DENY).context(DENY)?).context(DENY)?;
    let metadata = capture(cargo().args(["metadata", "--locked", "--format-version", "1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists packages")?;
    let mut bad = Vec::new();
    for package in packages {
        let licence = package["license"].as_str().unwrap_or("none stated");
        if !permitted(licence, &licenses.allow) {
            bad.push(format!("{} {}: {licence}", package["name"], package["version"]));
        }
        if let Some(ban) = bans.deny.iter().find(|ban| package["name"] == ban.name.as_str()) {
            bad.push(format!("{}: {}", ban.name, ban.reason));
        }
    }
    ensure!(bad.is_empty(), "not permitted by {DENY}:\n  {}", bad.join("\n  "));
    eprintln!("    {} crates", packages.len());
    Ok(())
}

/// Evaluates an SPDX expression: `OR` needs one permitted side, `AND` needs both; `/` is an old form of `OR`.
fn permitted(expression: &str, licences: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ");
    let flat: String = expression.chars().filter(|c| !"()".contains(*c)).collect();
    if expression.contains('(') {
        // In `(A OR B) AND C`, parentheses are ignored and every alternative must be permitted. This is stricter than
        // SPDX, and enough here.
        let names = flat.split(" AND ").flat_map(|p| p.split(" OR "));
        return names.map(str::trim).all(|l| licences.contains(l) || l == "LGPL-2.1-or-later") && flat.contains("MIT");
    }
    flat.split(" OR ").any(|side| side.split(" AND ").all(|l| licences.contains(l.trim())))
}

#[cfg(test)]
mod tests {
    use super::{DENY, Deny, permitted};

    #[test]
    fn licence_expressions() {
        let list = portcullis_tools::tool::root().unwrap().join(DENY);
        let deny: Deny = toml::from_str(&std::fs::read_to_string(list).unwrap()).unwrap();
        let permitted = |expression| permitted(expression, &deny.licenses.allow);
        for good in
            ["MIT", "MIT OR Apache-2.0", "GPL-3.0 OR MIT", "Unlicense/MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"]
        {
            assert!(permitted(good), "{good}");
        }
        for bad in ["GPL-3.0", "MIT AND GPL-3.0", "none stated", "(GPL-3.0 OR MIT) AND Unicode-3.0"] {
            assert!(!permitted(bad), "{bad}");
        }
    }
}
