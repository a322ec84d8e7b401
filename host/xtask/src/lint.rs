//! Style checks: of the software (format, clippy, the build without the simulated card, licences, arrows between
//! crates) and of the hardware (Verilator lint, the card's parameter guards, the shells' benches).

use crate::{arrows, dialect, generate, guards, licences, links, prose, shells, structure, type_names};
use anyhow::Result;
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool::{self, WORKSPACES, cargo, say};
use portcullis_tools::{setup, task};

pub(crate) fn run(tally: &mut CheckTally) -> Result<()> {
    setup::tools()?;
    hardware(tally);
    software(tally);
    Ok(())
}

/// The checks that need no Rust compiler. CI runs them while it builds.
pub(crate) fn hardware(tally: &mut CheckTally) {
    say("verilator --lint-only");
    tally.check("verilator lint", rtl());
    tally.check("dialect of the RTL", dialect::run());
    say("guards of the card's parameters");
    tally.check("parameter guards", guards::run());
    shells::run(tally, None, 1);
}

/// The checks of the generated files, and those that use cargo.
pub(crate) fn software(tally: &mut CheckTally) {
    tally.check("generated files", generate::run(true));
    pages(tally);
    say("rustfmt");
    for workspace in WORKSPACES {
        let manifest = format!("{workspace}/Cargo.toml");
        let format = ["fmt", "--all", "--check", "--manifest-path", &manifest];
        tally.check(&format!("rustfmt of {manifest}"), tool::run(cargo().args(format)));
    }
    say("circles of modules");
    if let Err(error) = task::counted(tally, "modules", &["modules"]) {
        tally.fail("circles of modules", 1, &format!("{error:#}"));
    }
    say("long runs that are older than what they test");
    let stale = task::program("long").and_then(|mut long| tool::run(long.args(["long", "--stale"])));
    tally.check("age of the long runs", stale);
    say("licences of dependencies");
    tally.check("licences", licences::run());
    say("arrows between crates");
    tally.check("arrows between crates", arrows::run());
    say("names of types");
    tally.check("names of types", type_names::run());
    say("clippy");
    tally.check("clippy", clippy("."));
    say("the build without the simulated card");
    // The whole workspace except the simulated card. Dependencies that clippy has built are used again.
    let bare = ["check", "--locked", "--workspace", "--no-default-features"];
    let without = ["portcullis-sim", "portcullis-verilated"].map(|name| format!("--exclude={name}"));
    tally.check("no-default-features", tool::run(cargo().args(bare).args(without)));
}

/// Clippy of one workspace, with all targets. Workspaces beside the main one keep their builds in a folder of their own
/// below `target`.
pub(crate) fn clippy(workspace: &str) -> Result<()> {
    let mut clippy = cargo();
    clippy.args(["clippy", "--locked", "--workspace", "--all-targets"]);
    if workspace != "." {
        clippy.args(["--manifest-path", &format!("{workspace}/Cargo.toml"), "--all-features"]);
        clippy.env("CARGO_TARGET_DIR", tool::root()?.join(tool::target_dir()).join(workspace));
        clippy.env("CARGO_PROFILE_DEV_DEBUG", "0");
    }
    tool::run(clippy.args(["--", "-D", "warnings"]))
}

pub(crate) fn pages(tally: &mut CheckTally) {
    say("form of pages and comments");
    tally.check("form of pages and comments", prose::run());
    say("links and commands of pages");
    tally.check("links of pages", links::run());
    tally.check("commands of pages", links::commands());
    tally.check("lists of folders and of an audit's codes", structure::run());
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
