//! Digests of the sources in a checkout.

use crate::error::BitstreamError;
use base16ct::lower::encode_string;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

pub const LAYOUT: &str = "rtl/layout/layout.toml";
pub const REGISTERS: &str = "rtl/layout/card.rdl";
/// The list of the card's sources. It includes [`DESIGN_PACKAGE`], which the design id does not cover.
const CARD: &str = "rtl/portcullis.f";
/// The SystemVerilog package that contains the design id.
pub const DESIGN_PACKAGE: &str = "rtl/pkg/gen/design_pkg.sv";

/// The files of a checkout.
#[derive(Clone, Debug)]
pub struct SourceCheckout {
    root: PathBuf,
    /// Folder with files that replace files of the checkout.
    overlay: Option<PathBuf>,
}

impl SourceCheckout {
    /// Uses the files below `root`.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), overlay: None }
    }

    /// Makes files below `overlay` replace files of the checkout.
    #[must_use]
    pub fn with_overlay(self, overlay: impl Into<PathBuf>) -> Self {
        Self { overlay: Some(overlay.into()), ..self }
    }

    fn path(&self, name: &str) -> PathBuf {
        let made = self.overlay.as_ref().map(|overlay| overlay.join(name)).filter(|path| path.exists());
        made.unwrap_or_else(|| self.root.join(name))
    }

    /// The files that a list file names; other lines of the list are options for the tool that reads it.
    pub fn listed(&self, list: &str) -> Result<Vec<String>, BitstreamError> {
        let path = self.path(list);
        let text = fs::read_to_string(&path).map_err(|source| BitstreamError::Read { path, source })?;
        Ok(text.lines().map(str::trim).filter(|line| line.starts_with("rtl/")).map(str::to_owned).collect())
    }

    /// The design id of the card's sources: the first 16 bytes of their digest, with the top bit 0 (a real card).
    pub fn design_id(&self) -> Result<[u8; 16], BitstreamError> {
        let mut sources = self.listed(CARD)?;
        sources.retain(|name| name != DESIGN_PACKAGE);
        let [first, rest @ ..] = self.digest(&sources)?;
        let mut id = [first & 0x7f; 16];
        id.iter_mut().skip(1).zip(rest).for_each(|(to, from)| *to = from);
        Ok(id)
    }

    /// The digest of files in this order, hexadecimal.
    pub fn list(&self, files: &[String]) -> Result<String, BitstreamError> {
        Ok(encode_string(&self.digest(files)?))
    }

    /// The digest of one file, hexadecimal.
    pub fn file(&self, name: &str) -> Result<String, BitstreamError> {
        sha256(&self.path(name))
    }

    /// SHA-256 over a line `SHA-256  path` per file.
    fn digest(&self, files: &[String]) -> Result<[u8; 32], BitstreamError> {
        let mut all = Sha256::new();
        for name in files {
            all.update(format!("{}  {name}\n", self.file(name)?));
        }
        Ok(all.finalize().into())
    }
}

/// The SHA-256 of a file, hexadecimal.
pub fn sha256(path: &Path) -> Result<String, BitstreamError> {
    let failed = |source| BitstreamError::Read { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(failed)?;
    let (mut all, mut part) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        let count = file.read(&mut part).map_err(failed)?;
        if count == 0 {
            return Ok(encode_string(&all.finalize()));
        }
        all.update(part.get(..count).unwrap_or_default());
    }
}
