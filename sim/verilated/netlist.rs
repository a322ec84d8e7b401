//! Netlists that replace sources, for the build scripts that allow it.

use crate::verilator::Result;
use std::env;
use std::path::Path;

/// The Verilog file, relative to the workspace, that this environment variable names; `None` if it is not set or empty.
/// Makes cargo watch the variable and the file.
pub(crate) fn from_environment(workspace: &Path, variable: &str) -> Result<Option<String>> {
    println!("cargo::rerun-if-env-changed={variable}");
    let Some(path) = env::var_os(variable).filter(|path| !path.is_empty()) else { return Ok(None) };
    let path = workspace.join(path);
    println!("cargo::rerun-if-changed={}", path.display());
    Ok(Some(path.to_str().ok_or("the path of a netlist is UTF-8")?.to_owned()))
}
