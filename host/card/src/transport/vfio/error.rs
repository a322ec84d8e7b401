//! What VFIO refuses, and what mends it.

use std::io;

use crate::error::CardError;
use crate::machine::pci::{Bdf, PciError};

/// The kernel's VFIO does not give what a card needs.
#[derive(Debug, thiserror::Error)]
pub enum VfioError {
    /// sysfs has no such function, or cannot be read.
    #[error(transparent)]
    Pci(#[from] PciError),
    /// Another driver has the function, or none.
    #[error("{bdf} has {driver}; `portcullis card bind {bdf}` (as root) gives it to vfio-pci")]
    NotBound {
        /// The function.
        bdf: Bdf,
        /// Its driver.
        driver: String,
    },
    /// There is no group: no IOMMU, and no-IOMMU mode is off.
    #[error(
        "{0} is in no IOMMU group: switch the IOMMU on (firmware, and `intel_iommu=on` or AMD's default on the kernel's command line); `portcullis card doctor {0}` says more"
    )]
    NoGroup(Bdf),
    /// The group is of the other kind.
    #[error("{bdf} is {} an IOMMU here; use `--card {}:{bdf}`", if *.noiommu { "without" } else { "behind" }, if *.noiommu { "vfio-noiommu" } else { "vfio" })]
    OtherKind {
        /// The function.
        bdf: Bdf,
        /// Whether its group has no IOMMU.
        noiommu: bool,
    },
    /// A step of opening the device failed.
    #[error("cannot {step}; {remedy}")]
    Open {
        /// What was tried.
        step: String,
        /// What usually mends it.
        remedy: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An ioctl failed.
    #[error("VFIO refuses to {what}")]
    Ioctl {
        /// What was asked for.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// A region that the device does not have, or that is too small.
    #[error("region {region} of {bdf} is {size} bytes; the card needs {needed}")]
    Region {
        /// The function.
        bdf: Bdf,
        /// Index of the region.
        region: u32,
        /// Its size.
        size: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// Memory for the card cannot be had.
    #[error("cannot get {bytes} bytes that the card reaches; {remedy}")]
    Memory {
        /// Bytes.
        bytes: usize,
        /// What usually mends it.
        remedy: &'static str,
        /// Why.
        source: io::Error,
    },
    /// No free device address.
    #[error("no free device address for {0} bytes")]
    Addresses(usize),
    /// A buffer that this device did not map.
    #[error("no buffer stands at device address {0:#x}")]
    Unmapped(u64),
}

impl From<VfioError> for CardError {
    fn from(error: VfioError) -> Self {
        Self::transport(error)
    }
}
