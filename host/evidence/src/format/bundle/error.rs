//! The reasons why files are not a valid bundle.

use super::name::MANIFEST;

#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Reading or writing failed. This is not a result about the evidence.
    #[error("cannot read or write `{name}`: {source}")]
    Io { name: String, source: std::io::Error },
    #[error("`{}` holds no bundle: {what}", path.display())]
    Nothing { path: std::path::PathBuf, what: String },
    /// A file that a file manager created, such as `.DS_Store`.
    #[error("`{0}` was left there by a file manager and is not a part of the bundle: remove it, and check again")]
    Litter(String),
    #[error("`{0}` is not a file of a bundle")]
    Name(String),
    /// A symbolic link, a device, or another object that is neither file nor folder.
    #[error("`{0}` is neither a file nor a folder")]
    Kind(String),
    /// A folder in the place of what a stopped command leaves beside a bundle.
    #[error(
        "`{0}` is in the way, and is not what a stopped `bundle withhold` of this bundle leaves there: move it away"
    )]
    Foreign(String),
    #[error("`{0}` is missing{hint}", hint = hint(.0))]
    Missing(String),
    #[error("`{name}` is larger than {cap} bytes")]
    Size { name: String, cap: u64 },
    #[error(
        "`{name}`: the line about record {index} would have {bytes} bytes, and at most {cap} are read; govern smaller texts or spans"
    )]
    Line {
        name: String,
        index: u64,
        bytes: u64,
        /// Limit in bytes.
        cap: u64,
    },
    #[error("`{name}`: {what}")]
    Content { name: String, what: String },
}

/// Advice about a missing file.
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

    /// The bundle is not finished; see [`is_unfinished`](super::is_unfinished).
    #[must_use]
    pub fn unfinished() -> Self {
        Self::Missing(MANIFEST.to_owned())
    }

    /// Whether only the end of the session is missing.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        matches!(self, Self::Missing(name) if name == MANIFEST)
    }

    /// Whether these files are not a bundle: they are broken, hold nothing, or hold files that no bundle has.
    #[must_use]
    pub const fn is_no_bundle(&self) -> bool {
        !matches!(self, Self::Io { .. })
    }

    /// Whether the check could not run. Otherwise the error is a result about the evidence.
    #[must_use]
    pub const fn is_operational(&self) -> bool {
        matches!(self, Self::Io { .. } | Self::Nothing { .. } | Self::Litter(_) | Self::Foreign(_))
    }
}
