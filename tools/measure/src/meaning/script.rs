//! The generators of cases, which are Python programs in the folder of the cases.

use super::Cases;
use anyhow::Result;
use portcullis_tools::tool::capture;
use serde_json::Value;
use std::ffi::OsStr;
use std::process::Command;

/// The lines that a program in the folder prints.
pub(crate) fn lines<S: AsRef<OsStr>>(
    cases: &Cases<'_>,
    program: &str,
    arguments: impl IntoIterator<Item = S>,
) -> Result<Vec<Value>> {
    let printed = capture(Command::new("python3").arg(cases.folder.join(program)).args(arguments))?;
    printed.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}
