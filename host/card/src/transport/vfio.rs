//! The kernel's VFIO: a card in this machine.
//!
//! | part | what it knows |
//! | --- | --- |
//! | [`PciDevice`] | one PCI function: configuration space, registers, memory, interrupts, reset |
//! | [`VfioCard`] | the gate's card in one |
//! | [`super::DmaMemory`] | what process and card share |
//!
//! Groups and memory maps go through `vfio-ioctls`. Raw ioctls replace what that crate only logs (configuration space,
//! reset), and everything without an IOMMU.

mod card;
mod device;
mod error;
mod iommu;
mod open;
mod ranges;
mod request;

pub use card::VfioCard;
pub use device::{Interrupts, PciDevice};
pub use error::VfioError;
pub use open::Access;
