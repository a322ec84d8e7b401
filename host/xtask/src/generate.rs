//! Generated files: the layout in three languages; the register block, its Rust accessors and its docs.
//!
//! Everything is made in a scratch folder first. `gen` then copies it into the tree, `gen --check` compares and says what differs.

use crate::tool::{self, python_tool, say};
use crate::{layout, manifest, registers, setup};
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LAYOUT: &str = "rtl/layout/layout.toml";
const REGISTERS: &str = "rtl/layout/card.rdl";
/// The card's sources: what a design id names.
const DESIGN_SOURCES: &str = "rtl/portcullis.f";
const DESIGN: &str = "rtl/pkg/gen/design_pkg.sv";
/// What each release writes into its bundles.
const RELEASES: &str = "docs/reference/formats/releases.txt";
/// Folders that hold nothing but generated files; a file that no source gives any more is removed from them.
const WHOLLY_GENERATED: [&str; 4] = ["rtl/layout/gen", "rtl/pkg/gen", "rtl/csr/gen", "host/card/src/regs"];

/// Makes the generated files, or with `check` compares them with the tree.
pub(crate) fn run(check: bool) -> Result<()> {
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
    eprintln!("    {} generated files, {} {}", made.len(), stale.len(), if check { "stale" } else { "changed" });
    Ok(())
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
    write("docs/wire-formats.md", layout::markdown(&source))?;
    write(RELEASES, releases(&source.map_digest)?)?;

    let peakrdl = |exporter: &str, out: &str, flags: &[&str]| -> Result<()> {
        let out = scratch.join(out);
        fs::create_dir_all(out.parent().context("a generated file has a folder")?)?;
        tool::capture(python_tool("peakrdl")?.arg(exporter).arg(REGISTERS).arg("-o").arg(out).args(flags))?;
        Ok(())
    };
    // A register behind the read multiplexer: a read takes a clock more, and the multiplexer is no longer the card's longest path.
    let block = ["--cpuif", "passthrough", "--default-reset", "rst", "--rt-read-response"];
    peakrdl("regblock", "rtl/csr/gen", &block)?;
    // A lane's registers are a block that the card has once for each lane.
    peakrdl("regblock", "rtl/csr/gen", &[&["--top", "lane_regs"], &block[..]].concat())?;
    peakrdl("rust", "host/card/src/regs", &["--force"])?;
    peakrdl("markdown", "docs/registers.md", &[])?;
    let page = scratch.join("docs/registers.md");
    fs::write(&page, registers::page(&fs::read_to_string(&page)?))?;

    let design = design(scratch)?;
    write(DESIGN, design_package(&design))?;
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

/// The list of releases with the line of this one made anew, as its last.
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
    Ok(format!("{others}{version} mapping {mapping} context {context} map {}\n", hex(map_digest)))
}

/// The design id: SHA-256 over a line `SHA-256  path` for each of the card's sources but itself, in the order of the list; its first 16
/// bytes, with the top bit of the first kept clear for real cards. Generated sources count as they are made now.
fn design(scratch: &Path) -> Result<Vec<u8>> {
    let list = fs::read_to_string(DESIGN_SOURCES).context(DESIGN_SOURCES)?;
    let mut all = Sha256::new();
    for source in list.lines().map(str::trim).filter(|line| line.starts_with("rtl/") && *line != DESIGN) {
        let made = scratch.join(source);
        let path = if made.exists() { made } else { PathBuf::from(source) };
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        all.update(format!("{}  {source}\n", hex(&Sha256::digest(bytes))));
    }
    let mut id = all.finalize().to_vec();
    id.truncate(16);
    if let Some(first) = id.first_mut() {
        *first &= 0x7f;
    }
    Ok(id)
}

/// The package that holds the design id.
fn design_package(id: &[u8]) -> String {
    // The layout has the first byte lowest.
    let id: Vec<u8> = id.iter().rev().copied().collect();
    format!(
        "// Made by `cargo xtask gen` from the sources that {DESIGN_SOURCES} lists. Do not edit.\n//\n\
         // The design id of a real card built from them, first byte lowest. Another source, another id, another key.\n\
         package design_pkg;\n  localparam logic [127:0] DesignId = 128'h{};\nendpackage\n",
        hex(&id)
    )
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every file below `folder`, by its path relative to it.
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
