//! The content of a card's tables.

use portcullis_core::wire::{ImageHeader, Row};
use portcullis_policy::image::Image;
use sha2::{Digest, Sha256};
use zerocopy::IntoBytes;

/// The content for a card's tables. Sessions use an [`Image`]. Other tables are for tests, because the card must check
/// its tables itself.
#[derive(Debug, Clone, Copy)]
pub struct Tables<'a> {
    pub header: &'a ImageHeader,
    /// Rows of the policy bank.
    pub policy: &'a [Row],
    /// Rows of the entropy bank.
    pub entropy: &'a [Row],
}

impl<'a> From<&'a Image> for Tables<'a> {
    fn from(image: &'a Image) -> Self {
        Self { header: image.header(), policy: image.policy_rows(), entropy: image.entropy_rows() }
    }
}

impl Tables<'_> {
    /// SHA-256 over the canonical bytes: header, policy rows, entropy rows. The card computes the same digest when it
    /// reads its tables back.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.header.as_bytes());
        hash.update(self.policy.as_bytes());
        hash.update(self.entropy.as_bytes());
        hash.finalize().into()
    }
}
