//! The content of a card's tables.

use portcullis_core::wire::{ImageHeader, ImageText, Row};
use portcullis_image::TableImage;
use sha2::{Digest, Sha256};
use zerocopy::IntoBytes;

/// The text lane's part of an image, and its tables.
#[derive(Debug, Clone, Copy)]
pub struct TextTables<'a> {
    pub part: &'a ImageText,
    /// The encoded tables; empty if the image has none attached.
    pub encoded: &'a [u8],
}

/// The content for a card's tables. Sessions use an [`TableImage`]. Other tables are for tests, because the card must
/// check its tables itself.
#[derive(Debug, Clone, Copy)]
pub struct CardTables<'a> {
    pub header: &'a ImageHeader,
    /// The text part; `Some` exactly if the header announces a text part.
    pub text: Option<TextTables<'a>>,
    /// Rows of the policy bank.
    pub policy: &'a [Row],
    /// Rows of the entropy bank.
    pub entropy: &'a [Row],
}

impl<'a> From<&'a TableImage> for CardTables<'a> {
    fn from(image: &'a TableImage) -> Self {
        let encoded = image.tables().map_or(&[][..], |tables| tables);
        let text = image.text().map(|part| TextTables { part, encoded });
        Self { header: image.header(), text, policy: image.policy_rows(), entropy: image.entropy_rows() }
    }
}

impl CardTables<'_> {
    /// SHA-256 over the canonical bytes: header, text part, policy rows, entropy rows. The card computes the same
    /// digest when it reads its tables back.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.header.as_bytes());
        hash.update(self.text.map_or(&[][..], |text| text.part.as_bytes()));
        hash.update(self.policy.as_bytes());
        hash.update(self.entropy.as_bytes());
        hash.finalize().into()
    }
}
