//! Reports for people: text for a terminal, and self-contained HTML pages.
//!
//! Names and texts in a report can come from a hostile bundle or model. [`escape`] makes invisible characters in them
//! visible. [`evidence`] has the reports of the verifier, and [`live`] the live page of a gateway. This crate only
//! shows results: it checks nothing.
//!
//! ```
//! use portcullis_report::escape::{HtmlLine, printable};
//! use portcullis_report::page::page;
//!
//! // On a terminal, U+202E would reverse the end of this name.
//! let name = "a\u{202e}txt.exe";
//! assert_eq!(printable(name), "a\u{fffd}txt.exe");
//!
//! let page = page("Files of a bundle", &maud::html! { p { (HtmlLine(name)) } });
//! assert!(page.contains("<p>a⟨U+202E⟩txt.exe</p>"));
//! ```

pub mod escape;
pub mod evidence;
#[cfg(feature = "ledger")]
pub mod ledger;
pub mod live;
pub mod page;
pub mod terminal;
pub mod time;

pub use page::PageOrigin;
