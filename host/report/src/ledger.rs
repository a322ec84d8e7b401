//! A ledger as one HTML page, as text, and as CSV.

mod model;
mod page;
mod plot;
mod stream;
mod text;

pub use model::{LedgerModel, RuleCounts, StreamModel};
pub use page::page;
pub use text::{CSV_HEAD, csv_record, line};
