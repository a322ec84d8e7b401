//! The transports: each moves registers and memory of a card in its own way, and implements [`crate::Card`].

mod memory;
pub mod model;
#[cfg(feature = "sim")]
pub mod sim;
pub mod vfio;
pub mod vfio_user;

pub use memory::{DmaMemory, PageSize};
