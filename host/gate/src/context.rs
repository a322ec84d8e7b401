//! The context document of a stream: under what settings it is governed. BEGIN carries its digest.

use crate::governor::OnRefuse;
use crate::stream::Release;
use portcullis_core::state::{Profile, Task};
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

/// Layout of the document.
pub const CONTEXT_VERSION: u32 = 2;

/// What BEGIN binds: everything but the text, the anchor stores and the policy that a replay of the stream needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextDocument {
    /// Layout of this document.
    pub version: u32,
    /// How the text came to the gate.
    pub mode: Mode,
    /// Size of the candidates.
    pub granularity: Granularity,
    /// What the stream does when nothing admissible is left at a place.
    pub on_refuse: OnRefuse,
    /// When admitted bytes leave; a rollback never crosses bytes that left.
    pub release: Release,
    /// Candidates that an engine is asked for, at most.
    pub max_proposals: u32,
    /// Name and version of the policy package.
    pub policy: String,
    /// SHA-256 of the package, hexadecimal.
    pub package_digest: String,
    /// The agent's governed profile.
    pub profile: Profile,
    /// What the stream is asked to do.
    pub task: Task,
    /// SHA-256 of each anchor store, hexadecimal, in the order in which they were given.
    pub anchor_digests: Vec<String>,
    /// Identity of the stream in its input.
    pub id: String,
}

impl ContextDocument {
    /// The document's JSON: keys in the order of the fields above, no white space.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        // Plain strings and unit enums always serialise; an empty document would match no context on file.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// SHA-256 of [`ContextDocument::bytes`].
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.bytes()).into()
    }
}
