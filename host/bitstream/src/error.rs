//! Errors of reading, checking and writing manifests.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum BitstreamError {
    #[error("cannot read `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("unknown target `{0}`; this program knows aws_f2, alveo_u55c, alveo_u250, ecp5")]
    Target(String),
    #[error("{0}")]
    Seal(String),
}
