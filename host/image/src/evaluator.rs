//! The software evaluator of an image. It decides as the card's banks do, and does not allocate memory per descriptor.

use crate::answer::Banks;
use crate::image::Image;
use crate::index::{Index, Key};
use crate::resolve::{Verdict, resolve};
use portcullis_core::wire::{Descriptor, Row};

/// An image prepared for evaluation.
#[derive(Clone, Debug)]
pub struct Evaluator {
    policy: Index,
    entropy: Index,
    max_depth: u8,
}

impl Evaluator {
    /// The evaluator of `image`.
    #[must_use]
    pub fn new(image: &Image) -> Self {
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
    pub fn evaluate(&self, descriptor: &Descriptor) -> Banks {
        let key = Key::of(descriptor);
        Banks { policy: self.policy.evaluate(&key), entropy: self.entropy.evaluate(&key) }
    }

    /// The determination that follows from `banks` and the host stages in `descriptor`.
    #[must_use]
    pub fn resolve(&self, descriptor: &Descriptor, banks: &Banks) -> Verdict {
        resolve(descriptor, banks, self.max_depth)
    }

    #[must_use]
    pub fn judge(&self, descriptor: &Descriptor) -> Verdict {
        self.resolve(descriptor, &self.evaluate(descriptor))
    }

    /// Depth at which a decompose becomes a reject.
    #[must_use]
    pub const fn max_depth(&self) -> u8 {
        self.max_depth
    }
}
