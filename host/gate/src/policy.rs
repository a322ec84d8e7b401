//! A policy that is ready to govern.

use crate::ledger::Header;
use portcullis_core::hex;
use portcullis_mapping::{Mapper, MappingError};
use portcullis_policy::{Compiled, Package};

/// A package, its compiled form, and the mapping that it declares.
pub struct Policy {
    pub package: Package,
    pub compiled: Compiled,
    /// Its mapping from text to descriptors.
    pub mapper: Mapper,
}

impl Policy {
    /// A package and its compiled form. Errors: [`MappingError`]: a declaration of the package cannot be searched for
    /// in texts.
    pub fn new(package: Package, compiled: Compiled) -> Result<Self, MappingError> {
        let mapper = Mapper::new(package.manifest(), package.files())?;
        Ok(Self { package, compiled, mapper })
    }

    /// The header of a ledger under this policy, on a card of this kind.
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
