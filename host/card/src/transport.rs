//! The transports. Each implements [`crate::CardTransport`] for one way to reach a card's registers and memory.

mod memory;
pub mod model;
#[cfg(feature = "sim")]
pub mod sim;
pub mod vfio;
pub mod vfio_user;

pub use memory::{DmaMemory, PageSize};
