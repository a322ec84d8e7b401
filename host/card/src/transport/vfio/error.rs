//! Errors of VFIO, each with its remedy.

use std::io;

use crate::error::CardError;
use crate::machine::pci::{Bdf, PciError};

/// Why the kernel's VFIO cannot serve a card.
#[derive(Debug, thiserror::Error)]
pub enum VfioError {
    #[error(transparent)]
    Pci(#[from] PciError),
    #[error("{bdf} has {driver}; `portcullis card bind {bdf}` (as root) gives it to vfio-pci")]
    NotBound { bdf: Bdf, driver: String },
    #[error(
        "{0} is in no IOMMU group: switch the IOMMU on (firmware, and `intel_iommu=on` or AMD's default on the kernel's command line); `portcullis card doctor {0}` says more"
    )]
    NoGroup(Bdf),
    #[error("{bdf} is {} an IOMMU here; use `--card {}:{bdf}`", if *.noiommu { "without" } else { "behind" }, if *.noiommu { "vfio-noiommu" } else { "vfio" })]
    OtherKind {
        bdf: Bdf,
        /// Whether the device's group has no IOMMU.
        noiommu: bool,
    },
    #[error("cannot {step}; {remedy}")]
    Open { step: String, remedy: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("VFIO refuses to {what}")]
    Ioctl { what: &'static str, source: io::Error },
    /// A region that the device does not have, or that is too small.
    #[error("region {region} of {bdf} is {size} bytes; the card needs {needed}")]
    Region { bdf: Bdf, region: u32, size: u64, needed: u64 },
    #[error("cannot get {bytes} bytes that the card reaches; {remedy}")]
    Memory { bytes: usize, remedy: &'static str, source: io::Error },
    #[error("no free device address for {0} bytes")]
    Addresses(usize),
    #[error("no buffer stands at device address {0:#x}")]
    Unmapped(u64),
}

impl From<VfioError> for CardError {
    fn from(error: VfioError) -> Self {
        Self::transport(error)
    }
}
