//! The table image: the bytes that a card loads and hashes, and an evaluator that decides in software as a card's banks
//! do. A policy compiler writes images; card driver, card model, verifier and replay read them here, with one parser
//! and one set of checks.
//!
//! ```
//! use portcullis_core::wire::{Descriptor, EnumerationColumn, ImageHeader, RangeColumn, Row, RowKind};
//! use portcullis_core::wire::{IMAGE_MAGIC, LAYOUT_VERSION, MAP_DIGEST};
//! use portcullis_image::{ImageEvaluator, TableImage};
//!
//! # fn main() -> Result<(), portcullis_image::ImageError> {
//! // A policy that declares one value of each enumeration, and permits everything.
//! let mut header = ImageHeader { map_digest: MAP_DIGEST, version: LAYOUT_VERSION, ..ImageHeader::ZERO };
//! header.magic = IMAGE_MAGIC.into();
//! let mut permit = Row { kind: RowKind::Permit.into(), ..Row::ZERO };
//! for column in EnumerationColumn::ALL {
//!     column.set_declared(&mut header, 1);
//!     column.set_allowed(&mut permit, column.declared(&header));
//! }
//! for column in RangeColumn::ALL {
//!     column.set_range(&mut permit, column.wire_limits());
//! }
//! let image = TableImage::new(header, &[permit], &[permit])?;
//! assert_eq!(ImageEvaluator::new(&image).evaluate(&Descriptor::ZERO).policy.row, Some(0));
//! # Ok(())
//! # }
//! ```

mod answer;
mod check;
mod error;
mod evaluator;
mod image;
mod index;
pub mod reference;
mod resolve;
mod text;

pub use answer::{BankAnswers, BankOutcome, TableBankAnswer};
pub use error::{BankKind, ImageError};
pub use evaluator::ImageEvaluator;
pub use image::TableImage;
pub use resolve::{EntryVerdict, depth_limited, resolve};
pub use text::{ForbiddenClasses, TextImage};
