//! The choice of a card at run time, by name.

use std::path::PathBuf;

use crate::vfio_user::VfioUserCard;
use crate::{Card, CardError};

/// A transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CardKind {
    /// The card in Rust, in this process.
    Model,
    /// The Verilated RTL, in this process.
    Sim,
    /// A PCI device behind a UNIX socket.
    VfioUser,
}

/// A transport and, where it takes one, the address of the card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardChoice {
    kind: CardKind,
    /// The socket of [`CardKind::VfioUser`], empty else.
    socket: PathBuf,
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
    /// A card that is one of many.
    #[error("which card? `vfio-user:PATH` names the socket that `portcullis card serve` listens on")]
    NoSocket,
    /// The card could not be made.
    #[error("cannot open card `{choice}`")]
    Open {
        /// Which.
        choice: CardChoice,
        /// Why.
        source: CardError,
    },
}

impl CardKind {
    /// Cards of this build.
    pub const ALL: &[Self] =
        if cfg!(feature = "sim") { &[Self::Model, Self::Sim, Self::VfioUser] } else { &[Self::Model, Self::VfioUser] };

    /// Names of transports that no build has yet.
    const ELSEWHERE: [&str; 2] = ["vfio", "vfio-noiommu"];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Sim => "sim",
            Self::VfioUser => "vfio-user",
        }
    }

    /// What stands on a command line.
    #[must_use]
    pub const fn usage(self) -> &'static str {
        match self {
            Self::Model | Self::Sim => self.name(),
            Self::VfioUser => "vfio-user:PATH",
        }
    }

    fn available() -> String {
        Self::ALL.iter().map(|kind| format!("`{}`", kind.usage())).collect::<Vec<_>>().join(", ")
    }

    /// A new card of this kind with its default configuration.
    ///
    /// # Errors
    /// [`CardKindError`]; a card that has an address is opened through [`CardChoice`].
    pub fn open(self) -> Result<Box<dyn Card>, CardKindError> {
        CardChoice { kind: self, socket: PathBuf::new() }.open()
    }
}

impl CardChoice {
    /// The card called `name`: `model`, `sim`, `vfio-user:PATH`.
    ///
    /// # Errors
    /// [`CardKindError::Unknown`], [`CardKindError::NotBuilt`], [`CardKindError::NoSocket`].
    pub fn parse(name: &str) -> Result<Self, CardKindError> {
        let (kind, socket) = name.split_once(':').map_or((name, None), |(kind, at)| (kind, Some(at)));
        let known = [CardKind::Model, CardKind::Sim, CardKind::VfioUser].into_iter().find(|k| k.name() == kind);
        match (known, socket) {
            (Some(CardKind::VfioUser), None | Some("")) => Err(CardKindError::NoSocket),
            (Some(kind @ CardKind::VfioUser), Some(path)) => Ok(Self { kind, socket: path.into() }),
            (Some(kind), None) if CardKind::ALL.contains(&kind) => Ok(Self::from(kind)),
            (Some(_), None) => Err(CardKindError::NotBuilt { name: name.into() }),
            _ if CardKind::ELSEWHERE.contains(&kind) => Err(CardKindError::NotBuilt { name: name.into() }),
            _ => Err(CardKindError::Unknown { name: name.into() }),
        }
    }

    /// Which transport.
    #[must_use]
    pub const fn kind(&self) -> CardKind {
        self.kind
    }

    /// The card, with its default configuration.
    ///
    /// # Errors
    /// [`CardKindError::NotBuilt`], [`CardKindError::NoSocket`], [`CardKindError::Open`].
    pub fn open(&self) -> Result<Box<dyn Card>, CardKindError> {
        let opened = match self.kind {
            CardKind::Model => Ok(Box::new(crate::model::ModelCard::new()) as Box<dyn Card>),
            #[cfg(feature = "sim")]
            CardKind::Sim => crate::sim::SimCard::new(portcullis_sim::SimConfig::default())
                .map(|card| Box::new(card) as Box<dyn Card>),
            #[cfg(not(feature = "sim"))]
            CardKind::Sim => return Err(CardKindError::NotBuilt { name: self.to_string() }),
            CardKind::VfioUser if self.socket.as_os_str().is_empty() => return Err(CardKindError::NoSocket),
            CardKind::VfioUser => VfioUserCard::connect(&self.socket).map(|card| Box::new(card) as Box<dyn Card>),
        };
        opened.map_err(|source| CardKindError::Open { choice: self.clone(), source })
    }
}

impl From<CardKind> for CardChoice {
    fn from(kind: CardKind) -> Self {
        Self { kind, socket: PathBuf::new() }
    }
}

impl std::str::FromStr for CardChoice {
    type Err = CardKindError;
    fn from_str(name: &str) -> Result<Self, CardKindError> {
        Self::parse(name)
    }
}

impl std::fmt::Display for CardChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            CardKind::Model | CardKind::Sim => f.write_str(self.kind.name()),
            CardKind::VfioUser => write!(f, "{}:{}", self.kind.name(), self.socket.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_or_explained() {
        for kind in CardKind::ALL {
            let named = CardChoice::parse(kind.usage()).unwrap();
            assert_eq!((named.kind(), named.to_string()), (*kind, kind.usage().to_owned()));
        }
        for name in ["vfio", "vfio:0000:00:03.0", "vfio-noiommu:0000:00:03.0"] {
            let vfio = CardChoice::parse(name).unwrap_err();
            assert!(matches!(vfio, CardKindError::NotBuilt { .. }), "{name}");
            assert!(vfio.to_string().contains("`model`"), "{vfio}");
        }
        for name in ["fpga", "model:x", "sim:", "", ":", "vfio-users:x"] {
            let unknown = CardChoice::parse(name).unwrap_err();
            assert!(matches!(unknown, CardKindError::Unknown { .. }), "{name}");
            assert!(unknown.to_string().starts_with(&format!("unknown card `{name}`")), "{unknown}");
        }
        for name in ["vfio-user", "vfio-user:"] {
            assert!(matches!(CardChoice::parse(name), Err(CardKindError::NoSocket)), "{name}");
        }
        assert!(matches!(CardKind::VfioUser.open(), Err(CardKindError::NoSocket)));
        let nobody = CardChoice::parse("vfio-user:/nonexistent/a:b").unwrap();
        assert_eq!(nobody.to_string(), "vfio-user:/nonexistent/a:b");
        assert!(matches!(nobody.open(), Err(CardKindError::Open { source: CardError::VfioUser(_), .. })));
    }
}
