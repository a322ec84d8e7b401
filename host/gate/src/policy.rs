//! A policy, prepared for judging.

use crate::ledger::LedgerHeader;
use crate::settings::HELD_MAX;
use crate::text_lane::{PolicyTextLane, stride_log2};
use portcullis_core::hex;
use portcullis_mapping::{MappingError, TextMapper};
use portcullis_policy::{CompiledPackage, PolicyPackage};

/// log2 of the bytes of a text window for the spans of `package`, for the configuration of a session.
#[must_use]
pub fn text_stride_log2(package: &PolicyPackage) -> u8 {
    stride_log2(package.manifest().limits.span_bytes.into(), HELD_MAX)
}

/// A package, its compiled form, and the mapping that it declares.
pub struct GatePolicy {
    pub package: PolicyPackage,
    pub compiled: CompiledPackage,
    /// The package's mapping from text to descriptors.
    pub mapper: TextMapper,
    /// The tables of its text lane, if its image has a text part.
    pub(crate) text_lane: Option<PolicyTextLane>,
}

impl GatePolicy {
    /// Prepares a compiled package. Errors: [`MappingError`]: the mapping cannot use a declaration of the package.
    pub fn new(package: PolicyPackage, compiled: CompiledPackage) -> Result<Self, MappingError> {
        let mapper = TextMapper::new(package.manifest(), package.files())?;
        let text_lane = PolicyTextLane::of(&compiled.image);
        Ok(Self { package, compiled, mapper, text_lane })
    }

    /// log2 of the bytes of a text window for this policy's spans, for the configuration of a session.
    #[must_use]
    pub fn text_stride_log2(&self) -> u8 {
        text_stride_log2(&self.package)
    }

    /// The ledger header for this policy and a card of this kind.
    #[must_use]
    pub fn header(&self, card: &str) -> LedgerHeader {
        let manifest = self.package.manifest();
        let slope = &manifest.trust_slope;
        LedgerHeader::now(
            manifest.reference(),
            hex::encode(&self.package.digest()),
            hex::encode(&self.compiled.image.digest()),
            [slope.warning, slope.correction, slope.halt],
            card.to_owned(),
        )
    }
}
