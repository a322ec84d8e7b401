//! The golden bundle of this release: the demo's output, kept so that every later release can be tested on it.

use crate::generate;
use crate::independent::GOLDEN;
use anyhow::{Context, Result};
use portcullis_tools::tool::{self, cargo, say};
use portcullis_tools::{demo, setup};
use std::fs;
use std::path::Path;

/// Makes all files that name this release: the test vectors, its golden bundle, and its line in the list of releases.
pub(crate) fn run() -> Result<()> {
    generate::run(false)?;
    say("making the test vectors");
    let vectors = ["test", "--locked", "--workspace", "--test", "all", "formats::"];
    tool::run(cargo().args(vectors).env("UPDATE_SNAPSHOTS", "1"))?;
    setup::build()?;
    demo::output(&demo::binary()?)?;
    let golden = Path::new(GOLDEN).join(env!("CARGO_PKG_VERSION"));
    if golden.exists() {
        fs::remove_dir_all(&golden)?;
    }
    let demo = demo::bundle()?;
    copy(&demo, &golden.join("bundle"))?;
    copy(&demo.with_file_name("trust"), &golden.join("trust"))?;
    say(&format!("{} is the golden bundle of this release", golden.display()));
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            fs::write(to.join(name), fs::read(&path)?)?;
        }
    }
    Ok(())
}
