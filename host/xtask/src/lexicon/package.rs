//! The package with WordNet's files: fetched once from Debian's archive, checked by its digest, unpacked into `target`.

use super::digest;
use anyhow::{Context, Result, ensure};
use portcullis_tools::tool::{capture, say};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// As `apt-get download` takes it.
pub(super) const NAME: &str = "wordnet-base=1:3.0-37";
/// SHA-256 of the package, as Debian's list of packages has it.
pub(super) const DIGEST: &str = "61060d960f9ada8fa120872312eccd3ecebfbab8c4579e4f5a74e1cf67620752";
const FOLDER: &str = "target/xtask/wordnet";
const FILE: &str = "wordnet-base_1%3a3.0-37_all.deb";

/// The folder with `data.noun` and its like.
pub(super) fn fetch() -> Result<PathBuf> {
    let folder = Path::new(FOLDER);
    let file = folder.join(FILE);
    fs::create_dir_all(folder)?;
    if !file.exists() {
        say(&format!("fetching {NAME} from Debian's archive into {FOLDER} (6 MB, once)"));
        capture(
            Command::new("apt-get")
                .args(["-qq", "-o", "APT::Sandbox::User=root", "download", NAME])
                .current_dir(folder),
        )
        .with_context(|| {
            format!("apt-get does not give {NAME}; put the file into {FOLDER}, snapshot.debian.org keeps it")
        })?;
    }
    let found = digest(&fs::read(&file).with_context(|| file.display().to_string())?);
    ensure!(found == DIGEST, "{} has the digest {found}, not {DIGEST}; remove it", file.display());
    let root = folder.join("root");
    capture(Command::new("dpkg-deb").arg("-x").arg(&file).arg(&root))?;
    Ok(root.join("usr/share/wordnet"))
}
