//! The two banks of an image, and why bytes are not an image.

use portcullis_core::hex;
use portcullis_core::wire::MAP_DIGEST;

/// The two banks of comparator rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BankKind {
    /// Stage 1, policy constraints.
    Policy,
    /// Stage 4, entropy bounds.
    Entropy,
}

impl BankKind {
    /// Both banks, in the order of the image.
    pub const ALL: [Self; 2] = [Self::Policy, Self::Entropy];

    /// The bank's name in annotations, messages and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Entropy => "entropy",
        }
    }
}

/// Why bytes are not an image of this version. Bytes with such an error are never evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    #[error("an image has at least {needed} bytes, these are {found}")]
    Truncated { needed: usize, found: usize },
    #[error(
        "the header counts {policy} policy and {entropy} entropy rows, {needed} bytes in all, but the image has {found}"
    )]
    Length {
        /// Policy rows according to the header.
        policy: u16,
        /// Entropy rows according to the header.
        entropy: u16,
        needed: usize,
        found: usize,
    },
    #[error("no table image: it starts with {0:#010x} where `PCMI` was expected")]
    Magic(u32),
    #[error("image version {found}, but this program knows only version {known}")]
    Version { found: u8, known: u8 },
    #[error("image for another layout: its map digest is {found}, this program's is {known}; build the policy again")]
    MapDigest {
        /// Map digest of the image, hexadecimal.
        found: String,
        /// Map digest of this program, hexadecimal.
        known: String,
    },
    #[error("image header: {0}")]
    Header(&'static str),
    #[error("text part of the image: {0}")]
    Text(&'static str),
    #[error("{} row {row}: {what}", bank.name())]
    Row { bank: BankKind, row: usize, what: &'static str },
}

impl ImageError {
    pub(crate) fn map_digest(found: &[u8; 32]) -> Self {
        Self::MapDigest { found: hex::encode(found), known: hex::encode(&MAP_DIGEST) }
    }
}
