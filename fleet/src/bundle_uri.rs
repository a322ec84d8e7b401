//! The URI of a bundle: how it is opened, and the ids of the rows of bundles without content.

use portcullis_core::hex;
use portcullis_evidence::bundle::{self, BundleError, BundleFiles};
use sha2::{Digest, Sha256};
use url::Url;

/// Opens the bundle at a URI. Errors: as [`bundle::at`].
pub(crate) fn open(uri: &Url) -> Result<Box<dyn BundleFiles>, BundleError> {
    match uri.to_file_path() {
        Ok(path) if uri.scheme() == "file" => bundle::at(&path),
        _ => Err(BundleError::Nothing { path: uri.as_str().into(), what: "it is not a file URL".to_owned() }),
    }
}

/// The id of a broken bundle's row. There is at most one for each place, and a whole bundle in this place removes it.
pub(crate) fn broken_id(uri: &Url) -> String {
    hex::encode(&Sha256::digest(uri.as_str()))
}

/// The id of the row of a bundle that is not finished, as [`broken_id`].
pub(crate) fn unfinished_id(uri: &Url) -> String {
    hex::encode(&Sha256::new().chain_update("unfinished ").chain_update(uri.as_str()).finalize())
}
