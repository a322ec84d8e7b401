//! The demo of the README: a few sentences, judged on the simulated card.

use crate::setup;
use crate::tool::{self, cargo, say};
use anyhow::{Result, ensure};
use std::process::{Command, Stdio};

/// Arguments of the demo, also shown in the README.
pub(crate) const RUN: [&str; 7] =
    ["run", "--policy", "policies/pii", "--card", "sim", "--input", "tests/demo/sentences.jsonl"];

pub(crate) fn run() -> Result<()> {
    print!("{}", output()?);
    Ok(())
}

/// Builds the binary and returns what the demo prints.
pub(crate) fn output() -> Result<String> {
    setup::tools()?;
    tool::run(cargo().args(["build", "--quiet", "--locked", "--package", "portcullis"]))?;
    say(&format!("portcullis {}", RUN.join(" ")));
    let program = tool::root()?.join(target_dir()).join("debug/portcullis");
    let output = Command::new(program).args(RUN).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the demo ended with {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// Where cargo puts what it builds.
pub(crate) fn target_dir() -> std::path::PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), Into::into)
}
