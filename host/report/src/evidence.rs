//! Reports of the verifier: about one bundle, and about the bundles of a card.

mod page;
mod text;
mod words;

pub use page::{Making, page};
pub use text::{ReportText, SeriesText, VerdictText};
