//! The kernel's VFIO: a card in this machine.
//!
//! | part | content |
//! | --- | --- |
//! | [`PciDevice`] | one PCI function: configuration space, registers, memory, interrupts, reset |
//! | [`VfioCard`] | the card in such a function |
//! | [`super::DmaMemory`] | memory that process and card share |
//!
//! Groups and memory maps use `vfio-ioctls`. Raw ioctls (`request.rs`) are used without an IOMMU, for BARs, which that
//! crate cannot map for volatile access, and for operations whose errors it logs but does not return (configuration
//! space, reset).

mod card;
mod device;
mod error;
mod iommu;
mod open;
mod ranges;
mod request;

pub use card::VfioCard;
pub use device::{InterruptKind, PciDevice};
pub use error::VfioError;
pub use open::IommuMode;
