//! The digests of a checkout, made again from its files as `cargo xtask gen` makes them.

use anyhow::Context;
use portcullis_policy::image::hex;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

pub(super) const LAYOUT: &str = "rtl/layout/layout.toml";
pub(super) const REGISTERS: &str = "rtl/layout/card.rdl";
/// The card's sources in order. The package that holds the design id is among them and not part of it.
const CARD: &str = "rtl/portcullis.f";
const DESIGN_PACKAGE: &str = "rtl/pkg/gen/design_pkg.sv";

/// The design id of the card's sources below `root`: the first 16 bytes of their digest, the top bit clear.
pub(super) fn design_id(root: &Path) -> anyhow::Result<String> {
    let path = root.join(CARD);
    let card = std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let sources: Vec<_> =
        card.lines().map(str::trim).filter(|l| l.starts_with("rtl/") && *l != DESIGN_PACKAGE).map(str::to_owned).collect();
    let mut id = digest(root, &sources)?;
    id.truncate(16);
    if let Some(first) = id.first_mut() {
        *first &= 0x7f;
    }
    Ok(hex(&id))
}

/// The digest of the files below `root`, in this order.
pub(super) fn list(root: &Path, files: &[String]) -> anyhow::Result<String> {
    Ok(hex(&digest(root, files)?))
}

/// The digest of one file below `root`.
pub(super) fn file(root: &Path, name: &str) -> anyhow::Result<String> {
    sha256(&root.join(name))
}

/// SHA-256 over a line `SHA-256  path` for each file.
fn digest(root: &Path, files: &[String]) -> anyhow::Result<Vec<u8>> {
    let mut all = Sha256::new();
    for name in files {
        all.update(format!("{}  {name}\n", file(root, name)?));
    }
    Ok(all.finalize().to_vec())
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(super) fn sha256(path: &Path) -> anyhow::Result<String> {
    let shown = || format!("cannot read `{}`", path.display());
    let mut file = File::open(path).with_context(shown)?;
    let (mut all, mut part) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        let count = file.read(&mut part).with_context(shown)?;
        if count == 0 {
            return Ok(hex(&all.finalize()));
        }
        all.update(part.get(..count).unwrap_or_default());
    }
}
