//! Why a manifest cannot be read, checked or written.

use std::io;
use std::path::PathBuf;

/// Why a manifest cannot be read, checked or written.
#[derive(Debug, thiserror::Error)]
pub enum BitstreamError {
    /// A source or a file that was built.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// File.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The manifest.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// File.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The target is none of this program's.
    #[error("unknown target `{0}`; this program knows aws_f2, alveo_u55c, alveo_u250, ecp5")]
    Target(String),
    /// What was given for a seal is not possible.
    #[error("{0}")]
    Seal(String),
}
