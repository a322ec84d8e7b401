//! The demo of the README: a few sentences, judged on the simulated card.

use crate::setup;
use crate::tool::{self, cargo, say};
use anyhow::{Result, ensure};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Arguments of the demo, also shown in the README.
pub(crate) const RUN: [&str; 7] =
    ["run", "--policy", "policies/pii", "--card", "sim", "--input", "tests/demo/sentences.jsonl"];

pub(crate) fn run() -> Result<()> {
    print!("{}", output()?);
    Ok(())
}

/// Builds the binary, with the features that the whole workspace asks for, so that nothing is built twice.
pub(crate) fn build() -> Result<()> {
    setup::tools()?;
    tool::run(cargo().args(["build", "--quiet", "--locked", "--workspace", "--bins"]))
}

/// The binary that [`build`] makes.
pub(crate) fn binary() -> Result<PathBuf> {
    Ok(tool::root()?.join(target_dir()).join("debug/portcullis"))
}

/// Builds the binary and returns what the demo prints.
pub(crate) fn output() -> Result<String> {
    build()?;
    say(&format!("portcullis {}", RUN.join(" ")));
    let output = Command::new(binary()?).args(RUN).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the demo ended with {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// Where cargo puts what it builds.
fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), Into::into)
}
