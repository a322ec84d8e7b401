//! The verifier's reports: on one bundle, and on a series of bundles.

mod page;
mod text;
mod words;

pub use page::{EvidencePageInputs, page};
pub use text::{LogText, ReportText, SeriesText, VerdictText};
pub use words::prevention;
