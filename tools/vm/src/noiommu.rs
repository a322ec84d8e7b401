//! `vfio.ko` with no-IOMMU mode. Debian builds its kernels without this mode, so the module is built from the kernel's
//! source.

use crate::packages::Packages;
use anyhow::{Context, Result};
use portcullis_tools::tool::{capture, say};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of the module, which is built only once.
pub(crate) fn module(kernel: &Packages) -> Result<PathBuf> {
    let folder = kernel.root().join("vfio");
    let module = folder.join("vfio.ko");
    if module.exists() {
        return Ok(module);
    }
    say("building vfio.ko with no-IOMMU mode");
    let sources = kernel.root().join("usr/src");
    let archive = found(&sources, |name| name.starts_with("linux-source-") && name.contains(".tar."))?;
    fs::create_dir_all(&folder)?;
    let mut unpack = Command::new("tar");
    unpack.arg("-xf").arg(&archive).arg("-C").arg(&folder);
    capture(unpack.args(["--strip-components=3", "--wildcards", "*/drivers/vfio/*"]))?;
    let headers = found(&sources, |name| name.starts_with("linux-headers-") && name.ends_with("-amd64"))?;
    // The makefile names a second header package by its installed path, which does not exist here.
    let makefile = headers.join("Makefile");
    let text = fs::read_to_string(&makefile)?;
    let here = sources.to_string_lossy();
    if !text.contains(here.as_ref()) {
        fs::write(&makefile, text.replace("/usr/src", &here))?;
    }
    let mut make = Command::new("make");
    make.arg("-C").arg(&headers).arg(format!("M={}", folder.display()));
    capture(make.args(["CONFIG_VFIO_NOIOMMU=y", "KCFLAGS=-DCONFIG_VFIO_NOIOMMU=1", "modules"]))?;
    Ok(module)
}

fn found(folder: &Path, fits: impl Fn(&str) -> bool) -> Result<PathBuf> {
    let mut entries = fs::read_dir(folder)?.flatten();
    let entry = entries.find(|entry| fits(&entry.file_name().to_string_lossy()));
    Ok(entry.with_context(|| format!("nothing that fits in {}", folder.display()))?.path())
}
