//! Reports for people: text for a terminal, and self-contained HTML pages.
//!
//! Names and texts in a report can come from a hostile bundle or model. [`escape`] makes invisible characters in them
//! visible.

pub mod escape;
pub mod evidence;
#[cfg(feature = "ledger")]
pub mod ledger;
pub mod live;
pub mod page;
pub mod terminal;
pub mod time;

pub use page::PageOrigin;
