//! The choice of a card at run time, by name.

use crate::{Card, CardError};

/// A transport, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CardKind {
    /// The card in Rust, in this process.
    Model,
    /// The Verilated RTL, in this process.
    Sim,
}

/// A card that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum CardKindError {
    /// A name that no card has.
    #[error("unknown card `{name}`; this build has {}", CardKind::available())]
    Unknown {
        /// The name.
        name: String,
    },
    /// A card that exists, but not here.
    #[error("card `{name}` is not in this build; it has {}", CardKind::available())]
    NotBuilt {
        /// The name.
        name: String,
    },
    /// The card could not be made.
    #[error("cannot open card `{}`", kind.name())]
    Open {
        /// Which.
        kind: CardKind,
        /// Why.
        source: CardError,
    },
}

impl CardKind {
    /// Cards of this build.
    pub const ALL: &[Self] = if cfg!(feature = "sim") { &[Self::Model, Self::Sim] } else { &[Self::Model] };

    /// Names of transports that need hardware support which is not in this build.
    const ELSEWHERE: [&str; 3] = ["vfio", "vfio-user", "vfio-noiommu"];

    /// The name on command lines and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Sim => "sim",
        }
    }

    fn available() -> String {
        Self::ALL.iter().map(|kind| format!("`{}`", kind.name())).collect::<Vec<_>>().join(", ")
    }

    /// The card called `name`.
    ///
    /// # Errors
    /// [`CardKindError::Unknown`], [`CardKindError::NotBuilt`].
    pub fn parse(name: &str) -> Result<Self, CardKindError> {
        let known = [Self::Model, Self::Sim].into_iter().find(|kind| kind.name() == name);
        match known {
            Some(kind) if Self::ALL.contains(&kind) => Ok(kind),
            Some(_) => Err(CardKindError::NotBuilt { name: name.into() }),
            None if Self::ELSEWHERE.contains(&name) => Err(CardKindError::NotBuilt { name: name.into() }),
            None => Err(CardKindError::Unknown { name: name.into() }),
        }
    }

    /// A new card of this kind with its default configuration.
    ///
    /// # Errors
    /// [`CardKindError::NotBuilt`], [`CardKindError::Open`].
    pub fn open(self) -> Result<Box<dyn Card>, CardKindError> {
        match self {
            Self::Model => Ok(Box::new(crate::model::ModelCard::new())),
            #[cfg(feature = "sim")]
            Self::Sim => crate::sim::SimCard::new(portcullis_sim::SimConfig::default())
                .map(|card| Box::new(card) as Box<dyn Card>)
                .map_err(|source| CardKindError::Open { kind: self, source }),
            #[cfg(not(feature = "sim"))]
            Self::Sim => Err(CardKindError::NotBuilt { name: self.name().into() }),
        }
    }
}

impl std::str::FromStr for CardKind {
    type Err = CardKindError;
    fn from_str(name: &str) -> Result<Self, CardKindError> {
        Self::parse(name)
    }
}

impl std::fmt::Display for CardKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_or_explained() {
        for kind in CardKind::ALL {
            assert_eq!(CardKind::parse(kind.name()).unwrap(), *kind);
        }
        let vfio = CardKind::parse("vfio").unwrap_err();
        assert!(matches!(vfio, CardKindError::NotBuilt { .. }));
        assert!(vfio.to_string().contains("`model`"), "{vfio}");
        let unknown = CardKind::parse("fpga").unwrap_err();
        assert!(matches!(unknown, CardKindError::Unknown { .. }));
        assert!(unknown.to_string().starts_with("unknown card `fpga`"), "{unknown}");
    }
}
