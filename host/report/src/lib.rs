//! Reports for people: text for a terminal, and HTML pages without scripts that need nothing but themselves.
//!
//! Names and texts in a report can come from a hostile bundle or model. [`escape`] has the one rule for characters that are not seen.

pub mod escape;
pub mod evidence;
#[cfg(feature = "ledger")]
pub mod ledger;
mod page;
