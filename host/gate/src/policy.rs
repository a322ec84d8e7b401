//! A policy, prepared for judging.

use crate::ledger::Header;
use portcullis_core::hex;
use portcullis_mapping::{Mapper, MappingError};
use portcullis_policy::{Compiled, Package};

/// A package, its compiled form, and the mapping that it declares.
pub struct Policy {
    pub package: Package,
    pub compiled: Compiled,
    /// The package's mapping from text to descriptors.
    pub mapper: Mapper,
}

impl Policy {
    /// Prepares a compiled package. Errors: [`MappingError`]: the mapping cannot use a declaration of the package.
    pub fn new(package: Package, compiled: Compiled) -> Result<Self, MappingError> {
        let mapper = Mapper::new(package.manifest(), package.files())?;
        Ok(Self { package, compiled, mapper })
    }

    /// The ledger header for this policy and a card of this kind.
    #[must_use]
    pub fn header(&self, card: &str) -> Header {
        let manifest = self.package.manifest();
        let slope = &manifest.trust_slope;
        Header::now(
            manifest.reference(),
            hex::encode(&self.package.digest()),
            hex::encode(&self.compiled.image.digest()),
            [slope.warning, slope.correction, slope.halt],
            card.to_owned(),
        )
    }
}
