//! A ledger as one HTML page.

mod model;
mod page;
mod plot;
mod stream;

pub use model::{LedgerModel, StreamModel};
pub use page::page;
