//! The arguments for sealed texts.

use crate::console;
use portcullis_evidence::bundle::{self, BundleError, BundleFiles};
use portcullis_sealed::{PrivateKey, UnsealedFiles, beside};
use std::path::{Path, PathBuf};

/// What opens the texts beside a bundle.
#[derive(Debug, clap::Args)]
pub struct UnsealArgs {
    /// Private X25519 key that opens the texts of a session that was recorded with `--texts sealed:FILE`
    #[arg(long, value_name = "KEY")]
    unseal: Option<PathBuf>,
    /// File of the sealed texts. Default: the name of the bundle, and `.sealed`
    #[arg(long, value_name = "FILE", requires = "unseal")]
    sealed: Option<PathBuf>,
}

impl UnsealArgs {
    /// The files of the bundle at `path`, with its sealed texts if a key was given.
    ///
    /// # Errors
    /// As [`bundle::at`] and [`UnsealedFiles::open`], and for an invalid key.
    pub fn at(&self, path: &Path) -> Result<Box<dyn BundleFiles>, BundleError> {
        self.open(path, self.sealed.as_deref())
    }

    /// Whether a file of sealed texts is named, which can be that of only one bundle.
    #[must_use]
    pub const fn names_a_file(&self) -> bool {
        self.sealed.is_some()
    }

    /// Like [`UnsealArgs::at`], for an earlier bundle. An earlier bundle need not have sealed texts.
    ///
    /// # Errors
    /// As [`UnsealArgs::at`].
    pub fn earlier(&self, path: &Path) -> Result<Box<dyn BundleFiles>, BundleError> {
        if beside(path).exists() { self.open(path, None) } else { bundle::at(path) }
    }

    fn open(&self, path: &Path, sealed: Option<&Path>) -> Result<Box<dyn BundleFiles>, BundleError> {
        let files = bundle::at(path)?;
        let Some(key) = &self.unseal else { return Ok(files) };
        let key = PrivateKey::load(key).map_err(|error| BundleError::Io {
            name: key.to_string_lossy().into_owned(),
            source: std::io::Error::other(error),
        })?;
        let unsealed = UnsealedFiles::open(files, sealed.unwrap_or(&beside(path)), &key)?;
        let torn = unsealed.report().torn;
        if torn > 0 {
            let what = format!("the sealed texts end within a unit ({torn} bytes): what stood behind it is withheld");
            console::problem("note", what);
        }
        Ok(Box::new(unsealed))
    }
}
