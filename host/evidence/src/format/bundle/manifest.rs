//! `manifest.json`: the list of a bundle's files.

use super::error::BundleError;
use super::files::{BundleFiles, buffered, digest};
use super::name::MANIFEST;
use portcullis_core::hex::HexBytes;
use portcullis_core::json;
use serde::{Deserialize, Serialize};

/// `schema` of a manifest.
pub const SCHEMA: &str = "portcullis/bundle/1";

/// `manifest.json`: lists every other file of the bundle. It proves nothing, because whoever changes the files can
/// rewrite it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleManifest {
    pub schema: String,
    /// Files, in bytewise order of their paths.
    #[serde(deserialize_with = "json::objects")]
    pub files: Vec<ManifestFile>,
}

impl BundleManifest {
    /// Makes a manifest that lists `files`, except the manifest itself. Errors: [`BundleError`] from `files`.
    pub fn of(files: &dyn BundleFiles) -> Result<Self, BundleError> {
        let mut manifest = Self { schema: SCHEMA.to_owned(), files: Vec::new() };
        for (path, size) in files.names()?.into_iter().filter(|(path, _)| path != MANIFEST) {
            let sha256 = HexBytes(digest(&path, &mut *buffered(files.open(&path)?, size))?);
            manifest.files.push(ManifestFile { path, size, sha256 });
        }
        Ok(manifest)
    }

    /// Encodes the manifest. Errors: [`BundleError::Content`].
    pub fn to_json(&self) -> Result<Vec<u8>, BundleError> {
        let mut json = serde_json::to_vec_pretty(self).map_err(|error| BundleError::content(MANIFEST, error))?;
        json.push(b'\n');
        Ok(json)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestFile {
    pub path: String,
    pub size: u64,
    pub sha256: HexBytes<32>,
}
