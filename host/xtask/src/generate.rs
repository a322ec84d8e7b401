//! Makes the generated files: layout, register block with its Rust accessors and its page, word tables, other pages.
//!
//! All files are first made in a scratch folder. `gen` then copies them into the tree; `gen --check` compares them
//! with the tree and reports differences.

use crate::{crates, layout, lexicon, manifest, registers, requirements, top};
use anyhow::{Context, Result, bail, ensure};
use base16ct::lower::encode_string;
use portcullis_bitstream::{DESIGN_PACKAGE, LAYOUT, REGISTERS, SourceCheckout};
use portcullis_tools::setup;
use portcullis_tools::tool::{self, python_tool, say};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The list of the card's sources, over which a design id is computed.
const DESIGN_SOURCES: &str = "rtl/portcullis.f";
/// The list of the versions that each release writes into its bundles.
const RELEASES: &str = "docs/reference/formats/releases.txt";
/// The list of requirements, and the page that is generated from it.
const CLAIMS: &str = "docs/claims.toml";
const REQUIREMENTS: &str = "docs/explanation/requirements.md";
const TOP: &str = "docs/reference/top.md";
/// Folders that contain only generated files. Files in them that are no longer generated are removed.
const WHOLLY_GENERATED: [&str; 4] = ["rtl/layout/gen", "rtl/pkg/gen", "rtl/csr/gen", "host/regs/src"];

/// Makes the generated files; with `check`, compares them with the tree.
pub(crate) fn run(check: bool) -> Result<()> {
    lexicon::run(check)?;
    setup::tools()?;
    say(if check { "comparing generated files with their sources" } else { "generating from rtl/layout" });
    let scratch = PathBuf::from("target/xtask/gen");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    make(&scratch)?;
    let made = files(&scratch)?;
    let mut stale: Vec<PathBuf> = Vec::new();
    for (path, text) in &made {
        if fs::read(path).ok().as_ref() != Some(text) {
            stale.push(path.clone());
            if !check {
                fs::create_dir_all(path.parent().context("a generated file has a folder")?)?;
                fs::write(path, text)?;
            }
        }
    }
    for folder in WHOLLY_GENERATED.iter().filter(|f| Path::new(f).exists()) {
        for path in files(Path::new(folder))?.into_keys() {
            let path = Path::new(folder).join(path);
            if !made.contains_key(&path) {
                stale.push(path.clone());
                if !check {
                    fs::remove_file(&path)?;
                }
            }
        }
    }
    if check && !stale.is_empty() {
        let list: Vec<_> = stale.iter().map(|p| format!("  {}", p.display())).collect();
        bail!("these files are not what their sources give; run `cargo xtask gen`:\n{}", list.join("\n"));
    }
    pages(check)?;
    eprintln!("    {} generated files, {} {}", made.len(), stale.len(), if check { "stale" } else { "changed" });
    Ok(())
}

/// Makes the pages about the programs: the tables of reason codes and the manual. Tests make them, because `xtask` must
/// build even if generated Rust does not. The manual needs the whole program, so with `check` the ordinary tests
/// compare it.
fn pages(check: bool) -> Result<()> {
    let mut cargo = tool::cargo();
    cargo.args(["test", "--quiet", "--workspace", "--locked", "--test", "reasons", "--test", "regulations"]);
    if !check {
        cargo.args(["--test", "cli", "--test", "manual", "--", "are_documented", "the_manual_is_what_help_says"]);
        cargo.env("UPDATE_SNAPSHOTS", "1");
    }
    tool::run(&mut cargo)
}

/// Makes every generated file below `scratch`, at its path in the tree.
fn make(scratch: &Path) -> Result<()> {
    let rdl = fs::read_to_string(REGISTERS).context(REGISTERS)?;
    let source = layout::parse(&fs::read_to_string(LAYOUT).context(LAYOUT)?, &rdl)?;
    let write = |path: &str, text: String| -> Result<()> {
        let path = scratch.join(path);
        fs::create_dir_all(path.parent().context("a generated file has a folder")?)?;
        Ok(fs::write(path, text)?)
    };
    write("rtl/layout/gen/layout_pkg.sv", layout::systemverilog(&source))?;
    write("host/core/src/wire/layout.rs", layout::rust(&source))?;
    write("host/core/src/wire/columns.rs", layout::rust_columns(&source))?;
    write("docs/reference/wire-formats.md", layout::markdown(&source))?;
    write(RELEASES, releases(&source.map_digest)?)?;
    write(REQUIREMENTS, requirements::page(&fs::read_to_string(CLAIMS).context(CLAIMS)?)?)?;
    write(crates::PAGE, crates::page(&fs::read_to_string(crates::PAGE).context(crates::PAGE)?)?)?;
    write(TOP, top::page(&fs::read_to_string(top::SOURCE).context(top::SOURCE)?)?)?;

    let peakrdl = |exporter: &str, out: &str, flags: &[&str]| -> Result<()> {
        let out = scratch.join(out);
        fs::create_dir_all(out.parent().context("a generated file has a folder")?)?;
        tool::capture(python_tool("peakrdl")?.arg(exporter).arg(REGISTERS).arg("-o").arg(out).args(flags))?;
        Ok(())
    };
    // Adds a register after the read multiplexer. A read takes one more clock, and the multiplexer is no longer on the
    // card's longest path.
    let block = ["--cpuif", "passthrough", "--default-reset", "rst", "--rt-read-response", "--rt-read-fanin"];
    peakrdl("regblock", "rtl/csr/gen", &block)?;
    // The registers of a lane are a separate block; the card has one such block per lane.
    peakrdl("regblock", "rtl/csr/gen", &[&["--top", "lane_regs"], &block[..]].concat())?;
    address_from_the_port(&scratch.join("rtl/csr/gen/card.sv"))?;
    peakrdl("rust", "host/regs/src", &["--force"])?;
    crate_root(&scratch.join("host/regs/src"))?;
    peakrdl("markdown", "docs/reference/registers.md", &[])?;
    let page = scratch.join("docs/reference/registers.md");
    fs::write(&page, registers::page(&fs::read_to_string(&page)?))?;

    // The design id covers the generated sources in their new form.
    let design = SourceCheckout::new(".").with_overlay(scratch).design_id()?;
    write(DESIGN_PACKAGE, design_package(&design))?;
    for (target, shell) in manifest::TARGETS {
        write(
            &format!("bitstreams/{target}/manifest.toml"),
            manifest::text(target, shell, &design, &source.map_digest)?,
        )?;
    }

    let rust: Vec<_> = files(scratch)?
        .into_keys()
        .filter(|p| p.extension().is_some_and(|e| e == "rs"))
        .map(|p| scratch.join(p))
        .collect();
    tool::run(Command::new("rustfmt").args(["--edition", "2024", "--config-path", "rustfmt.toml"]).args(rust))
}

/// Makes the read multiplexer of the card's register block use the address from the port. PeakRDL instead selects a
/// stored copy of the address until an external block has answered. That selection takes a fifth of the longest path,
/// and the port (axil_port) holds the address until then anyway.
fn address_from_the_port(block: &Path) -> Result<()> {
    const CHOICE: &str = "assign rd_mux_addr = decoded_req ? decoded_addr : pending_rd_addr;";
    let text = fs::read_to_string(block)?;
    ensure!(text.matches(CHOICE).count() == 1, "{} does not choose its read address as it used to", block.display());
    Ok(fs::write(block, text.replace(CHOICE, "assign rd_mux_addr = decoded_addr;"))?)
}

/// Turns the root module of the accessors into the root of a crate.
fn crate_root(accessors: &Path) -> Result<()> {
    let module = accessors.join("mod.rs");
    let text = fs::read_to_string(&module)?;
    let title = format!(
        "//! Accessors of the card's registers. Generated from {REGISTERS} by `cargo xtask gen`. Do not edit.\n\n"
    );
    fs::write(accessors.join("lib.rs"), title + &text)?;
    Ok(fs::remove_file(module)?)
}

/// The list of releases, in which the line of this release is made again and comes last.
fn releases(map_digest: &[u8]) -> Result<String> {
    let version = env!("CARGO_PKG_VERSION");
    let number = |path: &str, name: &str| -> Result<String> {
        let text = fs::read_to_string(path).context(path.to_owned())?;
        let rest =
            text.split_once(&format!("pub const {name}: u32 = ")).with_context(|| format!("{path} has no {name}"))?.1;
        Ok(rest.chars().take_while(char::is_ascii_digit).collect())
    };
    let mapping = number("host/core/src/manifest.rs", "MAPPING_VERSION")?;
    let context = number("host/core/src/context.rs", "CONTEXT_VERSION")?;
    let before = fs::read_to_string(RELEASES).context(RELEASES)?;
    let others: String = before
        .lines()
        .filter(|line| !line.starts_with(&format!("{version} ")))
        .map(|line| format!("{line}\n"))
        .collect();
    Ok(format!("{others}{version} mapping {mapping} context {context} map {}\n", encode_string(map_digest)))
}

/// The package with the design id.
fn design_package(id: &[u8]) -> String {
    // In the package, the first byte of the id is the constant's lowest byte.
    let id: Vec<u8> = id.iter().rev().copied().collect();
    format!(
        "// Made by `cargo xtask gen` from the sources that {DESIGN_SOURCES} lists. Do not edit.\n//\n\
         // The design id of a real card built from them, first byte lowest. Another source, another id, another key.\n\
         package design_pkg;\n  localparam logic [127:0] DesignId = 128'h{};\nendpackage\n",
        encode_string(&id)
    )
}

/// Every file below `folder`, by its path relative to `folder`.
fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).with_context(|| dir.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.strip_prefix(folder)?.to_path_buf(), fs::read(&path)?);
            }
        }
    }
    Ok(found)
}
