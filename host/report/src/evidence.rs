//! Reports of the verifier: about one bundle, and about the bundles of a card.

mod page;
mod text;

pub use page::page;
pub use text::{ReportText, SeriesText};
