//! Bundles: what a session leaves behind, as files under fixed names.
//!
//! Every name, size and line is checked before its content is looked at: an unknown name, a symbolic link, a file over its cap or
//! a line with unknown or duplicate keys is an error, never skipped. Large files are streamed.
//!
//! What has a log index stands in files of its lane: they are written and read as the log is, and a bundle of one lane is lane 0's.

mod archive;
mod disk;
mod finish;
mod heads;
mod line;
mod name;
mod read;
mod snapshot;
mod withhold;
mod write;

pub use archive::{Archive, at};
pub use disk::Growing;
pub use finish::{FinishError, Finished, finish};
pub use heads::Heads;
pub use line::{Input, Lines, Receipt, Span, Stream, commitment};
pub use name::{
    APPROVAL, CERTIFICATE, CHAIN, HEADS, IMAGE, INPUTS, MANIFEST, PACKAGE, README, RECEIPTS, RECORDS, SPANS, STREAMS,
    TICKET, anchor, checkpoint, context, in_lane, package, withheld, witness,
};
pub use read::{Bundle, Directory, Files, Memory};
pub use snapshot::Snapshot;
pub use withhold::{Choice, Reason, Withheld, WithholdError, withhold, withhold_in_place};
pub use write::{LineFile, Writer};

use crate::hex::Hex;
use portcullis_core::json;
use serde::{Deserialize, Serialize};

/// `schema` of a manifest.
pub const SCHEMA: &str = "portcullis/bundle/1";

/// Why files are no bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Reading or writing failed; nothing is said about the evidence.
    #[error("cannot read or write `{name}`: {source}")]
    Io {
        /// File or folder.
        name: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// There is nothing to check.
    #[error("`{}` holds no bundle: {what}", path.display())]
    Nothing {
        /// File or folder.
        path: std::path::PathBuf,
        /// What is there in its place.
        what: String,
    },
    /// A file that the system of somebody who looked at the bundle left there.
    #[error("`{0}` was left there by a file manager and is no part of the bundle: remove it, and check again")]
    Litter(String),
    /// A name that no bundle has.
    #[error("`{0}` is no file of a bundle")]
    Name(String),
    /// A symbolic link, a device, or anything else that is neither file nor folder.
    #[error("`{0}` is neither a file nor a folder")]
    Kind(String),
    /// A file that every bundle has is not there.
    #[error("`{0}` is missing{hint}", hint = hint(.0))]
    Missing(String),
    /// A file over its cap, or too many files.
    #[error("`{name}` is larger than {cap} bytes")]
    Size {
        /// File.
        name: String,
        /// Its cap in bytes.
        cap: u64,
    },
    /// A line that no reader of a bundle would take.
    #[error(
        "`{name}`: the line about record {index} would have {bytes} bytes, and at most {cap} are read; govern smaller texts or spans"
    )]
    Line {
        /// File.
        name: String,
        /// Log index of the record.
        index: u64,
        /// Bytes of the line.
        bytes: u64,
        /// The most.
        cap: u64,
    },
    /// Content that is not what the name says.
    #[error("`{name}`: {what}")]
    Content {
        /// File.
        name: String,
        /// What is wrong.
        what: String,
    },
}

/// What to do about a file that is missing.
fn hint(name: &str) -> &'static str {
    if name == MANIFEST {
        ": the session still runs, or it died: then `portcullis bundle finish` completes the bundle"
    } else {
        ""
    }
}

impl BundleError {
    pub(crate) fn content(name: &str, what: impl ToString) -> Self {
        Self::Content { name: name.to_owned(), what: what.to_string() }
    }

    pub(crate) fn io(name: &str) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io { name: name.to_owned(), source }
    }

    /// Whether nothing was checked, which says nothing about the evidence.
    #[must_use]
    pub const fn is_operational(&self) -> bool {
        matches!(self, Self::Io { .. } | Self::Nothing { .. } | Self::Litter(_))
    }
}

/// `manifest.json`: every other file of the bundle. A convenience: whoever changed a file could change it too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Files, in bytewise order of their paths.
    #[serde(deserialize_with = "json::objects")]
    pub files: Vec<ManifestFile>,
}

impl Manifest {
    /// The manifest over `files`, itself left out.
    ///
    /// # Errors
    /// [`BundleError`], as the files give it.
    pub fn of(files: &dyn Files) -> Result<Self, BundleError> {
        let mut manifest = Self { schema: SCHEMA.to_owned(), files: Vec::new() };
        for (path, size) in files.names()?.into_iter().filter(|(path, _)| path != MANIFEST) {
            let sha256 = Hex(read::digest(&path, &mut *read::buffered(files.open(&path)?, size))?);
            manifest.files.push(ManifestFile { path, size, sha256 });
        }
        Ok(manifest)
    }

    /// The file's content.
    ///
    /// # Errors
    /// [`BundleError::Content`].
    pub fn to_json(&self) -> Result<Vec<u8>, BundleError> {
        let mut json = serde_json::to_vec_pretty(self).map_err(|error| BundleError::content(MANIFEST, error))?;
        json.push(b'\n');
        Ok(json)
    }
}

/// A file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestFile {
    /// Path in the bundle.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// SHA-256.
    pub sha256: Hex<32>,
}
