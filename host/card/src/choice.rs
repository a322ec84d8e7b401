//! The choice of a card at run time, by name.

use std::path::PathBuf;

use crate::card::CardTransport;
use crate::error::CardError;
use crate::machine::pci::{Bdf, BdfError};
use crate::transport::model::ModelCard;
#[cfg(feature = "sim")]
use crate::transport::sim::SimCard;
use crate::transport::vfio::{IommuMode, VfioCard};
use crate::transport::vfio_user::VfioUserCard;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CardKind {
    /// The Rust model of the card, in this process.
    Model,
    Sim,
    /// A PCI device behind a UNIX socket.
    VfioUser,
    /// A PCI card behind an IOMMU, through the kernel's VFIO.
    Vfio,
    /// A PCI card without an IOMMU, through the kernel's VFIO.
    VfioNoIommu,
}

impl CardKind {
    const EVERY: [Self; 5] = [Self::Model, Self::Sim, Self::VfioUser, Self::Vfio, Self::VfioNoIommu];

    pub const ALL: &[Self] = if cfg!(feature = "sim") {
        &Self::EVERY
    } else {
        &[Self::Model, Self::VfioUser, Self::Vfio, Self::VfioNoIommu]
    };

    /// The transport's name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Sim => "sim",
            Self::VfioUser => "vfio-user",
            Self::Vfio => "vfio",
            Self::VfioNoIommu => "vfio-noiommu",
        }
    }

    /// The form of the name on the command line.
    #[must_use]
    pub const fn usage(self) -> &'static str {
        match self {
            Self::Model | Self::Sim => self.name(),
            Self::VfioUser => "vfio-user:PATH",
            Self::Vfio => "vfio:BDF",
            Self::VfioNoIommu => "vfio-noiommu:BDF",
        }
    }

    const fn which(self) -> &'static str {
        match self {
            Self::VfioUser => "PATH is the socket that `portcullis card serve` listens on",
            Self::Vfio | Self::VfioNoIommu => "`portcullis card list` shows the PCI cards of this machine",
            Self::Model | Self::Sim => "there is one",
        }
    }

    fn available() -> String {
        Self::ALL.iter().map(|kind| format!("`{}`", kind.usage())).collect::<Vec<_>>().join(", ")
    }
}

/// A transport and, if it needs one, the card's address.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use portcullis_card::{CardChoice, CardKind};
///
/// assert_eq!("model".parse::<CardChoice>()?, CardChoice::Model);
/// assert_eq!(CardChoice::parse("vfio:0000:17:00.0")?.kind(), CardKind::Vfio);
/// assert!(CardChoice::parse("vfio").is_err(), "the address is missing");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardChoice {
    /// [`CardKind::Model`].
    Model,
    /// [`CardKind::Sim`].
    Sim,
    /// [`CardKind::VfioUser`] at a socket.
    VfioUser(PathBuf),
    /// [`CardKind::Vfio`] at an address.
    Vfio(Bdf),
    /// [`CardKind::VfioNoIommu`] at an address.
    VfioNoIommu(Bdf),
}

#[derive(Debug, thiserror::Error)]
pub enum CardChoiceError {
    #[error("unknown card `{name}`; this build has {}", CardKind::available())]
    Unknown { name: String },
    #[error("card `{name}` is not in this build; it has {}", CardKind::available())]
    NotBuilt { name: String },
    #[error("which card? write `{}`; {}", kind.usage(), kind.which())]
    NoAddress { kind: CardKind },
    #[error(transparent)]
    Address(#[from] BdfError),
    #[error("cannot open card `{choice}`")]
    Open { choice: CardChoice, source: CardError },
}

impl CardChoice {
    /// Parses a card's name: `model`, `sim`, `vfio-user:PATH`, `vfio:BDF`, `vfio-noiommu:BDF`.
    pub fn parse(name: &str) -> Result<Self, CardChoiceError> {
        let (called, address) = name.split_once(':').map_or((name, None), |(kind, at)| (kind, Some(at)));
        let unknown = || CardChoiceError::Unknown { name: name.into() };
        let kind = CardKind::EVERY.into_iter().find(|kind| kind.name() == called).ok_or_else(unknown)?;
        match (kind, address) {
            (CardKind::Model | CardKind::Sim, Some(_)) => Err(unknown()),
            (CardKind::VfioUser | CardKind::Vfio | CardKind::VfioNoIommu, None | Some("")) => {
                Err(CardChoiceError::NoAddress { kind })
            }
            _ if !CardKind::ALL.contains(&kind) => Err(CardChoiceError::NotBuilt { name: name.into() }),
            (CardKind::Model, None) => Ok(Self::Model),
            (CardKind::Sim, None) => Ok(Self::Sim),
            (CardKind::VfioUser, Some(path)) => Ok(Self::VfioUser(path.into())),
            (CardKind::Vfio, Some(bdf)) => Ok(Self::Vfio(bdf.parse()?)),
            (CardKind::VfioNoIommu, Some(bdf)) => Ok(Self::VfioNoIommu(bdf.parse()?)),
        }
    }

    #[must_use]
    pub const fn kind(&self) -> CardKind {
        match self {
            Self::Model => CardKind::Model,
            Self::Sim => CardKind::Sim,
            Self::VfioUser(_) => CardKind::VfioUser,
            Self::Vfio(_) => CardKind::Vfio,
            Self::VfioNoIommu(_) => CardKind::VfioNoIommu,
        }
    }

    /// Opens the card with its default configuration. Errors: [`CardChoiceError::NotBuilt`], [`CardChoiceError::Open`].
    pub fn open(&self) -> Result<Box<dyn CardTransport>, CardChoiceError> {
        let vfio = |bdf: Bdf, access| {
            VfioCard::open(bdf, access).map(|card| Box::new(card) as Box<dyn CardTransport>).map_err(CardError::from)
        };
        let opened = match self {
            Self::Model => Ok(Box::new(ModelCard::new()) as Box<dyn CardTransport>),
            #[cfg(feature = "sim")]
            Self::Sim => {
                SimCard::new(portcullis_sim::SimConfig::default()).map(|card| Box::new(card) as Box<dyn CardTransport>)
            }
            #[cfg(not(feature = "sim"))]
            Self::Sim => return Err(CardChoiceError::NotBuilt { name: self.to_string() }),
            Self::VfioUser(path) => VfioUserCard::connect(path).map(|card| Box::new(card) as Box<dyn CardTransport>),
            Self::Vfio(bdf) => vfio(*bdf, IommuMode::Iommu),
            Self::VfioNoIommu(bdf) => vfio(*bdf, IommuMode::NoIommu),
        };
        opened.map_err(|source| CardChoiceError::Open { choice: self.clone(), source })
    }
}

impl std::str::FromStr for CardChoice {
    type Err = CardChoiceError;
    fn from_str(name: &str) -> Result<Self, CardChoiceError> {
        Self::parse(name)
    }
}

impl std::fmt::Display for CardChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.kind().name();
        match self {
            Self::Model | Self::Sim => f.write_str(name),
            Self::VfioUser(path) => write!(f, "{name}:{}", path.display()),
            Self::Vfio(bdf) | Self::VfioNoIommu(bdf) => write!(f, "{name}:{bdf}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::vfio::VfioError;
    use portcullis_vfio_user::DeviceClientError;

    #[test]
    fn names_are_parsed_or_explained() {
        for kind in CardKind::ALL {
            let name = kind.usage().replace("BDF", "0000:03:00.0");
            let named = CardChoice::parse(&name).unwrap();
            assert_eq!((named.kind(), named.to_string()), (*kind, name));
        }
        for name in ["fpga", "model:x", "sim:", "", ":", "vfio-users:x"] {
            let unknown = CardChoice::parse(name).unwrap_err();
            assert!(matches!(unknown, CardChoiceError::Unknown { .. }), "{name}");
            assert!(unknown.to_string().starts_with(&format!("unknown card `{name}`")), "{unknown}");
        }
        for name in ["vfio-user", "vfio-user:", "vfio", "vfio-noiommu:"] {
            let error = CardChoice::parse(name).unwrap_err();
            assert!(matches!(error, CardChoiceError::NoAddress { .. }), "{name}: {error}");
        }
        assert!(matches!(CardChoice::parse("vfio:3.0"), Err(CardChoiceError::Address(_))));
        let nobody = CardChoice::parse("vfio-user:/nonexistent/a:b").unwrap();
        assert_eq!(nobody.to_string(), "vfio-user:/nonexistent/a:b");
        let unreachable = nobody.open().err().unwrap();
        assert!(
            matches!(&unreachable, CardChoiceError::Open { source: CardError::Transport(error), .. } if error.is::<DeviceClientError>())
        );
        let absent = CardChoice::parse("vfio:ffff:ff:1f.7").unwrap().open().err().unwrap();
        assert!(
            matches!(&absent, CardChoiceError::Open { source: CardError::Transport(error), .. } if error.is::<VfioError>()),
            "{absent}"
        );
    }
}
