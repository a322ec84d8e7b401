//! The canonical bytes of a policy's tables: header, the text part if there is one, policy rows, entropy rows. A card
//! loads exactly these bytes, reads them back and hashes them; the hash is the *policy digest*. The text part holds the
//! digest of the text lane's tables, which are not in the image.

use crate::check;
use crate::error::{BankKind, ImageError};
use portcullis_core::class::ClassSet;
use portcullis_core::directions::ClassDirections;
use portcullis_core::wire::{ImageHeader, ImageText, MAP_DIGEST, Row, image_parts};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use zerocopy::{FromBytes, IntoBytes};

/// A checked table image.
///
/// ```
/// # use portcullis_core::wire::{EnumerationColumn, IMAGE_MAGIC, ImageHeader, LAYOUT_VERSION, MAP_DIGEST};
/// # use portcullis_core::wire::{RangeColumn, Row, RowKind};
/// use portcullis_image::TableImage;
///
/// # fn main() -> Result<(), portcullis_image::ImageError> {
/// # let mut header = ImageHeader { map_digest: MAP_DIGEST, version: LAYOUT_VERSION, ..ImageHeader::ZERO };
/// # header.magic = IMAGE_MAGIC.into();
/// # let mut permit = Row { kind: RowKind::Permit.into(), ..Row::ZERO };
/// # for column in EnumerationColumn::ALL {
/// #     column.set_declared(&mut header, 1);
/// #     column.set_allowed(&mut permit, column.declared(&header));
/// # }
/// # for column in RangeColumn::ALL {
/// #     column.set_range(&mut permit, column.wire_limits());
/// # }
/// let image = TableImage::new(header, &[permit], &[permit])?;
/// // Card driver, verifier and replay read the same bytes, and refuse others.
/// assert_eq!(TableImage::from_bytes(image.as_bytes())?, image);
/// assert!(TableImage::from_bytes(&image.as_bytes()[1..]).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableImage {
    bytes: Vec<u8>,
    header: ImageHeader,
    text: Option<ImageText>,
    /// The encoded tables of the text lane, if they are attached.
    tables: Option<Arc<[u8]>>,
    policy: Vec<Row>,
    entropy: Vec<Row>,
}

impl TableImage {
    /// Reads an image for this program's register map. Errors: this version's compiler cannot have written the bytes:
    /// they are truncated, have another version, or have conditions that are not in canonical form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ImageError> {
        Self::of_maps(bytes, |digest| *digest == MAP_DIGEST)
    }

    /// Reads an image whose register map is `known`, for a program that also reads images of other releases. Errors: as
    /// [`TableImage::from_bytes`]; with [`ImageError::MapDigest`], the sizes and the reserved bytes hold, and the
    /// remaining bytes have no known meaning.
    pub fn of_maps(bytes: &[u8], known: impl FnOnce(&[u8; 32]) -> bool) -> Result<Self, ImageError> {
        let truncated = ImageError::Truncated { needed: ImageHeader::BYTES, found: bytes.len() };
        let Ok((header, rest)) = ImageHeader::read_from_prefix(bytes) else { return Err(truncated) };
        check::header(&header)?;
        let parts = u16::from(header.parts) & image_parts::TEXT != 0;
        let (text, rest) = match ImageText::read_from_prefix(rest) {
            Ok((text, rest)) if parts => (Some(text), rest),
            Err(_) if parts => {
                let needed = ImageHeader::BYTES + ImageText::BYTES;
                return Err(ImageError::Truncated { needed, found: bytes.len() });
            }
            _ => (None, rest),
        };
        text.as_ref().map_or(Ok(()), check::text)?;
        let (policy, entropy) = (header.policy_rows.get(), header.entropy_rows.get());
        let rows = usize::from(policy) + usize::from(entropy);
        let needed = bytes.len() - rest.len() + rows * Row::BYTES;
        let length = ImageError::Length { policy, entropy, needed, found: bytes.len() };
        let Ok((rows, [])) = <[Row]>::ref_from_prefix_with_elems(rest, rows) else { return Err(length) };
        let Some((policy, entropy)) = rows.split_at_checked(policy.into()) else { return Err(length) };
        if !known(&header.map_digest) {
            return Err(ImageError::map_digest(&header.map_digest));
        }
        check::declared(&header)?;
        check::rows(&header, BankKind::Policy, policy)?;
        check::rows(&header, BankKind::Entropy, entropy)?;
        text.as_ref().map_or(Ok(()), |text| check::opening(&header, text, rows))?;
        let (policy, entropy) = (policy.to_vec(), entropy.to_vec());
        Ok(Self { bytes: bytes.to_vec(), header, text, tables: None, policy, entropy })
    }

    /// Makes an image from rows. Overwrites the row counts of `header`. Errors: as [`TableImage::from_bytes`]; more
    /// rows than a header can count.
    pub fn new(mut header: ImageHeader, policy: &[Row], entropy: &[Row]) -> Result<Self, ImageError> {
        let count = |rows: &[Row]| u16::try_from(rows.len()).map_err(|_| ImageError::Header("more than 65535 rows"));
        header.policy_rows = count(policy)?.into();
        header.entropy_rows = count(entropy)?.into();
        header.parts = 0;
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(policy.as_bytes());
        bytes.extend_from_slice(entropy.as_bytes());
        Self::from_bytes(&bytes)
    }

    /// This image for cards with a text lane. `tables` are the encoded tables; `opening` are the classes of the tables
    /// that open a gate, so host and card must both find them. Errors: as [`TableImage::from_bytes`].
    pub fn with_text(&self, tables: Arc<[u8]>, opening: ClassSet) -> Result<Self, ImageError> {
        let bytes = u32::try_from(tables.len()).map_err(|_| ImageError::Text("tables of 4 GiB or more"))?;
        let digest = Sha256::digest(&tables).into();
        let text = ImageText { digest, opening: opening.0.into(), bytes: bytes.into(), ..ImageText::ZERO };
        let header = ImageHeader { parts: image_parts::TEXT as u8, ..self.header };
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(text.as_bytes());
        bytes.extend_from_slice(self.policy.as_bytes());
        bytes.extend_from_slice(self.entropy.as_bytes());
        Ok(Self { tables: Some(tables), ..Self::from_bytes(&bytes)? })
    }

    /// This image with the tables of its text part attached. Errors: the digest or the length does not fit the text
    /// part; the image has no text part.
    pub fn with_tables(self, tables: Arc<[u8]>) -> Result<Self, ImageError> {
        let text = self.text.as_ref().ok_or(ImageError::Text("there is none, but the package has its tables"))?;
        if usize::try_from(text.bytes.get()) != Ok(tables.len()) || Sha256::digest(&tables)[..] != text.digest {
            return Err(ImageError::Text("these are not its tables"));
        }
        Ok(Self { tables: Some(tables), ..self })
    }

    /// The text part; `None` in an image for cards without a text lane.
    #[must_use]
    pub const fn text(&self) -> Option<&ImageText> {
        self.text.as_ref()
    }

    /// The encoded tables of the text part, if they are attached.
    #[must_use]
    pub fn tables(&self) -> Option<&Arc<[u8]>> {
        self.tables.as_ref()
    }

    /// How the rows use classes, both those of the entry and the established ones.
    #[must_use]
    pub fn directions(&self) -> ClassDirections {
        ClassDirections::of(self.policy.iter().chain(&self.entropy))
    }

    /// The canonical bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[must_use]
    pub const fn header(&self) -> &ImageHeader {
        &self.header
    }

    /// Rows of the policy bank; at least one.
    #[must_use]
    pub fn policy_rows(&self) -> &[Row] {
        &self.policy
    }

    /// Rows of the entropy bank; at least one.
    #[must_use]
    pub fn entropy_rows(&self) -> &[Row] {
        &self.entropy
    }

    #[must_use]
    pub fn rows(&self, bank: BankKind) -> &[Row] {
        match bank {
            BankKind::Policy => &self.policy,
            BankKind::Entropy => &self.entropy,
        }
    }

    /// The policy digest: SHA-256 of the canonical bytes.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(&self.bytes).into()
    }
}
