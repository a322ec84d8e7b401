//! The software evaluator of an image. It decides as the card's banks do, and does not allocate memory per descriptor.

use crate::answer::BankAnswers;
use crate::image::TableImage;
use crate::index::{DescriptorKey, Index};
use crate::resolve::{EntryVerdict, resolve};
use portcullis_core::wire::{Descriptor, Row};

/// An image prepared for evaluation.
#[derive(Clone, Debug)]
pub struct ImageEvaluator {
    policy: Index,
    entropy: Index,
    max_depth: u8,
}

impl ImageEvaluator {
    /// The evaluator of `image`.
    #[must_use]
    pub fn new(image: &TableImage) -> Self {
        Self::of_rows(image.policy_rows(), image.entropy_rows(), image.header().max_depth)
    }

    /// The evaluator for rows without an image. Empty rows never match, so a zeroed table denies everything. Rows from
    /// number 65535 on are ignored, because 65535 means "no row".
    #[must_use]
    pub fn of_rows(policy: &[Row], entropy: &[Row], max_depth: u8) -> Self {
        Self { policy: Index::new(policy), entropy: Index::new(entropy), max_depth }
    }

    /// The results of both banks for `descriptor`. Reads only the fields that rows compare; the caller checks CRC,
    /// version and declared values.
    #[must_use]
    pub fn evaluate(&self, descriptor: &Descriptor) -> BankAnswers {
        let key = DescriptorKey::of(descriptor);
        BankAnswers { policy: self.policy.evaluate(&key), entropy: self.entropy.evaluate(&key) }
    }

    /// The determination that follows from `banks` and the host stages in `descriptor`.
    #[must_use]
    pub fn resolve(&self, descriptor: &Descriptor, banks: &BankAnswers) -> EntryVerdict {
        resolve(descriptor, banks, self.max_depth)
    }

    #[must_use]
    pub fn judge(&self, descriptor: &Descriptor) -> EntryVerdict {
        self.resolve(descriptor, &self.evaluate(descriptor))
    }

    /// Depth at which a decompose becomes a reject.
    #[must_use]
    pub const fn max_depth(&self) -> u8 {
        self.max_depth
    }
}
