//! Reports for people: text for a terminal, and self-contained HTML pages without scripts.
//!
//! Names and texts in a report can come from a hostile bundle or model. [`escape`] has the one rule for invisible
//! characters.

pub mod escape;
pub mod evidence;
#[cfg(feature = "ledger")]
pub mod ledger;
mod page;
