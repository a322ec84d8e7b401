//! The context document of a stream: under what settings it is governed. BEGIN carries its digest.

use portcullis_core::wire::Granularity;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How the text came to the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The loop asked an engine for each candidate and released what was admitted.
    Driven,
    /// The whole text was there before: it is judged, nothing was prevented.
    Recorded,
}

impl Mode {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Driven => "driven",
            Self::Recorded => "recorded",
        }
    }
}

/// What BEGIN binds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextDocument {
    /// Layout of this document.
    pub version: u32,
    /// How the text came to the gate.
    pub mode: Mode,
    /// Size of the candidates.
    pub granularity: Granularity,
    /// Name and version of the policy package.
    pub policy: String,
    /// SHA-256 of the package, hexadecimal.
    pub package_digest: String,
    /// SHA-256 of intent, verified facts and conditions, hexadecimal.
    pub profile_digest: String,
    /// SHA-256 of each anchor store, hexadecimal, in the order in which they were given.
    pub anchor_digests: Vec<String>,
    /// Identity of the stream in its input.
    pub id: String,
}

impl ContextDocument {
    /// SHA-256 of the document's JSON, whose keys stand in the order of the fields above.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        // Serialising plain strings and unit enums cannot fail; an empty document would match no context on file.
        let json = serde_json::to_vec(self).unwrap_or_default();
        Sha256::digest(json).into()
    }
}
